// Reductions on the first CUDA device against the CPU's bits; reductions_test.cpp compares the CPU with double.
#include "blocks.hpp"
#include "cuda_support.hpp"

#include <bit>
#include <random>

namespace {

using Reductions = support::CudaTest;
using Make = std::function<tl::Tensor(const tl::Context &)>;

bool same(float x, float y) {
    return (std::isnan(x) && std::isnan(y)) || std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
}

// Computes equal nodes on the device and on the CPU.
void expect_the_cpus_bits(const char *kernel, const Make &make, const tl::Backend &device, const std::string &what) {
    static const tl::Backend cpu("cpu");
    const tl::Context here, there(device);
    const tl::Tensor want = make(here), got = make(there);
    tl::Graph({want}).compute(cpu);
    const auto w = want.read_f32(), g = support::compute(got, kernel, device);
    ASSERT_EQ(w.size(), g.size()) << what;
    for (std::size_t i = 0; i < w.size(); i++)
        ASSERT_TRUE(same(w[i], g[i])) << what << ": element " << i << " is " << g[i] << ", on the CPU " << w[i];
}

// Values whose sums round, one of 128 special.
tl::Tensor leaf(const tl::Context &ctx, const tl::Shape &shape, tl::Type type, bool special) {
    constexpr float some[] = {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(), NAN, -0.0f, 0, 0x1p-149f};
    std::mt19937 random(static_cast<std::uint32_t>(shape[0]));
    tl::Tensor t = ctx.zeros(type, shape);
    std::vector<float> values(static_cast<std::size_t>(t.n_elements()));
    for (float &value : values) {
        const auto draw = random();
        value = special && draw % 128 == 0 ? some[draw / 128 % std::size(some)] : static_cast<float>(draw >> 8) * 0x1p-23f + 1;
    }
    t.write_f32(values);
    return t;
}

TEST_F(Reductions, sums_of_all_shapes) {
    const auto device = support::gpu();
    // Around a warp, a tile of 512, a block of 1024, and a segment of 65536.
    const tl::Shape shapes[] = {{1},       {31, 3}, {33, 9, 2}, {512, 2}, {700},      {1024},    {1025, 5},
                                {2500, 2}, {5, 0},  {0, 3},     {65536},  {65537, 2}, {40, 1700}};
    for (const char *op : {"sum", "sum_rows", "cumsum"}) {
        const char *kernel = op == std::string("cumsum") ? "cumsum" : "reduce";
        for (const tl::Shape &shape : shapes) {
            for (const bool special : {false, true}) {
                if (special && shape[0] > 10000) continue;
                const auto make = [&](const tl::Context &ctx) { return ctx.op(op, {leaf(ctx, shape, tl::Type::f32, special)}); };
                expect_the_cpus_bits(kernel, make, device, std::string(op) + " of " + std::to_string(shape[0]));
            }
        }
        for (const tl::Type type : {tl::Type::f32, tl::Type::f16, tl::Type::bf16}) {
            const auto make = [&](const tl::Context &ctx) {
                return ctx.op(op, {leaf(ctx, {40, 70, 3}, type, false).permute({1, 2, 0, 3})});
            };
            expect_the_cpus_bits(kernel, make, device, std::string(op) + " of a permuted one");
        }
    }
}

// Along the first dimension and across it: around a warp, a block of 32 rows and of 1024 elements, and a segment of both kinds.
TEST_F(Reductions, over_any_dimensions) {
    const auto device = support::gpu();
    struct Over {
        tl::Shape shape;
        std::vector<std::int64_t> dims;
    };
    const Over all[] = {{{31, 3}, {0}},         {{1025, 2}, {0}}, {{65537, 2}, {0}},       {{40, 33}, {1}},
                        {{33, 9, 5}, {1}},      {{7, 1100}, {1}}, {{5, 3, 70}, {2}},       {{6, 5, 4, 3}, {0, 2}},
                        {{6, 5, 4, 3}, {1, 3}}, {{3, 0}, {0}},    {{20, 30, 2}, {0, 1, 2}}};
    for (const char *op : {"sum", "mean", "max", "min", "argmax", "argmin", "var", "std", "prod", "any", "all", "log_sum_exp"}) {
        for (const auto &[shape, dims] : all) {
            for (const bool special : {false, true}) {
                // The leaf's values are from 1 to 3, whose product would leave the range of F32.
                const auto make = [&, op = std::string(op)](const tl::Context &ctx) {
                    tl::Tensor a = leaf(ctx, shape, shape[0] % 2 ? tl::Type::f32 : tl::Type::bf16, special);
                    if (op == "prod") a = sqrt(sqrt(a)).scale(0.83);
                    if (op == "var" || op == "std") return ctx.op(op, {a}, {{"dims", dims, ""}, {"correction", {1}, ""}});
                    return ctx.op(op, {a}, {{"dims", dims, ""}});
                };
                const std::string what = std::string(op) + " of " + std::to_string(shape[0]) + (special ? ", special" : "");
                if (op != std::string("log_sum_exp")) {
                    expect_the_cpus_bits("reduce", make, device, what);
                    continue;
                }
                // Exponentials differ from those of an ISA without fused multiplications.
                static const tl::Backend cpu("cpu");
                const tl::Context here, there(device);
                const tl::Tensor want = make(here);
                tl::Graph({want}).compute(cpu);
                const auto w = want.read_f32(), g = support::compute(make(there), "reduce", device);
                ASSERT_EQ(w.size(), g.size());
                for (std::size_t i = 0; i < w.size(); i++)
                    ASSERT_TRUE(same(w[i], g[i]) || std::fabs(w[i] - g[i]) <= 0x1p-21f * std::fabs(w[i]))
                        << what << ": " << g[i] << " " << w[i];
            }
        }
    }
}

// Integers, bool and F64, with the CPU's bits but for exponentials.
TEST_F(Reductions, of_numbers) {
    const auto device = support::gpu();
    struct Over {
        tl::Shape shape;
        std::vector<std::int64_t> dims;
    };
    const Over all[] = {{{31, 3}, {0}},   {{1025, 2}, {0}},       {{65537, 2}, {0}}, {{33, 9, 5}, {1}},
                        {{7, 1100}, {1}}, {{6, 5, 4, 3}, {0, 2}}, {{3, 0}, {0}}};
    for (const tl::Type type :
         {tl::Type::i8, tl::Type::i16, tl::Type::i32, tl::Type::i64, tl::Type::u8, tl::Type::boolean, tl::Type::f64}) {
        for (const auto &[shape, dims] : all) {
            const auto make = [&](const std::string &op, const tl::Context &ctx) {
                tl::Tensor a = ctx.zeros(type, shape);
                std::vector<float> values(static_cast<std::size_t>(a.n_elements()));
                for (std::size_t i = 0; i < values.size(); i++) {
                    const float x = support::value(3, static_cast<std::uint32_t>(i)) * 20;
                    values[i] = type == tl::Type::boolean ? static_cast<float>(x > -60) : type == tl::Type::u8 ? std::fabs(x) : x;
                }
                a.write_f32(values);
                if (op == "prod" && type == tl::Type::f64) a = sqrt(sqrt(abs(a))).scale(0.5);
                if (op == "var" || op == "std") return ctx.op(op, {a}, {{"dims", dims, ""}, {"correction", {1}, ""}});
                return ctx.op(op, {a}, {{"dims", dims, ""}});
            };
            for (const char *op : {"sum", "mean", "max", "min", "argmax", "argmin", "var", "std", "prod", "any", "all"}) {
                expect_the_cpus_bits(
                    "reduce", [&](const tl::Context &ctx) { return make(op, ctx); }, device,
                    std::string(op) + " of " + tl::type_name(type) + ", " + std::to_string(shape[0]));
            }
            static const tl::Backend cpu("cpu");
            const tl::Context here, there(device);
            const tl::Tensor want = make("log_sum_exp", here), made = make("log_sum_exp", there);
            tl::Graph({want}).compute(cpu);
            support::compute(made, "reduce", device);
            const std::vector<double> w = want.read<double>(), g = made.read<double>();
            for (std::size_t i = 0; i < w.size(); i++)
                ASSERT_TRUE(w[i] == g[i] || std::fabs(w[i] - g[i]) <= 0x1p-48 * std::fabs(w[i])) << g[i] << " " << w[i];
        }
    }
}

// Around a warp, a tile of 2048 and its multiples; rows that share values, and NaN.
TEST_F(Reductions, places_of_all_shapes) {
    const auto device = support::gpu();
    const tl::Shape shapes[] = {{1}, {2, 3}, {31, 3}, {33, 9, 2}, {1023}, {1024}, {2048}, {2049, 2}, {5000}, {5, 0}, {40, 20}};
    for (const tl::Shape &shape : shapes) {
        const std::string of = " of " + std::to_string(shape[0]);
        const auto a = [&](const tl::Context &ctx) { return leaf(ctx, shape, shape[0] % 2 ? tl::Type::f32 : tl::Type::bf16, true); };
        expect_the_cpus_bits("reduce", [&](const tl::Context &ctx) { return argmax(a(ctx), {.dims = {0}}); }, device, "argmax" + of);
        for (const char *order : {"asc", "desc"}) {
            const auto sorted = [&](const tl::Context &ctx) { return ctx.op("argsort", {a(ctx)}, {{"order", {}, order}}); };
            expect_the_cpus_bits("argsort", sorted, device, std::string("argsort ") + order + of);
        }
        for (const std::int64_t k : {std::int64_t{1}, shape[0] / 3, shape[0]}) {
            const char *kernel = k > 1024 ? "top_k_sorted" : "top_k_kept";
            const auto best = [&](const tl::Context &ctx) { return ctx.op("top_k", {a(ctx)}, {{"k", {k}, ""}}); };
            expect_the_cpus_bits(kernel, best, device, "top_k " + std::to_string(k) + of);
        }
    }
    const auto permuted = [](const tl::Context &ctx) { return leaf(ctx, {40, 70, 3}, tl::Type::f16, true).permute({1, 0, 2, 3}); };
    expect_the_cpus_bits(
        "reduce", [&](const tl::Context &ctx) { return argmax(permuted(ctx), {.dims = {0}}); }, device, "argmax, permuted");
    expect_the_cpus_bits(
        "argsort", [&](const tl::Context &ctx) { return ctx.op("argsort", {permuted(ctx)}); }, device, "argsort, permuted");
    expect_the_cpus_bits(
        "top_k_kept", [&](const tl::Context &ctx) { return ctx.op("top_k", {permuted(ctx)}, {{"k", {7}, ""}}); }, device,
        "top_k, permuted");
}

// Running sums and orders of integers, bool and F64, around a run, a warp's tile, a segment, and a tile that is sorted in shared memory.
TEST_F(Reductions, rows_of_numbers) {
    const auto device = support::gpu();
    for (const tl::Type type :
         {tl::Type::i8, tl::Type::i16, tl::Type::i32, tl::Type::i64, tl::Type::u8, tl::Type::boolean, tl::Type::f64}) {
        for (const tl::Shape &shape : {tl::Shape{1}, {15, 3}, {33, 9, 2}, {513, 2}, {2049, 2}, {5, 0}, {0, 3}, {65537, 2}}) {
            const auto a = [&](const tl::Context &ctx) {
                tl::Tensor t = ctx.zeros(type, {shape[0], shape.size() > 1 ? shape[1] : 1});
                std::vector<float> values(static_cast<std::size_t>(t.n_elements()));
                for (std::size_t i = 0; i < values.size(); i++) {
                    const float x = support::value(3, static_cast<std::uint32_t>(i)) * 20;
                    values[i] = type == tl::Type::boolean ? static_cast<float>(x > -60) : type == tl::Type::u8 ? std::fabs(x) : x;
                }
                t.write_f32(values);
                return t;
            };
            const std::string of = std::string(" of ") + tl::type_name(type) + ", " + std::to_string(shape[0]);
            expect_the_cpus_bits("cumsum", [&](const tl::Context &ctx) { return cumsum(a(ctx)); }, device, "cumsum" + of);
            if (shape[0] > 10000) continue;
            expect_the_cpus_bits(
                "cumsum", [&](const tl::Context &ctx) { return cumsum(a(ctx).transpose()); }, device, "cumsum, turned" + of);
            for (const char *order : {"asc", "desc"}) {
                const auto sorted = [&](const tl::Context &ctx) { return ctx.op("argsort", {a(ctx)}, {{"order", {}, order}}); };
                expect_the_cpus_bits("argsort", sorted, device, std::string("argsort ") + order + of);
            }
            for (const std::int64_t k : {shape[0] / 3, shape[0]}) {
                const char *kernel = k > 1024 ? "top_k_sorted" : "top_k_kept";
                const auto best = [&](const tl::Context &ctx) { return ctx.op("top_k", {a(ctx)}, {{"k", {k}, ""}}); };
                expect_the_cpus_bits(kernel, best, device, "top_k " + std::to_string(k) + of);
            }
        }
    }
}

TEST_F(Reductions, counts_of_all_types) {
    const auto device = support::gpu();
    for (const tl::Type type : {tl::Type::f32, tl::Type::f16, tl::Type::bf16, tl::Type::f64, tl::Type::i8, tl::Type::i16, tl::Type::i32,
                                tl::Type::i64, tl::Type::u8, tl::Type::boolean}) {
        for (const tl::Shape &shape : {tl::Shape{1}, tl::Shape{300, 7}, tl::Shape{5, 0}, tl::Shape{33, 41, 3}}) {
            const auto some = [&](const tl::Context &ctx, std::uint32_t seed) {
                tl::Tensor t = ctx.zeros(type, shape);
                std::vector<float> values(static_cast<std::size_t>(t.n_elements()));
                for (std::size_t i = 0; i < values.size(); i++) {
                    const float x = std::round(support::value(seed, static_cast<std::uint32_t>(i)));
                    values[i] = type == tl::Type::u8 ? std::fabs(x) : x;
                }
                t.write_f32(values);
                return t;
            };
            const auto make = [&](const tl::Context &ctx) {
                return ctx.op("count_equal", {some(ctx, 1).transpose(), some(ctx, 2).transpose()});
            };
            expect_the_cpus_bits("count_equal", make, device, std::string("count_equal of ") + tl::type_name(type));
        }
    }
}

// Its sums have another order than the CPU's, within the same bound: both are off by 40 roundings of the sum of the magnitudes at most.
TEST_F(Reductions, losses) {
    const auto device = support::gpu();
    const tl::Backend cpu("cpu");
    for (const tl::Shape &shape :
         {tl::Shape{1}, tl::Shape{3, 40}, tl::Shape{300, 2, 2}, tl::Shape{2500, 2}, tl::Shape{5, 0}, tl::Shape{0, 3}}) {
        for (const bool special : {false, true}) {
            const auto make = [&](const tl::Context &ctx) {
                const tl::Tensor labels = ctx.zeros(tl::Type::f16, shape);
                std::vector<float> values(static_cast<std::size_t>(labels.n_elements()));
                for (std::size_t i = 0; i < values.size(); i++) values[i] = i % 3 == 1 ? static_cast<float>(i % 16) / 16 : 0;
                labels.write_f32(values);
                return cross_entropy_loss(leaf(ctx, shape, tl::Type::f32, special), labels);
            };
            const tl::Context here, there(device);
            const tl::Tensor want = make(here);
            tl::Graph({want}).compute(cpu);
            const float w = want.read_f32()[0], g = support::compute(make(there), "cross_entropy_loss", device)[0];
            // Logits are at most 3, so the terms of the sum have one sign and the sum is at most twice the loss.
            EXPECT_TRUE(same(w, g) || std::fabs(g - w) <= 160 * 0x1p-24f * std::fabs(w)) << shape[0] << ": " << g << ", on the CPU " << w;
        }
    }
}

TEST_F(Reductions, outer_products) {
    const auto device = support::gpu();
    using tl::core::DType;
    struct Product {
        const char *kernel;
        DType type;
        tl::Type b_type;
        tl::Shape a, b;
    };
    const Product products[] = {
        {"out_prod_f32_tiled", DType::f32, tl::Type::f32, {33, 20}, {5, 20}},
        {"out_prod_f32_tiled", DType::f32, tl::Type::f32, {70, 37, 2}, {65, 37, 4}},
        {"out_prod_f32_tiled", DType::f32, tl::Type::f32, {1, 16}, {1, 16}},
        {"out_prod_any", DType::f16, tl::Type::f32, {19, 9, 1, 2}, {13, 9, 2, 2}},
        {"out_prod_any", DType::f32, tl::Type::bf16, {19, 9}, {13, 9}},
        {"out_prod_any", DType::f64, tl::Type::f16, {19, 9}, {13, 9}},
        {"out_prod_blocks", DType::q4_0, tl::Type::f32, {64, 9}, {13, 9}},
        {"out_prod_blocks", DType::q6_K, tl::Type::f16, {512, 5, 2}, {7, 5, 4}},
        {"out_prod_empty", DType::f32, tl::Type::f32, {3, 0}, {5, 0}},
        {"out_prod_empty", DType::f32, tl::Type::f32, {3, 4}, {0, 4}},
    };
    for (const Product &p : products) {
        const tl::Context ctx(device);
        const bool plain = tl::core::traits(p.type).block_size == 1;
        const tl::Tensor a = plain ? support::leaf(ctx, p.a, 1, static_cast<tl::Type>(p.type)) : support::blocks_leaf(ctx, p.type, p.a, 1);
        const tl::Tensor b = support::leaf(ctx, p.b, 2, p.b_type);
        // Dimension 1 first.
        const auto turned = [](const tl::Tensor &t) {
            const auto ne = t.shape();
            const auto values = t.read_f32();
            std::vector<float> all(values.size());
            for (std::int64_t i = 0; i < static_cast<std::int64_t>(values.size()); i++) {
                const std::int64_t i0 = i % ne[0], i1 = i / ne[0] % ne[1];
                all[static_cast<std::size_t>(i1 + ne[1] * (i0 + ne[0] * (i / ne[0] / ne[1])))] = values[static_cast<std::size_t>(i)];
            }
            return all;
        };
        auto na = a.shape(), nb = b.shape();
        std::swap(na[0], na[1]);
        std::swap(nb[0], nb[1]);
        const auto want = support::mul_mat(turned(a), na, turned(b), nb);
        EXPECT_EQ(support::first_wrong(support::compute(out_prod(a, b), p.kernel, device), want), "") << p.kernel << " " << p.a[0];
    }
}

}  // namespace
