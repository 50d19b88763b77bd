// CUB's primitives beside which uses of scans are measured (`peers --parts uses`): libcub_uses.so.

#include <cub/cub.cuh>

#include <cstdint>

namespace {

struct Below {
    uint32_t pivot;
    __device__ bool operator()(uint32_t x) const { return x < pivot; }
};

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default"))) int

// The elements below a pivot, and how many there are.
EXPORT cub_select_below(void* temporary, size_t* bytes, const uint32_t* in, uint32_t* out, uint32_t* count, uint32_t len,
                        uint32_t pivot, cudaStream_t stream) {
    return cub::DeviceSelect::If(temporary, *bytes, in, out, count, static_cast<int32_t>(len), Below{pivot}, stream);
}

// The element of each run, how often it stands there, and the number of runs.
EXPORT cub_runs(void* temporary, size_t* bytes, const uint32_t* in, uint32_t* elements, uint32_t* lengths, uint32_t* count,
                uint32_t len, cudaStream_t stream) {
    return cub::DeviceRunLengthEncode::Encode(temporary, *bytes, in, elements, lengths, count, static_cast<int32_t>(len),
                                              stream);
}

// Keys in ascending order, with their payloads.
EXPORT cub_sort(void* temporary, size_t* bytes, const uint32_t* keys, uint32_t* sorted, const uint32_t* payloads,
                uint32_t* moved, uint32_t len, cudaStream_t stream) {
    return cub::DeviceRadixSort::SortPairs(temporary, *bytes, keys, sorted, payloads, moved, static_cast<int32_t>(len), 0, 32,
                                           stream);
}
