// Every CUDA kernel against double, on the first device, checking that the plan picked the intended kernel.
#include "blocks.hpp"
#include "cuda_support.hpp"

#include <algorithm>
#include <limits>
#include <map>

using support::compute;
using support::gpu;
using support::leaf;

namespace {

using Kernels = support::CudaTest;

TEST_F(Kernels, mul_mat_of_all_sizes) {
    struct Product {
        const char *kernel;
        tl::Shape a, b;
    };
    std::vector<Product> products;
    for (const std::int64_t n : {1, 2, 3, 4, 5, 6, 7, 8}) {
        for (const std::int64_t m : {1, 3, 5, 17}) {
            for (const std::int64_t k : {1, 4, 7, 130, 1028}) products.push_back({"mul_mat_f32_vec", {k, m}, {k, n}});
        }
    }
    for (const std::int64_t n : {9, 16, 65}) {
        for (const std::int64_t m : {1, 16, 63, 64, 70}) {
            for (const std::int64_t k : {1, 15, 16, 20, 37}) products.push_back({"mul_mat_f32_tiled", {k, m}, {k, n}});
        }
    }
    products.push_back({"mul_mat_f32_vec", {8, 8500}, {8, 1}});         // enough rows for a warp each
    products.push_back({"mul_mat_f32_vec", {9, 8500}, {9, 5}});         // the same without vectors, with many columns
    products.push_back({"mul_mat_f32_tiled", {12, 1500}, {12, 1540}});  // 12 x 13 large tiles
    products.push_back({"mul_mat_f32_vec", {17, 9, 2, 3}, {17, 3, 6, 3}});
    products.push_back({"mul_mat_f32_vec", {16, 9, 1, 1}, {16, 1, 4, 5}});
    products.push_back({"mul_mat_f32_tiled", {17, 9, 2, 1}, {17, 11, 4, 5}});
    products.push_back({"mul_mat_f32_tiled", {16, 70, 1, 3}, {16, 33, 2, 3}});
    products.push_back({"mul_mat_empty", {0, 3}, {0, 5}});
    products.push_back({"mul_mat_empty", {4, 0}, {4, 5}});
    products.push_back({"mul_mat_empty", {4, 3}, {4, 0}});
    const auto backend = gpu();
    for (const Product &p : products) {
        const tl::Context ctx(backend);
        const auto a = leaf(ctx, p.a, 1), b = leaf(ctx, p.b, 2);
        const auto expected = support::mul_mat(a.read_f32(), a.shape(), b.read_f32(), b.shape());
        EXPECT_EQ(support::first_wrong(compute(mul_mat(a, b), p.kernel, backend), expected), "")
            << p.kernel << " k " << p.a[0] << " m " << p.a[1] << " n " << p.b[1];
    }
}

TEST_F(Kernels, mul_mat_of_strided_operands) {
    const auto backend = gpu();
    for (const std::int64_t n : {3, 40}) {
        const tl::Context ctx(backend);
        const auto a = leaf(ctx, {50, 37, 2}, 3).transpose();  // {37, 50, 2}: k lies 50 elements apart
        const auto rows = leaf(ctx, {37, 2 * n + 2, 2}, 4);
        const std::size_t row = 37 * sizeof(float);
        const std::vector<std::size_t> nb{2 * row, row * static_cast<std::size_t>(2 * n + 2)};
        const auto b = rows.view({37, n, 2}, nb, 2 * row);  // every second row from the third on
        const auto expected = support::mul_mat(a.read_f32(), a.shape(), b.read_f32(), b.shape());
        EXPECT_EQ(support::first_wrong(compute(mul_mat(a, b), "mul_mat_f32_tiled", backend), expected), "");
        const auto packed = support::mul_mat(b.read_f32(), b.shape(), a.read_f32(), a.shape());
        EXPECT_EQ(support::first_wrong(compute(mul_mat(b, a), "mul_mat_f32_tiled", backend), packed), "");
        // Rows that begin at odd floats: no vectors.
        const auto odd = rows.view({36, n}, std::vector<std::size_t>{row}, 4);
        const auto x = leaf(ctx, {36, 5}, 5);
        const auto want = support::mul_mat(odd.read_f32(), odd.shape(), x.read_f32(), x.shape());
        EXPECT_EQ(support::first_wrong(compute(mul_mat(odd, x), "mul_mat_f32_vec", backend), want), "");
    }
}

TEST_F(Kernels, mul_mat_of_any_float_types) {
    const auto backend = gpu();
    for (const tl::Type ta : {tl::Type::f32, tl::Type::f16, tl::Type::bf16}) {
        for (const tl::Type tb : {tl::Type::f32, tl::Type::f16, tl::Type::bf16}) {
            const tl::Context ctx(backend);
            const auto a = leaf(ctx, {33, 5, 2}, 5, ta), b = leaf(ctx, {33, 9, 4}, 6, tb);
            const bool f32 = ta == tl::Type::f32 && tb == tl::Type::f32;
            const auto got = compute(mul_mat(a, b), f32 ? "mul_mat_f32_tiled" : "mul_mat_any", backend);
            EXPECT_EQ(support::first_wrong(got, support::mul_mat(a.read_f32(), a.shape(), b.read_f32(), b.shape())), "");
        }
    }
}

TEST_F(Kernels, mul_mat_id_of_all_sizes_and_types) {
    struct Product {
        const char *kernel;
        tl::core::DType type;
        tl::Shape a, b;
        std::int64_t used;
    };
    using tl::core::DType;
    // Around a block of 8 rows and a warp of 32 elements or runs of 8.
    std::vector<Product> products;
    for (const std::int64_t m : {1, 7, 8, 9}) {
        for (const std::int64_t k : {0, 1, 31, 32, 70}) products.push_back({"mul_mat_id_plain", DType::f32, {k, m, 3}, {k, 1, 5}, 2});
        for (const std::int64_t k : {256, 1280}) products.push_back({"mul_mat_id_blocks", DType::q4_K, {k, m, 3}, {k, 2, 5}, 4});
    }
    for (const DType type : {DType::f16, DType::bf16, DType::f64})
        products.push_back({"mul_mat_id_plain", type, {33, 5, 4}, {33, 1, 7}, 3});
    products.push_back({"mul_mat_id_plain", DType::f32, {4, 0, 3}, {4, 1, 5}, 2});
    products.push_back({"mul_mat_id_plain", DType::f32, {4, 3, 3}, {4, 1, 0}, 2});
    const auto backend = gpu();
    for (const Product &p : products) {
        const tl::Context ctx(backend);
        const bool plain = tl::core::traits(p.type).block_size == 1;
        const auto a = plain ? leaf(ctx, p.a, 1, static_cast<tl::Type>(p.type)) : support::blocks_leaf(ctx, p.type, p.a, 1);
        const auto b = leaf(ctx, p.b, 2), ids = ctx.zeros(tl::Type::i32, {p.used, p.b[2]});
        std::vector<float> numbers(static_cast<std::size_t>(ids.n_elements()));
        for (std::size_t i = 0; i < numbers.size(); i++) numbers[i] = static_cast<float>(7 * i % static_cast<std::size_t>(p.a[2]));
        ids.write_f32(numbers);
        const auto expected = support::mul_mat_id(a.read_f32(), a.shape(), b.read_f32(), b.shape(), numbers);
        EXPECT_EQ(support::first_wrong(compute(mul_mat_id(a, b, ids), p.kernel, backend), expected), "")
            << p.kernel << " k " << p.a[0] << " m " << p.a[1];
    }
}

// A NaN or an infinity reaches the elements whose sums it is in, and no others: no padding takes part.
TEST_F(Kernels, mul_mat_keeps_special_values_in_their_rows_and_columns) {
    constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    const auto backend = gpu();
    for (const std::int64_t n : {2, 13}) {
        const tl::Context ctx(backend);
        std::vector<float> av(19 * 33, 1.0f), bv(19 * static_cast<std::size_t>(n), 1.0f);
        av[19 * 32 + 18] = inf;
        av[19 * 5] = nan;
        bv[19] = -inf;  // column 1
        const auto a = ctx.tensor<float>({19, 33}, std::span<const float>(av));
        const auto b = ctx.tensor<float>({19, n}, std::span<const float>(bv));
        const auto got = compute(mul_mat(a, b), n == 2 ? "mul_mat_f32_vec" : "mul_mat_f32_tiled", backend);
        for (std::size_t j = 0; j < static_cast<std::size_t>(n); j++) {
            for (std::size_t i = 0; i < 33; i++) {
                const float x = got[i + 33 * j];
                if (i == 5 || (i == 32 && j == 1)) {
                    EXPECT_TRUE(std::isnan(x)) << i << " " << j;
                } else {
                    EXPECT_EQ(x, i == 32 ? inf : j == 1 ? -inf : 19.0f) << i << " " << j;
                }
            }
        }
    }
}

// c[i] = a[i] + b[i mod b's shape] as single floats, rounded once.
std::vector<float> sum_of(const tl::Tensor &a, const tl::Tensor &b) {
    const auto x = a.read_f32(), y = b.read_f32();
    const auto na = a.shape(), nb = b.shape();
    std::vector<float> sum(x.size());
    for (std::size_t i = 0; i < x.size(); i++) {
        std::size_t rest = i, at = 0, stride = 1;
        for (std::size_t d = 0; d < 4; d++) {
            at += rest % static_cast<std::size_t>(na[d]) % static_cast<std::size_t>(nb[d]) * stride;
            rest /= static_cast<std::size_t>(na[d]);
            stride *= static_cast<std::size_t>(nb[d]);
        }
        sum[i] = x[i] + y[at];
    }
    return sum;
}

TEST_F(Kernels, add_of_all_shapes) {
    struct Sum {
        const char *kernel;
        tl::Shape a, b;
    };
    const Sum sums[] = {
        {"tiles_flat", {1}, {1}},
        {"tiles_flat", {3}, {3}},
        {"tiles_flat", {1024}, {1024}},
        {"tiles_flat", {33, 5, 2, 3}, {33, 5, 2, 3}},
        {"tiles_rows", {64, 5}, {64}},
        {"tiles_rows", {63, 5}, {63}},
        {"tiles_rows", {64, 5}, {1}},
        {"tiles_rows", {63, 7}, {1, 7}},
        {"tiles_rows", {24, 7}, {8, 7}},
        {"tiles_rows", {21, 7}, {7}},
        {"tiles_rows", {5000, 3, 4, 2}, {5000, 1, 2}},
        {"tiles_flat", {0, 3}, {0, 3}},
    };
    const auto backend = gpu();
    for (const Sum &s : sums) {
        const tl::Context ctx(backend);
        const auto a = leaf(ctx, s.a, 1), b = leaf(ctx, s.b, 2);
        EXPECT_EQ(compute(add(a, b), s.kernel, backend), sum_of(a, b)) << s.kernel << " " << s.a[0];
    }
}

TEST_F(Kernels, add_of_strided_and_other_types) {
    const auto backend = gpu();
    const tl::Context ctx(backend);
    const auto t = leaf(ctx, {5, 6, 2}, 1).transpose();
    const auto u = leaf(ctx, {6, 5}, 2);
    EXPECT_EQ(compute(t + u, "tiles_rows", backend), sum_of(t, u));
    const auto gaps = leaf(ctx, {7, 5}, 3).view({6, 5}, std::vector<std::size_t>{28});
    EXPECT_EQ(compute(u + gaps, "tiles_rows", backend), sum_of(u, gaps));
    // Rows that begin at odd floats: no vectors.
    const auto odd = leaf(ctx, {9, 6}, 3).view({8, 6}, std::vector<std::size_t>{36}, 4);
    EXPECT_EQ(compute(odd + leaf(ctx, {8}, 4), "tiles_rows", backend), sum_of(odd, leaf(ctx, {8}, 4)));
    const auto tail = leaf(ctx, {65}, 5).view({64}, {}, 4);
    EXPECT_EQ(compute(tail + leaf(ctx, {64}, 6), "tiles_flat", backend), sum_of(tail, leaf(ctx, {64}, 6)));
    // 1 + 2^-9 in bf16 falls back to 1; in f16 it stays. The values are multiples of 1/512: their f16 sums are exact.
    const auto half = leaf(ctx, {40}, 7, tl::Type::f16), brain = leaf(ctx, {40}, 8, tl::Type::bf16);
    EXPECT_EQ(compute(half + half, "tiles_rows", backend), sum_of(half, half));
    const auto mixed = compute(brain + half, "tiles_rows", backend);
    const auto exact = sum_of(brain, half);
    for (std::size_t i = 0; i < mixed.size(); i++) EXPECT_NEAR(mixed[i], exact[i], std::fabs(exact[i]) * std::ldexp(1.0f, -8));
}

TEST_F(Kernels, copies_of_all_kinds) {
    const auto backend = gpu();
    const tl::Context ctx(backend);
    for (const tl::Type type : {tl::Type::f32, tl::Type::f16, tl::Type::f64, tl::Type::i8, tl::Type::i64}) {
        const auto whole = leaf(ctx, {40, 33, 2, 2}, 1, tl::Type::f32);
        const auto t = ctx.zeros(type, {40, 33, 2, 2});
        auto values = whole.read_f32();
        for (float &v : values) v = std::floor(v * 8);
        t.write_f32(values);
        const auto nb = t.strides();
        EXPECT_EQ(compute(t.dup(), "copy_flat", backend), values);
        const auto part = t.view({32, 33, 2, 2}, std::vector<std::size_t>{nb[1], nb[2], nb[3]}, 0);
        EXPECT_EQ(compute(part.cont(), "copy_rows", backend), part.read_f32());
        const auto odd = t.view({31, 33, 2, 2}, std::vector<std::size_t>{nb[1], nb[2], nb[3]}, nb[0]);
        EXPECT_EQ(compute(odd.cont(), "copy_rows", backend), odd.read_f32());
        const auto turned = t.transpose();
        EXPECT_EQ(compute(turned.cont(), "copy_transposed", backend), turned.read_f32());
        const auto moved = t.permute({2, 0, 1, 3});
        EXPECT_EQ(compute(moved.cont(), "copy_units", backend), moved.read_f32());
    }
}

TEST_F(Kernels, copies_into_other_shapes_types_and_places) {
    const auto backend = gpu();
    const tl::Context ctx(backend);
    const auto src = leaf(ctx, {6, 20}, 1);
    // Into every second row of a target, in another shape; what lies between stays.
    const auto target = leaf(ctx, {8, 30}, 2);
    auto expected = target.read_f32();
    const auto values = src.read_f32();
    for (std::size_t i = 0; i < values.size(); i++) expected[i / 8 * 16 + i % 8] = values[i];
    compute(cpy(src, target.view({8, 15}, std::vector<std::size_t>{64})), "copy_units", backend);
    EXPECT_EQ(target.read_f32(), expected);
    for (const tl::Type type : {tl::Type::f16, tl::Type::bf16}) {
        const auto narrow = leaf(ctx, {6, 20}, 3, type);
        EXPECT_EQ(compute(narrow.cast(tl::Type::f32), "copy_floats", backend), narrow.read_f32());
        const auto there = ctx.zeros(type, {20, 6});
        there.write_f32(src.reshape({20, 6}).read_f32());  // rounds on the host
        EXPECT_EQ(compute(src.cast(type), "copy_floats", backend), there.read_f32());
        const auto turned = src.transpose(), rounded = ctx.zeros(type, {20, 6});
        rounded.write_f32(turned.read_f32());
        EXPECT_EQ(compute(turned.cast(type), "copy_convert", backend), rounded.read_f32());
    }
}

// Units of four elements, parts of one, and rows that do not begin at one; also what the narrow types cannot hold.
TEST_F(Kernels, copies_between_float_types) {
    const auto backend = gpu();
    const tl::Context ctx(backend);
    const float some[] = {1e30f, -1e30f, 65520, 65519.996f, 0x1p-25f, 0x1.8p-25f, -0.0f, std::numeric_limits<float>::infinity(), 1, 3};
    const tl::Type types[] = {tl::Type::f32, tl::Type::f16, tl::Type::bf16};
    for (const tl::Type from : types) {
        for (const tl::Type to : types) {
            if (from == to) continue;
            for (const std::int64_t n : {0, 1, 3, 4, 5, 8, 31, 4099}) {
                const auto whole = leaf(ctx, {n + 4, 3}, 1, from);
                auto values = whole.read_f32();
                for (std::size_t i = 0; i < values.size(); i += 3) values[i] = some[i % std::size(some)];
                whole.write_f32(values);
                for (const std::int64_t first : {0, 1, 4}) {
                    const auto src = whole.narrow(0, first, n);
                    const auto want = ctx.zeros(to, {n, 3});
                    want.write_f32(src.read_f32());  // rounds on the host
                    EXPECT_EQ(compute(src.cast(to), "copy_floats", backend), want.read_f32()) << n << " from " << first;
                }
                const auto want = ctx.zeros(to, {3 * (n + 4)});
                want.write_f32(whole.read_f32());
                EXPECT_EQ(compute(cpy(whole, ctx.zeros(to, {n + 4, 1, 3})), "copy_floats", backend), want.read_f32()) << n;
            }
        }
    }
}

TEST_F(Kernels, a_million_elements_and_long_rows) {
    const auto backend = gpu();
    const tl::Context ctx(backend);
    const auto a = leaf(ctx, {1 << 18, 3}, 1), b = leaf(ctx, {1 << 18}, 2);
    EXPECT_EQ(compute(a + b, "tiles_rows", backend), sum_of(a, b));
    const auto many = leaf(ctx, {1, 70000}, 3);  // more rows than a grid has blocks
    EXPECT_EQ(compute(many + leaf(ctx, {1}, 4), "tiles_rows", backend), sum_of(many, leaf(ctx, {1}, 4)));
}

// The plan's text shows why the kernels before the one that was taken were not.
TEST_F(Kernels, refusals_are_shown) {
    const auto backend = gpu();
    const tl::Context ctx(backend);
    const auto strided = leaf(ctx, {5, 6}, 1).transpose();
    const std::string plan = tl::Graph({mul_mat(strided, leaf(ctx, {6, 20}, 2))}).plan_text(backend);
    for (const char *reason : {"mul_mat_empty: not empty", "mul_mat_f32_vec: rows are not contiguous"}) {
        EXPECT_NE(plan.find(reason), std::string::npos) << plan;
    }
}

}  // namespace
