// A simulated network between ranks that are threads: how long the exchanges of many machines would take.
#pragma once

#include "groups/reduction.hpp"

#include <chrono>
#include <cstddef>
#include <optional>

namespace tensorlib::core {

// Every two ranks have a link. A message takes `latency`, and each rank sends and receives `bytes_per_second`. Times are those of the
// best known algorithms (Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations in MPICH, 2005).
struct Network {
    using Time = std::chrono::duration<double>;
    Time latency{};
    double bytes_per_second = 0;

    Time gather(int ranks, std::size_t bytes) const noexcept;      // `bytes` of each rank
    Time swap_parts(int ranks, std::size_t bytes) const noexcept;  // `bytes` for each rank
    Time broadcast(int ranks, std::size_t bytes) const noexcept;
    Time all_reduce(int ranks, std::size_t bytes) const noexcept;
    Time transfer(std::size_t bytes) const noexcept;

private:
    Time sent(double bytes) const noexcept { return Time(bytes / bytes_per_second); }
};

// The network of the environment variable TENSORLIB_LOCAL_NETWORK, microseconds and gigabits a second such as "10,100"; without
// it, none. Throws Error(invalid_argument) for another text.
std::optional<Network> simulated_network();

}  // namespace tensorlib::core
