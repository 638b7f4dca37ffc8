// Links between contexts: circles are refused and all other links work, whatever the order of creation; long chains cost no more than short
// ones and are freed on a small stack; failures leave no link.
#include "graph/context.hpp"
#include "ops/op_def.hpp"
#include "support.hpp"

#include <atomic>
#include <random>
#include <thread>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace core = tl::core;
using core::Context;
using core::Ref;

namespace {

core::Layout scalar() { return core::contiguous_layout("test", core::DType::f32, std::vector<std::int64_t>{1}); }

// Contexts with a leaf each, in little memory.
struct Contexts {
    static constexpr std::size_t each = 1024;
    explicit Contexts(std::size_t n) : memory(n * each) {
        for (std::size_t i = 0; i < n; i++) {
            core::ContextParams params;
            params.mem_buffer = memory.data() + i * each;
            params.mem_buffer_size = each;
            contexts.push_back(Context::create(params));
            leafs.push_back(contexts.back()->new_leaf(scalar()));
        }
    }
    void link(std::size_t from, std::size_t to) const { core::build_node(*contexts[from], core::Op::sqr, std::span(&leafs[to], 1)); }

    std::vector<std::byte> memory;
    std::vector<Ref<Context>> contexts;
    std::vector<core::Tensor *> leafs;
};

// Random links, against a walk over all links that were accepted.
TEST(ContextLinks, refuse_circles_and_nothing_else) {
    for (int seed = 0; seed < support::repeats(40, 2000); seed++) {
        std::mt19937 random(static_cast<unsigned>(seed));
        const std::size_t n = 3 + random() % 20;
        std::vector<std::vector<std::size_t>> links(n);
        Contexts all(n);
        const auto reaches = [&](std::size_t from, std::size_t to) {
            std::vector<std::size_t> next{from};
            std::vector<bool> seen(n);
            while (!next.empty()) {
                const std::size_t at = next.back();
                next.pop_back();
                if (at == to) return true;
                if (seen[at]) continue;
                seen[at] = true;
                next.insert(next.end(), links[at].begin(), links[at].end());
            }
            return false;
        };
        for (int trial = 0; trial < 60; trial++) {
            const std::size_t from = random() % n, to = random() % n;
            if (from == to) continue;
            const bool circle = reaches(to, from);
            // The node's memory may run out: four links fit a context's buffer, and a link that fails leaves nothing.
            bool refused = false, full = false;
            try {
                all.link(from, to);
            } catch (const tl::Error &error) {
                refused = error.code() == tl::Status::context_mismatch;
                full = error.code() == tl::Status::out_of_memory;
            }
            ASSERT_EQ(refused, circle) << "seed " << seed << ", trial " << trial << ": " << from << " to " << to;
            if (!refused && !full) links[from].push_back(to);
        }
    }
}

class ContextChain : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(all, ContextChain, testing::Range(0, 4));

// Each context refers to the one before, or to the one after it; links are made from one end or from the other.
TEST_P(ContextChain, of_any_length_is_linked_and_freed_on_a_small_stack) {
    const bool to_younger = GetParam() & 1, backwards = GetParam() & 2;
    constexpr std::size_t n = 50'000;
    Contexts chain(n);
    for (std::size_t i = 1; i < n; i++) {
        const std::size_t at = backwards ? n - i : i;
        if (to_younger) {
            chain.link(at - 1, at);
        } else {
            chain.link(at, at - 1);
        }
    }
    support::expect_error(tl::Status::context_mismatch, {"refers to it already"}, [&] {
        if (to_younger) {
            chain.link(n - 1, 0);
        } else {
            chain.link(0, n - 1);
        }
    });
    // The end that keeps all others is freed last.
    std::vector<Ref<Context>> &contexts = chain.contexts;
    if (to_younger) std::swap(contexts.front(), contexts.back());
    Ref<Context> last = std::move(contexts.back());
    contexts.clear();
#if defined(__unix__) || defined(__APPLE__)
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    ASSERT_EQ(pthread_attr_setstacksize(&attr, std::size_t{256} << 10), 0);
    pthread_t thread;
    const auto free_last = [](void *context) -> void * {
        *static_cast<Ref<Context> *>(context) = {};
        return nullptr;
    };
    ASSERT_EQ(pthread_create(&thread, &attr, free_last, &last), 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attr);
#endif
}

TEST(ContextLinks, end_with_the_nodes_that_need_them) {
    Contexts all(2);
    core::Tensor *node = core::build_node(*all.contexts[0], core::Op::sqr, std::span(&all.leafs[1], 1));
    core::Tensor *second = core::build_node(*all.contexts[0], core::Op::sqr, std::span(&all.leafs[1], 1));
    EXPECT_EQ(all.contexts[1]->ref_count(), 2u);
    all.contexts[0]->take_back(*second);
    support::expect_error(tl::Status::context_mismatch, {"refers to it already"}, [&] { all.link(1, 0); });
    all.contexts[0]->take_back(*node);
    EXPECT_EQ(all.contexts[1]->ref_count(), 1u);
    EXPECT_NO_THROW(all.link(1, 0));
}

// The nodes that were made before memory ended are taken back, and their links with them.
TEST(ContextLinks, gradients_without_memory_leave_none) {
    const tl::Context model;
    const auto w = model.tensor<float>({4}, {1, 2, 3, 4});
    auto y = w;
    for (int i = 0; i < 100; i++) y = model.sqr(y);
    y = model.sum(y);
    bool failed = false;
    for (std::size_t limit = 2000; limit < 200'000; limit += 1500) {
        tl::ContextOptions options;
        options.mem_limit = limit;
        const tl::Context small(options);
        tl::Tensor leaf;
        try {
            leaf = small.zeros(tl::Type::f32, {4});
        } catch (const tl::Error &) {
            continue;
        }
        try {
            small.gradients(std::span<const tl::Tensor>(&y, 1), std::span<const tl::Tensor>(&w, 1));
        } catch (const tl::Error &error) {
            ASSERT_EQ(error.code(), tl::Status::out_of_memory) << error.what();
            failed = true;
            EXPECT_NO_THROW(model.add(w, leaf)) << "limit " << limit;
            break;  // from now on the model refers to this context
        }
    }
    EXPECT_TRUE(failed);
}

#if defined(__unix__) || defined(__APPLE__)
// A child that is forked while another thread links contexts can link contexts.
TEST(ContextLinks, a_forked_child_may_link_contexts) {
    std::atomic<bool> stop{false};
    std::thread other([&] {
        while (!stop) {
            Contexts pair(2);
            pair.link(1, 0);
        }
    });
    for (int i = 0; i < support::repeats(30, 500); i++) {
        const Contexts pair(2);
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);  // a lock that nobody gives back ends the child with a signal
            pair.link(1, 0);
            _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    stop = true;
    other.join();
}
#endif

}  // namespace
