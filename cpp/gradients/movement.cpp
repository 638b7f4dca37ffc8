// Gradient rules of operations that move elements: views, copies, rows selected by index, and operations that combine
// parts.
#include "base/checked.hpp"
#include "base/fail.hpp"
#include "gradients/rule.hpp"
#include "graph/overlap.hpp"
#include "ops/gen/op_facts.hpp"
#include "ops/window.hpp"

namespace tensorlib::core::gradients::rules {

namespace {

// Where elements lie in a contiguous tensor, in the form that acc, set and view take: strides of dimensions 1 to 3 and
// an offset. It is computed for F32 from those of a tensor of this type. A dimension of one element may have any stride
// that fits.
struct Window {
    std::array<std::int64_t, 3> nb;
    std::int64_t offset;

    Window(const Layout &layout, std::size_t first) {
        const std::size_t size = traits(layout.type).size;
        for (std::size_t d = 1; d < max_dims; d++) nb[d - 1] = layout.ne[d] == 1 ? 4 : static_cast<std::int64_t>(layout.nb[d] / size * 4);
        offset = static_cast<std::int64_t>(first / size * 4);
    }
    // `whole` with `part` stored at its position (set), or added there (acc).
    Value put(Op op, const Value &whole, const Value &part) const {
        return whole.op(
            op, part, {Attr::of_int("nb1", nb[0]), Attr::of_int("nb2", nb[1]), Attr::of_int("nb3", nb[2]), Attr::of_int("offset", offset)});
    }
    Value of(const Value &whole, const Extents &ne) const {
        return whole.contiguous()
            .op(Op::view, {}, {Attr::of_ints("ne", ne), Attr::of_ints("nb", nb), Attr::of_int("offset", offset)})
            .contiguous();
    }
};

Window window_of(const Tensor &node) {
    const ops::Window window = ops::window_of(node);
    return {window.layout, window.offset};
}

// A view with its own strides is a window of a's memory. If all of a's elements are contiguous, it is a window of a's
// elements too.
std::string view_refusal(const Tensor &node) {
    if (attrs_of<ops::ViewAttrs>(node).start.n != 0) return "";
    if (!node.src[0]->layout.contiguous())
        return "its operand, " + strided_text(*node.src[0]) +
               ", is not contiguous: a view by `start` is valid, as narrow and slice make it";
    // The stride of a dimension of one element has no meaning.
    if (overlaps_itself(node) != Overlap::no) return "its elements overlap in memory: a copy of its parts, such as by get_rows, is valid";
    const Tensor &a = *node.src[0];
    std::size_t end;
    if (node.layout.end_from(node.root_offset - a.root_offset, end) && end <= a.layout.nbytes()) return "";
    return "it reaches past its operand, " + tensor_text(a) + ", into memory that the operand does not show";
}

// `whole`, contiguous, with `part` added to its elements starting at `start`.
Value added_at(const Value &whole, const Extents &start, const Value &part) {
    Layout layout = whole.tensor().layout;
    std::size_t offset = 0;
    for (std::size_t d = 0; d < max_dims; d++) offset += static_cast<std::size_t>(start[d]) * layout.nb[d];
    layout.ne = part.ne();
    return Window(layout, offset).put(Op::acc, whole, part);
}

// The dimension along which elements are contiguous, or one of a single element; -1 if there is none.
std::int64_t unit_dimension(const Layout &layout) noexcept {
    std::int64_t found = -1;
    for (std::size_t d = max_dims; d-- > 0;) {
        const bool unit = layout.ne[d] == 1 ? found < 0 : layout.nb[d] == traits(layout.type).size;
        if (unit) found = static_cast<std::int64_t>(d);
    }
    return found;
}

// Adds the gradient of a part of a tensor, to which views lead, directly to that tensor's gradient, so that no view in
// between needs a gradient of its own size. False if the node has all elements, or is no window of contiguous memory.
bool give_part(Rule &r) {
    const Tensor &node = r.node(), &whole = r.viewed();
    const Layout &layout = node.layout;
    const std::int64_t n = layout.n_elements(), unit = unit_dimension(layout);
    if (n == 0 || n == whole.layout.n_elements() || !whole.layout.contiguous()) return false;
    if (unit < 0 || overlaps_itself(layout) != Overlap::no) return false;
    // A window has contiguous rows, so that dimension comes first.
    std::array<std::int64_t, 4> axes{};
    Layout in_order = layout;
    std::int64_t next = 1;
    for (std::size_t d = 0; d < max_dims; d++) {
        axes[d] = static_cast<std::int64_t>(d) == unit ? 0 : next++;
        in_order.ne[static_cast<std::size_t>(axes[d])] = layout.ne[d];
        in_order.nb[static_cast<std::size_t>(axes[d])] = layout.nb[d];
    }
    const Window window(in_order, node.root_offset - whole.root_offset);
    r.give_into_viewed([&](const Value &sum) { return window.put(Op::acc, sum, unit == 0 ? r.g() : r.g().permuted(axes)); });
    return true;
}

void view_build(Rule &r) {
    const Value g = r.g();
    if (g.tensor().layout.n_elements() == 0 || give_part(r)) return;
    const auto &attrs = r.attrs<ops::ViewAttrs>();
    const auto start = attrs.start.span();
    if (start.empty()) {
        const Window window(r.node().layout, r.node().root_offset - r.source(0)->root_offset);
        r.give(0, [&] { return window.put(Op::set, g.zeros(r.ne(0)), g); });
        return;
    }
    Extents from{};
    for (std::size_t d = 0; d < start.size(); d++) from[d] = start[d];
    r.give_into(0, [&](const Value &sum) { return added_at(sum, from, g); });
}

// Passes g to a unchanged.
constexpr GradientRule same{[](Rule &r) { r.give(0, [&] { return r.g(); }); }};

// Elements are copies of others, as often as indices select them. g is added to the gradients of these.
void give_scattered(Rule &r, std::size_t operand, const Value &g, const Value &indices, std::size_t dim) {
    r.give_into(operand, [&](const Value &sum) {
        return sum.op(Op::scatter_add, {&g.tensor(), &indices.tensor()}, {Attr::of_int("dim", static_cast<std::int64_t>(dim))});
    });
}

// A dimension that repeats: whole periods of g, added up.
Value periods_summed(const Value &g, std::size_t d, std::int64_t n, std::int64_t before) {
    Extents ne = g.ne();
    if (ne[d] == n) return g;
    const std::int64_t first = (n - before % n) % n, periods = ceil_div(first + ne[d], n);
    const Value whole = g.padded(d, first, periods * n - first - ne[d]);
    std::int64_t inner = n, outer = 1;
    for (std::size_t i = 0; i < max_dims; i++) (i < d ? inner : outer) *= i == d ? 1 : ne[i];
    ne[d] = n;
    return whole.shaped({inner, periods, outer, 1}).reduced(Op::sum, 1u << 1).shaped(ne);
}

}  // namespace

constexpr GradientRule view{view_build, view_refusal};
constexpr GradientRule reshape{[](Rule &r) {
    if (!give_part(r)) r.give(0, [&] { return r.g().shaped(r.ne(0)); });
}};
constexpr GradientRule permute{[](Rule &r) {
    if (give_part(r)) return;
    std::array<std::int64_t, 4> back{};
    const auto axes = r.attrs<ops::PermuteAttrs>().axes.span();
    for (std::size_t d = 0; d < axes.size(); d++) back[static_cast<std::size_t>(axes[d])] = static_cast<std::int64_t>(d);
    r.give(0, [&] { return r.g().permuted(back); });
}};
constexpr GradientRule transpose{[](Rule &r) {
    if (!give_part(r)) r.give(0, [&] { return r.g().transposed(); });
}};
constexpr GradientRule stop_gradient = no_gradient;

constexpr GradientRule cont = same, dup = same, cast = same;
constexpr GradientRule cpy{[](Rule &r) { r.give(0, [&] { return r.g().shaped(r.ne(0)); }); }};

constexpr GradientRule get_rows{[](Rule &r) {
    const Value rows(r.nodes(), *r.source(1));
    const Extents n = rows.ne();
    give_scattered(r, 0, r.g(), rows.shaped({1, n[0], n[1], n[2]}), 1);
}};
// If two rows have one index, the later one stays; both get the gradient.
constexpr GradientRule set_rows{[](Rule &r) {
    r.give(1, [&] {
        const Extents &b = r.ne(1), n = r.ne(2);
        const Value rows = Value(r.nodes(), *r.source(2)).repeated({n[0], b[2], b[3], 1});
        return r.g().op(Op::get_rows, rows);
    });
}};
constexpr GradientRule gather{[](Rule &r) {
    const auto dim = static_cast<std::size_t>(r.attrs<ops::GatherAttrs>().dim);
    give_scattered(r, 0, r.g(), Value(r.nodes(), *r.source(1)), dim);
}};
constexpr GradientRule scatter_add{[](Rule &r) {
    const auto dim = r.attrs<ops::ScatterAddAttrs>().dim;
    r.give(0, [&] { return r.g(); });
    r.give(1, [&] {
        const Value indices = Value(r.nodes(), *r.source(2)).repeated(r.ne(1));
        return r.g().op(Op::gather, indices, {Attr::of_int("dim", dim)});
    });
}};
constexpr GradientRule add_id{[](Rule &r) {
    r.give(0, [&] { return r.g(); });
    if (!r.wants(1)) return;
    const Value g = r.g(), ids(r.nodes(), *r.source(2));
    const std::int64_t n = g.ne()[0], columns = g.ne()[1] * g.ne()[2];
    give_scattered(r, 1, g.shaped({n, columns, 1, 1}), ids.shaped({1, columns, 1, 1}), 1);
}};

// give() sums over repetitions, for this as for all rules.
constexpr GradientRule repeat = same;
// give() sums over the elements that an extent of 1 became.
constexpr GradientRule expand = same;
constexpr GradientRule flip{
    [](Rule &r) { r.give(0, [&] { return r.g().op(Op::flip, {}, {Attr::of_int("dim", r.attrs<ops::FlipAttrs>().dim)}); }); }};
constexpr GradientRule concat{[](Rule &r) {
    const auto dim = static_cast<std::size_t>(r.attrs<ops::ConcatAttrs>().dim);
    std::int64_t first = 0;
    for (std::size_t i = 0; i < r.node().n_src; first += r.ne(i++)[dim])
        r.give(i, [&] { return r.g().narrowed(dim, first, r.ne(i)[dim]); });
}};
constexpr GradientRule pad{[](Rule &r) {
    r.give(0, [&] {
        const auto &attrs = r.attrs<ops::PadAttrs>();
        Value g = r.g();
        for (std::size_t d = 0; d < max_dims; d++) {
            const std::int64_t n = r.ne(0)[d], before = attrs.lp.values[d];
            g = attrs.circular ? periods_summed(g, d, n, before) : g.narrowed(d, before, n);
        }
        return g;
    });
}};
// The row's own part, plus both reflections reversed.
constexpr GradientRule pad_reflect_1d{[](Rule &r) {
    const auto &attrs = r.attrs<ops::PadReflect1dAttrs>();
    r.give(0, [&] {
        const Value g = r.g();
        const std::int64_t n = r.ne(0)[0], p0 = attrs.p0, p1 = attrs.p1;
        Value sums = g.narrowed(0, p0, n).contiguous();
        const auto add_turned = [&](std::int64_t first, std::int64_t to, std::int64_t count) {
            const Value part = g.narrowed(0, first, count);
            if (part.tensor().layout.n_elements() > 0) sums = added_at(sums, {to, 0, 0, 0}, part.reversed());
        };
        // Element j of the row is element p0 - j of the result, and element p0 + 2 (n - 1) - j.
        add_turned(0, 1, p0);
        add_turned(p0 + n, n - 1 - p1, p1);
        return sums;
    });
}};
constexpr GradientRule roll{[](Rule &r) {
    Extents back{};
    const auto shift = r.attrs<ops::RollAttrs>().shift.span();
    for (std::size_t d = 0; d < shift.size(); d++) back[d] = r.ne(0)[d] == 0 ? 0 : -(shift[d] % r.ne(0)[d]);
    r.give(0, [&] { return r.g().op(Op::roll, {}, {Attr::of_ints("shift", back)}); });
}};
// The diagonal's elements are n + 1 apart.
constexpr GradientRule diag{[](Rule &r) {
    r.give(0, [&] {
        const Value g = r.g().contiguous();
        const auto n = g.ne()[0], matrix = n * n * 4;
        const Extents ne{1, n, g.ne()[2], g.ne()[3]};
        const std::array<std::int64_t, 3> nb{(n + 1) * 4, matrix, matrix * g.ne()[2]};
        const Value diagonal = g.op(Op::view, {}, {Attr::of_ints("ne", ne), Attr::of_ints("nb", nb)});
        return diagonal.contiguous().shaped({n, 1, ne[2], ne[3]});
    });
}};
constexpr GradientRule tri{[](Rule &r) {
    r.give(0, [&] { return r.g().op(Op::tri, {}, {Attr::of_int("type", static_cast<std::int64_t>(r.attrs<ops::TriAttrs>().type))}); });
}};
constexpr GradientRule diag_mask_zero{[](Rule &r) {
    r.give(0, [&] { return r.g().op(Op::diag_mask_zero, {}, {Attr::of_int("n_past", r.attrs<ops::DiagMaskZeroAttrs>().n_past)}); });
}};
constexpr GradientRule diag_mask_inf{[](Rule &r) {
    r.give(0, [&] { return r.g().op(Op::diag_mask_zero, {}, {Attr::of_int("n_past", r.attrs<ops::DiagMaskInfAttrs>().n_past)}); });
}};
// Each acc of a chain passes on a contiguous gradient, so the others copy nothing.
constexpr GradientRule acc{[](Rule &r) {
    const Value g = r.g().contiguous();
    r.give(1, [&] { return window_of(r.node()).of(g, r.ne(1)); });
    r.give(0, [&] { return g; });
}};
constexpr GradientRule set{[](Rule &r) {
    const Value g = r.g().contiguous();
    r.give(1, [&] {
        // A copy, which runs first. When set then takes the window out of g, g has no other reader, so set runs in
        // place.
        const Value window = window_of(r.node()).of(g, r.ne(1));
        return window.tensor().is_view ? window.op(Op::cont) : window;
    });
    r.give(0, [&] { return window_of(r.node()).put(Op::set, g, g.zeros(r.ne(1))); });
}};
constexpr GradientRule arange = no_gradient;

}  // namespace tensorlib::core::gradients::rules
