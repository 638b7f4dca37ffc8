// Gradient rules of operations on groups. All ranks compute the same loss, and it counts once.
#include "ops/collectives.hpp"

#include "gradients/rule.hpp"
#include "ops/gen/op_facts.hpp"

namespace tensorlib::core::gradients::rules {

namespace {

template <class A>
Attr group_attr(const Rule &r) {
    return Attr::of_int("group", r.attrs<A>().group);
}

}  // namespace

constexpr GradientRule all_sum{[](Rule &r) { r.give(0, [&] { return r.g(); }); }};

constexpr GradientRule all_max{[](Rule &r) {
    r.give(0, [&] {
        const Value largest = r[0].op(Op::eq, r.c());
        return r.g() * largest / largest.op(Op::all_sum, {}, {group_attr<ops::AllMaxAttrs>(r)});
    });
}};

constexpr GradientRule all_gather{[](Rule &r) {
    r.give(0, [&] {
        const auto dim = static_cast<std::size_t>(r.attrs<ops::AllGatherAttrs>().dim);
        const std::int64_t n = r.ne(0)[dim];
        return r.g().narrowed(dim, group_of(r.node()).rank() * n, n);
    });
}};

constexpr GradientRule sum_scatter{[](Rule &r) {
    r.give(0, [&] {
        const auto &attrs = r.attrs<ops::SumScatterAttrs>();
        return r.g().op(Op::all_gather, {}, {Attr::of_int("dim", attrs.dim), group_attr<ops::SumScatterAttrs>(r)});
    });
}};

constexpr GradientRule broadcast{[](Rule &r) {
    r.give(0, [&] { return r.attrs<ops::BroadcastAttrs>().root == group_of(r.node()).rank() ? r.g() : r.g().zeros(r.ne(0)); });
}};

constexpr GradientRule all_to_all{[](Rule &r) {
    r.give(0, [&] {
        const auto &attrs = r.attrs<ops::AllToAllAttrs>();
        return r.g().op(Op::all_to_all, {}, {Attr::of_int("dim", attrs.dim), group_attr<ops::AllToAllAttrs>(r)});
    });
}};

constexpr GradientRule send{[](Rule &r) {
    r.give(0, [&] {
        const Attr from = Attr::of_int("from", r.attrs<ops::SendAttrs>().to);
        return r.g() + r.g().op(Op::receive, {}, {from, group_attr<ops::SendAttrs>(r)});
    });
}};

constexpr GradientRule receive{[](Rule &r) {
    r.give(0, [&] {
        const Attr to = Attr::of_int("to", r.attrs<ops::ReceiveAttrs>().from);
        return r.g().op(Op::send, {}, {to, group_attr<ops::ReceiveAttrs>(r)}).filled(0);
    });
}};

constexpr GradientRule copy_to_group{
    [](Rule &r) { r.give(0, [&] { return r.g().op(Op::all_sum, {}, {group_attr<ops::CopyToGroupAttrs>(r)}); }); }};

}  // namespace tensorlib::core::gradients::rules
