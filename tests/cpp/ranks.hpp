// Ranks for tests: threads of this process, or in a program that mpirun started, its processes.
#pragma once

#include "support.hpp"

#include <tensorlib/group.hpp>

#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace support {

// Calls f(handle) for each rank, on a thread each, and returns the errors' messages, "" for a rank without one. Other
// exceptions are failures of the test.
template <class F>
std::vector<std::string> errors_of_ranks(std::vector<tl::Group> ranks, F f, tl::Status code = tl::Status::group) {
    std::vector<std::string> errors(ranks.size());
    std::vector<std::thread> threads;
    for (std::size_t r = 0; r < ranks.size(); r++) {
        threads.emplace_back([&, r] {
            try {
                // The rank leaves the group when it is done.
                const tl::Group own = std::move(ranks[r]);
                f(own);
            } catch (const tl::Error &error) {
                errors[r] = error.what();
                EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << "rank " << r << ": " << error.what();
            } catch (const std::exception &error) {
                ADD_FAILURE() << "rank " << r << ": " << error.what();
            }
        });
    }
    for (std::thread &thread : threads) thread.join();
    return errors;
}

// The group of all processes, in a program that tests those.
inline std::optional<tl::Group> &processes() {
    static std::optional<tl::Group> all;
    return all;
}

// Those of the numbers of ranks that there can be.
inline std::vector<int> possible(std::vector<int> numbers) {
    std::erase_if(numbers, [](int n) { return processes() && n > processes()->size(); });
    return numbers;
}

// Calls f(handle) for each of n ranks; none may fail. Processes that are no rank do nothing.
template <class F>
void on_ranks(int n, F f) {
    if (processes()) {
        if (n > processes()->size()) GTEST_SKIP() << n << " ranks are needed, and there are " << processes()->size();
        const std::optional<tl::Group> own = processes()->split(processes()->rank() < n ? 0 : -1);
        if (own) f(*own);
        return;
    }
    const std::vector<std::string> errors = errors_of_ranks(tl::Group::local(n), f);
    for (std::size_t r = 0; r < errors.size(); r++) EXPECT_EQ(errors[r], "") << "rank " << r;
}

}  // namespace support
