// What the bench `cpu` measures beside: C++17's parallel scans, which libstdc++ runs on oneTBB.

#include <cstddef>
#include <cstdint>
#include <execution>
#include <functional>
#include <numeric>

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_scan.h>

namespace {

struct Affine {
    float a, b;
};

struct Compose {
    Affine operator()(Affine f, Affine g) const { return {f.a * g.a, g.a * f.b + g.b}; }
};

// As `ops::max`: of equal values the earlier, and a NaN stays.
struct Max {
    float operator()(float a, float b) const { return a >= b || a != a ? a : b; }
};

template <typename T, typename Op>
void scan(const T* input, T* output, std::size_t len, Op op) {
    std::inclusive_scan(std::execution::par_unseq, input, input + len, output, op);
}

// Unsigned, since a sum may wrap.
template <typename T>
void sum(const T* input, T* output, std::size_t len) {
    scan(input, output, len, [](T a, T b) { return static_cast<T>(a + b); });
}

} // namespace

extern "C" {

void tbb_sum_u8(const std::uint8_t* input, std::uint8_t* output, std::size_t len) { sum(input, output, len); }
void tbb_sum_i32(const std::uint32_t* input, std::uint32_t* output, std::size_t len) { sum(input, output, len); }
void tbb_sum_i64(const std::uint64_t* input, std::uint64_t* output, std::size_t len) { sum(input, output, len); }
void tbb_sum_f32(const float* input, float* output, std::size_t len) { sum(input, output, len); }
void tbb_sum_f64(const double* input, double* output, std::size_t len) { sum(input, output, len); }
void tbb_max_f32(const float* input, float* output, std::size_t len) { scan(input, output, len, Max{}); }
void tbb_affine_f32(const Affine* input, Affine* output, std::size_t len) { scan(input, output, len, Compose{}); }

// There is no segmented scan in the standard library, so this one is oneTBB's own, by hand.
void tbb_segmented_i32(const std::uint8_t* flags, const std::uint32_t* input, std::uint32_t* output, std::size_t len) {
    struct State {
        bool head;
        std::uint32_t sum;
    };
    oneapi::tbb::parallel_scan(
        oneapi::tbb::blocked_range<std::size_t>(0, len), State{false, 0},
        [=](const oneapi::tbb::blocked_range<std::size_t>& range, State state, bool is_final) {
            for (std::size_t i = range.begin(); i != range.end(); ++i) {
                state.head |= flags[i] != 0;
                state.sum = flags[i] != 0 ? input[i] : state.sum + input[i];
                if (is_final) {
                    output[i] = state.sum;
                }
            }
            return state;
        },
        [](State a, State b) { return State{a.head || b.head, b.head ? b.sum : a.sum + b.sum}; });
}

} // extern "C"
