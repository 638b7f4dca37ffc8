// out_prod: the packed product of mul_mat_packed.cpp with both operands transposed. Its packing takes any strides: a's
// panels are made of its rows, along which they are contiguous. A quantised a, whose blocks lie along these rows too,
// is first decoded into floats.
#include "base/checked.hpp"
#include "cpu/cpu_backend.hpp"
#include "cpu/kernels/mul_mat.hpp"

#include <array>
#include <cstring>
#include <utility>

namespace tensorlib::core {

namespace {

// Swaps dimensions 0 and 1.
Layout transposed(Layout t) noexcept {
    std::swap(t.ne[0], t.ne[1]);
    std::swap(t.nb[0], t.nb[1]);
    t.n_dims = std::max(2, t.n_dims);
    return t;
}

// a as the product reads it: itself, or decoded.
bool is_decoded(const Layout &a) noexcept { return traits(a.type).block_size > 1; }
Layout read_layout(const Layout &a) noexcept {
    if (!is_decoded(a)) return a;
    Layout floats = a;
    floats.type = DType::f32;
    floats.nb[0] = sizeof(float);
    for (std::size_t d = 1; d < max_dims; d++) floats.nb[d] = floats.nb[d - 1] * static_cast<std::size_t>(a.ne[d - 1]);
    return floats;
}

// What plan_product() decides, and where in the workspace a is decoded to: after what the product uses.
struct Decisions {
    packed::Decisions product;
    std::size_t decoded_at;
};

const char *refuse_unless_empty(const Problem &p) noexcept {
    return p.node.src[0]->layout.ne[1] == 0 || p.node.layout.n_elements() == 0 ? nullptr : "not empty";
}

void run_empty(const Step &step, const Slice &) noexcept { std::memset(step.dst.data, 0, step.node->layout.nbytes()); }

void plan_product(const Problem &p, KernelPlan &plan) noexcept {
    const Layout &a = p.node.src[0]->layout;
    packed::plan_of(p, transposed(read_layout(a)), transposed(p.node.src[1]->layout), plan);
    if (!is_decoded(a)) return;
    const std::size_t at = round_up(plan.workspace, 64);
    plan.keep(Decisions{plan.kept<packed::Decisions>(), at});
    plan.workspace = at + static_cast<std::size_t>(a.n_elements()) * sizeof(float);
    plan.chunks(Stage::set_up) = chunks_for(a.n_rows(), a.n_elements() * static_cast<std::int64_t>(sizeof(float)), p.n_threads);
}

void run_product(const Step &step, const Slice &slice) noexcept {
    const Layout &a = step.node->src[0]->layout, read = read_layout(a);
    std::byte *decoded = step.workspace + step.plan.kept<Decisions>().decoded_at;
    if (slice.stage == Stage::set_up) {
        const Range rows = part_of(a.n_rows(), slice.chunk, step.plan.chunks(Stage::set_up));
        for (std::int64_t row = rows.begin; row < rows.end; row++) {
            auto *to = reinterpret_cast<float *>(decoded) + row * a.ne[0];
            load_row(step.src[0], row_address(step.src[0], row_index(a.ne, row)), 0, a.ne[0], to, slice.simd);
        }
        return;
    }
    const Layout ta = transposed(read), tb = transposed(step.node->src[1]->layout);
    const std::array<TensorRef, 2> sources{
        TensorRef{ta.type, ta.ne, ta.nb, is_decoded(a) ? decoded : step.src[0].data},
        TensorRef{tb.type, tb.ne, tb.nb, step.src[1].data},
    };
    Step product = step;
    product.src = sources;
    packed::run_of(ta, tb, product, slice);
}

constexpr CpuKernel table[] = {
    {{.op = Op::out_prod, .name = "out_prod_empty", .plan = plan_unless<refuse_unless_empty>}, run_empty},
    {{.op = Op::out_prod, .name = "out_prod_packed", .plan = plan_always<plan_product>, .fuses = true}, run_product},
};

}  // namespace

const std::span<const CpuKernel> kernels::outer_products = table;

}  // namespace tensorlib::core
