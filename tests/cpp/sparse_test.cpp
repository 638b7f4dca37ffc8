// mul_mat_sparse and axpy on every ISA against double, at 1 to 8 threads: rules, ties and NaNs, masks of each token, rows, every type, any
// layout, parts that add up, constants.
#include "masks.hpp"

using support::backend;
using support::leaf;
using tl::core::DType;
using tl::core::traits;
using namespace support::masks;

namespace {

using support::masks::inf, support::masks::nan;

// Products in double where active, else 0 to the bit: a bound of 0, and no sign.
support::Expected products(const tl::Tensor &a, const tl::Tensor &b, const std::optional<tl::Tensor> &scores, const Rule &rule,
                           const std::optional<Rows> &rows, std::int64_t n, support::Rounded rounded) {
    const std::int64_t K = a.shape()[0], tokens = b.shape()[1];
    const std::vector<float> av = a.read_f32(), bv = b.read_f32(), sv = scores ? scores->read_f32() : std::vector<float>();
    const std::vector<std::int64_t> place = places(rows, n);
    support::Expected e;
    for (std::int64_t t = 0; t < tokens; t++) {
        // All of a's rows by the column, of which the active ones are taken.
        support::Expected column;
        support::append_column(column, av.data(), bv.data() + t * K, K, a.shape()[1], rounded);
        for (std::int64_t i = 0; i < n; i++) {
            const std::int64_t row = place[static_cast<std::size_t>(i)];
            const bool active = row >= 0 && (!scores || rule.active(sv[static_cast<std::size_t>(i + t * n)]));
            e.value.push_back(active ? column.value[static_cast<std::size_t>(row)] : 0);
            e.bound.push_back(active ? column.bound[static_cast<std::size_t>(row)] : 0);
        }
    }
    return e;
}

struct Problem {
    std::int64_t k, n, tokens;
    Rule rule;
    std::optional<Rows> rows = std::nullopt;
    bool scored = true, special = true;
    DType type = DType::f32;
    bool constant = false, exact = false;

    std::string text() const {
        return std::string(traits(type).name) + " k " + std::to_string(k) + " n " + std::to_string(n) + " tokens " +
               std::to_string(tokens) + " by " + std::to_string(static_cast<int>(rule.by)) + " threshold " +
               std::to_string(rule.threshold) + " rows " + (rows ? std::to_string(rows->size()) : "none") + (scored ? " scored" : "") +
               (constant ? " constant" : "");
    }
};

tl::Tensor weights(const tl::Context &ctx, const Problem &p) {
    const std::int64_t m = p.rows ? static_cast<std::int64_t>(p.rows->size()) : p.n;
    const auto a = traits(p.type).kind == tl::core::Kind::floating ? leaf(ctx, {p.k, m}, 1, static_cast<tl::Type>(p.type))
                                                                   : support::blocks_leaf(ctx, p.type, {p.k, m}, 1);
    if (p.constant) a.set_constant();
    return a;
}

void expect_products(const Problem &p) {
    tl::Context ctx;
    const auto a = weights(ctx, p), b = leaf(ctx, {p.k, p.tokens}, 2);
    std::optional<tl::Tensor> scores;
    if (p.scored) scores = scores_of(ctx, p.n, p.tokens, 3, p.special);
    tl::MulMatSparseOptions options = p.scored ? p.rule.products() : tl::MulMatSparseOptions{.n = p.n};
    options.exact = p.exact;
    const auto c = mul_mat_sparse(a, b, scores, numbers(ctx, p.rows), options);
    expect_on_all(c, "mul_mat_sparse " + p.text(), [&](const tl::Graph &graph, const std::string &isa) {
        return products(a, b, scores, p.rule, p.rows, p.n, support::how_rounded(graph, isa, a));
    });
}

void expect_sums(const Problem &p) {
    tl::Context ctx;
    const auto a = weights(ctx, p), h = leaf(ctx, {p.n, p.tokens}, 4);
    std::optional<tl::Tensor> scores;
    if (p.scored) scores = scores_of(ctx, p.n, p.tokens, 3, p.special);
    const auto c = axpy(a, h, scores, numbers(ctx, p.rows), p.rule.sums());
    const support::Expected expected = sums(a, h, scores, p.rule, p.rows);
    expect_on_all(c, "axpy " + p.text(), [&](const tl::Graph &, const std::string &) { return expected; });
}

constexpr By all_rules[] = {By::score, By::magnitude, By::positive};

// All and none active, and parts; numbers of neurons around groups of 16 and 32 and slices of 128; columns around 8, 100 and rounds of 128.
TEST(Sparse, agrees_with_double) {
    for (const By by : all_rules) {
        for (const double share : {0.0, 0.03, 0.3, 0.6, 1.0}) {
            for (const std::int64_t tokens : {1, 2, 9}) {
                for (const std::int64_t n : {1, 33, 300}) {
                    const Problem p{35, n, tokens, rule_of(by, share)};
                    expect_products(p);
                    expect_sums(p);
                    expect_sums({35, n, tokens, rule_of(by, share), std::nullopt, false});
                }
            }
        }
        for (const std::int64_t tokens : {100, 101, 129, 257}) {
            expect_products({17, 70, tokens, rule_of(by, 0.1)});
            expect_sums({17, 70, tokens, rule_of(by, 0.1)});
        }
    }
    // Spans of 1,024 outputs, several slices, k past a block of 8,192.
    expect_sums({2500, 400, 2, rule_of(By::score, 0.7)});
    expect_sums({1025, 129, 12, rule_of(By::positive, 0), std::nullopt, false});
    expect_products({9000, 40, 3, rule_of(By::score, 0.5)});
}

TEST(Sparse, rows_of_any_number) {
    constexpr std::int64_t n = 1000;
    for (const std::int64_t count : {std::int64_t{0}, std::int64_t{1}, std::int64_t{255}, std::int64_t{257}, n}) {
        for (const std::int64_t tokens : {1, 3}) {
            for (const bool scored : {false, true}) {
                const Problem p{40, n, tokens, rule_of(By::magnitude, 0.3), some_rows(count, n), scored};
                expect_products(p);
                expect_sums(p);
            }
        }
    }
}

class SparseTypes : public testing::TestWithParam<DType> {};

INSTANTIATE_TEST_SUITE_P(all, SparseTypes, testing::ValuesIn(weights_and_floats()),
                         [](const auto &info) { return std::string(traits(info.param).name); });

// Few active rows are gathered, many are read from a constant's panels.
TEST_P(SparseTypes, agree_with_double) {
    const std::int64_t block = traits(GetParam()).block_size, k = std::max<std::int64_t>(block, 96 / block * block);
    const bool plain = traits(GetParam()).kind == tl::core::Kind::floating;
    for (const bool constant : {false, true}) {
        for (const double share : {0.08, 0.5, 1.0}) {
            for (const std::int64_t tokens : {1, 7}) {
                Problem p{k,    130,  tokens,     rule_of(By::score, share),           std::nullopt,
                          true, true, GetParam(), constant && GetParam() != DType::f64};
                expect_products(p);
                if (!plain && !constant) {
                    p.exact = true;
                    expect_products(p);
                }
            }
        }
        const Problem p{
            4 * k, 131, 2, rule_of(By::score, 0.3), some_rows(70, 131), true, true, GetParam(), constant && GetParam() != DType::f64};
        expect_products(p);
        expect_sums(p);
    }
    // A last span that is no whole one; many columns.
    expect_sums({(1024 / block + 1) * block, 150, 1, rule_of(By::magnitude, 0.4), std::nullopt, false, false, GetParam()});
    expect_sums({block, 150, 10, rule_of(By::magnitude, 0.4), std::nullopt, false, false, GetParam()});
    // Past a block of k of the integer product.
    expect_products({8704 / block * block, 40, 2, rule_of(By::score, 0.4), std::nullopt, true, true, GetParam()});
}

// A constant's panels give the bits of gathered rows. With few columns there are packed rows instead: packed_rows_test.
TEST(SparseConstants, have_the_same_bits) {
    for (const DType type : {DType::q4_0, DType::q8_0, DType::q4_K, DType::q6_K, DType::iq4_nl}) {
        for (const std::int64_t tokens : {5, 20}) {
            tl::Context ctx;
            const auto a = support::blocks_leaf(ctx, type, {512, 140}, 5), same = support::blocks_leaf(ctx, type, {512, 140}, 5);
            same.set_constant();
            const auto b = leaf(ctx, {512, tokens}, 6), scores = scores_of(ctx, 140, tokens, 7, true);
            const auto options = rule_of(By::score, 0.8).products();
            const auto c = mul_mat_sparse(a, b, scores, std::nullopt, options), d = mul_mat_sparse(same, b, scores, std::nullopt, options);
            for (const std::string &isa : support::isas()) {
                backend(isa, 3).compute({c, d});
                EXPECT_EQ(c.read<float>(), d.read<float>()) << traits(type).name << " " << isa;
            }
        }
    }
}

// A constant whose original was dropped is rebuilt for what reads its rows.
TEST(SparseConstants, may_be_without_their_originals) {
    tl::Context ctx;
    const auto a = support::blocks_leaf(ctx, DType::q4_0, {256, 96}, 8), b = leaf(ctx, {256, 1}, 9), scores = leaf(ctx, {96, 1}, 10);
    const auto h = leaf(ctx, {96, 1}, 11);
    a.set_constant();
    const auto c = mul_mat_sparse(a, b, scores, std::nullopt, rule_of(By::score, 0.2).products());
    const auto d = axpy(a, h, std::nullopt, std::nullopt, rule_of(By::magnitude, 0.3).sums());
    const std::string isa = support::isas().front();
    if (isa == "baseline") return;  // it keeps no copies of blocks
    const auto cpu = backend(isa, 2);
    cpu.compute({c, d});
    const auto before = c.read<float>(), sums_before = d.read<float>();
    a.drop_original();
    cpu.compute({c, d});
    EXPECT_EQ(c.read<float>(), before);
    EXPECT_EQ(d.read<float>(), sums_before);
}

// Parts of the neurons, each with its own rows: products lie next to each other, sums add up.
TEST(SparseParts, come_to_the_whole) {
    for (const std::int64_t tokens : {1, 2, 101}) {
        tl::Context ctx;
        constexpr std::int64_t K = 64, n = 200;
        const auto a = support::blocks_leaf(ctx, DType::q8_0, {K, n}, 12), b = leaf(ctx, {K, tokens}, 13),
                   scores = scores_of(ctx, n, tokens, 14, true);
        const auto h = leaf(ctx, {n, tokens}, 15);
        const Rule rule = rule_of(By::score, 0.4);
        Rows parts[2];
        for (std::int32_t i = 0; i < n; i++) parts[i % 3 == 0].push_back(i);
        std::vector<tl::Tensor> c{mul_mat_sparse(a, b, scores, std::nullopt, rule.products())};
        std::vector<tl::Tensor> d{axpy(a, h, scores, std::nullopt, rule.sums())};
        for (const Rows &part : parts) {
            const auto mine = ctx.zeros(tl::Type::q8_0, {K, static_cast<std::int64_t>(part.size())});
            const std::size_t row = traits(DType::q8_0).size * K / 32;
            for (std::size_t i = 0; i < part.size(); i++) {
                std::vector<std::byte> bytes(row);
                a.read_bytes(bytes.data(), static_cast<std::size_t>(part[i]) * row, row);
                mine.write_bytes(bytes.data(), i * row, row);
            }
            c.push_back(mul_mat_sparse(mine, b, scores, numbers(ctx, part), rule.products()));
            d.push_back(axpy(mine, h, scores, numbers(ctx, part), rule.sums()));
        }
        c.push_back(c[1] + c[2]);
        d.push_back(d[1] + d[2]);
        const support::Expected expected = sums(a, h, scores, rule, std::nullopt);
        for (const std::string &isa : support::isas()) {
            backend(isa, 2).compute({c[0], c[3], d[0], d[3]});
            EXPECT_EQ(c[0].read<float>(), c[3].read<float>()) << isa;
            EXPECT_EQ(support::first_wrong(d[3].read<float>(), expected), "") << isa;
        }
    }
}

// The dense product is the oracle where neurons are active, and what it makes of the others is left out.
TEST(Sparse, is_the_dense_product_with_zeros) {
    tl::Context ctx;
    const auto a = leaf(ctx, {100, 77}, 16), b = leaf(ctx, {100, 6}, 17), scores = scores_of(ctx, 77, 6, 18, true);
    const Rule rule = rule_of(By::magnitude, 0.25);
    const auto c = mul_mat_sparse(a, b, scores, std::nullopt, rule.products()), dense = mul_mat_exact(a, b);
    const auto h = leaf(ctx, {77, 6}, 19), masked = leaf(ctx, {77, 6}, 19);
    const auto sv = scores.read_f32();
    auto values = masked.read_f32();
    for (std::size_t i = 0; i < values.size(); i++) values[i] = rule.active(sv[i]) ? values[i] : 0;
    masked.write_f32(values);
    const auto d = axpy(a, h, scores, std::nullopt, rule.sums()), dense_sums = mul_mat_exact(a.transpose(), masked);
    const auto products_bound = products(a, b, scores, rule, std::nullopt, 77, support::Rounded::no).bound;
    const auto sums_bound = sums(a, h, scores, rule, std::nullopt).bound;
    for (const std::string &isa : support::isas()) {
        backend(isa, 2).compute({c, dense, d, dense_sums});
        const auto got = c.read<float>(), want = dense.read<float>(), got_sums = d.read<float>(), want_sums = dense_sums.read<float>();
        for (std::size_t i = 0; i < got.size(); i++) {
            const double wanted = rule.active(sv[i]) ? want[i] : 0;
            EXPECT_LE(std::fabs(double{got[i]} - wanted), 2 * products_bound[i]) << isa << " element " << i;
        }
        for (std::size_t i = 0; i < got_sums.size(); i++) {
            EXPECT_LE(std::fabs(double{got_sums[i]} - double{want_sums[i]}), 2 * sums_bound[i]) << isa << " element " << i;
        }
    }
}

// Weights of neurons that are not active are not looked at, an activation that is NaN is not lost, and zeros of either sign count as none.
TEST(SparseSpecialValues, of_weights_and_activations) {
    for (const std::string &isa : support::isas()) {
        tl::Context ctx;
        const std::vector<float> rows{1, 2, nan, inf, 3, 4, nan, nan};  // of 4 neurons
        const auto a = ctx.tensor<float>({2, 4}, std::span<const float>(rows));
        const std::vector<float> of_scores{1, -1, 1, -1}, of_h{2, -0.0f, 1, 0}, of_nan{nan, 0, -1, -1};
        const auto scores = ctx.tensor<float>({4}, std::span<const float>(of_scores)),
                   h = ctx.tensor<float>({4}, std::span<const float>(of_h));
        const auto with_nan = ctx.tensor<float>({4}, std::span<const float>(of_nan));
        const std::vector<float> ones{1, 1};
        const auto b = ctx.tensor<float>({2}, std::span<const float>(ones));
        const auto c = mul_mat_sparse(a, b, scores, std::nullopt, {});
        const auto d = axpy(a, h, std::nullopt, std::nullopt, {}),
                   e = axpy(a, with_nan, std::nullopt, std::nullopt, {.by = tl::SparseBy::positive});
        const auto f = axpy(a, with_nan, scores, std::nullopt, {.by = tl::SparseBy::positive});
        backend(isa, 2).compute({c, d, e, f});
        EXPECT_EQ(c.read<float>(), (std::vector<float>{3, 0, 7, 0})) << isa;
        EXPECT_EQ(d.read<float>(), (std::vector<float>{5, 8})) << isa;
        for (const float x : e.read<float>()) EXPECT_TRUE(std::isnan(x)) << isa;
        for (const float x : f.read<float>()) EXPECT_TRUE(std::isnan(x)) << isa;
    }
}

// Numbers are looked at in each run, and may change between two; a run that failed harms none after it.
TEST(SparseNumbers, are_data) {
    for (const DType type : {DType::f32, DType::q8_0}) {
        for (const std::string &isa : support::isas()) {
            tl::Context ctx;
            const auto a = type == DType::f32 ? leaf(ctx, {64, 3}, 20) : support::blocks_leaf(ctx, type, {64, 3}, 20);
            const auto b = leaf(ctx, {64, 2}, 21), h = leaf(ctx, {9, 2}, 22), rows = ctx.zeros(tl::Type::i32, {3});
            const Rule rule = rule_of(By::magnitude, 1);
            const auto c = mul_mat_sparse(a, b, h, rows, rule.products()), d = axpy(a, h, std::nullopt, rows, rule.sums());
            for (const tl::Tensor &result : {c, d}) {
                const tl::Graph graph({result});
                const bool is_product = result.shape() == c.shape();
                const auto fails = [&](const Rows &bad, int place) {
                    rows.write<std::int32_t>(bad);
                    support::expect_error(
                        tl::Status::invalid_argument,
                        {"element " + std::to_string(place) + " of rows is " + std::to_string(bad[static_cast<std::size_t>(place)]),
                         "rows must ascend, each number once, from 0 to 8"},
                        [&] { graph.compute(backend(isa, 2)); });
                };
                fails({0, 1, 9}, 2);
                fails({-1, 1, 2}, 0);
                fails({4, 4, 5}, 1);
                fails({7, 3, 8}, 1);
                fails({INT32_MIN, INT32_MAX, 1}, 0);
                const Rows good{1, 4, 8};
                rows.write<std::int32_t>(good);
                graph.compute(backend(isa, 3));
                const support::Expected expected = is_product ? products(a, b, h, rule, good, 9, support::how_rounded(graph, isa, a))
                                                              : sums(a, h, std::nullopt, rule, good);
                EXPECT_EQ(support::first_wrong(result.read<float>(), expected), "") << isa << (is_product ? " mul_mat_sparse" : " axpy");
            }
        }
    }
}

// Each operand in other layouts than packed.
TEST(SparseLayouts, strided_operands) {
    tl::Context ctx;
    const std::vector<std::size_t> apart{3 * 64 * sizeof(float)};
    const tl::Tensor as[] = {leaf(ctx, {40, 64}, 23).transpose(), leaf(ctx, {64, 120}, 24).view({64, 40}, apart, 64),
                             support::blocks_leaf(ctx, DType::q4_0, {128, 40}, 25).view({64, 40}, std::vector<std::size_t>{72}),
                             leaf(ctx, {40, 64}, 26, tl::Type::f16).transpose()};
    for (const std::int64_t tokens : {1, 11}) {
        const tl::Tensor bs[] = {leaf(ctx, {tokens, 64}, 27).transpose(), leaf(ctx, {64, tokens}, 28, tl::Type::f16),
                                 leaf(ctx, {64, tokens}, 29, tl::Type::bf16)};
        const tl::Tensor hs[] = {leaf(ctx, {tokens, 40}, 30).transpose(), leaf(ctx, {40, tokens}, 31, tl::Type::f16),
                                 leaf(ctx, {40, tokens}, 32, tl::Type::bf16)};
        const auto scores = leaf(ctx, {tokens, 40}, 33).transpose();
        const Rule rule = rule_of(By::score, 0.3);
        for (const tl::Tensor &a : as) {
            for (std::size_t i = 0; i < 3; i++) {
                const auto c = mul_mat_sparse(a, bs[i], scores, std::nullopt, rule.products());
                expect_on_all(c, "mul_mat_sparse of views", [&](const tl::Graph &graph, const std::string &isa) {
                    return products(a, bs[i], scores, rule, std::nullopt, 40, support::how_rounded(graph, isa, a));
                });
                const support::Expected expected = sums(a, hs[i], scores, rule, std::nullopt);
                expect_on_all(axpy(a, hs[i], scores, std::nullopt, rule.sums()), "axpy of views",
                              [&](const tl::Graph &, const std::string &) { return expected; });
            }
        }
    }
}

// Gradients through what is active: those of the dense product that is multiplied by the mask.
TEST(SparseGradients, are_those_of_a_mask) {
    tl::Context ctx;
    const auto a = leaf(ctx, {24, 30}, 34), b = leaf(ctx, {24, 5}, 35), scores = leaf(ctx, {30, 5}, 36), seed = leaf(ctx, {30, 5}, 37);
    const Rule rule = rule_of(By::positive, 0);
    const auto mask = step(scores);
    const auto sparse = mul_mat_sparse(a, b, scores, std::nullopt, rule.products()).gradients({a, b}, seed);
    const auto dense = (mul_mat_exact(a, b) * mask).gradients({a, b}, seed);
    for (const std::string &isa : support::isas()) {
        backend(isa, 2).compute({sparse[0], sparse[1], dense[0], dense[1]});
        for (std::size_t i = 0; i < 2; i++) {
            const auto got = sparse[i].read<float>(), want = dense[i].read<float>();
            // Sums of up to 30 products of magnitudes below 16.
            for (std::size_t j = 0; j < got.size(); j++)
                EXPECT_NEAR(got[j], want[j], 2 * 32 * 0x1p-24 * 30 * 16) << isa << " " << i << " " << j;
        }
    }
}

}  // namespace
