// Groups whose ranks are threads: ranks that differ, fail, leave or do not come; who may use a handle; what is refused; the C ABI.
#include "random_tensors.hpp"
#include "ranks.hpp"

#include <tensorlib/tensorlib.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>

namespace {

using support::errors_of_ranks;
using support::expect_error;
using namespace std::chrono_literals;

std::vector<float> computed(const tl::Tensor &t) {
    tl::Backend("cpu", {1}).compute({t});
    return t.read_f32();
}

// The message names the first node that differs, on all ranks, and the group lives on.
TEST(Group, ranks_that_differ_are_told) {
    struct Case {
        std::function<tl::Tensor(const tl::Tensor &, const tl::Group &)> other;
        std::vector<std::string> words;
    };
    const Case cases[] = {
        {[](const tl::Tensor &a, const tl::Group &group) { return a.all_max(group); },
         {"node 1", "all_sum of [4] f32", "all_max of [4] f32 on rank 2"}},
        {[](const tl::Tensor &a, const tl::Group &group) { return a.narrow(0, 0, 3).all_sum(group); },
         {"node 1", "all_sum of [3] f32 on rank 2"}},
        {[](const tl::Tensor &a, const tl::Group &group) { return a.cast(tl::Type::f16).all_sum(group); },
         {"all_sum of [4] f16 on rank 2"}},
        {[](const tl::Tensor &a, const tl::Group &group) { return a.all_sum(group).all_sum(group); },
         {"node 2", "nothing on rank 0", "on rank 2"}},
        {[](const tl::Tensor &a, const tl::Group &) { return a.sqr(); }, {"waited 2000 ms for rank 2"}},
    };
    for (const Case &one : cases) {
        const bool hangs = one.words[0].find("waited") != std::string::npos;
        std::atomic<int> n_alive{0};
        const auto run = [&](const tl::Group &group) {
            const tl::Context ctx;
            const tl::Tensor a = support::leaf(ctx, {4}, 1), c = group.rank() == 2 ? one.other(a, group) : a.all_sum(group);
            try {
                tl::Backend("cpu", {1}).compute({c});
            } catch (const tl::Error &) {
                if (!hangs) {
                    EXPECT_EQ(computed(ctx.tensor<float>({1}, {1}).all_sum(group))[0], 3);
                    n_alive++;
                }
                throw;
            }
            // The rank that computes nothing stays until the others have given up.
            if (hangs) std::this_thread::sleep_for(2500ms);
        };
        const std::vector<std::string> errors = errors_of_ranks(tl::Group::local(3, {.timeout = 2000ms}), run);
        for (std::size_t rank = 0; rank < (hangs ? 2u : 3u); rank++) {
            for (const std::string &word : one.words) {
                const bool is_second = hangs && errors[rank].find(word) == std::string::npos;
                EXPECT_TRUE(errors[rank].find(is_second ? "rank" : word) != std::string::npos) << word << " is not in: " << errors[rank];
            }
        }
        EXPECT_EQ(n_alive, hangs ? 0 : 3);
    }
}

TEST(Group, a_rank_that_leaves_is_an_error_on_the_others) {
    for (const int gone : {0, 2}) {
        const auto begin = std::chrono::steady_clock::now();
        const auto run = [&](const tl::Group &group) {
            if (group.rank() == gone) return;
            const tl::Context ctx;
            const tl::Tensor c = support::leaf(ctx, {4}, 1).all_sum(group);
            const tl::Graph graph{c};
            const tl::Backend cpu("cpu", {1});
            const auto compute = [&] { graph.compute(cpu); };
            expect_error(tl::Status::group, {"graph_compute", "rank " + std::to_string(gone) + " has left the group"}, compute);
            // Nothing was computed, and the group is dead.
            expect_error(tl::Status::invalid_argument, {"not computed"}, [&] { c.read_f32(); });
            expect_error(tl::Status::group, {"the group has failed: "}, compute);
        };
        for (const std::string &error : errors_of_ranks(tl::Group::local(3, {.timeout = 60s}), run)) EXPECT_EQ(error, "");
        EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s);
    }
}

TEST(Group, a_rank_that_does_not_come_is_named_at_the_deadline) {
    std::atomic<int> n_done{0};
    const auto run = [&](const tl::Group &group) {
        if (group.rank() == 1) {
            while (n_done < 2) std::this_thread::sleep_for(1ms);
            // It comes too late.
            const tl::Context ctx;
            expect_error(tl::Status::group, {"rank"}, [&] { computed(support::leaf(ctx, {4}, 1).all_sum(group)); });
            return;
        }
        const tl::Context ctx;
        const tl::Tensor c = support::leaf(ctx, {4}, 1).all_sum(group);
        const auto begin = std::chrono::steady_clock::now();
        expect_error(tl::Status::group, {"has waited 300 ms for rank 1"}, [&] { computed(c); });
        const auto waited = std::chrono::steady_clock::now() - begin;
        EXPECT_TRUE(waited >= 200ms && waited < 1300ms) << std::chrono::duration<double>(waited).count();
        n_done++;
    };
    errors_of_ranks(tl::Group::local(3, {.timeout = 300ms}), run);
}

// A handle is one rank's: two runs at a time would mix up its exchanges.
TEST(Group, a_handle_is_used_by_one_run_at_a_time) {
    std::vector<tl::Group> ranks = tl::Group::local(2, {.timeout = 20s});
    const tl::Context one, two;
    const tl::Tensor first = support::leaf(one, {4}, 1).all_sum(ranks[0]), second = support::leaf(two, {4}, 1).all_sum(ranks[0]);
    const tl::Backend a("cpu", {1}), b("cpu", {1});
    std::thread waits([&] { a.compute({first}); });
    bool was_busy = false;
    for (int i = 0; i < 1000 && !was_busy; i++) {
        try {
            std::this_thread::sleep_for(1ms);
            if (i == 0) std::this_thread::sleep_for(50ms);
            b.compute({second});
            ADD_FAILURE() << "nobody else has come";
        } catch (const tl::Error &error) {
            was_busy = error.code() == tl::Status::busy;
        }
    }
    EXPECT_TRUE(was_busy);
    const tl::Context three;
    tl::Backend("cpu", {1}).compute({support::leaf(three, {4}, 1).all_sum(ranks[1])});
    waits.join();
    EXPECT_EQ(first.read_f32()[1], 2 * support::value(1, 1));
}

TEST(Group, a_run_that_waits_can_be_stopped) {
    std::vector<tl::Group> ranks = tl::Group::local(2, {.timeout = 60s});
    const tl::Context ctx;
    tl::Graph graph{support::leaf(ctx, {4}, 1).all_sum(ranks[0])};
    std::atomic<int> calls{0};
    graph.set_progress([&](std::size_t, std::size_t) { return ++calls < 3; });
    const auto begin = std::chrono::steady_clock::now();
    expect_error(tl::Status::aborted, {"rank 0", "progress callback"}, [&] { graph.compute(tl::Backend("cpu", {1})); });
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
    const tl::Context other;
    expect_error(tl::Status::group, {"rank 0 was stopped by its progress callback"},
                 [&] { tl::Backend("cpu", {1}).compute({support::leaf(other, {4}, 1).all_sum(ranks[1])}); });
}

// What this rank exchanged is wrong or missing, so the others are told at once.
TEST(Group, a_run_that_fails_fails_the_group) {
    const auto begin = std::chrono::steady_clock::now();
    const auto run = [](const tl::Group &group) {
        const tl::Context ctx;
        const tl::Backend cpu("cpu", {1});
        const bool fails = group.rank() == 1;
        // A row that does not exist is found at the end of the run, after the first exchange.
        const tl::Tensor rows = ctx.tensor<std::int32_t>({1}, {fails ? 7 : 1});
        const tl::Tensor sum = get_rows(support::leaf(ctx, {4, 2}, 1), rows).all_sum(group);
        if (fails) {
            expect_error(tl::Status::invalid_argument, {"get_rows", "7"}, [&] { cpu.compute({sum}); });
        } else {
            cpu.compute({sum});
            const auto again = [&] {
                for (;;) cpu.compute({sum});
            };
            expect_error(tl::Status::group, {"rank 1 has failed: graph_compute: get_rows", "7"}, again);
        }
    };
    for (const std::string &error : errors_of_ranks(tl::Group::local(2, {.timeout = 60s}), run)) EXPECT_EQ(error, "");
    // One that is stopped between two exchanges.
    const auto stopped = [](const tl::Group &group) {
        const tl::Context ctx;
        const tl::Graph graph{support::leaf(ctx, {4}, 1).all_sum(group).sqr().all_sum(group)};
        if (group.rank() == 1) graph.set_progress([](std::size_t done, std::size_t) { return done == 0; });
        expect_error(group.rank() == 1 ? tl::Status::aborted : tl::Status::group, {"progress callback"},
                     [&] { graph.compute(tl::Backend("cpu", {1})); });
    };
    for (const std::string &error : errors_of_ranks(tl::Group::local(2, {.timeout = 60s}), stopped)) EXPECT_EQ(error, "");
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s);
}

TEST(Group, what_cannot_be_is_refused) {
    using enum tl::Status;
    for (const char *name : {"", "selv", "local", "local:", "local:0", "local:1025", "local:2x", "local:-1", "local: 2", "mpi ", "MPI"}) {
        expect_error(invalid_argument, {"group_create", "valid"}, [&] { tl::Group{name}; });
    }
    expect_error(invalid_argument, {"0 ranks: 1 to 1024 are valid"}, [] { tl::Group::local(0); });
    expect_error(invalid_argument, {"-5 ms"}, [] { tl::Group("self", {.timeout = -5ms}); });
    expect_error(invalid_argument, {"a year"}, [] { tl::Group("self", {.timeout = std::chrono::hours(24 * 366)}); });
    {
        const support::Environment launched("OMPI_COMM_WORLD_SIZE", "2"), library("TENSORLIB_MPI", "/nowhere/libmpi.so");
        expect_error(unavailable, {"group_create", "TENSORLIB_MPI", "/nowhere/libmpi.so"}, [] { tl::Group{}; });
        EXPECT_EQ(tl::Group("self").size(), 1);
    }
    {
        const support::Environment launched("OMPI_COMM_WORLD_SIZE", "1");
        EXPECT_EQ(tl::Group().text(), "self: one rank, because OMPI_COMM_WORLD_SIZE says that there is one process");
    }
    EXPECT_EQ(tl::Group().text(), "self: one rank, because no launcher such as mpirun has started this process");
    const std::vector<tl::Group> ranks = tl::Group::local(2);
    EXPECT_EQ(ranks[1].text(), "local: 2 threads of a process");
    const tl::Context ctx;
    const tl::Tensor a = support::leaf(ctx, {3, 2}, 1);
    expect_error(shape_mismatch, {"sum_scatter", "a is [3, 2] f32", "3 elements in dimension 0", "2 ranks"},
                 [&] { a.sum_scatter(0, ranks[0]); });
    expect_error(shape_mismatch, {"all_to_all", "1 elements in dimension 3"}, [&] { a.all_to_all(3, ranks[0]); });
    expect_error(invalid_argument, {"all_gather", "dim is 4", "0 to 3 is valid"}, [&] { a.all_gather(4, ranks[0]); });
    expect_error(invalid_argument, {"broadcast", "root is 2", "0 to 1"}, [&] { a.broadcast(2, ranks[0]); });
    expect_error(invalid_argument, {"send", "to is -1"}, [&] { a.send(-1, ranks[0]); });
    expect_error(invalid_argument, {"receive", "from is 7", "0 to 1"}, [&] { a.receive(7, ranks[0]); });
    expect_error(type_mismatch, {"all_sum", "u8", "is valid"}, [&] { ctx.zeros(tl::Type::u8, {3}).all_sum(ranks[0]); });
    expect_error(type_mismatch, {"all_max", "q8_0"}, [&] { ctx.zeros(tl::Type::q8_0, {32}).all_max(ranks[0]); });
    expect_error(type_mismatch, {"all_gather", "dim is 0", "1 to 3"}, [&] { ctx.zeros(tl::Type::q8_0, {32}).all_gather(0, ranks[0]); });
    // By number, as no typed function passes it.
    expect_error(invalid_argument, {"all_sum", "there is no group 9007199254740991"},
                 [&] { ctx.op("all_sum", {a}, {{"group", {9007199254740991}, {}, 0}}); });
    expect_error(invalid_argument, {"group is 0"}, [&] { ctx.op("all_sum", {a}, {{"group", {0}, {}, 0}}); });
    EXPECT_EQ(ctx.tensors().size(), 4u) << "leafs alone";
}

// A simulated network changes when exchanges end, and how sums are exchanged, and no result.
TEST(Group, a_simulated_network_takes_its_time) {
    {
        // 2 ms, and 1 MB a millisecond.
        const support::Environment network("TENSORLIB_LOCAL_NETWORK", "2000,8");
        std::vector<tl::Group> ranks = tl::Group::local(3);
        EXPECT_EQ(ranks[0].text(), "local: 3 threads of a process, on a simulated network of 2000 us and 8 Gb/s");
        const auto errors = support::errors_of_ranks(std::move(ranks), [](const tl::Group &group) {
            const tl::Context ctx;
            const tl::Backend cpu("cpu", {1});
            const auto takes = [&](std::int64_t n, std::chrono::milliseconds least, const auto &make) {
                const tl::Tensor own = ctx.zeros(tl::Type::f32, {n});
                own.write_f32(std::vector<float>(static_cast<std::size_t>(n), static_cast<float>(group.rank() + 1)));
                const tl::Tensor result = make(own);
                const tl::Graph graph{result};
                graph.compute(cpu);  // also compares the ranks' graphs
                const auto begin = std::chrono::steady_clock::now();
                graph.compute(cpu);
                EXPECT_GE(std::chrono::steady_clock::now() - begin, least);
                return result.read_f32();
            };
            const auto sum = [&](const tl::Tensor &own) { return own.all_sum(group); };
            // Two rounds of a gather; four rounds and 4/3 of the bytes of a large sum.
            EXPECT_EQ(takes(2, 4ms, sum), (std::vector<float>{6, 6}));
            EXPECT_EQ(takes(750'000, 12ms, sum)[7], 6.0f);
            EXPECT_EQ(takes(1, 4ms, [&](const tl::Tensor &own) { return own.all_gather(0, group); }), (std::vector<float>{1, 2, 3}));
            EXPECT_EQ(takes(500'000, 6ms, [&](const tl::Tensor &own) { return own.broadcast(1, group); })[3], 2.0f);
            EXPECT_EQ(takes(3, 4ms, [&](const tl::Tensor &own) { return own.all_to_all(0, group); }), (std::vector<float>{1, 2, 3}));
            const std::optional<tl::Group> part = group.split(0);
            EXPECT_NE(part->text().find("simulated network"), std::string::npos);
        });
        EXPECT_EQ(errors, std::vector<std::string>(3));
        EXPECT_EQ(tl::Group("self").text(), "self: one rank");
    }
    for (const char *text : {"10", "10,", ",10", "0,1", "1,0", "-1,1", "1,2,3", "nan,1", "1,inf", "1e999,1"}) {
        const support::Environment network("TENSORLIB_LOCAL_NETWORK", text);
        expect_error(tl::Status::invalid_argument, {"TENSORLIB_LOCAL_NETWORK", text, "10,100"}, [] { tl::Group::local(2); });
    }
}

TEST(Group, the_c_abi) {
    tl_group_params params;
    tl_group_params_init(&params, sizeof params);
    params.timeout_ms = 5000;
    tl_error err = {};
    err.struct_size = sizeof err;
    tl_group *first = nullptr, *second = nullptr, *again = nullptr;
    ASSERT_EQ(tl_group_create("local:2", &params, &first, &err), TL_STATUS_OK);
    EXPECT_EQ(tl_group_member(first, 2, &second, &err), TL_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(second, nullptr);
    // Without a place for it the handle stays.
    EXPECT_EQ(tl_group_member(first, 1, nullptr, &err), TL_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(tl_group_split(first, 0, 0, nullptr, &err), TL_STATUS_INVALID_ARGUMENT);
    ASSERT_EQ(tl_group_member(first, 1, &second, &err), TL_STATUS_OK);
    EXPECT_EQ(tl_group_member(first, 1, &again, &err), TL_STATUS_INVALID_ARGUMENT);
    EXPECT_NE(std::strstr(err.message, "taken already"), nullptr);
    EXPECT_EQ(tl_group_member(second, 1, &again, &err), TL_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(tl_group_rank(second), 1);
    EXPECT_EQ(tl_group_size(second), 2);
    char text[64];
    const std::size_t length = tl_group_text(second, text, sizeof text);
    EXPECT_EQ(length, std::strlen(text));
    EXPECT_EQ(tl_group_create("local:2", &params, nullptr, &err), TL_STATUS_INVALID_ARGUMENT);
    params.struct_size = 3;
    EXPECT_EQ(tl_group_create("self", &params, &again, &err), TL_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(tl_group_split(nullptr, 0, 0, &again, &err), TL_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(tl_group_member(nullptr, 0, &again, &err), TL_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(tl_group_rank(nullptr) + tl_group_size(nullptr), 0);
    EXPECT_EQ(tl_group_text(nullptr, text, sizeof text), 0u);
    std::int64_t begin = 7, count = 7;
    EXPECT_EQ(tl_shard_range(1000, 256, 2, 3, &begin, &count, &err), TL_STATUS_OK);
    EXPECT_EQ(std::pair(begin, count), std::pair(std::int64_t{768}, std::int64_t{232}));
    EXPECT_EQ(tl_shard_range(1000, 256, 3, 3, &begin, &count, &err), TL_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(std::pair(begin, count), std::pair(std::int64_t{0}, std::int64_t{0}));
    EXPECT_STREQ(err.message, "shard_range: rank is 3: 0 to 2 are valid");
    EXPECT_EQ(tl_shard_range(1000, 256, 0, 3, nullptr, &count, &err), TL_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(tl_shard_range(1000, 256, 0, 3, &begin, nullptr, &err), TL_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(tl::shard_range(5, 8, 1, 2).count, 0);
    tl_context *ctx = nullptr;
    ASSERT_EQ(tl_context_create(nullptr, &ctx, &err), TL_STATUS_OK);
    const std::int64_t ne[] = {4};
    tl_tensor *a = tl_tensor_new(ctx, TL_TYPE_F32, 1, ne);
    EXPECT_EQ(tl_all_sum(ctx, a, nullptr), nullptr);
    EXPECT_EQ(tl_context_error(ctx, &err), TL_STATUS_INVALID_ARGUMENT);
    EXPECT_NE(std::strstr(err.message, "all_sum: group is NULL"), nullptr) << err.message;
    EXPECT_NE(tl_all_sum(ctx, a, first), nullptr);
    tl_group_free(first);
    tl_group_free(second);
    tl_group_free(nullptr);
    tl_context_free(ctx);
}

}  // namespace
