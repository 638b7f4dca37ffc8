// The main() of a test program whose ranks are processes. Every process runs every test, and rank 0 reports; the others print
// their failures alone.
#include "ranks.hpp"

#include <gtest/gtest.h>

#include <cstdio>

namespace {

class Failures : public testing::EmptyTestEventListener {
public:
    explicit Failures(int rank) : rank_(rank) {}
    void OnTestPartResult(const testing::TestPartResult &result) override {
        if (!result.failed()) return;
        std::fprintf(stderr, "rank %d: %s: %s:%d: %s\n", rank_, testing::UnitTest::GetInstance()->current_test_info()->name(),
                     result.file_name() ? result.file_name() : "?", result.line_number(), result.message());
    }

private:
    const int rank_;
};

}  // namespace

int main(int argc, char **argv) {
    testing::InitGoogleTest(&argc, argv);
    try {
        support::processes().emplace("mpi", tl::GroupOptions{.timeout = std::chrono::seconds(20)});
    } catch (const tl::Error &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    const tl::Group &all = *support::processes();
    testing::TestEventListeners &listeners = testing::UnitTest::GetInstance()->listeners();
    if (all.rank() == 0) {
        std::printf("%s\n", all.text().c_str());
    } else {
        delete listeners.Release(listeners.default_result_printer());
        listeners.Append(new Failures(all.rank()));
    }
    const int failures = RUN_ALL_TESTS();
    support::processes().reset();
    return failures;
}
