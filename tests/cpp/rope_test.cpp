// rope against its formula in double, over random shapes, strides, types and options, on every ISA and at several thread counts.
#include "random_tensors.hpp"
#include "wanted.hpp"

#include <numbers>
#include <numeric>

namespace {

using namespace tensorlib;
using core::Attr;
using core::DType;
using core::Op;
using core::Tensor;
using support::below;
using support::Builder;
using support::Ne;
using support::one_of;
using support::Random;

constexpr double u = 0x1p-24;

// Options as they are drawn, and as attributes say them.
struct Options {
    const char *mode = "normal";
    std::int64_t turned = 0, offset = 0, context = 0;
    std::array<std::int64_t, 4> sections{};
    double base = 10000, scale = 1, extended = 0, factor = 1, fast = 32, slow = 1;
    bool inverse = false;

    bool is(const char *name) const { return mode == std::string(name); }
    bool by_sections() const { return is("mrope") || is("imrope") || is("vision"); }
    std::int64_t pairs(std::int64_t row) const { return turned == 0 ? (row - offset) / 2 : is("vision") ? turned : turned / 2; }
    // Which position pair k uses, and its exponent.
    std::pair<std::size_t, std::int64_t> use(std::int64_t k) const {
        if (!by_sections()) return {0, k};
        const std::int64_t period = std::accumulate(sections.begin(), sections.end(), std::int64_t{0}), at = k % period;
        if (is("imrope")) {
            const auto turn = static_cast<std::size_t>(at % 3);
            return {at / 3 < sections[turn] ? turn : 3, k};
        }
        std::size_t section = 0;
        std::int64_t before = 0;
        while (at >= before + sections[section]) before += sections[section++];
        return {section, is("vision") ? at - before : k};
    }
    std::vector<Attr> attrs() const {
        std::vector<Attr> all{
            Attr::of_text("mode", mode),          Attr::of_int("n_dims", turned),         Attr::of_number("freq_base", base),
            Attr::of_number("freq_scale", scale), Attr::of_number("attn_factor", factor), Attr::of_number("beta_fast", fast),
            Attr::of_number("beta_slow", slow)};
        if (offset > 0) all.push_back(Attr::of_int("offset", offset));
        if (by_sections()) all.push_back(Attr::of_ints("sections", sections));
        if (inverse) all.push_back(Attr::of_int("inverse", 1));
        if (extended > 0) {
            all.push_back(Attr::of_number("ext_factor", extended));
            all.push_back(Attr::of_int("n_ctx_orig", context));
        }
        return all;
    }
};

Options drawn_options(std::int64_t row, Random &random) {
    constexpr const char *modes[] = {"normal", "neox", "mrope", "imrope", "vision"};
    Options o;
    o.mode = one_of(random, modes);
    o.offset = row > 2 && random() % 3 == 0 ? below(random, row - 1) : 0;
    const std::int64_t rest = row - o.offset;
    o.turned = (o.is("vision") ? 1 : 2) * below(random, rest / 2 + 1);
    if (o.turned == 0 && rest % 2 != 0) o.turned = o.is("vision") ? rest / 2 : rest - 1;  // (0 is all)
    if (o.by_sections()) {
        for (std::int64_t &s : o.sections) s = below(random, 4);
        o.sections[below(random, 4) == 0 ? 1u : 0u]++;
    }
    if (random() % 2) o.base = 500, o.scale = 0.25, o.factor = 1.5;
    if (random() % 3 == 0) o.extended = 0.75, o.context = 64, o.fast = 8, o.slow = 0.5;
    o.inverse = random() % 3 == 0;
    return o;
}

// How far pair k turns for a position: the formula of ops/attention.toml.
double angle(const Options &o, std::int64_t pairs, std::int64_t k, double position, double factor) {
    const double n = (o.is("vision") ? 1 : 2) * static_cast<double>(pairs);
    const double frequency = std::pow(o.base, -2 * static_cast<double>(o.use(k).second) / n) / factor;
    double mix = 0;
    if (o.extended > 0) {
        const auto pair_with = [&](double turns) {
            return n * std::log(static_cast<double>(o.context) / (2 * std::numbers::pi * turns)) / (2 * std::log(o.base));
        };
        const double low = std::max(0.0, std::floor(pair_with(o.fast))), high = std::min(n - 1, std::ceil(pair_with(o.slow)));
        mix = o.extended * (1 - std::clamp((static_cast<double>(k) - low) / std::max(high - low, 0.001), 0.0, 1.0));
    }
    return (o.inverse ? -1 : 1) * position * frequency * (o.scale * (1 - mix) + mix);
}

std::vector<support::Wanted> wanted(const Options &o, const Tensor *a, const std::vector<std::int64_t> &positions, std::int64_t batches,
                                    const std::vector<float> &factors) {
    const core::Extents &n = a->layout.ne;
    const std::int64_t pairs = o.pairs(n[0]);
    const double size = o.factor * (o.extended > 0 ? 1 + 0.1 * std::log(1 / o.scale) : 1);
    std::vector<support::Wanted> all;
    for (const float x : support::values_of(a)) all.push_back({double{x}, 0});
    for (std::int64_t row = 0; row < n[1] * n[2] * n[3]; row++) {
        const std::int64_t token = row / n[1] % n[2], batch = batches == 1 ? 0 : row / n[1] / n[2];
        for (std::int64_t k = 0; k < pairs; k++) {
            const std::int64_t per_batch = n[2] * (o.by_sections() ? 4 : 1);
            const auto position = static_cast<double>(
                positions[static_cast<std::size_t>(batch * per_batch + static_cast<std::int64_t>(o.use(k).first) * n[2] + token)]);
            const double factor = factors.empty() ? 1 : double{factors[static_cast<std::size_t>(k)]};
            const double t = angle(o, pairs, k, position, factor);
            const bool side_by_side = o.mode == std::string("normal");
            const auto first = static_cast<std::size_t>(row * n[0] + o.offset + (side_by_side ? 2 * k : k));
            const std::size_t second = side_by_side ? first + 1 : first + static_cast<std::size_t>(pairs);
            const double x = all[first].value, y = all[second].value;
            // The angle is off by what double makes of it: thousands of turns leave 2^-40 of one.
            const double bound = (8 * u + 0x1p-40) * size * (std::fabs(x) + std::fabs(y));
            all[first] = {size * (x * std::cos(t) - y * std::sin(t)), bound + 0x1p-149};
            all[second] = {size * (x * std::sin(t) + y * std::cos(t)), bound + 0x1p-149};
        }
    }
    return all;
}

struct Positions {
    Tensor *tensor;
    std::vector<std::int64_t> values;
    std::int64_t batches;
};

// I32 or I64, of each batch or of all, side by side or not.
Positions drawn_positions(Builder &build, const Options &o, const Ne &ne, Random &random) {
    const std::int64_t n = ne[2] * (o.by_sections() ? 4 : 1), batches = random() % 2 ? ne[3] : 1;
    const std::int64_t apart = 1 + below(random, 2);
    std::vector<std::int64_t> values(static_cast<std::size_t>(n * batches));
    std::vector<float> stored(static_cast<std::size_t>(n * batches * apart), 7);
    for (std::size_t i = 0; i < values.size(); i++) {
        values[i] = below(random, 8) == 0 ? below(random, 100000) - 50000 : below(random, 200);
        stored[i * static_cast<std::size_t>(apart)] = static_cast<float>(values[i]);
    }
    Tensor *leaf = build.leaf({apart, n, batches, 1}, random() % 2 ? DType::i32 : DType::i64, stored);
    Tensor *line = build.node(Op::view, {leaf}, {Attr::of_ints("ne", Ne{1, n, batches, 1}), Attr::of_ints("start", Ne{})});
    return {build.node(Op::permute, {line}, {Attr::of_ints("axes", Ne{2, 0, 1, 3})}), values, batches};
}

// A row of one element has no pair and is refused.
Ne some_rows(Random &random) {
    Ne ne = support::some_shape(random);
    if (ne[0] == 1) ne[0] = 2;
    return ne;
}

TEST(Rope, agrees_with_double_at_any_number_of_threads) {
    Random random(31);
    for (int draw = 0; draw < support::repeats(400, 4000); draw++) {
        Builder build;
        build.draw = support::any_value;
        const Ne ne = some_rows(random);
        const DType type = one_of(random, support::float_types);
        const Options o = drawn_options(ne[0], random);
        Tensor *a = build.operand(ne, type, random);
        const Positions positions = drawn_positions(build, o, ne, random);
        std::vector<float> factors;
        if (random() % 3 == 0) {
            for (std::int64_t k = 0; k < o.pairs(ne[0]); k++) factors.push_back(1 + static_cast<float>(below(random, 64)) / 8);
        }
        Tensor *of_factors =
            factors.empty() ? core::left_out() : build.leaf({static_cast<std::int64_t>(factors.size()), 1, 1, 1}, DType::f32, factors);
        Tensor *result = build.node(Op::rope, {a, positions.tensor, of_factors}, o.attrs());
        ASSERT_TRUE(result->layout.ne == ne && result->layout.contiguous() && result->layout.type == type);
        const std::string what = std::string(o.mode) + " of " + core::tensor_text(*a) + ", " + std::to_string(o.turned) + " turned from " +
                                 std::to_string(o.offset);
        const auto want = wanted(o, a, positions.values, positions.batches, factors);
        const auto of_isas = support::computed_on_isas(build, result, what);
        for (std::size_t isa = 0; isa < of_isas.size(); isa++)
            support::expect_right(of_isas[isa], want, type, what + " on " + support::all_backends()[isa].isa);
        ASSERT_FALSE(HasFailure()) << "draw " << draw;
    }
}

// Heads and tokens of a model: chunks for all threads.
TEST(Rope, of_many_tokens_has_the_same_bits_at_any_number_of_threads) {
    Random random(7);
    for (const char *mode : {"normal", "neox"}) {
        Builder build;
        build.draw = support::any_value;
        Options o;
        o.mode = mode;
        const Ne ne{128, 8, 301, 1};
        Tensor *a = build.leaf(ne, DType::f32, random);
        const Positions positions = drawn_positions(build, o, ne, random);
        Tensor *result = build.node(Op::rope, {a, positions.tensor, core::left_out()}, o.attrs());
        for (const auto &of_isa : support::computed_on_isas(build, result, mode))
            support::expect_right(of_isa, wanted(o, a, positions.values, positions.batches, {}), DType::f32, mode);
    }
}

TEST(Rope, turned_back_is_what_it_was) {
    Random random(3);
    for (const char *mode : {"normal", "neox"}) {
        Builder build;
        build.draw = support::any_value;
        Options there;
        there.mode = mode;
        Options back = there;
        back.inverse = true;
        const Ne ne{64, 3, 5, 2};
        Tensor *a = build.leaf(ne, DType::f32, random);
        Tensor *positions = drawn_positions(build, there, ne, random).tensor;
        Tensor *turned = build.node(Op::rope, {a, positions, core::left_out()}, there.attrs());
        Tensor *result = build.node(Op::rope, {turned, positions, core::left_out()}, back.attrs());
        std::vector<support::Wanted> want;
        for (const float x : support::values_of(a)) want.push_back({double{x}, 32 * u * 8});  // elements are below 4: |x| + |y| < 8
        for (const auto &of_isa : support::computed_on_isas(build, result, mode)) support::expect_right(of_isa, want, DType::f32, mode);
    }
}

TEST(Rope, and_what_is_joined_has_the_bits_of_one_by_one) {
    const auto &joined = support::all_backends();
    const auto apart = support::make_backends(false);
    Random random(11);
    for (int draw = 0; draw < support::repeats(100, 1000); draw++) {
        Builder build;
        const Ne ne = some_rows(random);
        const DType type = one_of(random, support::float_types);
        const Options o = drawn_options(ne[0], random);
        const bool has_prologue = random() % 2;
        Tensor *x = build.operand(ne, type, random);
        if (has_prologue) x = build.node(Op::mul, {x, build.leaf({ne[0], 1, 1, 1}, type, random)});
        Tensor *turned = build.node(Op::rope, {x, drawn_positions(build, o, ne, random).tensor, core::left_out()}, o.attrs());
        Tensor *end = random() % 2 ? build.node(Op::scale, {turned}, {Attr::of_number("scale", 0.125)})
                                   : build.node(Op::add, {turned, build.operand(ne, type, random)});
        const auto graph = build.graph({end});
        const std::size_t isa = random() % joined.size(), threads = random() % joined[0].all.size();
        core::compute(*graph, *apart[isa].all[threads]);
        const std::vector<float> want = support::values_of(end);
        core::compute(*graph, *joined[isa].all[threads]);
        ASSERT_TRUE(support::same_values(support::values_of(end), want)) << core::plan_text(*graph, *joined[isa].all[threads]);
        const std::string text = core::plan_text(*graph, *joined[isa].all[threads]);
        EXPECT_EQ(text.find("rope + ") != std::string::npos, type == DType::f32) << text;
        EXPECT_EQ(text.find("mul + rope") != std::string::npos, has_prologue) << text;
    }
}

}  // namespace
