// Recurrent layers on the first CUDA device against the CPU, which the cases compare with double: rows around the elements that lanes keep
// in registers, aligned or not, states before the last one, and rows too wide for registers.
#include "cuda_support.hpp"
#include "recurrent_layers.hpp"

#include <cmath>

namespace {

namespace tl = tensorlib;
using Recurrent = support::CudaTest;
using Make = std::function<tl::Tensor(const tl::Context &)>;

// Devices add in different orders. What a token adds is multiplied with sums of up to 257 products, whose roundings seven tokens carry on:
// 1.3e-5 was seen on an H200.
void expect_the_cpus_results(const Make &make, const tl::Backend &device, const std::string &what) {
    static const tl::Backend cpu("cpu");
    const tl::Context here, there(device);
    const tl::Tensor want = make(here), got = make(there);
    cpu.compute({want, want.result(1)});
    device.compute({got, got.result(1)});
    for (const std::int32_t number : {0, 1}) {
        const auto w = want.result(number).read_f32(), g = got.result(number).read_f32();
        ASSERT_EQ(w.size(), g.size()) << what;
        for (std::size_t i = 0; i < w.size(); i++)
            ASSERT_NEAR(g[i], w[i], 3e-5 * (1 + std::fabs(w[i]))) << what << ": element " << i << " of result " << number;
    }
}

TEST_F(Recurrent, rows_of_all_widths) {
    const auto device = support::gpu();
    for (const std::int64_t size : {1, 3, 31, 32, 33, 64, 96, 128, 200, 256, 257}) {
        for (const recurrent::Layer &layer : recurrent::layers(size)) {
            const auto make = [&](const tl::Context &ctx) {
                return layer.run(ctx, 0, recurrent::tokens, recurrent::small(ctx, layer.state, 9));
            };
            expect_the_cpus_results(make, device, layer.name + " of " + std::to_string(size));
        }
    }
}

TEST_F(Recurrent, several_sequences_keep_their_own_states) {
    const auto device = support::gpu();
    for (const std::int64_t size : {5, 32, 64}) {
        for (const std::int64_t tokens : {0, 1, 2, 6}) {
            for (const std::int64_t n_states : {1, 3}) {
                const auto t = [&](const tl::Context &ctx, std::int64_t n, std::int64_t heads, std::uint32_t seed,
                                   std::int64_t sequences = 3) { return recurrent::small(ctx, {n, heads, tokens, sequences}, seed); };
                const std::string what =
                    std::to_string(size) + ", " + std::to_string(tokens) + " tokens, " + std::to_string(n_states) + " states";
                for (const std::int64_t gates : {std::int64_t{1}, size}) {
                    const auto delta = [&](const tl::Context &ctx) {
                        return gated_delta_net(t(ctx, size, 2, 1, 1), t(ctx, size, 2, 2, 1), t(ctx, size, 6, 3), t(ctx, gates, 6, 4),
                                               t(ctx, 1, 6, 5), recurrent::small(ctx, {size, size, 6, 3}, 6), {.n_states = n_states});
                    };
                    expect_the_cpus_results(delta, device, "gated_delta_net of " + what);
                    const auto scan = [&](const tl::Context &ctx) {
                        return ssm_scan(recurrent::small(ctx, {size, 7, 6, 4}, 1), t(ctx, 7, 6, 2),
                                        recurrent::small(ctx, {6, tokens, 3}, 3), recurrent::small(ctx, {gates, 6}, 4), t(ctx, size, 2, 5),
                                        t(ctx, size, 2, 6), ctx.tensor<std::int32_t>({3}, {3, 0, 1}), {.n_states = n_states});
                    };
                    expect_the_cpus_results(scan, device, "ssm_scan of " + what);
                }
            }
        }
    }
}

// Vectors of 16 bytes are read only where they are aligned.
TEST_F(Recurrent, operands_that_are_views) {
    const auto device = support::gpu();
    constexpr std::int64_t size = 64, tokens = 3;
    for (const std::int64_t offset : {0, 1, 4}) {
        const auto make = [&](const tl::Context &ctx) {
            const auto part = [&](std::int64_t n, std::int64_t heads, std::uint32_t seed) {
                return recurrent::small(ctx, {n + 4, heads, tokens, 1}, seed).narrow(0, offset, n);
            };
            const tl::Tensor state = recurrent::small(ctx, {size, size, 2, 1}, 6).permute({1, 0, 2, 3});
            return gated_delta_net(part(size, 1, 1), part(size, 1, 2), part(size, 2, 3), part(size, 2, 4), part(1, 2, 5), state);
        };
        expect_the_cpus_results(make, device, "offset " + std::to_string(offset));
    }
}

TEST_F(Recurrent, a_wrong_state_number_is_an_error) {
    const auto device = support::gpu();
    for (const std::int32_t id : {-1, 2}) {
        const tl::Context ctx(device);
        const tl::Tensor group = recurrent::small(ctx, {32, 1, 2, 1}, 4);
        const tl::Tensor y =
            ssm_scan(recurrent::small(ctx, {32, 3, 2, 2}, 1), recurrent::small(ctx, {3, 2, 2, 1}, 2), recurrent::small(ctx, {2, 2, 1}, 3),
                     recurrent::small(ctx, {1, 2}, 4), group, group, ctx.tensor<std::int32_t>({1}, {id}));
        support::expect_error(tl::Status::invalid_argument, {"ssm_scan", std::to_string(id)}, [&] { device.compute({y}); });
    }
}

}  // namespace
