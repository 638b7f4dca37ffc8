// Elementwise operations: each one that has a formula against double, over random views, types and repetitions, on every ISA and at
// several thread counts; fused into programs against one by one, bit for bit; and the calls that must be refused.
#include "math_oracles.hpp"
#include "ops/numbers.hpp"
#include "random_tensors.hpp"
#include "wanted.hpp"

#include "ops/gen/op_facts.hpp"

#include <map>
#include <optional>

namespace core = tensorlib::core;
using core::Attr;
using core::DType;
using core::Op;
using core::OpDef;
using core::Tensor;
using core::TileOp;
using support::below;
using support::Builder;
using support::count_of;
using support::inf;
using support::Ne;
using support::one_of;
using support::Random;
using support::same_values;
using support::some_shape;
using support::values_of;

namespace {

// ---- The operations, and what they are to give

// An operation with its attributes.
struct Call {
    const OpDef *def;
    TileOp formula;
    std::vector<Attr> attrs{};
    std::vector<float> params{};  // the formula's
    bool halves = false, swapped = false;

    std::size_t operands() const { return halves ? 1 : static_cast<std::size_t>(std::max(1, core::traits(formula).operands)); }
    // The operand whose shape and type the result has.
    std::size_t like() const { return formula == TileOp::where ? 1 : 0; }
    std::string text() const {
        return std::string(def->name) + " " + core::traits(formula).name + (halves ? " halves" : "") + (swapped ? " swapped" : "");
    }
};

// For GoogleTest.
void PrintTo(const Call &call, std::ostream *out) { *out << call.text(); }

TileOp formula_named(const std::string &name) {
    for (std::size_t i = 0; i < core::n_tile_ops; i++) {
        if (name == core::tile_op_traits[i].name) return static_cast<TileOp>(i);
    }
    throw std::runtime_error("no formula is called " + name);
}

// Numbers for the attributes that must be given, in the order of the formula's parameters.
std::vector<std::pair<const char *, float>> required_numbers(const std::string &op) {
    if (op == "scale") return {{"scale", 0.3f}, {"bias", -7.1f}};
    if (op == "clamp") return {{"min", -1.5f}, {"max", 2.25f}};
    if (op == "fill") return {{"value", 0.1f}};
    if (op == "leaky_relu") return {{"slope", 0.01f}};
    // What the oracle has digits for.
    if (op == "xielu") return {{"alpha_n", 0.8f}, {"alpha_p", 0.7f}, {"beta", 0.0f}, {"eps", 0.0f}};
    return {};
}

// Each operation that has a formula; of glu each activation, of one operand and of two.
std::vector<Call> all_calls() {
    std::vector<Call> calls;
    for (const OpDef *def : core::all_ops()) {
        if (!def->formula) continue;
        const std::string name = def->name;
        if (name == "glu") {
            for (const char *const gate : core::ops::facts::glu_op_values) {
                for (const bool halves : {false, true}) {
                    for (const bool swapped : {false, true}) {
                        Call call{def,    formula_named(gate), {Attr::of_text("op", gate), Attr::of_int("swapped", swapped)}, {}, halves,
                                  swapped};
                        if (call.formula == TileOp::swiglu_oai) call.params = {1.702f, 7};
                        calls.push_back(call);
                    }
                }
            }
            continue;
        }
        Call call{def, formula_named(name == "add1" ? "add" : name)};
        for (const auto &[attr, value] : required_numbers(name)) {
            call.attrs.push_back(Attr::of_number(attr, value));
            call.params.push_back(value);
        }
        calls.push_back(call);
    }
    return calls;
}

struct Wanted {
    double value;
    // In units of the last place; 0: 1e-6 of the result. 0.5: exact, rounded once.
    double ulps;
    // An additional bound for gates: below 2^-126 the activation is rounded to a step before it is multiplied.
    double more = 0;
    // The activation is less than a step from 0 and is multiplied with infinity: the result is NaN if it is rounded to 0.
    bool infinity_or_nan = false;
};

Wanted wanted(const Call &call, const double *x) {
    switch (call.formula) {
        case TileOp::fill: return {double{call.params[0]}, 0.5};
        case TileOp::where: return {x[0] == 0 ? x[2] : x[1], 0.5};
        case TileOp::swiglu_oai:
            return {oracle::swiglu_oai(x[0], x[1], double{call.params[0]}, double{call.params[1]}), 0, 0x1p-149 * (1 + std::fabs(x[1]))};
        case TileOp::xielu:
            if (x[0] == -HUGE_VAL) return {HUGE_VAL, 0.5};
            break;
        default: break;
    }
    for (const auto *list : {&oracle::unary(), &oracle::binary()}) {
        for (const oracle::Formula &formula : *list) {
            if (formula.op != call.formula) continue;
            const double value = formula.exact(x, call.params.data());
            if (list == &oracle::unary() || formula.ulps > 0) return {value, formula.ulps};
            const double alone[] = {x[0], 1};
            const bool vanishes = std::fabs(formula.exact(alone, nullptr)) < 0x1p-148;
            return {value, 0, 0x1p-149 * (1 + std::fabs(x[1])), std::isinf(x[1]) && vanishes};
        }
    }
    throw std::runtime_error("no oracle for " + call.text());
}

// To nearest, beyond the largest to infinity.
float nearest_float(double x) { return std::fabs(x) >= 0x1.ffffffp127 ? static_cast<float>(std::copysign(inf, x)) : static_cast<float>(x); }

// Rounding keeps order: a result lies between what the two ends of its interval are stored as.
void expect_right(float got, const Wanted &want, DType type) {
    if (want.infinity_or_nan) {
        EXPECT_FALSE(std::isfinite(got)) << got;
        return;
    }
    if (std::isnan(want.value)) {
        EXPECT_TRUE(std::isnan(got)) << got;
        return;
    }
    if (want.ulps == 0.5) {
        const float exact = support::stored(type, nearest_float(want.value));
        EXPECT_EQ(got, exact);
        EXPECT_EQ(std::signbit(got), std::signbit(exact));
        return;
    }
    const double size = std::min(std::fabs(want.value), double{std::numeric_limits<float>::max()});
    const double ulp = std::ldexp(1.0, std::max(-149, size > 0 ? std::ilogb(size) - 23 : -149));
    const double off = std::isinf(want.value) ? 0 : want.ulps > 0 ? want.ulps * ulp : std::max(0x1p-149, 1e-6 * size) + want.more;
    EXPECT_GE(got, support::stored(type, std::nextafter(nearest_float(want.value - off), -inf))) << "exactly " << want.value;
    EXPECT_LE(got, support::stored(type, std::nextafter(nearest_float(want.value + off), inf))) << "exactly " << want.value;
}

// ---- Tensors

// With nodes of calls.
struct CallBuilder : Builder {
    using Builder::node;
    Tensor *node(const Call &call, const std::vector<Tensor *> &src) { return node(call.def->op, src, call.attrs); }
};

// A shape that repeats into this one.
Ne some_part(const Ne &ne, Random &random) {
    Ne part = ne;
    for (std::int64_t &n : part) {
        if (random() % 2 == 0) continue;
        std::vector<std::int64_t> divisors{1};
        for (std::int64_t k = 2; k < n; k++) {
            if (n % k == 0) divisors.push_back(k);
        }
        n = one_of(random, divisors);
    }
    return part;
}

// Backends of one ISA, which their environment says when they are opened: joined, and node by node.
struct Backends {
    Backends(const std::string &isa, int threads) {
        const support::Environment chosen("TENSORLIB_ISA", isa.c_str());
        joined = core::open_backend("cpu", {.n_threads = threads});
        const support::Environment fuse("TENSORLIB_FUSE", "0");
        apart = core::open_backend("cpu", {.n_threads = threads});
    }
    core::Ref<core::Backend> joined, apart;
};

std::vector<Backends> all_backends() {
    std::vector<Backends> all;
    for (const std::string &isa : support::isas()) {
        for (const int threads : {1, 2, 3, 8}) all.emplace_back(isa, threads);
    }
    return all;
}

// The operands of a call whose result has this shape. The one that the result is like has 1 element in some dimensions in which
// another one has all.
std::vector<Tensor *> some_operands(CallBuilder &build, const Call &call, const Ne &ne, Random &random) {
    const bool gate = std::string_view(call.def->name) == "glu", add1 = std::string_view(call.def->name) == "add1";
    std::vector<Ne> shapes(call.operands(), ne);
    for (std::size_t i = 0; i < shapes.size(); i++) {
        // The last element of an odd row is not read.
        if (call.halves) shapes[i][0] = 2 * shapes[i][0] + (random() % 4 == 0 ? 1 : 0);
        if (i != call.like() && !gate) shapes[i] = add1 ? Ne{1, 1, 1, 1} : some_part(ne, random);
    }
    for (std::size_t d = 0; d < ne.size() && !gate && shapes.size() > 1; d++) {
        const auto has_all = [&](const Ne &shape) { return &shape != &shapes[call.like()] && shape[d] == ne[d]; };
        const auto is_tile = [&](const Ne &shape) { return shape[d] != 1 && shape[d] != ne[d]; };
        if (random() % 2 == 0 || std::ranges::none_of(shapes, has_all) || std::ranges::any_of(shapes, is_tile)) continue;
        shapes[call.like()][d] = 1;
    }
    std::vector<Tensor *> src;
    for (const Ne &shape : shapes) src.push_back(build.operand(shape, one_of(random, support::float_types), random));
    return src;
}

// ---- Against double

class Elementwise : public testing::TestWithParam<Call> {};

TEST_P(Elementwise, agrees_with_double) {
    const Call &call = GetParam();
    Random random(7);
    const std::vector<Backends> backends = all_backends();
    for (int draw = 0; draw < support::repeats(24, 400); draw++) {
        CallBuilder build;
        const Ne ne = some_shape(random);
        const std::vector<Tensor *> src = some_operands(build, call, ne, random);
        Tensor *result = build.node(call, src);
        ASSERT_EQ(result->layout.ne, ne);
        ASSERT_EQ(result->layout.type, src[call.like()]->layout.type);
        ASSERT_TRUE(result->layout.contiguous());
        std::vector<std::vector<float>> x;
        for (const Tensor *t : src) x.push_back(values_of(t));
        const auto operand = [&](std::size_t k, std::array<std::int64_t, 4> at) {
            // In halves the second operand begins in the middle of the row.
            const std::size_t from = call.halves ? 0 : k;
            if (call.halves && k == 1) at[0] += ne[0];
            const core::Extents &n = src[from]->layout.ne;
            for (std::size_t d = 0; d < 4; d++) at[d] %= n[d];
            return double{x[from][static_cast<std::size_t>(at[0] + n[0] * (at[1] + n[1] * (at[2] + n[2] * at[3])))]};
        };
        const std::size_t n_operands = call.halves ? 2 : call.operands();
        for (std::size_t isa = 0; isa < support::isas().size(); isa++) {
            const auto graph = build.graph({result});
            core::compute(*graph, *backends[isa * 4 + static_cast<std::size_t>(draw) % 4].joined);
            const std::vector<float> got = values_of(result);
            std::size_t i = 0;
            for (std::int64_t i3 = 0; i3 < ne[3]; i3++) {
                for (std::int64_t i2 = 0; i2 < ne[2]; i2++) {
                    for (std::int64_t i1 = 0; i1 < ne[1]; i1++) {
                        for (std::int64_t i0 = 0; i0 < ne[0]; i0++, i++) {
                            double given[3] = {};
                            for (std::size_t k = 0; k < n_operands; k++) given[k] = operand(k, {i0, i1, i2, i3});
                            if (call.swapped) std::swap(given[0], given[1]);
                            expect_right(got[i], wanted(call, given), result->layout.type);
                            ASSERT_FALSE(HasFailure())
                                << call.text() << " of " << given[0] << ", " << given[1] << ", " << given[2] << ": element " << i
                                << " of draw " << draw << " is " << got[i] << " on " << support::isas()[isa];
                        }
                    }
                }
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(operations, Elementwise, testing::ValuesIn(all_calls()), [](const auto &info) {
    std::string name = info.param.text();
    std::ranges::replace(name, ' ', '_');
    return name;
});

// ---- Joined against one by one

bool joins(core::Graph &graph, core::Backend &backend) { return core::plan_text(graph, backend).find(" + ") != std::string::npos; }

// Computed both ways the outputs are the same.
void expect_same(CallBuilder &build, const std::vector<Tensor *> &outputs, const Backends &backends, const std::string &what) {
    const auto graph = build.graph(outputs);
    core::compute(*graph, *backends.apart);
    EXPECT_FALSE(joins(*graph, *backends.apart));
    std::vector<std::vector<float>> want;
    for (const Tensor *output : outputs) want.push_back(values_of(output));
    core::compute(*graph, *backends.joined);
    for (std::size_t i = 0; i < outputs.size(); i++)
        ASSERT_TRUE(same_values(values_of(outputs[i]), want[i])) << what << ", output " << i << ":\n"
                                                                 << core::plan_text(*graph, *backends.joined);
}

// Trees and chains of one shape: results used twice, repeated operands, a product among them, types as they come.
TEST(Programs, joined_have_the_bits_of_one_by_one) {
    const std::vector<Call> calls = all_calls();
    const std::vector<Backends> backends = all_backends();
    Random random(11);
    int joined = 0;
    const int draws = support::repeats(2000, 50000);
    for (int draw = 0; draw < draws; draw++) {
        CallBuilder build;
        Ne ne = some_shape(random);
        while (count_of(ne) > 3000) ne = some_shape(random);
        std::vector<Tensor *> whole{build.operand(ne, one_of(random, support::float_types), random),
                                    build.operand(ne, one_of(random, support::float_types), random)};
        if (random() % 3 == 0 && count_of(ne) > 0)
            whole.push_back(build.node(Op::mul_mat, {build.leaf({9, ne[0], 1, 1}, one_of(random, support::float_types), random),
                                                     build.leaf({9, ne[1], ne[2], ne[3]}, DType::f32, random)}));
        const std::size_t given = whole.size();
        const std::int64_t steps = 2 + below(random, 14);
        for (std::int64_t i = 0; i < steps; i++) {
            const Call &call = one_of(random, calls);
            std::vector<Tensor *> src = some_operands(build, call, ne, random);
            for (std::size_t k = 0; k < src.size() && !call.halves; k++) {
                const bool fits = src[k]->layout.ne == ne;
                if (k == call.like() || (fits && random() % 2 == 0)) src[k] = random() % 2 == 0 ? whole.back() : one_of(random, whole);
            }
            whole.push_back(build.node(call, src));
        }
        std::vector<Tensor *> outputs{whole.back()};
        if (Tensor *other = whole[given + random() % (whole.size() - given)]; random() % 3 == 0 && other != outputs[0])
            outputs.push_back(other);
        const Backends &some = one_of(random, backends);
        expect_same(build, outputs, some, "draw " + std::to_string(draw));
        if (testing::Test::HasFailure()) return;
        joined += joins(*build.graph(outputs), *some.joined);
    }
    EXPECT_GT(joined, draws / 2) << "there was little to compare";
}

// Programs of F32 alone, which go through a few registers at a time: of every length, with operands that are repeated, needed twice, later
// again, or second, over rows that are not whole registers and blocks of them.
TEST(Programs, of_floats_alone_have_the_bits_of_one_by_one) {
    std::vector<Call> calls = all_calls();
    std::erase_if(calls, [](const Call &call) { return call.halves || call.swapped; });
    const std::vector<Backends> backends = all_backends();
    Random random(23);
    std::map<std::size_t, int> lengths;
    for (int draw = 0; draw < support::repeats(1500, 30000); draw++) {
        CallBuilder build;
        const Ne ne{one_of(random, std::vector<std::int64_t>{1, 2, 15, 16, 17, 63, 64, 65, 100, 128, 150, 1024, 1039, 2100}),
                    1 + below(random, 3), 1, 1};
        std::vector<Tensor *> whole{build.operand(ne, DType::f32, random), build.operand(ne, DType::f32, random)};
        const std::int64_t steps = 2 + below(random, 15);
        for (std::int64_t i = 0; i < steps; i++) {
            const Call &call = one_of(random, calls);
            const bool one = std::string_view(call.def->name) == "add1", gate = std::string_view(call.def->name) == "glu";
            std::vector<Tensor *> src;
            for (std::size_t k = 0; k < call.operands(); k++) {
                if (one && k == 1) {
                    src.push_back(build.operand({1, 1, 1, 1}, DType::f32, random));
                } else if (k == call.like() || gate || random() % 2 == 0) {
                    src.push_back(random() % 2 == 0 ? whole.back() : one_of(random, whole));
                } else {
                    src.push_back(build.operand(some_part(ne, random), DType::f32, random));
                }
            }
            whole.push_back(build.node(call, src));
        }
        expect_same(build, {whole.back()}, one_of(random, backends), "draw " + std::to_string(draw));
        if (testing::Test::HasFailure()) return;
        lengths[static_cast<std::size_t>(steps)] += joins(*build.graph({whole.back()}), *backends[0].joined);
    }
    for (std::size_t length = 2; length <= 16; length++) EXPECT_GT(lengths[length], 0) << length;
}

// Results that go past the caches, some of whose rows and last floats cannot: by the kernel of long rows and by the other.
TEST(Programs, of_large_results_are_right) {
    constexpr std::int64_t n0 = 5003, n1 = 3400;
    CallBuilder build;
    Tensor *x = build.leaf({n0, n1, 1, 1}), *row = build.leaf({n0, 1, 1, 1});
    const auto value = [](std::int64_t i) { return static_cast<float>(i % 4093 - 2000) / 64; };
    std::vector<float> values(static_cast<std::size_t>(n0 * n1));
    for (std::size_t i = 0; i < values.size(); i++) values[i] = value(static_cast<std::int64_t>(i));
    core::write_f32(*x, values.data(), values.size());
    core::write_f32(*row, values.data(), static_cast<std::size_t>(n0));
    // Exact, whatever is done first.
    Tensor *flat = build.node(Op::relu, {build.node(Op::sub, {build.node(Op::mul, {x, x}), x})});
    Tensor *rows = build.node(Op::maximum, {build.node(Op::add, {x, row}), row});
    std::vector<float> want_flat(values.size()), want_rows(values.size());
    for (std::size_t i = 0; i < values.size(); i++) {
        const float v = values[i], r = values[i % static_cast<std::size_t>(n0)];
        want_flat[i] = std::max(v * v - v, 0.0f);
        want_rows[i] = std::max(v + r, r);
    }
    for (const std::string &isa : support::isas()) {
        const Backends backends(isa, 2);
        const auto graph = build.graph({flat, rows});
        core::compute(*graph, *backends.joined);
        EXPECT_TRUE(values_of(flat) == want_flat && values_of(rows) == want_rows) << isa;
    }
}

// Work for several threads, by the kernel of long rows and by the other.
TEST(Programs, have_the_same_bits_at_any_number_of_threads) {
    Random random(3);
    CallBuilder build;
    Tensor *a = build.leaf({1001, 301, 1, 1}, DType::f32, random), *b = build.leaf({1001, 301, 1, 1}, DType::f16, random);
    Tensor *row = build.leaf({1001, 1, 1, 1}, DType::bf16, random), *period = build.leaf({7, 1, 1, 1}, DType::f32, random);
    Tensor *flat = build.node(Op::silu, {build.node(Op::mul, {a, b})});
    Tensor *rows = build.node(Op::sub, {build.node(Op::div, {b, row}), period});
    for (const std::string &isa : support::isas()) {
        std::vector<float> first[2];
        for (const int threads : {1, 2, 3, 8}) {
            const Backends backends(isa, threads);
            const auto graph = build.graph({flat, rows});
            core::compute(*graph, *backends.joined);
            if (threads == 1) first[0] = values_of(flat), first[1] = values_of(rows);
            EXPECT_TRUE(same_values(values_of(flat), first[0]) && same_values(values_of(rows), first[1])) << isa << " " << threads;
        }
    }
}

// What follows a product in models: bias, activation, gate, residual, scale.
class AfterProducts : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(weights, AfterProducts, testing::Values(DType::f32, DType::f16, DType::bf16, DType::q4_0, DType::q6_K),
                         [](const auto &info) { return core::traits(info.param).name; });

TEST_P(AfterProducts, joined_have_the_bits_of_one_by_one) {
    Random random(5);
    const std::vector<Backends> backends = all_backends();
    for (const Ne &s : {Ne{256, 1, 1, 1}, Ne{256, 37, 3, 2}, Ne{512, 50, 29, 1}, Ne{256, 400, 17, 1}}) {
        const auto [k, m, n, slices] = s;
        CallBuilder build;
        const auto finite = [&](const Ne &ne, std::uint32_t seed) {
            Tensor *t = build.leaf(ne);
            std::vector<float> values(static_cast<std::size_t>(t->layout.n_elements()));
            for (std::size_t i = 0; i < values.size(); i++) values[i] = support::value(seed, static_cast<std::uint32_t>(i)) / 8;
            core::write_f32(*t, values.data(), values.size());
            return t;
        };
        Tensor *weights = build.node(Op::cast, {finite({k, m, 1, 1}, 1)}, {Attr::of_text("to", core::traits(GetParam()).name)});
        const auto product = [&] { return build.node(Op::mul_mat, {weights, finite({k, n, slices, 1}, 2)}); };
        Tensor *bias = finite({m, 1, 1, 1}, 3), *residual = finite({m, n, slices, 1}, 4);
        const Attr factor[] = {Attr::of_number("scale", 0.5), Attr::of_number("bias", 1)}, swiglu[] = {Attr::of_text("op", "swiglu")};
        const auto node = [&](Op op, std::vector<Tensor *> src, std::span<const Attr> attrs = {}) {
            return build.node(op, std::move(src), {attrs.begin(), attrs.end()});
        };
        const std::vector<Tensor *> ends{
            node(Op::add, {residual, node(Op::gelu, {node(Op::add, {product(), bias})})}),
            node(Op::scale, {node(Op::mul, {node(Op::silu, {product()}), residual})}, factor),
            node(Op::glu, {node(Op::add, {product(), bias}), residual}, swiglu),
            // The product twice, and a program that begins with another operand.
            node(Op::relu, {node(Op::maximum, {residual, node(Op::sqr, {product()})})}),
        };
        Tensor *c = product();
        const std::vector<Tensor *> twice{node(Op::mul, {c, node(Op::sigmoid, {node(Op::add, {c, bias})})})};
        for (const Backends &some : backends) {
            for (Tensor *end : ends) {
                expect_same(build, {end}, some, end->op == Op::add ? "gelu" : op_name(end->op));
                EXPECT_TRUE(joins(*build.graph({end}), *some.joined)) << core::plan_text(*build.graph({end}), *some.joined);
            }
            expect_same(build, twice, some, "twice");
        }
    }
}

// ---- What is refused

class Refusals : public testing::Test {
protected:
    CallBuilder build;

    // A call's operands of valid types and shapes.
    std::vector<Tensor *> valid(const Call &call) {
        std::vector<Tensor *> src(call.operands(), build.leaf({32, 2, 1, 1}));
        if (std::string_view(call.def->name) == "add1") src[1] = build.leaf({1, 1, 1, 1});
        return src;
    }
    void refused(tl::Status status, std::vector<std::string> words, const Call &call, const std::vector<Tensor *> &src,
                 const std::vector<Attr> &attrs) {
        words.insert(words.begin(), call.def->name + std::string(":"));
        support::expect_error(status, words, [&] { build.node(call.def->op, src, attrs); });
    }
};

TEST_F(Refusals, types) {
    for (const Call &call : all_calls()) {
        for (std::size_t i = 0; i < call.operands(); i++) {
            for (const DType type : {DType::i8, DType::i16, DType::i32, DType::i64, DType::f64, DType::q4_0}) {
                std::vector<Tensor *> src = valid(call);
                src[i] = build.leaf({32, i == 1 && call.def->op == Op::add1 ? 0 : 2, 1, 1}, type);
                if (call.def->op == Op::add1 && i == 1 && type == DType::q4_0) continue;  // has no single element
                if (call.def->op == Op::add1 && i == 1) src[i] = build.leaf({1, 1, 1, 1}, type);
                // What computes in these types is in numbers_test.
                if (call.operands() == 1 && core::ops::has_numbers(call.def->op, src) &&
                    (type == DType::f64 ||
                     core::types_of(static_cast<core::NumberOp>(core::ops::number_op(call.def->op))) == core::NumberTypes::all))
                    continue;
                const std::string is = call.def->operands[i].name + std::string(" is [");
                if (call.def->op == Op::where) {
                    // It takes conditions of all plain types, and other operands of one type.
                    const char *valid = type != DType::q4_0 || i > 0 ? "a and b must be of one type" : "a float, an integer or bool";
                    if (i > 0 || type == DType::q4_0)
                        refused(tl::Status::type_mismatch, {is, core::traits(type).name, valid}, call, src, call.attrs);
                    continue;
                }
                refused(tl::Status::type_mismatch, {is, core::traits(type).name, "f32, f16 or bf16"}, call, src, call.attrs);
            }
        }
    }
}

TEST_F(Refusals, shapes) {
    struct Pair {
        Ne a, b;
        std::size_t dim;  // the first that does not fit
    };
    constexpr Pair pairs[] = {
        {{6, 2, 1, 1}, {4, 1, 1, 1}, 0}, {{6, 2, 1, 1}, {12, 2, 1, 1}, 0}, {{6, 2, 1, 1}, {6, 4, 1, 1}, 1},
        {{6, 2, 1, 1}, {0, 2, 1, 1}, 0}, {{2, 2, 6, 1}, {2, 2, 4, 1}, 2},  {{2, 2, 2, 3}, {1, 1, 1, 2}, 3},
    };
    for (const Call &call : all_calls()) {
        for (std::size_t i = 0; i < call.operands(); i++) {
            if (i == call.like()) continue;
            for (const Pair &pair : pairs) {
                std::vector<Tensor *> src(call.operands(), build.leaf(pair.a));
                src[i] = build.leaf(pair.b);
                const std::string b = core::tensor_text(*src[i]), name = call.def->operands[i].name;
                std::vector<std::string> words{core::tensor_text(*src[call.like()]), name + " is " + b};
                if (call.def->op == Op::glu) {
                    words.push_back("one shape");
                } else if (call.def->op == Op::add1) {
                    words.push_back("b of one element");
                } else {
                    words.push_back(name + " has " + std::to_string(pair.b[pair.dim]) + " elements in dimension " +
                                    std::to_string(pair.dim) + ", and a " + std::to_string(pair.a[pair.dim]));
                    words.push_back(std::string(" divides that of a"));
                }
                refused(tl::Status::shape_mismatch, words, call, src, call.attrs);
            }
        }
    }
}

TEST_F(Refusals, counts_of_operands) {
    for (const Call &call : all_calls()) {
        std::vector<Tensor *> src = valid(call);
        while (src.size() <= call.def->operands.size()) src.push_back(src[0]);
        refused(tl::Status::invalid_argument, {"operands"}, call, src, call.attrs);
        refused(tl::Status::invalid_argument, {"operands"}, call, {}, call.attrs);
        src.resize(call.def->operands.size());
        for (std::size_t i = 0; i < src.size(); i++) {
            if (call.def->operands[i].optional) continue;
            std::vector<Tensor *> without = src;
            without[i] = core::left_out();
            refused(tl::Status::invalid_argument, {call.def->operands[i].name + std::string(" is left out")}, call, without, call.attrs);
        }
    }
}

TEST_F(Refusals, attributes) {
    for (const Call &call : all_calls()) {
        const auto given = [&](const char *but, std::optional<Attr> other) {
            std::vector<Attr> attrs;
            for (const Attr &attr : call.attrs) {
                if (attr.name != but) attrs.push_back(attr);
            }
            if (other) attrs.push_back(*other);
            return attrs;
        };
        const auto wrong = [&](const std::vector<std::string> &words, const std::vector<Attr> &attrs) {
            refused(tl::Status::invalid_argument, words, call, valid(call), attrs);
        };
        wrong({"no attribute 'speed'", "valid: "}, given("", Attr::of_number("speed", 1)));
        for (const core::AttrDef &attr : call.def->attrs) {
            const std::string name = attr.name;
            if (attr.required) wrong({"attribute " + name + " is missing"}, given(attr.name, std::nullopt));
            if (!attr.values.empty()) {
                wrong({"attribute " + name + " is 'nothing'", attr.values[0]}, given(attr.name, Attr::of_text(attr.name, "nothing")));
                wrong({"attribute " + name, attr.values[0]}, given(attr.name, Attr::of_int(attr.name, std::ssize(attr.values))));
            } else {
                wrong({"attribute " + name}, given(attr.name, Attr::of_text(attr.name, "1")));
            }
            if (attr.kind == core::AttrKind::number && !attr.nan)
                wrong({"attribute " + name + " is NaN"}, given(attr.name, Attr::of_number(attr.name, NAN)));
        }
    }
}

TEST_F(Refusals, of_glus_options) {
    Tensor *a = build.leaf({6, 2, 1, 1}), *b = build.leaf({6, 2, 1, 1});
    const Attr swiglu = Attr::of_text("op", "swiglu"), oai = Attr::of_text("op", "swiglu_oai"), alpha = Attr::of_number("alpha", 2);
    const auto glu = [&](std::vector<Tensor *> src, std::vector<Attr> attrs) {
        return build.node(Op::glu, std::move(src), std::move(attrs));
    };
    const auto refuses = [&](std::vector<std::string> words, std::vector<Tensor *> src, std::vector<Attr> attrs) {
        support::expect_error(tl::Status::invalid_argument, words, [&] { glu(src, attrs); });
    };
    refuses({"glu: a is [6, 2] f32, b is left out, split is 1"}, {a}, {swiglu, Attr::of_int("split", 1)});
    refuses({"op is swiglu, alpha is 2", "of swiglu_oai alone"}, {a, b}, {swiglu, alpha});
    refuses({"op is swiglu", "limit is 3"}, {a}, {swiglu, Attr::of_number("limit", 3)});
    refuses({"split is 2", "0 or 1"}, {a, b}, {swiglu, Attr::of_int("split", 2)});
    refuses({"swapped is -1", "0 or 1"}, {a, b}, {swiglu, Attr::of_int("swapped", -1)});
    refuses({"limit is -1", "1e-06 to 1e+38 is valid"}, {a, b}, {oai, Attr::of_number("limit", -1)});
    // What says no more than the defaults is valid.
    EXPECT_NO_THROW(glu({a, b}, {swiglu, Attr::of_number("alpha", 1.702), Attr::of_number("limit", 7), Attr::of_int("split", 1)}));
    EXPECT_NO_THROW(glu({a, b}, {oai, alpha, Attr::of_int("split", 0)}));
    const auto &kept = core::attrs_of<core::ops::GluAttrs>(*glu({a}, {oai, alpha, Attr::of_int("swapped", 1)}));
    EXPECT_TRUE(kept.op == core::ops::GluOp::swiglu_oai && kept.alpha == 2 && kept.limit == 7 && kept.swapped && !kept.split);
}

// Strides of 0 make shapes of any size: a result that no memory holds is refused before any is asked for.
TEST_F(Refusals, results_that_no_memory_holds) {
    const std::array<std::int64_t, 3> ne{1, std::int64_t{1} << 40, 1 << 10}, nb{0, 0, 0};
    Tensor *a = build.node(Op::view, {build.leaf({1, 1, 1, 1})}, {Attr::of_ints("ne", ne), Attr::of_ints("nb", std::span(nb).first(2))});
    for (const Call &call : all_calls()) {
        if (call.halves || call.def->op == Op::add1) continue;
        const std::vector<Tensor *> src(call.operands(), a);
        const auto graph = build.graph({build.node(call, src)});
        const auto backend = core::open_backend("cpu", {.n_threads = 1});
        support::expect_error(tl::Status::out_of_memory, {}, [&] { core::compute(*graph, *backend); });
    }
}

}  // namespace
