// CUB's scans of the benchmark's operators, as C functions: what `cargo run -p scan-tools --bin bundle -- --peers` makes
// libcub_peer.so of, and what cub.rs opens.
//
// Each operator is the same function on the same bytes as its Rust twin in cases.rs. Where CUB knows the operator (a sum, a
// maximum) it is given its own, so that its tunings for it apply. Sums of halves are accumulated in floats.
//
// Every function follows CUB's own two calls: with `temporary` null it only writes how many bytes of it there must be.

#include <cstddef>
#include <cstdint>

#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_scan.cuh>
#include <cub/version.cuh>
#include <cuda/functional>
#include <cuda/std/functional>
#include <cuda/std/limits>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace {

struct AddAsFloat {
    __host__ __device__ float operator()(float a, float b) const { return a + b; }
};

struct Vector3 {
    float x, y, z;
};

struct AddVector3 {
    __host__ __device__ Vector3 operator()(Vector3 a, Vector3 b) const { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
};

// An affine map; the earlier of two is applied first.
struct Affine {
    float a, b;
};

struct Compose {
    __host__ __device__ Affine operator()(Affine f, Affine g) const { return {f.a * g.a, g.a * f.b + g.b}; }
};

template <typename T, int N>
struct Matrix {
    T rows[N][N];
};

template <typename T, int N>
__host__ __device__ Matrix<T, N> identity_matrix() {
    Matrix<T, N> identity{};
    for (int i = 0; i < N; ++i) identity.rows[i][i] = T(1);
    return identity;
}

using Matrix2 = Matrix<float, 2>;
using Matrix3 = Matrix<uint32_t, 3>;

struct Multiply {
    template <typename T, int N>
    __host__ __device__ Matrix<T, N> operator()(Matrix<T, N> a, Matrix<T, N> b) const {
        Matrix<T, N> product{};
#pragma unroll
        for (int i = 0; i < N; ++i) {
#pragma unroll
            for (int j = 0; j < N; ++j) {
#pragma unroll
                for (int k = 0; k < N; ++k) product.rows[i][j] += a.rows[i][k] * b.rows[k][j];
            }
        }
        return product;
    }
};

struct MultiplyModulo {
    __host__ __device__ uint32_t operator()(uint32_t a, uint32_t b) const {
        return static_cast<uint32_t>(static_cast<uint64_t>(a) * b % 998244353u);
    }
};

// CUB makes other kernels for lengths of 64 bits; as its own interface does, each length gets the kernel it needs.
template <typename Run>
cudaError_t with_length(uint64_t len, Run run) {
    return len <= INT32_MAX ? run(static_cast<int32_t>(len)) : run(static_cast<int64_t>(len));
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default"))) int

// Inclusive and exclusive scans of a whole buffer.
#define SCANS(name, T, op, identity)                                                                                   \
    EXPORT cub_inclusive_##name(void* temporary, size_t* bytes, const void* in, void* out, uint64_t len,               \
                                cudaStream_t stream) {                                                                 \
        return with_length(len, [=](auto n) {                                                                          \
            return cub::DeviceScan::InclusiveScan(temporary, *bytes, static_cast<const T*>(in), static_cast<T*>(out),  \
                                                  op, n, stream);                                                      \
        });                                                                                                            \
    }                                                                                                                  \
    EXPORT cub_exclusive_##name(void* temporary, size_t* bytes, const void* in, void* out, uint64_t len,               \
                                cudaStream_t stream) {                                                                 \
        return with_length(len, [=](auto n) {                                                                          \
            return cub::DeviceScan::ExclusiveScan(temporary, *bytes, static_cast<const T*>(in), static_cast<T*>(out),  \
                                                  op, identity, n, stream);                                            \
        });                                                                                                            \
    }

// Inclusive scans that restart: at other keys of 32 bits, and at offsets of 32 bits, with the length behind the last.
#define RESTARTS(name, T, op)                                                                                          \
    EXPORT cub_by_keys_##name(void* temporary, size_t* bytes, const uint32_t* keys, const void* in, void* out,         \
                              uint32_t len, cudaStream_t stream) {                                                     \
        return cub::DeviceScan::InclusiveScanByKey(temporary, *bytes, keys, static_cast<const T*>(in),                 \
                                                   static_cast<T*>(out), op, len, cuda::std::equal_to<>{}, stream);    \
    }                                                                                                                  \
    EXPORT cub_by_offsets_##name(void* temporary, size_t* bytes, const uint32_t* offsets, uint32_t segments,           \
                                 const void* in, void* out, cudaStream_t stream) {                                     \
        return cub::DeviceSegmentedScan::InclusiveSegmentedScan(temporary, *bytes, static_cast<const T*>(in),          \
                                                                static_cast<T*>(out), offsets, offsets + 1, segments,  \
                                                                op, stream);                                           \
    }

SCANS(sum_i8, int8_t, cuda::std::plus<int8_t>{}, int8_t{0})
SCANS(sum_i16, int16_t, cuda::std::plus<int16_t>{}, int16_t{0})
SCANS(sum_f16, __half, AddAsFloat{}, 0.0f)
SCANS(sum_bf16, __nv_bfloat16, AddAsFloat{}, 0.0f)
SCANS(sum_i32, int32_t, cuda::std::plus<int32_t>{}, int32_t{0})
SCANS(sum_f32, float, cuda::std::plus<float>{}, 0.0f)
SCANS(sum_i64, int64_t, cuda::std::plus<int64_t>{}, int64_t{0})
SCANS(sum_f64, double, cuda::std::plus<double>{}, 0.0)
SCANS(max_f64, double, cuda::maximum<double>{}, -cuda::std::numeric_limits<double>::infinity())
SCANS(sum_vector3_f32, Vector3, AddVector3{}, (Vector3{0.0f, 0.0f, 0.0f}))
SCANS(affine_f32, Affine, Compose{}, (Affine{1.0f, 0.0f}))
SCANS(matrix2_f32, Matrix2, Multiply{}, (identity_matrix<float, 2>()))
SCANS(product_modulo_u32, uint32_t, MultiplyModulo{}, 1u)
SCANS(matrix3_u32, Matrix3, Multiply{}, (identity_matrix<uint32_t, 3>()))

RESTARTS(sum_i32, int32_t, cuda::std::plus<int32_t>{})
RESTARTS(sum_f32, float, cuda::std::plus<float>{})
RESTARTS(affine_f32, Affine, Compose{})

// CUB's version, as in its CUB_VERSION: 300600 is 3.6.0.
EXPORT cub_version() { return CUB_VERSION; }

// The runtime's text for an error of the functions above.
extern "C" __attribute__((visibility("default"))) const char* cub_error(int error) {
    return cudaGetErrorString(static_cast<cudaError_t>(error));
}
