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

}  // namespace
