// Results that take over the memory of an operand. Each operation is called with one tensor in several operand slots, directly, as a view
// and as an overlapping view. The tensor is an intermediate whose last reader is the call, so the planner may place the result on it. The
// oracle is a run in which all of them are outputs, which have memory of their own.
#include "draw.hpp"
#include "ops/op_def.hpp"
#include "runtime/executor.hpp"
#include "support.hpp"

#include "cpu/cpu_backend.hpp"
#include "graph/graph.hpp"

#include <cstring>
#include <map>
#include <set>

namespace core = tl::core;
using support::Draw;

namespace {

using Shape = std::vector<std::int64_t>;

core::Tensor *leaf(core::Context &ctx, core::DType type, const Shape &shape, std::uint32_t seed) {
    core::Tensor *t = ctx.new_leaf(core::contiguous_layout("test", type, shape));
    std::byte *data = t->storage.data.load();
    for (std::int64_t i = 0, n = t->layout.n_elements(); i < n; i++) {
        const auto at = static_cast<std::uint32_t>(i);
        const float value = support::value(seed, at);
        const auto number = static_cast<std::int32_t>(seed * 7 + at) % 2;
        if (type == core::DType::f32) std::memcpy(data + 4 * i, &value, 4);
        if (type == core::DType::i32) std::memcpy(data + 4 * i, &number, 4);
        if (type == core::DType::i64) std::memset(data + 8 * i, static_cast<int>(i) + 1, 1);
    }
    return t;
}

core::Tensor *node(core::Context &ctx, core::Op op, std::vector<core::Tensor *> src, std::vector<core::Attr> attrs = {}) {
    return core::build_node(ctx, op, src, attrs);
}

// One call of an operation whose operands are `x`, views of it and leafs.
struct Call {
    core::Tensor *x = nullptr, *result = nullptr;
    std::vector<core::Tensor *> operands;
    int uses_of_x = 0, uses_of_views = 0;
};

core::Attr attr_of(Draw &draw, const core::AttrDef &def) {
    if (def.kind == core::AttrKind::text) {
        static const std::string_view type = "f32";
        return core::Attr::of_text(def.name, def.values.empty() ? type : std::string_view(draw.of(def.values)));
    }
    const double least = std::isfinite(def.least) ? def.least : 0, most = std::isfinite(def.most) ? def.most : 3;
    if (def.kind == core::AttrKind::number) return core::Attr::of_number(def.name, least + (std::min(most, least + 2) - least) * 0.25);
    std::vector<std::int64_t> values(static_cast<std::size_t>(def.max_ints));
    for (std::int64_t &v : values)
        v = static_cast<std::int64_t>(least) + draw.below(static_cast<std::int64_t>(std::min(most - least, 3.0)) + 1);
    if (def.max_ints == 4 && draw.percent(50)) values = {1, 0, 2, 3};
    return core::Attr::of_ints(def.name, values);
}

// acc and set: a window whose strides are those of x or of x with its upper dimensions swapped.
std::vector<core::Attr> window_attrs(Draw &draw, const core::Layout &x) {
    const bool swapped = draw.percent(60);
    return {core::Attr::of_int("nb1", static_cast<std::int64_t>(x.nb[swapped ? 2 : 1])),
            core::Attr::of_int("nb2", static_cast<std::int64_t>(x.nb[swapped ? 1 : 2])),
            core::Attr::of_int("nb3", static_cast<std::int64_t>(x.nb[3]))};
}

// Throws tl::Error for a call that is not valid.
Call draw_call(core::Context &ctx, const core::OpDef &def, Draw &draw) {
    static const std::vector<Shape> shapes = {{16, 4}, {8, 8}, {4, 4, 4}, {1, 4}, {64}, {33}, {16, 2, 4}, {2, 2, 2, 2}};
    Call call;
    const Shape &shape = draw.of(shapes);
    const bool integers = def.operands.size() > 0 && def.operands[0].role == core::Role::integers;
    call.x = node(ctx, core::Op::dup, {leaf(ctx, integers ? core::DType::i32 : core::DType::f32, shape, 1)});
    const core::Layout &layout = call.x->layout;
    for (std::size_t s = 0; s < def.operands.size(); s++) {
        const core::Operand &described = def.operands[s];
        const bool is_number = described.role == core::Role::indices;
        if (described.optional && draw.percent(30)) {
            call.operands.push_back(core::left_out());
        } else if (is_number && draw.percent(95)) {
            Shape numbers{layout.ne[0], layout.ne[1], layout.ne[2], layout.ne[3]};
            const auto kept = static_cast<std::size_t>(draw.below(3));
            if (kept == 0) numbers = {layout.ne[1]};
            if (kept == 1) numbers = {1, layout.ne[1]};
            call.operands.push_back(leaf(ctx, core::DType::i32, numbers, 3));
        } else if (draw.percent(70)) {
            call.operands.push_back(call.x);
            call.uses_of_x++;
        } else if (draw.percent(25)) {
            call.operands.push_back(node(ctx, core::Op::reshape, {call.x}, {core::Attr::of_ints("ne", shape)}));
            call.uses_of_views++;
        } else if (draw.percent(35)) {
            // A view of this memory with overlapping rows, or of a part of it at an offset.
            const std::int64_t n = layout.n_elements();
            const std::vector<std::int64_t> ne{2, n - 1}, nb{4}, part{std::max<std::int64_t>(n / 2, 1)};
            const bool overlapping = draw.percent(60);
            std::vector<core::Attr> attrs{core::Attr::of_ints("ne", overlapping ? ne : part)};
            if (overlapping) attrs.push_back(core::Attr::of_ints("nb", nb));
            if (!overlapping) attrs.push_back(core::Attr::of_int("offset", 4 * (n - part[0])));
            call.operands.push_back(node(ctx, core::Op::view, {call.x}, attrs));
            call.uses_of_views++;
        } else if (draw.percent(30)) {
            call.operands.push_back(leaf(ctx, core::DType::i64, {2}, 5));
        } else {
            call.operands.push_back(leaf(ctx, core::DType::f32, draw.percent(50) ? shape : Shape{draw.of(shapes)}, 2));
        }
    }
    std::vector<core::Attr> attrs;
    if ((def.op == core::Op::acc || def.op == core::Op::set) && draw.percent(90)) {
        attrs = window_attrs(draw, layout);
    } else {
        for (const core::AttrDef &attr : def.attrs) {
            if (attr.required || draw.percent(30)) attrs.push_back(attr_of(draw, attr));
        }
    }
    call.result = node(ctx, def.op, call.operands, attrs);
    return call;
}

std::vector<std::byte> bytes_of(const core::Tensor &t) {
    const std::byte *at = t.address();
    return {at, at + t.layout.nbytes()};
}

// The result's bytes. kept: x, its views and the result are outputs, so that nothing overwrites them.
std::vector<std::byte> compute(core::Context &ctx, const Call &call, core::Backend &backend, bool kept) {
    core::Tensor *copy = node(ctx, core::Op::dup, {call.result});
    std::vector<core::Tensor *> outputs{copy};
    if (kept) outputs.insert(outputs.end(), {call.result, call.x});
    core::compute(*core::Graph::create(ctx, outputs), backend);
    return bytes_of(*copy);
}

class InPlace : public testing::Test {
protected:
    // How many valid calls of the operation had x in two slots or more.
    int try_op(const core::OpDef &def) {
        int twice = 0;
        for (int trial = 0; trial < support::repeats(250, 2500); trial++) {
            std::vector<std::byte> wanted;
            for (std::size_t b = 0; b < backends.size(); b++) {
                // Contexts of their own, as an output keeps its memory.
                const auto call_in = [&](core::Context &ctx) {
                    Draw draw(static_cast<std::uint64_t>(def.op) * 1'000'000 + static_cast<std::uint64_t>(trial));
                    return draw_call(ctx, def, draw);
                };
                const auto first = core::Context::create({}), second = core::Context::create({});
                Call in_place, kept;
                try {
                    in_place = call_in(*first), kept = call_in(*second);
                } catch (const tl::Error &) {
                    break;  // not a valid call
                }
                if (in_place.result->writes() || in_place.result->is_pure_view()) break;
                if (b == 0) twice += in_place.uses_of_x > 1 ? 1 : 0;
                try {
                    wanted = compute(*second, kept, *backends[b], true);
                } catch (const tl::Error &) {
                    break;  // values that the operation does not take
                }
                const auto got = compute(*first, in_place, *backends[b], false);
                EXPECT_EQ(got, wanted) << def.name << ", call " << trial << " of " << core::sources_text(*in_place.result) << " on "
                                       << backends[b]->isa() << ", " << backends[b]->n_threads() << " threads";
                if (HasFailure()) return twice;
            }
        }
        return twice;
    }

    std::vector<core::Ref<core::Backend>> backends = [] {
        std::vector<core::Ref<core::Backend>> all;
        for (const std::string &isa : support::isas()) {
            const support::Environment chosen("TENSORLIB_ISA", isa.c_str());
            for (const int threads : {1, 3, 8}) all.push_back(core::cpu_device().open({threads, false}));
        }
        return all;
    }();
};

TEST_F(InPlace, no_result_overwrites_what_another_operand_slot_reads) {
    std::map<std::string, int> twice;
    for (const core::OpDef *def : core::all_ops()) {
        twice[def->name] = try_op(*def);
        if (HasFailure()) return;
    }
    // Operations that may run in place and have operands that can be one tensor. The test sees each of them.
    for (const char *name : {"add_id", "scatter_add", "acc", "set", "soft_max_ext", "add", "sub", "mul", "div", "glu", "pow"}) {
        ASSERT_TRUE(twice.contains(name)) << name;
        EXPECT_GT(twice[name], 0) << name << ": no valid call had one tensor in two slots";
    }
}

// In one step with a norm whose operand the head makes.
TEST_F(InPlace, heads_do_not_overwrite_what_the_norm_reads_as_well) {
    for (const auto &backend : backends) {
        std::vector<std::byte> results[2];
        for (const bool kept : {false, true}) {
            const auto ctx = core::Context::create({});
            core::Tensor *x = node(*ctx, core::Op::dup, {leaf(*ctx, core::DType::f32, {64, 33}, 1)});
            core::Tensor *y = node(*ctx, core::Op::soft_max_ext, {node(*ctx, core::Op::sqr, {x}), x, core::left_out()});
            results[kept] = compute(*ctx, {x, y, {}, 2, 0}, *backend, kept);
        }
        EXPECT_EQ(results[0], results[1]) << backend->isa();
    }
}

// Rows of one tensor that overlap: chunks run at the same time, so a wrong placement shows itself in some runs alone.
TEST_F(InPlace, halves_of_overlapping_rows_are_not_overwritten) {
    constexpr std::int64_t n = 100'001;
    for (const auto &backend : backends) {
        const auto ctx = core::Context::create({});
        core::Tensor *from = leaf(*ctx, core::DType::f32, {n + 1}, 1), *x = node(*ctx, core::Op::dup, {from});
        core::Tensor *view =
            node(*ctx, core::Op::view, {x},
                 {core::Attr::of_ints("ne", std::vector<std::int64_t>{2, n}), core::Attr::of_ints("nb", std::vector<std::int64_t>{4})});
        core::Tensor *gated = node(*ctx, core::Op::glu, {view, core::left_out()}, {core::Attr::of_text("op", "reglu")});
        core::Tensor *result = node(*ctx, core::Op::dup, {gated});
        const auto graph = core::Graph::create(*ctx, std::span(&result, 1));
        const auto *value = reinterpret_cast<const float *>(from->address());
        for (int run = 0; run < 20; run++) {
            core::compute(*graph, *backend);
            const auto *got = reinterpret_cast<const float *>(result->address());
            std::int64_t wrong = 0;
            for (std::int64_t i = 0; i < n; i++) wrong += got[i] != std::max(value[i], 0.0f) * value[i + 1];
            ASSERT_EQ(wrong, 0) << backend->isa() << ", " << backend->n_threads() << " threads, run " << run;
        }
    }
}

}  // namespace
