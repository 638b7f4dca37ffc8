// Reductions on the first CUDA device: the CPU's bits, whose own tests compare them with double (reductions_test.cpp).
#include "cuda_support.hpp"

#include <bit>
#include <random>

namespace {

using Reductions = support::CudaTest;
using Make = std::function<tl::Tensor(const tl::Context &)>;

bool same(float x, float y) {
    return (std::isnan(x) && std::isnan(y)) || std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
}

// The same node on the device and on the CPU.
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
    for (const char *op : {"sum", "sum_rows", "mean", "cumsum"}) {
        for (const tl::Shape &shape : shapes) {
            for (const bool special : {false, true}) {
                if (special && shape[0] > 10000) continue;
                const auto make = [&](const tl::Context &ctx) { return ctx.op(op, {leaf(ctx, shape, tl::Type::f32, special)}); };
                expect_the_cpus_bits(op, make, device, std::string(op) + " of " + std::to_string(shape[0]));
            }
        }
        for (const tl::Type type : {tl::Type::f32, tl::Type::f16, tl::Type::bf16}) {
            const auto make = [&](const tl::Context &ctx) {
                return ctx.op(op, {leaf(ctx, {40, 70, 3}, type, false).permute({1, 2, 0, 3})});
            };
            expect_the_cpus_bits(op, make, device, std::string(op) + " of a permuted one");
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
        expect_the_cpus_bits("argmax", [&](const tl::Context &ctx) { return ctx.op("argmax", {a(ctx)}); }, device, "argmax" + of);
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
    expect_the_cpus_bits("argmax", [&](const tl::Context &ctx) { return ctx.op("argmax", {permuted(ctx)}); }, device, "argmax, permuted");
    expect_the_cpus_bits(
        "argsort", [&](const tl::Context &ctx) { return ctx.op("argsort", {permuted(ctx)}); }, device, "argsort, permuted");
    expect_the_cpus_bits(
        "top_k_kept", [&](const tl::Context &ctx) { return ctx.op("top_k", {permuted(ctx)}, {{"k", {7}, ""}}); }, device,
        "top_k, permuted");
}

TEST_F(Reductions, counts_of_all_types) {
    const auto device = support::gpu();
    for (const tl::Type type :
         {tl::Type::f32, tl::Type::f16, tl::Type::bf16, tl::Type::f64, tl::Type::i8, tl::Type::i16, tl::Type::i32, tl::Type::i64}) {
        for (const tl::Shape &shape : {tl::Shape{1}, tl::Shape{300, 7}, tl::Shape{5, 0}, tl::Shape{33, 41, 3}}) {
            const auto some = [&](const tl::Context &ctx, std::uint32_t seed) {
                tl::Tensor t = ctx.zeros(type, shape);
                std::vector<float> values(static_cast<std::size_t>(t.n_elements()));
                for (std::size_t i = 0; i < values.size(); i++) values[i] = std::round(support::value(seed, static_cast<std::uint32_t>(i)));
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

}  // namespace
