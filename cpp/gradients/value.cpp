#include "gradients/value.hpp"

#include "graph/write_order.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace tensorlib::core::gradients {

namespace {

std::atomic<std::uint64_t> calls{0};

}  // namespace

Nodes::Nodes(Context &context) noexcept
    : context_(context), batch_(context), number_((calls.fetch_add(1, std::memory_order_relaxed) + 1) << 32) {}

void Nodes::keep() noexcept {
    for (Tensor *node : batch_.made()) note_seen_writes(*node);
    batch_.keep();
}

Tensor *Nodes::make(Op op, std::span<Tensor *const> src, std::span<const Attr> attrs) {
    Tensor *node = batch_.make(op, src, attrs);
    node->state.gradient_number = ++number_;
    return node;
}

Value Value::op(Op op, std::initializer_list<Tensor *> others, std::initializer_list<Attr> attrs) const {
    std::array<Tensor *, max_sources> src{tensor_};
    std::size_t n = 1;
    for (Tensor *other : others) src[n++] = other ? other : left_out();
    return {*nodes_, *nodes_->make(op, {src.data(), n}, {attrs.begin(), attrs.size()})};
}

Value Value::scaled(double factor, double added) const {
    if (factor == 1 && added == 0) return *this;
    return op(Op::scale, {}, {Attr::of_number("scale", factor), Attr::of_number("bias", added)});
}

Value Value::filled(double value) const { return op(Op::fill, {}, {Attr::of_number("value", value)}); }

Value Value::where(const Value &condition) const { return condition.op(Op::where, {tensor_, &filled(0).tensor()}); }

Value Value::contiguous() const { return tensor_->layout.contiguous() ? *this : op(Op::cont); }

Value Value::shaped(const Extents &ne) const {
    if (ne == this->ne()) return *this;
    return contiguous().op(Op::reshape, {}, {Attr::of_ints("ne", ne)});
}

Value Value::permuted(const std::array<std::int64_t, 4> &axes) const { return op(Op::permute, {}, {Attr::of_ints("axes", axes)}); }

Value Value::narrowed(std::size_t d, std::int64_t start, std::int64_t length) const {
    Extents starts{}, shape = ne();
    if (start == 0 && length == shape[d]) return *this;
    starts[d] = start;
    shape[d] = length;
    return op(Op::view, {}, {Attr::of_ints("ne", shape), Attr::of_ints("start", starts)});
}

Value Value::padded(std::size_t d, std::int64_t before, std::int64_t behind) const {
    const std::int64_t cut = std::max<std::int64_t>(0, -before), kept = ne()[d] - cut - std::max<std::int64_t>(0, -behind);
    Value v = narrowed(d, cut, kept);
    before = std::max<std::int64_t>(0, before), behind = std::max<std::int64_t>(0, behind);
    if (before == 0 && behind == 0) return v;
    Extents zeros_before{}, zeros_behind{};
    zeros_before[d] = before, zeros_behind[d] = behind;
    return v.op(Op::pad, {}, {Attr::of_ints("p", zeros_behind), Attr::of_ints("lp", zeros_before)});
}

// By reflection: positions as numbers would have to be exact in F32, which they are not beyond 2^24.
Value Value::reversed() const {
    const std::int64_t n = ne()[0];
    if (n < 2) return *this;
    return op(Op::pad_reflect_1d, {}, {Attr::of_int("p0", n - 1), Attr::of_int("p1", 0)}).narrowed(0, 0, n);
}

Value Value::repeated(const Extents &ne) const { return ne == this->ne() ? *this : op(Op::repeat, {}, {Attr::of_ints("ne", ne)}); }

Value Value::cast(DType type) const {
    return tensor_->layout.type == type ? *this : op(Op::cast, {}, {Attr::of_text("to", traits(type).name)});
}

Value Value::middle_summed(std::int64_t inner, std::int64_t summed, std::int64_t outer) const {
    if (summed == 1) return shaped({inner, outer, 1, 1});
    return shaped({inner, summed, outer, 1}).reduced(Op::sum, 1u << 1).shaped({inner, outer, 1, 1});
}

Value Value::summed_to(const Extents &ne) const {
    if (ne == this->ne()) return *this;
    if (std::ranges::all_of(ne, [](std::int64_t n) { return n == 1; })) return op(Op::sum).shaped(ne);
    // All dimensions that end with 1 element are summed at once, however their elements lie in memory.
    unsigned dims = 0;
    for (std::size_t d = 0; d < max_dims; d++) dims |= ne[d] == 1 && this->ne()[d] != 1 ? 1u << d : 0;
    Value v = dims != 0 ? reduced(Op::sum, dims) : *this;
    for (std::size_t d = 0; d < max_dims; d++) {
        Extents shape = v.ne();
        if (shape[d] == ne[d]) continue;
        // A zero extent corresponds only to zeros: either ne[d] > 0, or there is nothing to sum.
        const std::int64_t times = ne[d] == 0 ? 1 : shape[d] / ne[d];
        std::int64_t inner = ne[d], outer = 1;
        for (std::size_t i = 0; i < d; i++) inner *= shape[i];
        for (std::size_t i = d + 1; i < max_dims; i++) outer *= shape[i];
        shape[d] = ne[d];
        v = inner * outer == 0 || times == 0 ? v.zeros(shape) : v.middle_summed(inner, times, outer).shaped(shape);
    }
    return v;
}

Value Value::slices_summed_to(const Extents &ne) const {
    const Extents &from = this->ne();
    if (from[2] == ne[2] && from[3] == ne[3]) return *this;
    const std::int64_t slice = from[0] * from[1];
    if (slice * from[2] * from[3] == 0) return zeros({from[0], from[1], ne[2], ne[3]});
    return middle_summed(slice, from[2] / ne[2], ne[2] * from[3])
        .middle_summed(slice * ne[2], from[3] / ne[3], ne[3])
        .shaped({from[0], from[1], ne[2], ne[3]});
}

Value Value::numbers(double first, double step, std::int64_t n) const {
    // Half a step before the next number, so that rounding cannot include it.
    return {*nodes_, *nodes_->make(
                         Op::arange, {},
                         std::array{Attr::of_number("start", first), Attr::of_number("stop", first + step * (static_cast<double>(n) - 0.5)),
                                    Attr::of_number("step", step)})};
}

namespace {

// The larger operand comes first; the other repeats into it.
Value commuting(Op op, const Value &a, const Value &b) {
    return a.tensor().layout.n_elements() < b.tensor().layout.n_elements() ? b.op(op, a) : a.op(op, b);
}

}  // namespace

Value operator+(const Value &a, const Value &b) { return commuting(Op::add, a, b); }
Value operator*(const Value &a, const Value &b) { return commuting(Op::mul, a, b); }
Value operator-(const Value &a, const Value &b) { return a.op(Op::sub, b); }
Value operator/(const Value &a, const Value &b) { return a.op(Op::div, b); }

}  // namespace tensorlib::core::gradients
