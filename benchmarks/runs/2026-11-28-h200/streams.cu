#include <cstdio>
#include <cstdint>
#include <vector>
#include <algorithm>
#include <cuda_bf16.h>
template <int B> struct alignas(B < 4 ? 4 : B) Piece { unsigned w[B / 4]; };
__device__ __forceinline__ float up(float x) { return x; }
__device__ __forceinline__ float up(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ __forceinline__ void down(float& o, float x) { o = x; }
__device__ __forceinline__ void down(__nv_bfloat16& o, float x) { o = __float2bfloat16(x); }
template <class P> __device__ __forceinline__ void cpa(P* to, const P* from) {
  unsigned a = (unsigned)__cvta_generic_to_shared(to);
  if constexpr (sizeof(P) == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(a), "l"(from) : "memory");
  else asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(a), "l"(from), "n"(sizeof(P)) : "memory");
}
template <int N> __device__ __forceinline__ void waitg() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }
// columns = batch * inner, length rows; element (b, t, d)
template <class T, int WIDTH, int RUN, int STAGES, int THREADS>
__global__ void __launch_bounds__(THREADS) fw(const T* a, const T* x, T* h, const float* h0, float* last, size_t length, size_t inner) {
  using P = Piece<WIDTH * sizeof(T)>;
  extern __shared__ __align__(16) unsigned char smem[];
  P* st = (P*)smem; // [stage][array][run][threads]
  size_t col = ((size_t)blockIdx.x * THREADS + threadIdx.x) * WIDTH;
  size_t first = col / inner * length * inner + col % inner;
  const T *pa = a + first, *px = x + first; T* ph = h + first;
  float c[WIDTH];
#pragma unroll
  for (int w = 0; w < WIDTH; w++) c[w] = h0[col + w];
  size_t runs = length / RUN; // exact in this experiment but for the rest
  auto begin = [&](size_t i) {
    if (i < runs) {
      P* s = st + (i % STAGES) * 2 * RUN * THREADS + threadIdx.x;
#pragma unroll
      for (int k = 0; k < RUN; k++) { cpa(s + k * THREADS, (const P*)pa); cpa(s + (RUN + k) * THREADS, (const P*)px); pa += inner; px += inner; }
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  for (int i = 0; i < STAGES - 1; i++) begin(i);
  for (size_t i = 0; i < runs; i++) {
    begin(i + STAGES - 1);
    waitg<STAGES - 1>();
    const P* s = st + (i % STAGES) * 2 * RUN * THREADS + threadIdx.x;
#pragma unroll
    for (int k = 0; k < RUN; k++) {
      P va = s[k * THREADS], vx = s[(RUN + k) * THREADS], vo;
#pragma unroll
      for (int w = 0; w < WIDTH; w++) {
        T ta, tx; memcpy(&ta, (char*)&va + w * sizeof(T), sizeof(T)); memcpy(&tx, (char*)&vx + w * sizeof(T), sizeof(T));
        c[w] = __fadd_rn(__fmul_rn(up(ta), c[w]), up(tx));
        T o; down(o, c[w]); memcpy((char*)&vo + w * sizeof(T), &o, sizeof(T));
      }
      *(P*)ph = vo; ph += inner;
    }
  }
#pragma unroll
  for (int w = 0; w < WIDTH; w++) last[col + w] = c[w];
}
static float med(std::vector<float> v) { std::sort(v.begin(), v.end()); return v[v.size() / 2]; }
void *A, *X, *H; float *h0, *last;
template <class F> float timed(F f) {
  cudaEvent_t e0, e1; cudaEventCreate(&e0); cudaEventCreate(&e1); f();
  std::vector<float> v;
  for (int i = 0; i < 7; i++) { cudaEventRecord(e0); f(); cudaEventRecord(e1); cudaEventSynchronize(e1); float ms; cudaEventElapsedTime(&ms, e0, e1); v.push_back(ms); }
  return med(v);
}
template <class T, int WIDTH, int RUN, int STAGES, int THREADS> void one(const char* n) {
  size_t shapes[8][3] = {{8, 8192, 1536}, {4, 16384, 1024}, {8, 8192, 1024}, {16, 4096, 1024}, {32, 2048, 1024}, {2, 2048, 65536}, {1, 4096, 65536}, {8, 65536, 512}};
  size_t sm = (size_t)STAGES * 2 * RUN * THREADS * WIDTH * sizeof(T);
  auto k = fw<T, WIDTH, RUN, STAGES, THREADS>;
  if (cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sm) != cudaSuccess) { cudaGetLastError(); printf("%s smem %zu\n", n, sm); return; }
  printf("| %s w%d r%d s%d t%d | %zu KB |", n, WIDTH, RUN, STAGES, THREADS, sm >> 10);
  for (auto& s : shapes) {
    size_t len = s[0] * s[1] * s[2], cols = s[0] * s[2];
    float copy = timed([&] { cudaMemcpyAsync(H, X, len * sizeof(T), cudaMemcpyDeviceToDevice); });
    float t = timed([&] { k<<<cols / (WIDTH * THREADS), THREADS, sm>>>((T*)A, (T*)X, (T*)H, h0, last, s[1], s[2]); });
    printf(" %.3f |", copy * 1.5 / t);
  }
  auto e = cudaGetLastError(); printf("%s\n", e == cudaSuccess ? "" : cudaGetErrorString(e)); fflush(stdout);
}
int main() {
  size_t b = (size_t)1 << 30; b += b / 4; cudaMalloc(&A, b); cudaMalloc(&X, b); cudaMalloc(&H, b); cudaMalloc(&h0, 1 << 20); cudaMalloc(&last, 1 << 20);
  cudaMemset(A, 0x3e, b); cudaMemset(X, 0x3e, b); cudaMemset(h0, 0, 1 << 20);
  one<float, 2, 24, 4, 32>("f32"); one<float, 2, 16, 6, 32>("f32"); one<float, 2, 12, 8, 32>("f32"); one<float, 2, 20, 4, 32>("f32"); one<float, 2, 16, 5, 32>("f32"); one<float, 2, 32, 3, 32>("f32"); one<float, 2, 16, 8, 32>("f32"); one<float, 2, 16, 4, 64>("f32"); one<float, 2, 12, 4, 64>("f32");one<float, 2, 8, 6, 64>("f32");
  using h = __nv_bfloat16;
  one<h, 4, 24, 4, 32>("bf16"); one<h, 4, 16, 6, 32>("bf16"); one<h, 4, 12, 8, 32>("bf16"); one<h, 4, 20, 4, 32>("bf16"); one<h, 4, 16, 5, 32>("bf16"); one<h, 4, 32, 3, 32>("bf16"); one<h, 4, 16, 8, 32>("bf16"); one<h, 4, 16, 4, 64>("bf16"); one<h, 4, 12, 4, 64>("bf16"); one<h, 4, 8, 6, 64>("bf16"); one<h, 2, 48, 4, 32>("bf16"); one<h, 2, 32, 8, 32>("bf16");
}
