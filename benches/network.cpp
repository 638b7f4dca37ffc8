// The exchanges of a language model's token, divided over ranks, on a simulated network, compared with the formula of docs/groups.md.
// `cargo xtask bench --only network`.
#include "groups/network.hpp"

#include <tensorlib/group.hpp>
#include <tensorlib/tensorlib.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>
#include <vector>

namespace {

namespace tl = tensorlib;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// The shape of TinyLlama.
constexpr std::int64_t layers = 22, width = 2048, vocabulary = 32000;
// A hundred times slower than 10 us and 100 Gb/s, so that the threads' own costs do not count.
constexpr const char *slow_network = "1000,1";

// The embedding, two sums for each layer, and the logits.
tl::Graph token_of(const tl::Context &ctx, const tl::Group &group) {
    const tl::Tensor own = ctx.zeros(tl::Type::f32, {width}), logits = ctx.zeros(tl::Type::f32, {vocabulary / group.size()});
    own.write_f32(std::vector<float>(width, 1.0f));
    logits.write_f32(std::vector<float>(static_cast<std::size_t>(vocabulary / group.size()), 1.0f));
    tl::Tensor x = own.all_sum(group);
    for (std::int64_t block = 0; block < 2 * layers; block++) x = (1.0 / group.size() * x).all_sum(group);
    return tl::Graph{x, logits.all_gather(0, group)};
}

double formula(const tl::core::Network &network, int ranks) {
    // Sums of up to 64 KiB are gathered.
    const Seconds sum = network.gather(ranks, width * sizeof(float));
    const Seconds logits = network.gather(ranks, static_cast<std::size_t>(vocabulary / ranks) * sizeof(float));
    return ((2 * layers + 1) * sum + logits).count();
}

double measured(int n) {
    std::vector<tl::Group> ranks = tl::Group::local(n);
    std::vector<std::thread> threads;
    double median = 0;
    for (tl::Group &group : ranks) {
        threads.emplace_back([&median, own = std::move(group)] {
            const tl::Context ctx;
            const tl::Backend cpu("cpu", {1});
            const tl::Graph graph = token_of(ctx, own);
            std::vector<double> seconds;
            for (int i = 0; i < 6; i++) {
                const Clock::time_point begin = Clock::now();
                graph.compute(cpu);
                if (i > 0) seconds.push_back(Seconds(Clock::now() - begin).count());
            }
            std::ranges::sort(seconds);
            if (own.rank() == 0) median = seconds[seconds.size() / 2];
        });
    }
    for (std::thread &thread : threads) thread.join();
    return median;
}

}  // namespace

int main() {
    try {
        // A program of one thread so far.
        setenv("TENSORLIB_LOCAL_NETWORK", slow_network, 1);
        const tl::core::Network network = tl::core::simulated_network().value();
        std::printf("%8s %12s %12s %8s\n", "ranks", "measured ms", "formula ms", "ratio");
        for (const int n : {2, 4, 8, 16, 32, 64}) {
            const double found = measured(n), expected = formula(network, n);
            std::printf("%8d %12.2f %12.2f %8.3f\n", n, found * 1e3, expected * 1e3, found / expected);
            std::fflush(stdout);
        }
        return 0;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
