// Every recurrent layer, for the tests of both kinds of device.
#pragma once

#include "support.hpp"

#include <tensorlib/tensorlib.hpp>

#include <functional>
#include <string>
#include <vector>

namespace recurrent {

namespace tl = tensorlib;

// Numbers between -1/2 and 1/2.
inline tl::Tensor small(const tl::Context &ctx, const std::vector<std::int64_t> &ne, std::uint32_t seed) {
    return scale(support::leaf(ctx, ne, seed), 0.125);
}
// Between 1/2 and 1.
inline tl::Tensor decays(const tl::Context &ctx, const std::vector<std::int64_t> &ne, std::uint32_t seed) {
    return scale(small(ctx, ne, seed), 0.5, {.bias = 0.75});
}

// A layer over tokens [begin, end) of all operands that have tokens, from a state.
struct Layer {
    std::string name;
    std::vector<std::int64_t> state;
    std::function<tl::Tensor(const tl::Context &, std::int64_t begin, std::int64_t end, const tl::Tensor &state)> run;
};

constexpr std::int64_t tokens = 7;

inline std::vector<Layer> layers(std::int64_t size) {
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

}  // namespace recurrent
