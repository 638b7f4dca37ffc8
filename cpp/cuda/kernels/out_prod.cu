// out_prod: mul_mat's kernels for any strides with both operands transposed, and a kernel for a quantised a.
//
//   out_prod_blocks   a thread owns 8 neighbours of a column of c: a run of a's blocks, decoded for each k, times one
//                     element of b. Neighbouring threads read neighbouring runs and one element of b. Sums in F32 in
//                     the order of k. Limited by decoding
#include "cuda/cuda_kernel.hpp"
#include "cuda/device/convert.cuh"
#include "cuda/device/element.cuh"
#include "cuda/device/row_grid.cuh"
#include "cuda/kernels/mul_mat.hpp"
#include "cuda/kernels/product.cuh"
#include "cuda/launch.hpp"

#include <array>
#include <utility>

namespace tensorlib::core {

namespace {

// The step with dimensions 0 and 1 of its operands swapped.
class Transposed {
public:
    explicit Transposed(const Step &step) noexcept : sources_{transposed(step.src[0]), transposed(step.src[1])}, step_(step) {
        step_.src = sources_;
    }
    const Step &step() const noexcept { return step_; }
    Transposed(const Transposed &) = delete;
    Transposed &operator=(const Transposed &) = delete;

private:
    static TensorRef transposed(TensorRef t) noexcept {
        std::swap(t.ne[0], t.ne[1]);
        std::swap(t.nb[0], t.nb[1]);
        return t;
    }
    std::array<TensorRef, 2> sources_;
    Step step_;
};

const char *refuse_unless_empty(const Problem &p) noexcept {
    return p.node.src[0]->layout.ne[1] == 0 || p.node.layout.n_elements() == 0 ? nullptr : "not empty";
}

cudaError_t launch_empty(const Step &step, const CudaStream &stream) noexcept {
    const std::size_t size = step.node->layout.nbytes();
    return size == 0 ? cudaSuccess : cudaMemsetAsync(step.dst.data, 0, size, stream.stream);
}

cudaError_t launch_tiled(const Step &step, const CudaStream &stream) noexcept {
    return mul_mat::launch_tiled(Transposed(step).step(), stream);
}
cudaError_t launch_any(const Step &step, const CudaStream &stream) noexcept { return mul_mat::launch_any(Transposed(step).step(), stream); }

// The operands are transposed: p.a.nb[0] leads from one of a's rows to the next.
__global__ void out_prod_blocks(Product p, DType a_type, DType b_type) {
    const std::int64_t runs = p.M / run_length;
    device::for_each_unit(runs * p.N * p.n_batches, [&](std::int64_t i) {
        const std::int64_t run = i % runs, n = i / runs % p.N, batch = i / runs / p.N;
        const char *a = p.a_slice(batch), *b = p.b_slice(batch) + n * p.b.nb[1];
        float sum[run_length] = {};
        for (std::int64_t k = 0; k < p.K; k++) {
            float weights[run_length];
            device::decode_run(a_type, a + k * p.a.nb[0], run, weights);
            const float x = device::load_element(b_type, b + k * p.b.nb[0]);
#pragma unroll
            for (int j = 0; j < run_length; j++) sum[j] = fmaf(weights[j], x, sum[j]);
        }
        float *c = p.c_slice(batch) + n * p.M + run * run_length;
#pragma unroll
        for (int j = 0; j < run_length; j++) c[j] = sum[j];
    });
}

cudaError_t launch_blocks(const Step &step, const CudaStream &stream) noexcept {
    const Product p = product_of(Transposed(step).step());
    const device::RowGrid grid = device::row_grid(step.node->layout.n_elements() / run_length, 1);
    return launch(stream, {step.kernel->name, grid.grid, grid.block}, out_prod_blocks, p, step.src[0].type, step.src[1].type);
}

constexpr CudaKernel table[] = {
    {{.op = Op::out_prod, .name = "out_prod_empty", .plan = plan_unless<refuse_unless_empty>}, launch_empty},
    {{.op = Op::out_prod, .name = "out_prod_f32_tiled", .plan = plan_unless<mul_mat::refuse_tiled>}, launch_tiled},
    {{.op = Op::out_prod, .name = "out_prod_any", .plan = plan_unless<mul_mat::refuse_any>}, launch_any},
    {{.op = Op::out_prod, .name = "out_prod_blocks", .plan = plan_always<>}, launch_blocks},
};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::outer_products = table;

}  // namespace tensorlib::core
