// Products without memory for their packed copies give the bits that the copies give. TENSORLIB_PACK_LIMIT=0 stands for a machine without
// memory. packed_constants_test, packed_floats_test and packed_rows_test compare the copies' results with float64.
#include "masks.hpp"

using support::leaf;
using tl::core::DType;
using tl::core::traits;
using namespace support::masks;

namespace {

std::vector<DType> packed_types() {
    std::vector<DType> types = support::weights();
    types.insert(types.end(), {DType::f32, DType::f16, DType::bf16});
    return types;
}

tl::Backend backend_with(const std::string &isa, int threads, const char *pack_limit) {
    const support::Environment limit("TENSORLIB_PACK_LIMIT", pack_limit);
    return support::backend(isa, threads);
}

class MissingCopies : public testing::TestWithParam<DType> {
protected:
    // A constant of whole blocks.
    tl::Tensor weights(std::int64_t k, std::int64_t rows, std::int64_t slices, unsigned seed) {
        const std::int64_t block = traits(GetParam()).block_size;
        const tl::Shape shape{(k + block - 1) / block * block, rows, slices};
        const bool floats = traits(GetParam()).block_size == 1;
        const tl::Tensor t =
            floats ? leaf(ctx, shape, seed, static_cast<tl::Type>(GetParam())) : support::blocks_leaf(ctx, GetParam(), shape, seed);
        t.set_constant();
        return t;
    }
    tl::Tensor columns(const tl::Tensor &a, std::int64_t n, std::int64_t tokens = 1) { return leaf(ctx, {a.shape()[0], n, tokens}, 7); }

    // Expects equal bits with and without memory for copies. Counts the runs that lacked a copy.
    void expect_same_bits(const tl::Tensor &c, const std::string &what) {
        const tl::Graph graph({c});
        for (const std::string &isa : support::isas()) {
            std::vector<float> wanted;
            for (const int threads : {1, 3}) {
                const tl::Backend with = support::backend(isa, threads), without = backend_with(isa, threads, "0");
                graph.compute(with);
                const auto got = c.read<float>();
                if (wanted.empty()) wanted = got;
                EXPECT_TRUE(same_bits(got, wanted)) << what << ", " << isa << ", " << threads << " threads";
                graph.compute(without);
                EXPECT_TRUE(same_bits(c.read<float>(), wanted)) << what << " without memory, " << isa << ", " << threads << " threads";
                EXPECT_EQ(without.packed_memory(), 0u);
                if (with.packed_memory() == 0) continue;
                lacking++;
                EXPECT_NE(graph.plan_text(without).find("no memory for a packed copy"), std::string::npos) << graph.plan_text(without);
            }
        }
    }
    static bool same_bits(const std::vector<float> &a, const std::vector<float> &b) {
        return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
    }
    void TearDown() override {
        // Every ISA but baseline packs every type for dense products, and quantised ones for sparse products.
        bool packs = false;
        for (const std::string &isa : support::isas()) packs = packs || isa != "baseline";
        if (packs) {
            EXPECT_EQ(lacking > 0, !sparse || traits(GetParam()).block_size > 1);
        }
    }

    tl::Context ctx;
    int lacking = 0;
    bool sparse = false;
};
INSTANTIATE_TEST_SUITE_P(all, MissingCopies, testing::ValuesIn(packed_types()),
                         [](const auto &info) { return std::string(traits(info.param).name); });

// k beyond what is unpacked at a time (8,192), and of several blocks of floats; one column, few, and more than copies are taken apart for.
TEST_P(MissingCopies, products) {
    for (const std::int64_t k : {96, 1030, 8960}) {
        for (const std::int64_t n : {1, 5, 13, 140}) {
            if (k == 8960 && n == 140) continue;
            const tl::Tensor a = weights(k, 70, 1, 1);
            expect_same_bits(mul_mat(a, columns(a, n)), "mul_mat k " + std::to_string(k) + " n " + std::to_string(n));
        }
    }
    const tl::Tensor a = weights(300, 33, 2, 2);
    expect_same_bits(mul_mat(a, columns(a, 6, 4)), "mul_mat of slices");
}

TEST_P(MissingCopies, products_of_experts) {
    for (const std::int64_t k : {1030, 8960}) {
        for (const std::int64_t tokens : {1, 3, 60}) {
            if (k == 8960 && tokens == 60) continue;
            const tl::Tensor a = weights(k, 40, 5, 3), b = leaf(ctx, {a.shape()[0], 2, tokens}, 4);
            std::vector<std::int32_t> numbers;
            for (int i = 0; i < 2 * tokens; i++) numbers.push_back(i % 7 == 0 ? i % 5 : i % 3 == 0 ? -1 : 3);
            const auto ids = ctx.tensor<std::int32_t>({2, tokens}, numbers);
            expect_same_bits(mul_mat_id(a, b, ids), "mul_mat_id k " + std::to_string(k) + " tokens " + std::to_string(tokens));
        }
    }
}

TEST_P(MissingCopies, sparse_products_and_sums) {
    sparse = true;
    constexpr std::int64_t n = 130;
    for (const std::int64_t k : {768, 8960}) {
        for (const std::int64_t tokens : {1, 3, 12}) {
            for (const double share : {0.05, 0.9}) {
                const std::string what =
                    " k " + std::to_string(k) + " tokens " + std::to_string(tokens) + " share " + std::to_string(share);
                const tl::Tensor a = weights(k, n, 1, 5), scores = scores_of(ctx, n, tokens, 6, false);
                const Rule rule = rule_of(By::score, share);
                expect_same_bits(mul_mat_sparse(a, columns(a, tokens), scores, std::nullopt, rule.products()), "mul_mat_sparse" + what);
                expect_same_bits(axpy(a, leaf(ctx, {n, tokens}, 8), scores, std::nullopt, rule.sums()), "axpy" + what);
                if (share > 0.5) continue;
                const tl::Tensor up = weights(k, n, 1, 9), down = weights(k, n, 1, 10);
                expect_same_bits(sparse_ffn(columns(a, tokens), a, up, down, scores, std::nullopt, {}), "sparse_ffn" + what);
            }
        }
    }
}

// A row's bits do not depend on which other rows are active: most are read by whole panels of the copy, few are gathered.
TEST_P(MissingCopies, rows_have_bits_of_their_own) {
    sparse = true;
    constexpr std::int64_t n = 130, tokens = 8;
    const tl::Tensor a = weights(8960, n, 1, 11), b = columns(a, tokens);
    std::vector<float> few(n * tokens, -1), most(n * tokens, 1);
    for (std::int64_t t = 0; t < tokens; t++) few[static_cast<std::size_t>(t * n + 77)] = 1;
    const auto scores_few = ctx.tensor<float>({n, tokens}, few), scores_most = ctx.tensor<float>({n, tokens}, most);
    const auto one = mul_mat_sparse(a, b, scores_few, std::nullopt, {}), all = mul_mat_sparse(a, b, scores_most, std::nullopt, {});
    for (const std::string &isa : support::isas()) {
        const tl::Backend cpu = support::backend(isa, 2);
        cpu.compute({one, all});
        const auto x = one.read<float>(), y = all.read<float>();
        for (std::size_t i = 77; i < x.size(); i += n) EXPECT_EQ(x[i], y[i]) << isa << ", element " << i;
        if (cpu.packed_memory() != 0) lacking++;
    }
}

TEST(PackLimit, is_shared_by_all_copies_and_must_be_a_number) {
    tl::Context ctx;
    const std::string isa = support::isas().front();
    const auto a = leaf(ctx, {64, 64}, 1), c = leaf(ctx, {64, 64}, 2), b = leaf(ctx, {64, 4}, 3);
    a.set_constant(), c.set_constant();
    const tl::Backend unlimited = support::backend(isa, 1);
    const tl::Graph graph({mul_mat(a, b), mul_mat(c, b)});
    graph.compute(unlimited);
    const std::string one = std::to_string(unlimited.packed_memory() / 2), less = std::to_string(unlimited.packed_memory() / 2 - 1);
    const tl::Backend half = backend_with(isa, 1, one.c_str()), none = backend_with(isa, 1, less.c_str());
    graph.compute(half), graph.compute(none);
    EXPECT_EQ(half.packed_memory(), unlimited.packed_memory() / 2);
    EXPECT_EQ(none.packed_memory(), 0u);
    for (const char *wrong : {"1G", "-1", "half", "99999999999999999999999", " 1"}) {
        support::expect_error(tl::Status::invalid_argument, {"TENSORLIB_PACK_LIMIT", wrong, "bytes"}, [&] { backend_with(isa, 1, wrong); });
    }
}

// Looking at plans and estimating makes no copies; neither does a device that a node is taken away from.
TEST(PackLimit, only_a_plan_that_runs_makes_copies) {
    tl::Context ctx;
    const auto a = leaf(ctx, {64, 64}, 1), b = leaf(ctx, {64, 4}, 3);
    a.set_constant();
    const tl::Backend cpu = support::backend(support::isas().front(), 1);
    const tl::Graph graph({mul_mat(a, b)});
    graph.plan_bytes(cpu);
    EXPECT_EQ(cpu.packed_memory(), 0u);
    graph.compute(cpu);
    EXPECT_GT(cpu.packed_memory(), 0u);
}

}  // namespace
