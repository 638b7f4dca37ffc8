// Lines of docs/semantics.md that fit no other file: devices that differ, locks across contexts and threads, pages.
#include "base/platform.hpp"
#include "cpu/cpu_backend.hpp"
#include "graph/graph.hpp"
#include "graph/tensor_data.hpp"
#include "joined_devices.hpp"
#include "ops/op_def.hpp"
#include "runtime/executor.hpp"
#include "support.hpp"

#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

namespace core = tl::core;
using support::leaf;

namespace {

core::Layout layout(std::vector<std::int64_t> ne) { return core::contiguous_layout("test", core::DType::f32, ne); }

TEST(Devices, operands_outputs_and_backends_of_different_devices_are_told_apart) {
    support::StrangeMemory memory("other:0");
    core::ContextParams params;
    params.memory = &memory;
    const auto there = core::Context::create(params), here = core::Context::create({});
    core::Tensor *a = there->new_leaf(layout({4})), *b = here->new_leaf(layout({4}));
    core::Tensor *mixed[] = {a, b}, *two[] = {a, a};
    // They may be mixed in nodes and graphs, for a joined backend. One of one device refuses them.
    const auto cpu = core::cpu_device().open({1, false});
    for (auto *operands : {mixed, two}) {
        core::Tensor *outputs[] = {core::build_node(*there, core::Op::add, std::span(operands, 2))};
        for (const auto &context : {there, here}) {
            if (context.get() == here.get() && operands == mixed) continue;  // a circle of contexts
            const auto graph = core::Graph::create(*context, outputs);
            support::expect_error(tl::Status::context_mismatch, {"graph_compute", "other:0", "cpu"}, [&] { core::compute(*graph, *cpu); });
        }
    }
}

TEST(Devices, data_elsewhere_goes_in_and_out_but_is_not_mapped) {
    support::StrangeMemory memory("other:0");
    core::ContextParams params;
    params.memory = &memory;
    params.mem_limit = 4096;
    const auto there = core::Context::create(params);
    core::Tensor *t = there->new_leaf(layout({5, 3}));
    float values[15], got[15];
    for (int i = 0; i < 15; i++) values[i] = static_cast<float>(i);
    core::write_f32(*t, values, 15);
    core::Tensor *src[] = {t};
    core::Tensor *turned = core::build_node(*there, core::Op::transpose, src);
    core::read_f32(*turned, got, 15);
    for (int i = 0; i < 15; i++) EXPECT_EQ(got[i], values[i % 3 * 5 + i / 3]);
    support::expect_error(tl::Status::unavailable, {"other:0", "host memory"}, [&] { core::map(*t, false); });
    // One limit for objects here and data there.
    support::expect_error(tl::Status::out_of_memory, {"4096"}, [&] { there->new_leaf(layout({1000})); });
}

TEST(Locks, a_copy_into_another_context_needs_that_context_alone) {
    const tl::Backend cpu("cpu", {1});
    const tl::Context old, young;
    const auto target = leaf(old, {4}, 1), source = leaf(young, {4}, 2);
    const tl::Graph writes({cpy(source, target)});
    tl::Graph reads({source + target});
    // A graph that reads `old` runs while another only reads it too, one that writes it does not.
    int refused = 0, allowed = 0;
    const tl::Backend second("cpu", {1}), third("cpu", {1});
    tl::Context third_context;
    const tl::Graph also_reads({leaf(third_context, {4}, 3) + target});
    reads.set_progress([&](std::size_t, std::size_t) {
        support::expect_error(tl::Status::busy, {"context"}, [&] { writes.compute(second); });
        refused++;
        also_reads.compute(third);
        allowed++;
        return true;
    });
    reads.compute(cpu);
    EXPECT_EQ(refused, 1);
    EXPECT_EQ(allowed, 1);
    writes.compute(second);
    EXPECT_EQ(target.read<float>(), source.read<float>());
}

TEST(Locks, a_graph_runs_on_one_backend_at_a_time) {
    const tl::Backend one("cpu", {1}), two("cpu", {1});
    const tl::Context ctx;
    const auto x = leaf(ctx, {4}, 1);
    const tl::Graph graph({x + x});
    int busy = 0;
    graph.set_progress([&](std::size_t, std::size_t) {
        support::expect_error(tl::Status::busy, {"being computed"}, [&] { graph.compute(two); });
        busy++;
        return true;
    });
    graph.compute(one);
    EXPECT_EQ(busy, 1);
    graph.set_progress({});
    graph.compute(two);
}

TEST(Locks, a_mapping_may_end_on_another_thread) {
    const auto context = core::Context::create({});
    core::Tensor *t = context->new_leaf(layout({4}));
    core::map(*t, true);
    std::thread([&] { core::unmap(*t, true); }).join();
    EXPECT_NO_THROW(core::get_f32(*t, {0, 0, 0, 0}));
}

// What a new device has to do as the host does.
TEST(Memory, the_hosts_memory_starts_as_zeros_and_moves_rows) {
    core::DeviceMemory &memory = core::host_memory();
    constexpr std::size_t size = 100000;
    auto *block = static_cast<unsigned char *>(memory.acquire(size));
    ASSERT_NE(block, nullptr);
    for (std::size_t i = 0; i < size; i++) ASSERT_EQ(block[i], 0);
    unsigned char out[5] = {};
    memory.write(block, "abcdef", 6);
    memory.read(out, block + 1, 5);
    EXPECT_EQ(std::string(out, out + 5), "bcdef");
    memory.zero(block, 3);
    memory.read(out, block, 5);
    EXPECT_EQ(std::string(out, out + 5), std::string("\0\0\0de", 5));
    memory.write_rows(block + 1, "xxyy", {2, 3, 2});
    memory.read_rows(out, block, {1, 2, 5});
    EXPECT_EQ(std::string(out, out + 5), std::string("\0xy\0\0", 5)) << "'xx' at 1, 'yy' at 4; every second byte is read";
    memory.release(block, size);
    EXPECT_EQ(memory.acquire(~std::size_t{0} - 100), nullptr);
}

TEST(Memory, large_leafs_start_on_a_page) {
    const auto context = core::Context::create({});
    for (const std::int64_t n : {1 << 18, (1 << 18) + 1, 3 << 20}) {
        const core::Tensor *t = context->new_leaf(layout({n}));
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(t->address()) % core::platform::page_size, 0u);
    }
}

TEST(Isa, names_in_any_case) {
    const std::string name = support::isas().back();
    std::string upper = name;
    for (char &c : upper) c = static_cast<char>(std::toupper(c));
    EXPECT_EQ(support::backend(upper, 1).isa(), name);
}

TEST(Threads, more_than_there_are_cores_give_the_same_bits) {
    const tl::Context ctx;
    const auto b = leaf(ctx, {512, 100}, 1);
    const auto weights = leaf(ctx, {512, 300}, 2);
    const auto coded = weights.cast(tl::Type::q4_0);
    const tl::Tensor sum = mul_mat(weights, b) + mul_mat(coded, b);
    std::vector<float> expected;
    for (const int n : {1, 2, 16, 67}) {
        const tl::Backend cpu("cpu", {n});
        EXPECT_EQ(cpu.n_threads(), n);
        for (int i = 0; i < 5; i++) {
            cpu.compute({sum});
            if (expected.empty()) expected = sum.read_f32();
            EXPECT_EQ(sum.read_f32(), expected) << n;
        }
    }
}

TEST(Threads, all_means_those_that_this_process_may_use) {
#if defined(__linux__) && !defined(TL_PORTABLE)
    int cpus = 0;
    std::thread([&] {
        cpu_set_t one;
        CPU_ZERO(&one);
        cpu_set_t mine;
        ASSERT_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
        for (int i = 0; i < CPU_SETSIZE; i++) {
            if (CPU_ISSET(i, &mine)) {
                CPU_SET(i, &one);
                break;
            }
        }
        ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
        cpus = core::platform::usable_cpus();
    }).join();
    EXPECT_EQ(cpus, 1);
#else
    GTEST_SKIP() << "affinity masks are read on Linux only, and not by the portable fallback";
#endif
}

}  // namespace
