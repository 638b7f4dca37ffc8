#include "groups/network.hpp"

#include "base/fail.hpp"
#include "base/platform.hpp"
#include "base/utf8.hpp"

#include <bit>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

namespace tensorlib::core {

namespace {

// The rounds in which a message reaches all ranks, if each rank that has it sends it on.
double rounds(int ranks) noexcept { return std::bit_width(static_cast<unsigned>(ranks) - 1); }

// A number above 0, or 0.
double positive(std::string_view text) noexcept {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() && std::isfinite(value) && value > 0 ? value : 0;
}

}  // namespace

Network::Time Network::gather(int ranks, std::size_t bytes) const noexcept {
    return rounds(ranks) * latency + sent(static_cast<double>(bytes) * (ranks - 1));
}

Network::Time Network::swap_parts(int ranks, std::size_t bytes) const noexcept {
    return (ranks - 1) * latency + sent(static_cast<double>(bytes) * (ranks - 1));
}

Network::Time Network::broadcast(int ranks, std::size_t bytes) const noexcept {
    return rounds(ranks) * latency + sent(ranks > 1 ? static_cast<double>(bytes) : 0);
}

Network::Time Network::all_reduce(int ranks, std::size_t bytes) const noexcept {
    return 2 * rounds(ranks) * latency + sent(2.0 * static_cast<double>(bytes) * (ranks - 1) / ranks);
}

Network::Time Network::transfer(std::size_t bytes) const noexcept { return latency + sent(static_cast<double>(bytes)); }

std::optional<Network> simulated_network() {
    const std::string text = platform::environment("TENSORLIB_LOCAL_NETWORK");
    if (text.empty()) return std::nullopt;
    const std::size_t comma = text.find(',');
    const std::string_view all = text;
    const double microseconds = positive(all.substr(0, comma));
    const double gigabits = comma == std::string::npos ? 0 : positive(all.substr(comma + 1));
    if (microseconds == 0 || gigabits == 0) {
        fail(Status::invalid_argument,
             "group_create: TENSORLIB_LOCAL_NETWORK is '%s': microseconds and gigabits a second are valid, such as 10,100",
             shown(text).c_str());
    }
    return Network{.latency = std::chrono::duration<double, std::micro>(microseconds), .bytes_per_second = gigabits * 1e9 / 8};
}

}  // namespace tensorlib::core
