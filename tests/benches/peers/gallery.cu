// CUB's scan of an operator of the gallery. For each operator `cargo run -p scan-tools --bin bundle -- --peers` fills
// in the words in capitals between braces: its own CUDA text, as the generated kernels have it, and the expressions
// that call it.

namespace {NAME} {
{TEXT}

using Op = {OPERATOR};
using Input = {INPUT};
using State = {STATE};
using Output = {OUTPUT};

struct Lift {
    Op op;
    __device__ State operator()(Input input) const { return {LIFTED}; }
};

struct Combine {
    Op op;
    __device__ State operator()(State a, State b) const { return op.combine(a, b); }
};

struct Project {
    Op op;
    __device__ Output operator()(State state) const { return {PROJECTED}; }
};

}  // namespace {NAME}

// As the functions of cub.cu; the operator comes as its bytes.
extern "C" __attribute__((visibility("default"))) int cub_gallery_{NAME}(
    void* temporary, size_t* bytes, const void* op, const void* in, void* out, int32_t len, cudaStream_t stream) {
    using namespace {NAME};
    Op operation;
    memcpy(&operation, op, sizeof(Op));
    const auto input = thrust::make_transform_iterator(static_cast<const Input*>(in), Lift{operation});
    const auto output = thrust::make_transform_output_iterator(static_cast<Output*>(out), Project{operation});
    return cub::DeviceScan::InclusiveScan(temporary, *bytes, input, output, Combine{operation}, len, stream);
}
