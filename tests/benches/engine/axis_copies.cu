// Copies an array tile by tile, as scans along an axis move it: what they can reach at the most.
typedef unsigned long long u64;
struct alignas(16) Wide { unsigned w[4]; };
struct alignas(8) Half { unsigned w[2]; };
__device__ __forceinline__ unsigned sa(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void wait_full(u64* b, unsigned parity) {
  unsigned e = 0;
  while (!e) {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
        : "=r"(e) : "r"(sa(b)), "r"(parity) : "memory");
  }
}
extern __shared__ __align__(128) unsigned char stages[];
constexpr unsigned STAGE = W * H;
#if MODE == 0
// A warp, bulk copies both ways, a row each.
extern "C" __global__ void __launch_bounds__(32) KERNEL(const unsigned char* in, unsigned char* out, size_t rows, size_t row_bytes) {
  __shared__ u64 full[STAGES];
  const unsigned lane = threadIdx.x;
  const unsigned across = (unsigned)(row_bytes / W), tiles = (unsigned)(rows / H) * across;
  if (lane == 0) {
    for (unsigned s = 0; s < STAGES; s++) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" : : "r"(sa(&full[s])) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
    asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
  }
  __syncwarp();
  auto place = [&](unsigned tile) { return (size_t)(tile / across) * H * row_bytes + (size_t)(tile % across) * W; };
  auto load = [&](unsigned i) {
    const unsigned tile = blockIdx.x + i * gridDim.x;
    if (tile < tiles) {
      const unsigned s = i % STAGES;
      if (lane == 0) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" : : "r"(sa(&full[s])), "r"(STAGE) : "memory");
      __syncwarp();
      const unsigned char* from = in + place(tile);
#pragma unroll 1
      for (unsigned r = lane; r < H; r += 32)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
            : : "r"(sa(stages + s * STAGE + r * W)), "l"(from + r * row_bytes), "r"(W), "r"(sa(&full[s])) : "memory");
    }
  };
  for (unsigned i = 0; i + 1 < STAGES; i++) load(i);
  for (unsigned i = 0;; i++) {
    const unsigned tile = blockIdx.x + i * gridDim.x;
    if (tile >= tiles) break;
    const unsigned s = i % STAGES;
    wait_full(&full[s], i / STAGES % 2);
    asm volatile("cp.async.bulk.wait_group.read 0;" : : : "memory");
    __syncwarp();
    load(i + STAGES - 1);
    unsigned char* to = out + place(tile);
#pragma unroll 1
    for (unsigned r = lane; r < H; r += 32)
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
          : : "l"(to + r * row_bytes), "r"(sa(stages + s * STAGE + r * W)), "r"(W) : "memory");
    asm volatile("cp.async.bulk.commit_group;" : : : "memory");
  }
  asm volatile("cp.async.bulk.wait_group.read 0;" : : : "memory");
}
#else
// Threads load with cp.async, of 8 bytes through L1 (MODE 1) or 16 past it (MODE 2), and store 8 bytes each.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) KERNEL(const unsigned char* in, unsigned char* out, size_t rows, size_t row_bytes) {
  constexpr unsigned ACROSS = W / 8, DOWN = THREADS / ACROSS, RUN = H / DOWN;
  const unsigned x = threadIdx.x % ACROSS, y = threadIdx.x / ACROSS, odd = x % 2;
  const unsigned across = (unsigned)(row_bytes / W), tiles = (unsigned)(rows / H) * across;
  auto place = [&](unsigned tile) { return ((size_t)(tile / across) * H + y * RUN) * row_bytes + (size_t)(tile % across) * W + x * 8; };
  auto load = [&](unsigned i) {
    const unsigned tile = blockIdx.x + i * gridDim.x;
    if (tile < tiles) {
      unsigned char* stage = stages + i % STAGES * STAGE + threadIdx.x * 8;
      const unsigned char* from = in + place(tile);
#if MODE == 1
#pragma unroll
      for (unsigned k = 0; k < RUN; k++) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" : : "r"(sa(stage + k * THREADS * 8)), "l"(from) : "memory");
        from += row_bytes;
      }
#else
      stage += odd * (THREADS * 8 - 8);
      from += odd * (row_bytes - 8);
#pragma unroll
      for (unsigned k = 0; k < RUN; k += 2) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(sa(stage + k * THREADS * 8)), "l"(from) : "memory");
        from += 2 * row_bytes;
      }
#endif
    }
    asm volatile("cp.async.commit_group;" : : : "memory");
  };
  for (unsigned i = 0; i + 1 < STAGES; i++) load(i);
  for (unsigned i = 0;; i++) {
    const unsigned tile = blockIdx.x + i * gridDim.x;
    if (tile >= tiles) break;
    asm volatile("cp.async.wait_group %0;" : : "n"(STAGES - 2) : "memory");
    __syncthreads();
    load(i + STAGES - 1);
    const unsigned char* stage = stages + i % STAGES * STAGE + threadIdx.x * 8;
    unsigned char* to = out + place(tile);
#pragma unroll
    for (unsigned k = 0; k < RUN; k++) {
      *(Half*)to = *(const Half*)(stage + k * THREADS * 8);
      to += row_bytes;
    }
  }
}
#endif
