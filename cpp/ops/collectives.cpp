// Operations on tensors of all ranks of a group, described in collectives.toml.
#include "ops/collectives.hpp"

#include "base/fail.hpp"
#include "ops/gen/op_facts.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

// Calls f with the attributes of a collective.
template <class F>
auto with_attrs_of(const Tensor &node, F f) {
    switch (node.op) {
        case Op::all_sum: return f(attrs_of<ops::AllSumAttrs>(node));
        case Op::all_max: return f(attrs_of<ops::AllMaxAttrs>(node));
        case Op::all_gather: return f(attrs_of<ops::AllGatherAttrs>(node));
        case Op::sum_scatter: return f(attrs_of<ops::SumScatterAttrs>(node));
        case Op::broadcast: return f(attrs_of<ops::BroadcastAttrs>(node));
        case Op::all_to_all: return f(attrs_of<ops::AllToAllAttrs>(node));
        case Op::send: return f(attrs_of<ops::SendAttrs>(node));
        case Op::receive: return f(attrs_of<ops::ReceiveAttrs>(node));
        default: return f(attrs_of<ops::CopyToGroupAttrs>(node));
    }
}

}  // namespace

const Group &group_of(const Tensor &collective) noexcept {
    return Group::at(with_attrs_of(collective, [](const auto &attrs) { return static_cast<std::uint64_t>(attrs.group); }));
}

Division division(const Layout &whole, std::int64_t dim, int n) noexcept {
    const auto d = static_cast<std::size_t>(dim);
    Division made{1, whole.nbytes()};
    for (std::size_t i = d + 1; i < max_dims; i++) made.outer *= whole.ne[i];
    made.inner /= static_cast<std::size_t>(std::max<std::int64_t>(made.outer, 1)) * static_cast<std::size_t>(n);
    return made;
}

std::string collective_text(const Tensor &collective) {
    std::string attributes;
    with_attrs_of(collective, [&](const auto &attrs) {
        if constexpr (requires { attrs.dim; }) attributes = "(dim " + std::to_string(attrs.dim) + ")";
        if constexpr (requires { attrs.root; }) attributes = "(root " + std::to_string(attrs.root) + ")";
    });
    return op_name(collective.op) + attributes + " of " + layout_text(collective.src[0]->layout);
}

namespace ops {

namespace {

// The group of a new node, which its context will keep.
const Group &keep_group(std::int64_t number, NodeSpec &result) {
    Ref<const Group> group = Group::find(static_cast<std::uint64_t>(number));
    if (!group) {
        fail(Status::invalid_argument, "%s: there is no group %lld: make one with group_create", op_name(result.op),
             static_cast<long long>(number));
    }
    const Group &found = *group;
    result.kept = Ref<const RefCounted>::adopt(group.release());
    return found;
}

void same_as_first(NodeSpec &result) {
    const Layout &a = result.src[0]->layout;
    result.layout = contiguous_layout(op_name(result.op), a.type, {a.ne.data(), static_cast<std::size_t>(a.n_dims)});
    result.is_collective = true;
}

void check_reducible(const OpFacts &def, std::span<Tensor *const> src) {
    if (is_reducible(src[0]->layout.type)) return;
    fail(Status::type_mismatch, "%s: %s: f32, f16, bf16, f64, i32 or i64 is valid", def.name, operands_text(def, src).c_str());
}

// Blocks of rows stay together.
void check_divisible(const OpFacts &def, std::span<Tensor *const> src, std::int64_t dim) {
    if (traits(src[0]->layout.type).block_size == 1 || dim != 0) return;
    fail(Status::type_mismatch, "%s: %s: dim is 0, which would divide the rows of a quantised type: 1 to 3 are valid", def.name,
         operands_text(def, src).c_str());
}

void check_multiple(const OpFacts &def, std::span<Tensor *const> src, std::int64_t dim, const Group &group) {
    const std::int64_t n = src[0]->layout.ne[static_cast<std::size_t>(dim)];
    if (n % group.size() == 0) return;
    fail(Status::shape_mismatch, "%s: %s: %lld elements in dimension %lld: a multiple of the group's %d ranks is valid", def.name,
         operands_text(def, src).c_str(), static_cast<long long>(n), static_cast<long long>(dim), group.size());
}

void check_rank(const OpFacts &def, const char *name, std::int64_t rank, const Group &group) {
    if (rank < group.size()) return;
    fail(Status::invalid_argument, "%s: %s is %lld: 0 to %d, the ranks of the group, are valid", def.name, name,
         static_cast<long long>(rank), group.size() - 1);
}

template <class A>
void reduce_infer(std::span<Tensor *const> src, const A &attrs, NodeSpec &result) {
    check_reducible(op_def(result.op), src);
    keep_group(attrs.group, result);
    same_as_first(result);
}

void all_gather_infer(std::span<Tensor *const> src, const AllGatherAttrs &attrs, NodeSpec &result) {
    check_divisible(facts::all_gather, src, attrs.dim);
    const Group &group = keep_group(attrs.group, result);
    Extents ne = src[0]->layout.ne;
    const auto dim = static_cast<std::size_t>(attrs.dim);
    if (__builtin_mul_overflow(ne[dim], group.size(), &ne[dim])) {
        fail(Status::shape_mismatch, "all_gather: %s: the tensors of %d ranks have more than 2^63 elements",
             operands_text(facts::all_gather, src).c_str(), group.size());
    }
    const std::size_t n_dims = std::max(static_cast<std::size_t>(src[0]->layout.n_dims), dim + 1);
    result.layout = contiguous_layout("all_gather", src[0]->layout.type, {ne.data(), n_dims});
    result.is_collective = true;
}

void sum_scatter_infer(std::span<Tensor *const> src, const SumScatterAttrs &attrs, NodeSpec &result) {
    check_reducible(facts::sum_scatter, src);
    const Group &group = keep_group(attrs.group, result);
    check_multiple(facts::sum_scatter, src, attrs.dim, group);
    Extents ne = src[0]->layout.ne;
    ne[static_cast<std::size_t>(attrs.dim)] /= group.size();
    result.layout = contiguous_layout("sum_scatter", src[0]->layout.type, {ne.data(), static_cast<std::size_t>(src[0]->layout.n_dims)});
    result.is_collective = true;
}

void broadcast_infer(std::span<Tensor *const>, const BroadcastAttrs &attrs, NodeSpec &result) {
    check_rank(facts::broadcast, "root", attrs.root, keep_group(attrs.group, result));
    same_as_first(result);
}

void all_to_all_infer(std::span<Tensor *const> src, const AllToAllAttrs &attrs, NodeSpec &result) {
    check_divisible(facts::all_to_all, src, attrs.dim);
    check_multiple(facts::all_to_all, src, attrs.dim, keep_group(attrs.group, result));
    same_as_first(result);
}

void send_infer(std::span<Tensor *const>, const SendAttrs &attrs, NodeSpec &result) {
    check_rank(facts::send, "to", attrs.to, keep_group(attrs.group, result));
    same_as_first(result);
}

void receive_infer(std::span<Tensor *const>, const ReceiveAttrs &attrs, NodeSpec &result) {
    check_rank(facts::receive, "from", attrs.from, keep_group(attrs.group, result));
    same_as_first(result);
}

void copy_to_group_infer(std::span<Tensor *const> src, const CopyToGroupAttrs &attrs, NodeSpec &result) {
    keep_group(attrs.group, result);
    result.layout = src[0]->layout;
}

}  // namespace

constexpr OpDef all_sum{facts::all_sum, {.infer = with_attrs<AllSumAttrs, reduce_infer>, .cost = copy_cost}};
constexpr OpDef all_max{facts::all_max, {.infer = with_attrs<AllMaxAttrs, reduce_infer>, .cost = copy_cost}};
constexpr OpDef all_gather{facts::all_gather, {.infer = with_attrs<AllGatherAttrs, all_gather_infer>, .cost = copy_cost}};
constexpr OpDef sum_scatter{facts::sum_scatter, {.infer = with_attrs<SumScatterAttrs, sum_scatter_infer>, .cost = copy_cost}};
constexpr OpDef broadcast{facts::broadcast, {.infer = with_attrs<BroadcastAttrs, broadcast_infer>, .cost = copy_cost}};
constexpr OpDef all_to_all{facts::all_to_all, {.infer = with_attrs<AllToAllAttrs, all_to_all_infer>, .cost = copy_cost}};
constexpr OpDef send{facts::send, {.infer = with_attrs<SendAttrs, send_infer>, .cost = copy_cost}};
constexpr OpDef receive{facts::receive, {.infer = with_attrs<ReceiveAttrs, receive_infer>, .cost = copy_cost}};
constexpr OpDef copy_to_group{facts::copy_to_group, {.infer = with_attrs<CopyToGroupAttrs, copy_to_group_infer>, .cost = no_cost}};

}  // namespace ops

}  // namespace tensorlib::core
