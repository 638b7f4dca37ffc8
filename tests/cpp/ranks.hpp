// Threads that are the ranks of a local group.
#pragma once

#include "support.hpp"

#include <tensorlib/group.hpp>

#include <exception>
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

// Calls f(handle) for each of n ranks; none may fail.
template <class F>
void on_ranks(int n, F f) {
    const std::vector<std::string> errors = errors_of_ranks(tl::Group::local(n), f);
    for (std::size_t r = 0; r < errors.size(); r++) EXPECT_EQ(errors[r], "") << "rank " << r;
}

}  // namespace support
