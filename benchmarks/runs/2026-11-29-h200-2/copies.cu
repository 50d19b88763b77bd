// Scans of columns by tiles: what copies to shared memory cost. nvcc -std=c++17 -O3 -arch=sm_90, with -DCA for copies
// of sixteen bytes through the L1 cache. In a mode, bit 0 keeps a tile in registers while the next one arrives, bit 1
// has lanes copy sixteen bytes of the rows of their warp, bit 2 counts cycles.
#include <cuda_bf16.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>
template <int B>
struct alignas(B < 4 ? 4 : B) Piece {
  unsigned w[B / 4];
};
__device__ __forceinline__ float up(float x) { return x; }
__device__ __forceinline__ float up(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ __forceinline__ void down(float& o, float x) { o = x; }
__device__ __forceinline__ void down(__nv_bfloat16& o, float x) { o = __float2bfloat16(x); }
template <class P>
__device__ __forceinline__ void cpa(P* to, const P* from) {
  unsigned a = (unsigned)__cvta_generic_to_shared(to);
#ifdef CA
  if constexpr (sizeof(P) == 16)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(a), "l"(from) : "memory");
#else
  if constexpr (sizeof(P) == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(a), "l"(from) : "memory");
#endif
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(a), "l"(from), "n"(sizeof(P)) : "memory");
}
template <bool A>
struct S;
template <>
struct S<true> {
  float a, h;
};
template <>
struct S<false> {
  float h;
};
template <bool A>
__device__ __forceinline__ S<A> comb(S<A> l, S<A> r) {
  S<A> o;
  if constexpr (A) {
    o.a = __fmul_rn(r.a, l.a);
    o.h = __fadd_rn(__fmul_rn(r.a, l.h), r.h);
  } else
    o.h = __fadd_rn(l.h, r.h);
  return o;
}
__device__ __forceinline__ uint4 ldp(const uint4* p) {
  uint4 v;
  asm volatile("ld.relaxed.gpu.global.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p)
               : "memory");
  return v;
}
__device__ __forceinline__ void stp(uint4* p, uint4 v) {
  asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}

__device__ unsigned long long phases[8];
template <class T, int W, int R, int WARPS, int MINB, int KIND, int MODE>
__global__ void __launch_bounds__(WARPS * 32, MINB)
    tk(const T* in0, const T* in1, const T* in2, T* out0, T* out1, const float* h0, uint4* agg, uint4* pre,
       unsigned length, unsigned inner, unsigned trows, unsigned tcols, unsigned window, unsigned ring,
       unsigned tagbase, unsigned* bad) {
  constexpr bool A = KIND > 0;
  constexpr int NIN = KIND == 0 ? 1 : KIND == 1 ? 2 : 3;
  constexpr int TH = WARPS * 32;
  constexpr bool REGS = MODE & 1, WIDE = MODE & 2, CLOCK = MODE & 4;
  using P = Piece<W * sizeof(T)>;
  using St = S<A>;
  constexpr int PB = sizeof(P), PER = 16 / PB;
  constexpr int N = W * sizeof(St) / 4, K = (N + 2) / 3;
  extern __shared__ __align__(16) unsigned char smem[];
  St* exA = (St*)(smem + (size_t)NIN * R * TH * sizeof(P));
  St* exB = exA + TH * W;
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned dn = gridDim.x / tcols, right = gridDim.x % tcols;
  unsigned row = blockIdx.x / tcols, col = blockIdx.x % tcols;
  P* const st = (P*)smem + warp * (NIN * R * 32) + lane;
  auto firstOf = [&](unsigned row, unsigned col, unsigned lane, unsigned w) {
    const unsigned column = (col * 32) * W + lane * w, b = column / inner;
    return ((size_t)b * length + (size_t)(row * WARPS + warp) * R) * inner + (column - b * inner);
  };
  auto load = [&](unsigned row, unsigned col) {
    if (row < trows) {
      if constexpr (WIDE) {
        // A quarter (or so) of the warp takes a row, 16 bytes a lane.
        constexpr int LR = 32 / PER;
        const size_t first = firstOf(row, col, lane % LR, 16 / sizeof(T)) + (size_t)(lane / LR) * inner;
        uint4* to = (uint4*)((P*)smem + warp * (NIN * R * 32)) + lane;
        const T *p0 = in0 + first, *p1 = in1 + first, *p2 = in2 + first;
        const size_t step = (size_t)PER * inner;
#pragma unroll
        for (int k = 0; k < R / PER; k++) {
          cpa(to + k * 32, (const uint4*)p0);
          p0 += step;
          if (NIN > 1) {
            cpa(to + (R / PER + k) * 32, (const uint4*)p1);
            p1 += step;
          }
          if (NIN > 2) {
            cpa(to + (2 * R / PER + k) * 32, (const uint4*)p2);
            p2 += step;
          }
        }
      } else {
        const size_t first = firstOf(row, col, lane, W);
        const T *p0 = in0 + first, *p1 = in1 + first, *p2 = in2 + first;
#pragma unroll
        for (int k = 0; k < R; k++) {
          cpa(st + k * 32, (const P*)p0);
          p0 += inner;
          if (NIN > 1) {
            cpa(st + (R + k) * 32, (const P*)p1);
            p1 += inner;
          }
          if (NIN > 2) {
            cpa(st + (2 * R + k) * 32, (const P*)p2);
            p2 += inner;
          }
        }
      }
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  long long c0 = 0;
  unsigned long long ph[8] = {};
  auto mark = [&](int i) {
    if constexpr (CLOCK) {
      long long c = clock64();
      ph[i] += c - c0;
      c0 = c;
    }
  };
  if constexpr (CLOCK) c0 = clock64();
  load(row, col);
  for (; row < trows;) {
    const unsigned column = (col * 32 + lane) * W;
    const size_t first = firstOf(row, col, lane, W);
    unsigned nrow = row + dn, ncol = col + right;
    if (ncol >= tcols) {
      ncol -= tcols;
      nrow++;
    }
    const unsigned count = min(row, window), each = (count + WARPS - 1) / WARPS, begin = warp * each;
    const unsigned mine = begin < count ? min(each, count - begin) : 0;
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    if constexpr (WIDE) __syncwarp();
    mark(0);
    P tile[REGS ? NIN * R : 1];
    if constexpr (REGS) {
#pragma unroll
      for (int k = 0; k < NIN * R; k++) tile[k] = st[k * 32];
    }
    St f[W];
    auto get = [&](int arr, int k, int w) {
      P p = REGS ? tile[arr * R + k] : st[(arr * R + k) * 32];
      if constexpr (sizeof(T) == 4)
        return __uint_as_float(p.w[w]);
      else
        return __uint_as_float(w % 2 ? p.w[w / 2] & 0xffff0000u : p.w[w / 2] << 16);
    };
#pragma unroll
    for (int k = 0; k < R; k++) {
#pragma unroll
      for (int w = 0; w < W; w++) {
        St e;
        if constexpr (A) {
          e.a = get(0, k, w);
          e.h = get(1, k, w);
        } else
          e.h = get(0, k, w);
        f[w] = k == 0 ? e : comb<A>(f[w], e);
      }
    }
#pragma unroll
    for (int w = 0; w < W; w++) exA[threadIdx.x * W + w] = f[w];
    if constexpr (REGS && WIDE) __syncwarp();
    if constexpr (REGS) load(nrow, ncol);
    mark(1);
    __syncthreads();
    mark(2);
    St above[W];
    for (unsigned i = 0; i < warp; i++) {
#pragma unroll
      for (int w = 0; w < W; w++) {
        St v = exA[(i * 32 + lane) * W + w];
        above[w] = i == 0 ? v : comb<A>(above[w], v);
      }
    }
    auto put = [&](uint4* to, const St* v, unsigned tag) {
      unsigned word[K * 3];
      memcpy(word, v, N * 4);
#pragma unroll
      for (int k = 0; k < K; k++)
        stp(to + k,
            make_uint4(word[3 * k], 3 * k + 1 < N ? word[3 * k + 1] : tag, 3 * k + 2 < N ? word[3 * k + 2] : tag, tag));
    };
    auto at = [&](unsigned r) { return ((size_t)(r & (ring - 1)) * tcols + col) * 32 * K + lane * K; };
    St all[W];
    if (warp == WARPS - 1) {
#pragma unroll
      for (int w = 0; w < W; w++) all[w] = comb<A>(above[w], f[w]);
      if (row + 1 < trows && window > 1) put(agg + at(row), all, tagbase + row);
    }
    if (mine > 0) {
      St fold[W];
      for (unsigned j = 0; j < mine; j++) {
        const unsigned r = row - count + begin + j;
        const uint4* from = (begin + j == 0 && row >= window ? pre : agg) + at(r);
        uint4 v[K];
        bool ok;
        unsigned spins = 0;
        const unsigned tag = tagbase + r;
        do {
          ok = true;
          if (++spins > 2000000u) {
            if (!atomicExch(bad, 1)) printf("stuck row %u col %u\n", row, col);
            return;
          }
#pragma unroll
          for (int k = 0; k < K; k++) v[k] = ldp(from + k);
#pragma unroll
          for (int k = 0; k < K; k++)
            ok &= v[k].w == tag && (3 * k + 1 < N || v[k].y == tag) && (3 * k + 2 < N || v[k].z == tag);
        } while (!ok);
        unsigned word[K * 3];
#pragma unroll
        for (int k = 0; k < K; k++) {
          word[3 * k] = v[k].x;
          word[3 * k + 1] = v[k].y;
          word[3 * k + 2] = v[k].z;
        }
        St s[W];
        memcpy(s, word, N * 4);
#pragma unroll
        for (int w = 0; w < W; w++) fold[w] = j == 0 ? s[w] : comb<A>(fold[w], s[w]);
      }
#pragma unroll
      for (int w = 0; w < W; w++) exB[threadIdx.x * W + w] = fold[w];
    }
    mark(3);
    __syncthreads();
    mark(4);
    St before[W];
    const unsigned pollers = each ? (count + each - 1) / each : 0;
    for (unsigned i = 0; i < pollers; i++) {
#pragma unroll
      for (int w = 0; w < W; w++) {
        St v = exB[(i * 32 + lane) * W + w];
        before[w] = i == 0 ? v : comb<A>(before[w], v);
      }
    }
    if (warp == WARPS - 1 && row + window < trows) {
      if (pollers) {
#pragma unroll
        for (int w = 0; w < W; w++) all[w] = comb<A>(before[w], all[w]);
      }
      put(pre + at(row), all, tagbase + row);
    }
    float c[W];
#pragma unroll
    for (int w = 0; w < W; w++) {
      c[w] = h0[column + w];
      auto ap = [&](St s) {
        if constexpr (A)
          c[w] = __fadd_rn(__fmul_rn(s.a, c[w]), s.h);
        else
          c[w] = __fadd_rn(c[w], s.h);
      };
      if (pollers) ap(before[w]);
      if (warp) ap(above[w]);
    }
    T *q0 = out0 + first, *q1 = out1 + first;
#pragma unroll
    for (int k = 0; k < R; k++) {
      P o0, o1;
      float y0[W], y1[W];
#pragma unroll
      for (int w = 0; w < W; w++) {
        if constexpr (A)
          c[w] = __fadd_rn(__fmul_rn(get(0, k, w), c[w]), get(1, k, w));
        else
          c[w] = __fadd_rn(c[w], get(0, k, w));
        y0[w] = c[w];
        if (KIND == 2) y1[w] = __fmul_rn(c[w], get(2, k, w));
      }
      auto pack = [&](P& o, float* y) {
#pragma unroll
        for (int i = 0; i < (int)sizeof(P) / 4; i++) {
          if constexpr (sizeof(T) == 4)
            o.w[i] = __float_as_uint(y[i]);
          else {
            __nv_bfloat162 p = __floats2bfloat162_rn(y[2 * i], y[2 * i + 1]);
            memcpy(&o.w[i], &p, 4);
          }
        }
      };
      pack(o0, y0);
      *(P*)q0 = o0;
      q0 += inner;
      if (KIND == 2) {
        pack(o1, y1);
        *(P*)q1 = o1;
        q1 += inner;
      }
    }
    mark(5);
    if constexpr (!REGS) {
      if constexpr (WIDE) __syncwarp();
      load(nrow, ncol);
    }
    row = nrow;
    col = ncol;
    ph[7]++;
  }
  if constexpr (CLOCK)
    if (lane == 0)
      for (int i = 0; i < 8; i++) atomicAdd(&phases[i], ph[i]);
}
template <class T>
__global__ void fill(T* p, size_t n, unsigned salt, float lo, float hi) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
    unsigned z = (unsigned)i * 2654435761u + salt;
    z ^= z >> 15;
    z *= 0x2c1b3c6d;
    z ^= z >> 12;
    z *= 0x297a2d39;
    z ^= z >> 15;
    down(p[i], lo + (hi - lo) * (z >> 8) / 16777216.f);
  }
}
__device__ int said;
template <class T, int KIND>
__global__ void ref(const T* in0, const T* in1, const T* out, const float* h0, size_t length, size_t inner,
                    double* worst) {
  size_t col = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  size_t at = col / inner * length * inner + col % inner;
  float c = h0[col];
  double w = 0;
  for (size_t i = 0; i < length; i++, at += inner) {
    c = KIND ? up(in0[at]) * c + up(in1[at]) : c + up(in0[at]);
    double d = fabs((double)c - (double)up(out[at])) / (fabs((double)c) + 1);
    if (d > 0.1 && !(w > 0.1) && !atomicExch(&said, 1))
      printf("  first bad: column %u row %u is %f not %f\n", (unsigned)col, (unsigned)i, up(out[at]), c);
    if (d > w || d != d) w = d != d ? 1e9 : d;
  }
  atomicMax((unsigned long long*)worst, (unsigned long long)__double_as_longlong(w));
}
static float med(std::vector<float> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}
char *A, *X, *G, *H, *H2;
float* h0;
uint4 *agg, *pre;
double* worst;
unsigned* bad;
template <class F>
float timed(F f) {
  cudaEvent_t e0, e1;
  cudaEventCreate(&e0);
  cudaEventCreate(&e1);
  f();
  std::vector<float> v;
  for (int i = 0; i < 7; i++) {
    cudaEventRecord(e0);
    f();
    cudaEventRecord(e1);
    cudaEventSynchronize(e1);
    float ms;
    cudaEventElapsedTime(&ms, e0, e1);
    v.push_back(ms);
  }
  return med(v);
}
unsigned launches = 0;
template <class T, int W, int R, int WARPS, int MINB, int KIND, int MODE>
void one(const char* n) {
  constexpr int NIN = KIND == 0 ? 1 : KIND == 1 ? 2 : 3;
  size_t shapes[5][3] = {{8, 8192, 1536}, {8, 65536, 256}, {1, 1 << 20, 256}, {1, 1 << 22, 64}, {1, 4096, 65536}};
  size_t sm = (size_t)NIN * R * WARPS * 32 * W * sizeof(T) + 2 * WARPS * 32 * W * (KIND ? 8 : 4);
  auto k = tk<T, W, R, WARPS, MINB, KIND, MODE>;
  if (cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sm) != cudaSuccess) {
    cudaGetLastError();
    printf("%s smem %zu\n", n, sm);
    return;
  }
  int occ = 0;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&occ, k, WARPS * 32, sm);
  cudaFuncAttributes at;
  cudaFuncGetAttributes(&at, k);
  printf("| %s k%d w%d r%d warps%d m%d | %zu KB x%d regs %d local %zu |", n, KIND, W, R, WARPS, MODE, sm >> 10, occ,
         at.numRegs, at.localSizeBytes);
  unsigned long long zp[8] = {};
  cudaMemcpyToSymbol(phases, zp, 64);
  cudaMemset(worst, 0, 8);
  int zero = 0;
  cudaMemcpyToSymbol(said, &zero, 4);
  for (auto& s : shapes) {
    size_t len = s[0] * s[1] * s[2], cols = s[0] * s[2];
    unsigned trows = s[1] / (WARPS * R), tcols = cols / (32 * W),
             grid = std::min<size_t>(132 * occ, (size_t)trows * tcols);
    if (s[1] % (WARPS * R)) {
      printf(" - |");
      continue;
    }
    unsigned window = (grid + tcols - 1) / tcols, ring = 1;
    unsigned gc = std::__gcd(grid, tcols), safe = (tcols / gc < 2 ? 2 : 1) * (grid + tcols) / gc + window;
    while (ring < std::min(safe, trows)) ring *= 2;
    float copy = timed([&] { cudaMemcpyAsync(H, X, len * sizeof(T), cudaMemcpyDeviceToDevice); });
    auto go = [&] {
      launches++;
      T *a = (T*)A, *x = (T*)X, *g = (T*)G, *o = (T*)H, *o2 = (T*)H2;
      unsigned len1 = s[1], inner = s[2], tag = launches * 70000u;
      void* args[] = {&a, &x, &g, &o, &o2, &h0, &agg, &pre, &len1, &inner, &trows, &tcols, &window, &ring, &tag, &bad};
      auto e = cudaLaunchCooperativeKernel((void*)k, dim3(grid), dim3(WARPS * 32), args, sm, 0);
      if (e != cudaSuccess) {
        printf("launch %s\n", cudaGetErrorString(e));
        exit(1);
      }
    };
    float t = timed(go);
    if (&s == &shapes[1] || &s == &shapes[4])
      ref<T, KIND><<<cols / 32, 32>>>((T*)A, (T*)X, (T*)H, h0, s[1], s[2], worst);
    if (MODE & 4) {
      unsigned long long p[8];
      cudaMemcpyFromSymbol(p, phases, 64);
      printf(" [");
      for (int i = 0; i < 6; i++) printf("%.0f ", (double)p[i] / p[7]);
      printf("]");
      cudaMemcpyToSymbol(phases, zp, 64);
    }
    const float n = KIND == 0 ? 1 : KIND == 1 ? 1.5f : 2.5f;
    printf(" %.3f |", copy * n / t);
  }
  unsigned bb;
  cudaMemcpy(&bb, bad, 4, cudaMemcpyDeviceToHost);
  if (bb) printf(" BAD ");
  cudaMemset(bad, 0, 4);
  double w;
  cudaMemcpy(&w, worst, 8, cudaMemcpyDeviceToHost);
  auto e = cudaGetLastError();
  printf(" err %.1e %s\n", w, e == cudaSuccess ? "" : cudaGetErrorString(e));
  fflush(stdout);
}
template <class T>
void data() {
  size_t n = (size_t)1 << 28;
  fill<<<2048, 256>>>((T*)A, n, 1, 0.5f, 0.99f);
  fill<<<2048, 256>>>((T*)X, n, 2, -1.f, 1.f);
  fill<<<2048, 256>>>((T*)G, n, 3, -1.f, 1.f);
  cudaDeviceSynchronize();
}
int main() {
  size_t b = (size_t)1 << 30;
  b += b / 4;
  for (char** p : {&A, &X, &G, &H, &H2}) cudaMalloc(p, b);
  cudaMalloc(&h0, 4 << 20);
  cudaMemset(h0, 0, 4 << 20);
  cudaMalloc(&agg, 256 << 20);
  cudaMalloc(&pre, 256 << 20);
  cudaMalloc(&worst, 8);
  cudaMalloc(&bad, 4);
  cudaMemset(bad, 0, 4);
  setvbuf(stdout, 0, _IOLBF, 0);
  cudaMemset(agg, 0, 256 << 20);
  cudaMemset(pre, 0, 256 << 20);
  data<float>();
  printf("shapes (8,8192,1536) (8,65536,256) (2^20,256) (2^22,64) (4096,65536)\n");
  one<float, 2, 8, 16, 2, 1, 3>("f32");
  one<float, 2, 16, 8, 3, 1, 2>("f32");
  one<float, 1, 32, 8, 3, 1, 2>("f32");
  one<float, 2, 8, 16, 2, 1, 2>("f32");
  one<float, 1, 16, 16, 2, 1, 3>("f32");
  one<float, 1, 32, 8, 2, 1, 3>("f32");
  one<float, 2, 16, 8, 2, 1, 3>("f32");
  one<float, 2, 16, 8, 2, 2, 2>("f32");
  one<float, 1, 16, 16, 2, 2, 2>("f32");
  one<float, 2, 8, 8, 3, 2, 3>("f32");
  one<float, 1, 16, 8, 3, 2, 3>("f32");
  one<float, 2, 32, 8, 3, 0, 2>("f32");
  one<float, 2, 16, 16, 2, 0, 3>("f32");
  one<float, 2, 16, 16, 3, 0, 2>("f32");
  one<float, 1, 32, 16, 2, 0, 3>("f32");
  one<float, 2, 32, 8, 2, 0, 3>("f32");
  data<__nv_bfloat16>();
  using h = __nv_bfloat16;
  one<h, 2, 32, 8, 3, 1, 2>("bf16");
  one<h, 2, 32, 8, 2, 1, 3>("bf16");
  one<h, 2, 16, 16, 2, 1, 3>("bf16");
  one<h, 2, 16, 8, 4, 2, 2>("bf16");
  one<h, 2, 32, 8, 2, 2, 2>("bf16");
  one<h, 2, 16, 16, 2, 2, 2>("bf16");
  one<h, 2, 32, 16, 2, 0, 2>("bf16");
  one<h, 2, 32, 16, 2, 0, 3>("bf16");
  one<h, 4, 32, 8, 3, 0, 2>("bf16");
  one<h, 4, 32, 8, 2, 0, 3>("bf16");
  one<h, 2, 32, 8, 3, 0, 2>("bf16");
}
