// out_prod: against double, at sizes around tiles and blocks, for all types and strides, on every ISA and at several thread counts;
// with the operations that follow it; and the calls that must be refused.
#include "blocks.hpp"
#include "random_tensors.hpp"

namespace core = tensorlib::core;
using core::DType;
using core::Op;
using core::Tensor;
using support::Builder;
using support::Ne;
using support::Random;

namespace {

// A tensor's values with dimension 1 first.
std::vector<float> transposed(const Tensor *t) {
    const Ne &ne = t->layout.ne;
    const std::vector<float> values = support::values_of(t);
    std::vector<float> turned(values.size());
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(values.size()); i++) {
        const std::int64_t i0 = i % ne[0], i1 = i / ne[0] % ne[1], slice = i / ne[0] / ne[1];
        turned[static_cast<std::size_t>(i1 + ne[1] * (i0 + ne[0] * slice))] = values[static_cast<std::size_t>(i)];
    }
    return turned;
}

Ne swapped(Ne ne) {
    std::swap(ne[0], ne[1]);
    return ne;
}

void check(Builder &build, Tensor *a, Tensor *b) {
    const Ne &na = a->layout.ne, &nb = b->layout.ne;
    const std::string what = "out_prod of " + core::tensor_text(*a) + " and " + core::tensor_text(*b);
    Tensor *c = build.node(Op::out_prod, {a, b});
    ASSERT_EQ(c->layout.type, DType::f32);
    ASSERT_EQ(c->layout.ne, (Ne{na[0], nb[0], nb[2], nb[3]}));
    const auto want = support::mul_mat(transposed(a), swapped(na), transposed(b), swapped(nb));
    for (const std::vector<float> &got : support::computed_on_isas(build, c, what)) EXPECT_EQ(support::first_wrong(got, want), "") << what;
}

Builder finite() {
    Builder build;
    build.draw = support::any_value;
    return build;
}

// Around micro-kernels' tiles (8 to 32 rows, 6 and 12 columns) and blocks (192 or 512 of k, 512 rows, 516 columns).
TEST(OutProd, agrees_with_double_at_all_sizes) {
    Random random(3);
    constexpr std::int64_t sizes[] = {1, 2, 5, 6, 7, 8, 12, 13, 16, 31, 32, 33, 65, 130}, depths[] = {1, 2, 15, 16, 17, 60, 191, 193, 520};
    for (int draw = 0; draw < support::repeats(60, 1000) && !testing::Test::HasFailure(); draw++) {
        Builder build = finite();
        const std::int64_t k = support::one_of(random, depths);
        check(build, build.leaf({support::one_of(random, sizes), k, 1, 1}, DType::f32, random),
              build.leaf({support::one_of(random, sizes), k, 1, 1}, DType::f32, random));
    }
    Builder build = finite();
    check(build, build.leaf({600, 40, 1, 1}, DType::f32, random), build.leaf({530, 40, 1, 1}, DType::f32, random));
}

TEST(OutProd, agrees_with_double_for_all_strides_types_and_repetitions) {
    Random random(5);
    constexpr DType types[] = {DType::f32, DType::f16, DType::bf16};
    for (int draw = 0; draw < support::repeats(150, 3000) && !testing::Test::HasFailure(); draw++) {
        Builder build = finite();
        const std::int64_t m = 1 + support::below(random, 40), n = 1 + support::below(random, 40), k = 1 + support::below(random, 40);
        const std::int64_t x = 1 + support::below(random, 3), y = 1 + support::below(random, 2);
        Tensor *a = build.operand({m, k, x, y}, support::one_of(random, types), random);
        check(build, a,
              build.operand({n, k, x * (1 + support::below(random, 3)), y * (1 + support::below(random, 2))},
                            support::one_of(random, types), random));
    }
}

class OutProdWeights : public testing::TestWithParam<DType> {};
std::vector<DType> types_of_a() {
    std::vector<DType> all = support::weights();
    all.push_back(DType::f64);
    return all;
}
INSTANTIATE_TEST_SUITE_P(types, OutProdWeights, testing::ValuesIn(types_of_a()),
                         [](const auto &info) { return core::traits(info.param).name; });

// No operand is rounded, a decoded as it is.
TEST_P(OutProdWeights, agree_with_double) {
    Random random(7);
    for (const Ne &s : {Ne{256, 1, 1, 1}, Ne{512, 37, 21, 1}, Ne{256, 200, 5, 2}}) {
        const auto [m, k, n, slices] = s;
        Builder build = finite();
        Tensor *a = build.leaf({m, k, slices, 1}, GetParam());
        if (core::traits(GetParam()).block_size == 1) {
            std::vector<float> values(static_cast<std::size_t>(m * k * slices));
            for (float &value : values) value = support::any_value(random);
            core::write_f32(*a, values.data(), values.size());
        } else {
            const auto bytes = support::random_blocks(GetParam(), a->layout.n_elements(), 3);
            core::write_bytes(*a, bytes.data(), 0, bytes.size());
        }
        Tensor *b = build.leaf({n, k, 2 * slices, 1}, DType::f32, random);
        check(build, a, b);
        if (k == 37) {
            // Every second row.
            const std::array<std::int64_t, 2> ne{m, 18};
            const std::array<std::int64_t, 1> nb{static_cast<std::int64_t>(2 * a->layout.nb[1])};
            Tensor *part = build.node(Op::view, {a}, {core::Attr::of_ints("ne", ne), core::Attr::of_ints("nb", nb)});
            check(build, part, build.leaf({n, 18, 1, 1}, DType::f16, random));
        }
    }
}

TEST(OutProd, of_nothing) {
    Builder build;
    const auto of = [&](const Ne &a, const Ne &b) {
        return support::computed(build, build.node(Op::out_prod, {build.leaf(a), build.leaf(b)}), "nothing");
    };
    EXPECT_EQ(of({3, 0, 1, 1}, {2, 0, 1, 1}), std::vector<float>(6, 0.0f));
    EXPECT_EQ(of({0, 4, 1, 1}, {2, 4, 1, 1}), std::vector<float>());
    EXPECT_EQ(of({3, 4, 1, 1}, {0, 4, 1, 1}), std::vector<float>());
    EXPECT_EQ(of({3, 4, 0, 1}, {2, 4, 0, 1}), std::vector<float>());
    EXPECT_EQ(
        support::computed(build, build.node(Op::out_prod, {build.leaf({64, 0, 1, 1}, DType::q4_0), build.leaf({1, 0, 1, 1})}), "q4_0"),
        std::vector<float>(64, 0.0f));
}

// A NaN reaches the row or the column whose sums it is in, and no others: no padding takes part.
TEST(OutProd, keeps_special_values_in_their_rows_and_columns) {
    for (const std::int64_t n : {2, 13}) {
        Builder build;
        std::vector<float> a(33 * 19, 1), b(static_cast<std::size_t>(n) * 19, 1);
        a[18 * 33 + 32] = support::inf;
        a[5] = NAN;
        b[1] = -support::inf;
        Tensor *c = build.node(Op::out_prod, {build.leaf({33, 19, 1, 1}, DType::f32, a), build.leaf({n, 19, 1, 1}, DType::f32, b)});
        const std::vector<float> got = support::computed(build, c, "special values");
        for (std::size_t j = 0; j < static_cast<std::size_t>(n); j++) {
            for (std::size_t i = 0; i < 33; i++) {
                const float x = got[i + 33 * j];
                if (i == 5 || (i == 32 && j == 1)) {
                    EXPECT_TRUE(std::isnan(x)) << i << " " << j;
                } else {
                    EXPECT_EQ(x, i == 32 ? support::inf : j == 1 ? -support::inf : 19.0f) << i << " " << j;
                }
            }
        }
    }
}

// What follows it runs on its tiles, with the bits of a step of its own.
TEST(OutProd, takes_a_program_along) {
    Random random(11);
    Builder build = finite();
    Tensor *product =
        build.node(Op::out_prod, {build.leaf({70, 300, 1, 1}, DType::f32, random), build.leaf({40, 300, 2, 1}, DType::f32, random)});
    Tensor *end = build.node(Op::silu, {build.node(Op::add, {product, build.leaf({70, 1, 1, 1}, DType::f32, random)})});
    const auto graph = build.graph({end});
    for (const support::IsaBackends &backends : support::all_backends()) {
        const support::Environment isa("TENSORLIB_ISA", backends.isa.c_str()), fuse("TENSORLIB_FUSE", "0");
        const auto apart = core::open_backend("cpu", {.n_threads = 2});
        core::compute(*graph, *apart);
        const std::vector<float> want = support::values_of(end);
        core::compute(*graph, *backends.all[1]);
        EXPECT_TRUE(support::same_values(support::values_of(end), want)) << backends.isa;
        EXPECT_NE(core::plan_text(*graph, *backends.all[1]).find("out_prod_packed + add"), std::string::npos)
            << core::plan_text(*graph, *backends.all[1]);
    }
}

TEST(OutProd, is_refused) {
    using S = tl::Status;
    Builder build;
    const auto refused = [&](S status, std::vector<std::string> words, Tensor *a, Tensor *b) {
        words.push_back("out_prod: a is ");
        support::expect_error(status, words, [&] { build.node(Op::out_prod, {a, b}); });
    };
    const auto leaf = [&](const Ne &ne, DType type = DType::f32) { return build.leaf(ne, type); };
    refused(S::shape_mismatch, {"[3, 4] f32, b is [2, 5] f32", "second dimensions must be equal (4 and 5)"}, leaf({3, 4, 1, 1}),
            leaf({2, 5, 1, 1}));
    refused(S::shape_mismatch, {"dimension 2 of b must be a multiple of a's (3 and 2)"}, leaf({3, 4, 2, 1}), leaf({2, 4, 3, 1}));
    refused(S::shape_mismatch, {"dimension 3 of b must be a multiple of a's (1 and 2)"}, leaf({3, 4, 1, 2}), leaf({2, 4, 1, 1}));
    refused(S::shape_mismatch, {"dimension 2 of b must be a multiple of a's (1 and 0)"}, leaf({3, 4, 0, 1}), leaf({2, 4, 1, 1}));
    refused(S::type_mismatch, {"a must be of a float type or a weight format"}, leaf({3, 4, 1, 1}, DType::i32), leaf({2, 4, 1, 1}));
    refused(S::type_mismatch, {"b must be f32, f16 or bf16"}, leaf({3, 4, 1, 1}), leaf({2, 4, 1, 1}, DType::f64));
    refused(S::type_mismatch, {"b must be f32, f16 or bf16"}, leaf({3, 4, 1, 1}), leaf({32, 4, 1, 1}, DType::q4_0));
    support::expect_error(S::invalid_argument, {"operands"}, [&] { build.node(Op::out_prod, {leaf({3, 4, 1, 1})}); });
    // Strides of 0 make a result that no memory holds.
    Tensor *one = leaf({1, 1, 1, 1});
    const auto repeated = [&](std::int64_t n) {
        Tensor *rows = build.node(
            Op::view, {one},
            {core::Attr::of_ints("ne", std::array<std::int64_t, 2>{1, n}), core::Attr::of_ints("nb", std::array<std::int64_t, 1>{0})});
        return build.node(Op::permute, {rows}, {core::Attr::of_ints("axes", Ne{1, 0, 2, 3})});
    };
    Tensor *long_row = repeated(std::int64_t{1} << 40);
    support::expect_error(S::invalid_argument, {"out_prod", "more bytes than an address can count"},
                          [&] { build.node(Op::out_prod, {long_row, long_row}); });
    const auto graph = build.graph({build.node(Op::out_prod, {repeated(std::int64_t{1} << 28), repeated(std::int64_t{1} << 28)})});
    support::expect_error(S::out_of_memory, {}, [&] { core::compute(*graph, *support::all_backends()[0].all[0]); });
}

}  // namespace
