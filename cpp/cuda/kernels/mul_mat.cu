// mul_mat's table, the empty product, and the kernel for all types and strides.
#include "cuda/kernels/mul_mat.hpp"
#include "cuda/kernels/product.cuh"

#include "cuda/device/element.cuh"
#include "cuda/device/row_grid.cuh"
#include "cuda/launch.hpp"

namespace tensorlib::core {

namespace {

// ---- Nothing to add: k = 0 gives zeros, and an empty result nothing.

const char *refuse_unless_empty(const Problem &p) noexcept {
    return p.node.src[0]->layout.ne[0] == 0 || p.node.layout.n_elements() == 0 ? nullptr : "not empty";
}

cudaError_t launch_empty(const Step &step, const CudaStream &stream) noexcept {
    const std::size_t size = step.node->layout.nbytes();
    return size == 0 ? cudaSuccess : cudaMemsetAsync(step.dst.data, 0, size, stream.stream);
}

// ---- Everything else: a thread computes an element of c, summed in double in the order of k. For types and strides
// without a faster kernel.

__global__ void mul_mat_elements(Product p, DType a_type, DType b_type) {
    device::for_each_unit(p.M * p.N * p.n_batches, [&](std::int64_t i) {
        const std::int64_t m = i % p.M, n = i / p.M % p.N, batch = i / p.M / p.N;
        const char *a = p.a_slice(batch) + m * p.a.nb[1], *b = p.b_slice(batch) + n * p.b.nb[1];
        double sum = 0;
        for (std::int64_t k = 0; k < p.K; k++) {
            const float left = device::load_element(a_type, a + k * p.a.nb[0]), right = device::load_element(b_type, b + k * p.b.nb[0]);
            sum += static_cast<double>(left) * static_cast<double>(right);
        }
        p.c[i] = static_cast<float>(sum);
    });
}

}  // namespace

const char *mul_mat::refuse_any(const Problem &p) noexcept {
    for (const Tensor *t : p.node.sources()) {
        if (!device::is_element(t->layout.type)) return "not a plain float";
    }
    return nullptr;
}

cudaError_t mul_mat::launch_any(const Step &step, const CudaStream &stream) noexcept {
    const device::RowGrid grid = device::row_grid(step.node->layout.n_elements(), 1);
    return launch(stream, {step.kernel->name, grid.grid, grid.block}, mul_mat_elements, product_of(step), step.src[0].type,
                  step.src[1].type);
}

namespace {

constexpr CudaKernel table[] = {
    {{.op = Op::mul_mat, .name = "mul_mat_empty", .plan = plan_unless<refuse_unless_empty>}, launch_empty},
    {{.op = Op::mul_mat, .name = "mul_mat_f32_vec", .plan = plan_unless<mul_mat::refuse_vec>}, mul_mat::launch_vec},
    {{.op = Op::mul_mat, .name = "mul_mat_f32_cublaslt", .plan = mul_mat::plan_cublaslt}, mul_mat::launch_cublaslt},
    {{.op = Op::mul_mat, .name = "mul_mat_f32_tiled", .plan = plan_unless<mul_mat::refuse_tiled>}, mul_mat::launch_tiled},
    {{.op = Op::mul_mat, .name = "mul_mat_blocks", .plan = plan_unless<mul_mat::refuse_blocks>}, mul_mat::launch_blocks},
    {{.op = Op::mul_mat, .name = "mul_mat_any", .plan = plan_unless<mul_mat::refuse_any>}, mul_mat::launch_any},
};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::mul_mat = table;

}  // namespace tensorlib::core
