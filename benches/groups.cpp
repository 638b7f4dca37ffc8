// Groups of processes next to the raw calls of the MPI library, in turn: the sum of F32 over all ranks, as a graph of one node and as
// MPI_Iallreduce with MPI_Test. `cargo xtask bench --only groups` starts it with mpirun.
#include "groups/mpi_library.hpp"

#include <tensorlib/group.hpp>
#include <tensorlib/tensorlib.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <vector>

namespace {

namespace tl = tensorlib;
using Clock = std::chrono::steady_clock;

// Seconds: the best and the median.
struct Times {
    double best, median;
};

Times times_of(std::vector<double> seconds) {
    std::ranges::sort(seconds);
    return {seconds.front(), seconds[seconds.size() / 2]};
}

// Numbers that begin where a page does, as a tensor of this size does.
class Pages {
public:
    explicit Pages(std::int64_t n) : n_(static_cast<std::size_t>(n)) {
        constexpr std::size_t page = 4096;
        memory_.reset(static_cast<float *>(std::aligned_alloc(page, (n_ * sizeof(float) + page - 1) / page * page)));
        if (!memory_) throw std::bad_alloc();
        std::fill_n(memory_.get(), n_, 0.0f);
    }
    std::span<float> values() const noexcept { return {memory_.get(), n_}; }

private:
    struct Free {
        void operator()(float *memory) const noexcept { std::free(memory); }
    };
    std::size_t n_;
    std::unique_ptr<float, Free> memory_;
};

template <class Handle>
void sum_raw(const tl::core::MpiInterface<Handle> &mpi, std::span<const float> own, std::span<float> total) {
    Handle request{};
    mpi.iallreduce(own.data(), total.data(), static_cast<int>(own.size()), mpi.f32, mpi.sum, mpi.world, &request);
    for (int is_done = 0; is_done == 0;) mpi.test(&request, &is_done, mpi.ignored_status);
}

void report(const tl::Group &group, std::int64_t n) {
    const tl::Context ctx;
    const tl::Backend cpu("cpu", {1});
    const tl::Tensor own = ctx.zeros(tl::Type::f32, {n}), sum = own.all_sum(group);
    own.write_f32(std::vector<float>(static_cast<std::size_t>(n), 1.0f));
    const tl::Graph graph{sum};
    const Pages raw_own(n), raw_total(n);
    const std::span<float> raw = raw_own.values(), total = raw_total.values();
    std::ranges::fill(raw, 1.0f);
    const std::function<void()> contenders[] = {
        [&] { graph.compute(cpu); },
        [&] { std::visit([&](const auto &mpi) { sum_raw(mpi, raw, total); }, tl::core::mpi_library().calls); },
    };
    for (const auto &contender : contenders) contender();
    const auto wanted = static_cast<float>(group.size());
    const auto is_wrong = [&](float value) { return value != wanted; };
    if (std::ranges::any_of(sum.read_f32(), is_wrong) || std::ranges::any_of(total, is_wrong)) throw std::runtime_error("a sum is wrong");
    // The number of rounds is that of all ranks, so it depends on no time.
    const auto rounds = static_cast<int>(std::clamp<std::int64_t>(400'000'000 / (n * 4 + 20'000), 20, 5000));
    std::vector<double> seconds[2];
    for (int i = 0; i < rounds; i++) {
        for (std::size_t c = 0; c < 2; c++) {
            const Clock::time_point begin = Clock::now();
            contenders[c]();
            if (i > 1) seconds[c].push_back(std::chrono::duration<double>(Clock::now() - begin).count());
        }
    }
    const Times ours = times_of(seconds[0]), theirs = times_of(seconds[1]);
    if (group.rank() != 0) return;
    std::printf("%12lld %10.1f %10.1f %10.1f %10.1f %9.1f %8.2f\n", static_cast<long long>(n * 4), ours.best * 1e6, ours.median * 1e6,
                theirs.best * 1e6, theirs.median * 1e6, (ours.median - theirs.median) * 1e6, theirs.median / ours.median);
    std::fflush(stdout);
}

}  // namespace

int main() {
    try {
        const tl::Group group("mpi");
        if (group.rank() == 0) {
            std::printf("%s\n%12s %10s %10s %10s %10s %9s %8s\n", group.text().c_str(), "bytes", "all_sum us", "median", "raw us", "median",
                        "more", "speed");
        }
        for (const std::int64_t bytes : {4, 1 << 10, 16 << 10, 64 << 10, 128 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20})
            report(group, bytes / 4);
        return 0;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
