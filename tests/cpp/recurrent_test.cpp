// Recurrent layers beyond the shared cases: the bits do not depend on threads or on where a sequence is divided, and sizes around the
// vectors of every ISA agree with double.
#include "support.hpp"

#include <tensorlib/tensorlib.hpp>

#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

namespace tl = tensorlib;
using Floats = std::vector<float>;

// Numbers between -1/2 and 1/2.
tl::Tensor small(const tl::Context &ctx, const std::vector<std::int64_t> &ne, std::uint32_t seed) {
    return scale(support::leaf(ctx, ne, seed), 0.125);
}
// Between 1/2 and 1.
tl::Tensor decays(const tl::Context &ctx, const std::vector<std::int64_t> &ne, std::uint32_t seed) {
    return scale(small(ctx, ne, seed), 0.5, {.bias = 0.75});
}

// A layer over tokens [begin, end) of all operands that have tokens, from a state.
struct Layer {
    std::string name;
    std::vector<std::int64_t> state;
    std::function<tl::Tensor(const tl::Context &, std::int64_t begin, std::int64_t end, const tl::Tensor &state)> run;
};

constexpr std::int64_t tokens = 7;

std::vector<Layer> layers(std::int64_t size) {
    const auto part = [](const tl::Tensor &t, std::int32_t dim, std::int64_t begin, std::int64_t end) {
        return t.narrow(dim, begin, end - begin);
    };
    const auto of_heads = [=](const tl::Context &ctx, std::uint32_t seed, std::int64_t begin, std::int64_t end) {
        return part(small(ctx, {size, 2, tokens}, seed), 2, begin, end);
    };
    std::vector<Layer> all;
    for (const std::int64_t gates : {std::int64_t{1}, size}) {
        all.push_back({"gated_delta_net, " + std::to_string(gates) + " gates",
                       {size, size, 2, 1},
                       [=](const tl::Context &ctx, std::int64_t begin, std::int64_t end, const tl::Tensor &state) {
                           const auto t = [&](std::int64_t n, std::int64_t heads, std::uint32_t seed) {
                               return part(small(ctx, {n, heads, tokens, 1}, seed), 2, begin, end);
                           };
                           return gated_delta_net(t(size, 1, 1), t(size, 1, 2), t(size, 2, 3), t(gates, 2, 4), t(1, 2, 5), state);
                       }});
        all.push_back({"ssm_scan, " + std::to_string(gates) + " rates",
                       {size, 5, 2, 1},
                       [=](const tl::Context &ctx, std::int64_t begin, std::int64_t end, const tl::Tensor &state) {
                           const auto group = [&](std::uint32_t seed) {
                               return part(small(ctx, {size, 1, tokens, 1}, seed), 2, begin, end);
                           };
                           return ssm_scan(state, part(small(ctx, {5, 2, tokens, 1}, 1), 2, begin, end),
                                           part(small(ctx, {2, tokens, 1}, 2), 1, begin, end), small(ctx, {gates, 2}, 3), group(4),
                                           group(5), ctx.tensor<std::int32_t>({1}, {0}));
                       }});
    }
    all.push_back(
        {"rwkv_wkv6", {size * size * 2, 1}, [=](const tl::Context &ctx, std::int64_t begin, std::int64_t end, const tl::Tensor &state) {
             const auto t = [&](std::uint32_t seed) { return of_heads(ctx, seed, begin, end); };
             return rwkv_wkv6(t(1), t(2), t(3), small(ctx, {size, 2}, 4), part(decays(ctx, {size, 2, tokens}, 5), 2, begin, end), state);
         }});
    all.push_back(
        {"rwkv_wkv7", {size * size * 2, 1}, [=](const tl::Context &ctx, std::int64_t begin, std::int64_t end, const tl::Tensor &state) {
             const auto t = [&](std::uint32_t seed) { return of_heads(ctx, seed, begin, end); };
             return rwkv_wkv7(t(1), part(decays(ctx, {size, 2, tokens}, 2), 2, begin, end), t(3), t(4), t(5), t(6), state);
         }});
    all.push_back({"gated_linear_attn",
                   {size * size * 2, 1},
                   [=](const tl::Context &ctx, std::int64_t begin, std::int64_t end, const tl::Tensor &state) {
                       const auto t = [&](std::uint32_t seed) { return of_heads(ctx, seed, begin, end); };
                       return gated_linear_attn(t(1), t(2), t(3), part(decays(ctx, {size, 2, tokens}, 4), 2, begin, end), state, 0.5);
                   }});
    return all;
}

Floats computed(const tl::Tensor &t, const std::string &isa, int threads) {
    support::backend(isa, threads).compute({t});
    return t.read_f32();
}

bool same_bits(const Floats &a, const Floats &b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(Recurrent, has_the_same_bits_at_any_number_of_threads_and_in_parts) {
    for (const std::int64_t size : {1, 3, 8, 16, 33, 70}) {
        for (const Layer &layer : layers(size)) {
            for (const std::string &isa : support::isas()) {
                tl::Context ctx;
                const tl::Tensor first = small(ctx, layer.state, 9), whole = layer.run(ctx, 0, tokens, first), states = whole.result(1);
                const Floats results = computed(whole, isa, 1), after = computed(states, isa, 1);
                const std::string what = layer.name + " of " + std::to_string(size) + " on " + isa;
                for (const int threads : {2, 3, 8})
                    EXPECT_TRUE(same_bits(computed(whole, isa, threads), results)) << what << ", " << threads << " threads";
                for (const std::int64_t cut : {std::int64_t{0}, std::int64_t{1}, std::int64_t{4}, tokens}) {
                    const tl::Tensor one = layer.run(ctx, 0, cut, first),
                                     other = layer.run(ctx, cut, tokens, one.result(1).reshape(layer.state));
                    EXPECT_TRUE(same_bits(computed(other.result(1), isa, 2), after)) << what << ", cut at " << cut;
                    Floats both = computed(one, isa, 2);
                    const Floats rest = computed(other, isa, 2);
                    both.insert(both.end(), rest.begin(), rest.end());
                    EXPECT_TRUE(same_bits(both, results)) << what << ", cut at " << cut;
                }
            }
        }
    }
}

// ISAs add in different orders: each agrees with the first as closely as sums of so few numbers can.
TEST(Recurrent, agrees_on_every_isa) {
    for (const std::int64_t size : {5, 16, 31, 64, 100}) {
        for (const Layer &layer : layers(size)) {
            tl::Context ctx;
            const tl::Tensor whole = layer.run(ctx, 0, tokens, small(ctx, layer.state, 9));
            const Floats want = computed(whole, support::isas().front(), 1);
            for (const std::string &isa : support::isas()) {
                const Floats got = computed(whole, isa, 1);
                for (std::size_t i = 0; i < want.size(); i++)
                    ASSERT_NEAR(got[i], want[i], 1e-5 * (1 + std::fabs(want[i])))
                        << layer.name << " of " << size << " on " << isa << ", element " << i;
            }
        }
    }
}

TEST(Recurrent, further_results_are_read_as_the_first) {
    tl::Context ctx;
    const Layer layer = layers(4).front();
    const tl::Tensor c = layer.run(ctx, 0, tokens, small(ctx, layer.state, 9));
    EXPECT_EQ(c.result(1).shape(), (std::array<std::int64_t, 4>{4, 4, 2, 1}));
    support::backend(support::isas().front(), 1).compute({c, c.result(1)});
    EXPECT_EQ(c.result(0).read_f32(), c.read_f32());
    support::expect_error(tl::Status::invalid_argument, {"result", "gated_delta_net has the results 0 to 1"}, [&] { c.result(2); });
}

}  // namespace
