// mul_mat for many columns, F32, by cuBLASLt. Its choice is made when the graph is planned, and stored in the plan.
#include "cuda/cuda_backend.hpp"
#include "cuda/kernels/mul_mat.hpp"

#include <bit>
#include <cstring>

namespace tensorlib::core {

namespace {

// Below this many multiplications (a cube of 101), the built-in kernel finishes about as soon as the library is called.
constexpr double least_products = 1 << 20;

// A batch as calls that the library accepts, whose slices are at constant distances: slices of b along dimension 2,
// with as many slices of a, or one for all. Dimension 3 is included if it continues at that distance.
struct Calls {
    GemmF32 gemm;
    std::int64_t groups, n3;  // calls along dimension 2 and 3
};

// The largest power of two that divides the offsets of all slices. Roots are aligned to 256 bytes.
std::uint32_t alignment_of(const Tensor &t) noexcept {
    std::size_t places = 256 | t.root_offset;
    for (std::size_t d = 2; d < max_dims; d++) places |= t.layout.ne[d] > 1 ? t.layout.nb[d] : 0;
    return std::uint32_t{1} << std::countr_zero(places);
}

std::int64_t in_floats(std::size_t bytes) noexcept { return static_cast<std::int64_t>(bytes / sizeof(float)); }

std::int64_t column_stride(const Layout &l) noexcept { return l.ne[1] > 1 ? in_floats(l.nb[1]) : l.ne[0]; }

// Whether the distance from one index of dimension 3 to the next continues that within one.
bool steady(const Layout &l) noexcept { return l.ne[3] == 1 || l.nb[3] == l.nb[2] * static_cast<std::size_t>(l.ne[2]); }

Calls calls_of(const Tensor &node, bool tf32) noexcept {
    const Tensor &ta = *node.src[0], &tb = *node.src[1];
    const Layout &a = ta.layout, &b = tb.layout;
    const std::int64_t r2 = b.ne[2] / a.ne[2], r3 = b.ne[3] / a.ne[3];
    GemmF32 g{a.ne[1],          b.ne[1],          a.ne[0], column_stride(a), column_stride(b), 1, 0, in_floats(b.nb[2]),
              alignment_of(ta), alignment_of(tb), tf32};
    if (r2 > 1) {
        g.batch = r2;
        return {g, a.ne[2], b.ne[3]};
    }
    g.batch = b.ne[2];
    g.a_batch_stride = in_floats(a.nb[2]);
    if (r3 > 1 || !steady(a) || !steady(b)) return {g, 1, b.ne[3]};
    g.batch *= b.ne[3];
    return {g, 1, 1};
}

bool allows_tf32(const Problem &p) noexcept { return static_cast<const CudaBackend &>(p.backend).allow_tf32(); }
const CublasLt &library_of(const Problem &p) noexcept { return static_cast<const CudaBackend &>(p.backend).cublaslt(); }

}  // namespace

const char *mul_mat::plan_cublaslt(const Problem &p, KernelPlan &plan) noexcept {
    double products = static_cast<double>(p.node.layout.n_elements());
    for (const Tensor *t : p.node.sources()) {
        const Layout &l = t->layout;
        if (l.type != DType::f32) return "not f32";
        if (!l.rows_contiguous()) return "rows are not contiguous";
        if (column_stride(l) < l.ne[0] || (l.ne[1] > 1 && l.nb[1] % sizeof(float) != 0)) return "rows overlap or lie askew";
        if (std::max(l.ne[0], l.ne[1]) > INT32_MAX || l.ne[2] * l.ne[3] > INT32_MAX) return "too large for cuBLASLt";
        products *= t == p.node.src[0] ? static_cast<double>(l.ne[0]) : 1;
    }
    if (products < least_products) return "too small to be worth a call of cuBLASLt";
    if (const char *reason = library_of(p).refuse()) return reason;
    CublasLt::Algorithm algorithm{};
    if (!library_of(p).choose(calls_of(p.node, allows_tf32(p)).gemm, algorithm, plan.workspace)) return "cuBLASLt has no kernel for it";
    plan.keep(algorithm);
    return nullptr;
}

cudaError_t mul_mat::launch_cublaslt(const Step &step, const CudaStream &stream) noexcept {
    const TensorRef &a = step.src[0], &b = step.src[1];
    const Calls calls = calls_of(*step.node, stream.backend.allow_tf32());
    const auto algorithm = step.plan.kept<CublasLt::Algorithm>();
    const auto r3 = static_cast<std::size_t>(b.ne[3] / a.ne[3]);
    for (std::int64_t i3 = 0; i3 < calls.n3; i3++) {
        for (std::int64_t group = 0; group < calls.groups; group++) {
            const auto i = static_cast<std::size_t>(i3), g = static_cast<std::size_t>(group);
            const auto first = static_cast<std::size_t>(group * calls.gemm.batch), slices = static_cast<std::size_t>(b.ne[2]);
            const std::byte *from_a = a.data + i / r3 * a.nb[3] + g * a.nb[2], *from_b = b.data + i * b.nb[3] + first * b.nb[2];
            auto *to =
                reinterpret_cast<float *>(step.dst.data) + (i * slices + first) * static_cast<std::size_t>(calls.gemm.M * calls.gemm.N);
            const cudaError_t status = stream.backend.cublaslt().run(calls.gemm, algorithm, reinterpret_cast<const float *>(from_a),
                                                                     reinterpret_cast<const float *>(from_b), to, step.workspace,
                                                                     step.plan.workspace, stream.stream);
            if (status != cudaSuccess) return status;
        }
    }
    return cudaSuccess;
}

}  // namespace tensorlib::core
