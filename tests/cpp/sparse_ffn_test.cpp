// sparse_ffn on every ISA against double, at 1 to 8 threads: the rules that decide which neurons are active, activations, masks of each
// token, rows, types, parts that add up, constants, and the operations that it replaces.
#include "masks.hpp"

using support::backend;
using support::leaf;
using tl::core::DType;
using tl::core::traits;
using namespace support::masks;

namespace {

using support::masks::nan;

struct Off {
    double value, bound;
};

// The activation, and by how much it may change with what is off by so much: its slope is at most 1.13; it is itself within 1e-6.
Off activated(tl::SparseFfnActivation activation, const Off &x) {
    double value = 0;
    // relu of what is below 0 for certain is exactly 0.
    if (activation == tl::SparseFfnActivation::relu && x.value < -x.bound) return {0, 0};
    switch (activation) {
        case tl::SparseFfnActivation::relu: value = std::isnan(x.value) ? x.value : std::max(x.value, 0.0); break;
        case tl::SparseFfnActivation::silu: value = x.value / (1 + std::exp(-x.value)); break;
        case tl::SparseFfnActivation::gelu:
            value = x.value * (1 + std::tanh(0.7978845608028654 * (x.value + 0.044715 * x.value * x.value * x.value))) / 2;
            break;
    }
    return {value, 1.13 * x.bound + 1e-6 * std::fabs(value) + 0x1p-126};
}
Off product(const Off &x, const Off &y) {
    const double size = (std::fabs(x.value) + x.bound) * (std::fabs(y.value) + y.bound);
    return {x.value * y.value, std::fabs(x.value) * y.bound + x.bound * std::fabs(y.value) + x.bound * y.bound + 0x1p-23 * size + 0x1p-126};
}

struct Problem {
    std::int64_t k, n, m, tokens;
    Rule rule;
    bool scored = false;
    tl::SparseFfnOptions options{};
    std::optional<Rows> rows = std::nullopt;
    std::array<DType, 3> types{DType::f32, DType::f32, DType::f32};
    bool constant = false;

    std::string text() const {
        std::string all = "k " + std::to_string(k) + " n " + std::to_string(n) + " m " + std::to_string(m) + " tokens " +
                          std::to_string(tokens) + " by " + std::to_string(static_cast<int>(rule.by)) + " threshold " +
                          std::to_string(rule.threshold) + " rows " + (rows ? std::to_string(rows->size()) : "none") +
                          (scored ? " scored" : "") + (constant ? " constant" : "");
        for (const DType type : types) all += std::string(" ") + traits(type).name;
        return all + " activation " + std::to_string(static_cast<int>(options.activation)) + " first " +
               std::to_string(static_cast<int>(options.first));
    }
    tl::SparseFfnOptions all_options() const {
        tl::SparseFfnOptions all = options;
        all.by = static_cast<tl::SparseBy>(rule.by), all.threshold = rule.threshold;
        return all;
    }
};

struct Operands {
    tl::Tensor x, gate, up, down;
    std::optional<tl::Tensor> scores;
};

tl::Tensor matrix(const tl::Context &ctx, DType type, std::int64_t k, std::int64_t n, unsigned seed, bool constant) {
    const bool plain = traits(type).kind == tl::core::Kind::floating;
    const auto t = plain ? leaf(ctx, {k, n}, seed, static_cast<tl::Type>(type)) : support::blocks_leaf(ctx, type, {k, n}, seed);
    if (constant) t.set_constant();
    return t;
}

Operands operands(const tl::Context &ctx, const Problem &p) {
    const std::int64_t n = p.rows ? static_cast<std::int64_t>(p.rows->size()) : p.n;
    Operands o{leaf(ctx, {p.k, p.tokens}, 41), matrix(ctx, p.types[0], p.k, n, 42, p.constant),
               matrix(ctx, p.types[1], p.k, n, 43, p.constant), matrix(ctx, p.types[2], p.m, n, 44, p.constant), std::nullopt};
    if (p.scored) o.scores = scores_of(ctx, p.n, p.tokens, 45, true);
    return o;
}

// How x may have been rounded for a projection: as its product alone is on this ISA.
support::Rounded rounding(const tl::Context &ctx, const tl::Tensor &a, const tl::Tensor &x, const std::string &isa) {
    const tl::Tensor scores = ctx.zeros(tl::Type::f32, {a.shape()[1], x.shape()[1]});
    return support::how_rounded(tl::Graph({mul_mat_sparse(a, x, scores, std::nullopt)}), isa, a);
}

// In double. A neuron whose test is within its bound of the threshold may be active or not: what it adds counts as bound.
support::Expected block(const tl::Context &ctx, const Problem &p, const Operands &o, const std::string &isa) {
    const std::vector<float> xv = o.x.read_f32(), gv = o.gate.read_f32(), uv = o.up.read_f32(), dv = o.down.read_f32();
    const std::vector<float> sv = o.scores ? o.scores->read_f32() : std::vector<float>();
    const std::vector<std::int64_t> place = places(p.rows, p.n);
    const support::Rounded of_gate = rounding(ctx, o.gate, o.x, isa), of_up = rounding(ctx, o.up, o.x, isa);
    const std::int64_t all_rows = o.gate.shape()[1];
    const double k1 = static_cast<double>(p.n + p.n / 128 + 2), u = 0x1p-24, gamma = k1 * u / (1 - k1 * u);
    support::Expected e;
    for (std::int64_t t = 0; t < p.tokens; t++) {
        support::Expected gates, ups;
        support::append_column(gates, gv.data(), xv.data() + t * p.k, p.k, all_rows, of_gate);
        support::append_column(ups, uv.data(), xv.data() + t * p.k, p.k, all_rows, of_up);
        std::vector<double> total(static_cast<std::size_t>(p.m)), size(total.size()), bound(total.size());
        for (std::int64_t i = 0; i < p.n; i++) {
            if (place[static_cast<std::size_t>(i)] < 0) continue;
            const auto row = static_cast<std::size_t>(place[static_cast<std::size_t>(i)]);
            const Off a = activated(p.options.activation, {gates.value[row], gates.bound[row]}), up{ups.value[row], ups.bound[row]};
            const Off tested = p.scored                                    ? Off{sv[static_cast<std::size_t>(i + t * p.n)], 0}
                               : p.options.first == tl::SparseFfnFirst::up ? up
                                                                           : a;
            const double size_of = p.rule.by == By::magnitude ? std::fabs(tested.value) : tested.value;
            const double border = p.rule.by == By::positive ? 0 : static_cast<double>(p.rule.threshold);
            const bool open = tested.bound > 0 && std::fabs(size_of - border) <= tested.bound;
            const bool active = p.rule.by == By::positive ? size_of > 0 : size_of >= border;
            if (!open && !active) continue;
            const Off z = product(a, up);
            for (std::size_t j = 0; j < total.size(); j++) {
                const double w = dv[j + row * static_cast<std::size_t>(p.m)], most = (std::fabs(z.value) + z.bound) * std::fabs(w);
                total[j] += z.value * w, size[j] += most, bound[j] += open ? 2 * most : z.bound * std::fabs(w);
            }
        }
        for (std::size_t j = 0; j < total.size(); j++) {
            e.value.push_back(total[j]);
            e.bound.push_back(size[j] == 0 ? 0 : bound[j] + gamma * size[j] + k1 * 0x1p-126);
        }
    }
    return e;
}

void expect_block(const Problem &p) {
    tl::Context ctx;
    const Operands o = operands(ctx, p);
    const auto c = sparse_ffn(o.x, o.gate, o.up, o.down, o.scores, numbers(ctx, p.rows), p.all_options());
    expect_on_all(c, "sparse_ffn " + p.text(), [&](const tl::Graph &, const std::string &isa) { return block(ctx, p, o, isa); });
}

constexpr tl::SparseFfnActivation activations[] = {tl::SparseFfnActivation::relu, tl::SparseFfnActivation::silu,
                                                   tl::SparseFfnActivation::gelu};

TEST(SparseFfn, agrees_with_double) {
    for (const By by : {By::score, By::magnitude, By::positive}) {
        for (const tl::SparseFfnActivation activation : activations) {
            for (const std::int64_t tokens : {1, 2, 9}) {
                for (const std::int64_t n : {1, 33, 150}) {
                    // A projection's standard deviation is about 5 times the square root of k. By score and by magnitude half are
                    // active.
                    const Rule own{by, by == By::positive ? 0.0f : 4.0f};
                    for (const tl::SparseFfnFirst first : {tl::SparseFfnFirst::gate, tl::SparseFfnFirst::up})
                        expect_block({24, n, 17, tokens, own, false, {.activation = activation, .first = first}});
                    expect_block({24, n, 17, tokens, rule_of(by, 0.3), true, {.activation = activation}});
                }
            }
        }
    }
    for (const double share : {0.0, 0.05, 1.0}) expect_block({24, 300, 40, 2, rule_of(By::score, share), true});
    for (const std::int64_t tokens : {100, 101, 129, 257}) {
        expect_block({9, 40, 12, tokens, {By::positive, 0}});
        expect_block({9, 40, 12, tokens, rule_of(By::score, 0.1), true});
    }
    // Spans of 1,024 outputs, several slices.
    expect_block({8, 400, 1500, 1, {By::positive, 0}});
    expect_block({8, 400, 1500, 10, rule_of(By::score, 0.6), true});
}

TEST(SparseFfn, rows_of_any_number) {
    constexpr std::int64_t n = 600;
    for (const std::int64_t count : {std::int64_t{0}, std::int64_t{1}, std::int64_t{255}, std::int64_t{257}, n}) {
        for (const std::int64_t tokens : {1, 3})
            expect_block({16, n, 20, tokens, rule_of(By::magnitude, 0.4), true, {}, some_rows(count, n)});
    }
}

class SparseFfnTypes : public testing::TestWithParam<DType> {};

INSTANTIATE_TEST_SUITE_P(all, SparseFfnTypes, testing::ValuesIn(weights_and_floats()),
                         [](const auto &info) { return std::string(traits(info.param).name); });

// Each type alone, and combined with F32 and a type of another group size.
TEST_P(SparseFfnTypes, agree_with_double) {
    const DType type = GetParam();
    const std::int64_t k = 256;
    for (const bool constant : {false, true}) {
        if (constant && type == DType::f64) continue;
        for (const std::int64_t tokens : {1, 3}) {
            expect_block({k, 70, k, tokens, {By::positive, 0}, false, {}, std::nullopt, {type, type, type}, constant});
            expect_block({k, 70, k, tokens, rule_of(By::score, 0.1), true, {}, std::nullopt, {type, type, type}, constant});
        }
        expect_block({k, 70, k, 2, rule_of(By::score, 0.7), true, {}, std::nullopt, {type, DType::f32, DType::q8_0}, constant});
        expect_block({k,
                      70,
                      k,
                      2,
                      {By::positive, 0},
                      false,
                      {.first = tl::SparseFfnFirst::up},
                      std::nullopt,
                      {DType::q4_0, type, DType::f16},
                      constant});
        expect_block({k, 70, k, 1, rule_of(By::score, 0.5), true, {}, some_rows(40, 70), {type, type, type}, constant});
    }
}

// By scores, the block and the operations that it replaces use the same neurons, so their values agree within both bounds.
TEST(SparseFfn, is_what_it_is_made_of) {
    for (const std::int64_t tokens : {1, 12}) {
        tl::Context ctx;
        const Problem p{40, 200, 30, tokens, rule_of(By::score, 0.3), true, {.activation = tl::SparseFfnActivation::silu}};
        const Operands o = operands(ctx, p);
        const auto c = sparse_ffn(o.x, o.gate, o.up, o.down, o.scores, std::nullopt, p.all_options());
        const auto projected = [&](const tl::Tensor &a) { return mul_mat_sparse(a, o.x, o.scores, std::nullopt, p.rule.products()); };
        const auto d = axpy(o.down, silu(projected(o.gate)) * projected(o.up), o.scores, std::nullopt, p.rule.sums());
        for (const std::string &isa : support::isas()) {
            backend(isa, 2).compute({c, d});
            const auto bound = block(ctx, p, o, isa).bound;
            const auto got = c.read<float>(), want = d.read<float>();
            for (std::size_t i = 0; i < got.size(); i++)
                EXPECT_LE(std::fabs(double{got[i]} - double{want[i]}), 2 * bound[i]) << isa << " " << i;
        }
    }
}

// Two parts of the neurons and an add: a hybrid of two devices.
TEST(SparseFfn, parts_add_up) {
    tl::Context ctx;
    const Problem p{24, 90, 20, 5, rule_of(By::magnitude, 0.5), true};
    const Operands o = operands(ctx, p);
    Rows parts[2];
    for (std::int32_t i = 0; i < 90; i++) parts[i % 4 == 0].push_back(i);
    std::vector<tl::Tensor> sums;
    for (const Rows &part : parts) {
        const tl::Tensor rows = *numbers(ctx, part);
        const auto of = [&](const tl::Tensor &a) { return get_rows(a, rows); };
        sums.push_back(sparse_ffn(o.x, of(o.gate), of(o.up), of(o.down), o.scores, rows, p.all_options()));
    }
    const auto c = sums[0] + sums[1];
    for (const std::string &isa : support::isas()) {
        backend(isa, 3).compute({c});
        EXPECT_EQ(support::first_wrong(c.read<float>(), block(ctx, p, o, isa)), "") << isa;
    }
}

// A NaN of a token is not lost, whoever decides; a NaN score is not active.
TEST(SparseFfn, keeps_a_nan_that_is_computed_with) {
    tl::Context ctx;
    const Problem p{16, 30, 8, 2, {By::positive, 0}, false, {}};
    const Operands o = operands(ctx, p);
    auto values = o.x.read_f32();
    values[20] = nan;
    o.x.write_f32(values);
    const auto scores = leaf(ctx, {30, 2}, 46);
    const std::vector<float> none(60, nan);
    const auto nans = ctx.tensor<float>({30, 2}, std::span<const float>(none));
    const auto own = sparse_ffn(o.x, o.gate, o.up, o.down, std::nullopt, std::nullopt, p.all_options());
    const auto scored = sparse_ffn(o.x, o.gate, o.up, o.down, scores, std::nullopt, p.all_options());
    const auto nothing = sparse_ffn(o.x, o.gate, o.up, o.down, nans, std::nullopt, p.all_options());
    for (const std::string &isa : support::isas()) {
        backend(isa, 2).compute({own, scored, nothing});
        for (const tl::Tensor &c : {own, scored}) {
            const auto got = c.read<float>();
            for (std::size_t i = 0; i < got.size(); i++) EXPECT_EQ(std::isnan(got[i]), i >= 8) << isa << " " << i;
        }
        EXPECT_EQ(nothing.read<float>(), std::vector<float>(16, 0)) << isa;
    }
}

// Constants whose originals were dropped are rebuilt for what reads their rows.
TEST(SparseFfn, of_constants_without_their_originals) {
    const std::string isa = support::isas().front();
    if (isa == "baseline") return;  // it keeps no copies of blocks
    tl::Context ctx;
    const Problem p{256, 96, 256, 1, {By::positive, 0}, false, {}, std::nullopt, {DType::q4_0, DType::q4_0, DType::q8_0}, true};
    const Operands o = operands(ctx, p);
    const auto c = sparse_ffn(o.x, o.gate, o.up, o.down, std::nullopt, std::nullopt, p.all_options());
    const auto cpu = backend(isa, 2);
    cpu.compute({c});
    const auto before = c.read<float>();
    o.gate.drop_original();
    o.up.drop_original();
    cpu.compute({c});
    EXPECT_EQ(c.read<float>(), before);
}

}  // namespace
