// The CUDA backend: transfers, recorded graphs, several backends and devices, and the errors that invalid use gives.
#include "cuda_support.hpp"
#include "gguf_files.hpp"
#include "json.hpp"

#include <tensorlib/gguf.hpp>

#include <cuda_runtime_api.h>
#include <array>
#include <numeric>
#include <optional>
#include <thread>

using support::expect_error;
using support::leaf;

namespace {

using Devices = support::CudaTest;
using Transfers = support::CudaTest;
using Graphs = support::CudaTest;
using Misuse = support::CudaTest;
using Files = support::CudaTest;

std::vector<float> counted(std::size_t n) {
    std::vector<float> values(n);
    std::iota(values.begin(), values.end(), 1.0f);
    return values;
}

TEST_F(Devices, say_what_they_are) {
    for (const std::string &name : support::cuda_devices()) {
        const tl::Backend backend(name);
        EXPECT_EQ(backend.device(), name);
        EXPECT_EQ(backend.n_threads(), 1);
        EXPECT_EQ(backend.isa(), support::is_simulated() ? "simt" : backend.isa());
    }
    for (std::size_t i = 1; i < tl::core::device_count(); i++) {
        const auto props = tl::core::device_at(i).props();
        EXPECT_FALSE(props.description.empty());
        EXPECT_GE(props.capability, 75);
        EXPECT_GT(props.memory_total, 0u);
        EXPECT_LE(props.memory_free, props.memory_total);
        EXPECT_EQ(props.simulated, props.description.find("imulated") != std::string::npos);
    }
    EXPECT_EQ(tl::Backend("CUDA:0").device(), "cuda:0") << "names are taken whatever the case";
    expect_error(tl::Status::invalid_argument, {"n_threads", "-1", "cuda:0"}, [] { tl::Backend("cuda:0", {-1}); });
}

// The host's part: each step once as it is launched, then the whole graph as it was recorded.
TEST_F(Devices, a_trace_has_graphs_and_what_was_handed_over) {
    const support::Environment fuse("TENSORLIB_FUSE", "0");  // a step for each node
    const support::TempFolder folder;
    const std::string path = folder.path("t.json");
    {
        const support::Environment trace("TENSORLIB_TRACE", path.c_str());
        const tl::Backend gpu(support::cuda_devices().front());
        const tl::Context ctx(gpu);
        const auto a = leaf(ctx, {100}, 1);
        const tl::Graph graph({(a + a) + a});
        for (int i = 0; i < 3; i++) graph.compute(gpu);
    }
    std::map<std::string, int> count;
    for (const support::Json &record : support::JsonReader::read(support::file_text(path)).array) {
        if (record["ph"].string == "X") count[record["name"].string]++;
    }
    EXPECT_EQ(count["graph"], 3);
    EXPECT_EQ(count["plan"], 1);
    EXPECT_EQ(count["add"], 2);
    EXPECT_EQ(count["record CUDA graph"], 1);
    EXPECT_EQ(count["launch CUDA graph"], 2);
    EXPECT_EQ(count["wait for the device"], 3);
}

// In an emptied context tensors come to lie where the ones before did, so the recording is right as it is; where they do not, another is
// made.
TEST_F(Devices, a_graph_built_anew_takes_the_recording) {
    const support::TempFolder folder;
    const std::string path = folder.path("t.json");
    const auto recordings = [&](bool moved) {
        {
            const support::Environment trace("TENSORLIB_TRACE", path.c_str());
            const tl::Backend gpu(support::cuda_devices().front());
            tl::Context ctx(gpu);
            for (int i = 0; i < 6; i++) {
                {
                    const auto before = moved && i == 4 ? leaf(ctx, {1000}, 1) : tl::Tensor();
                    const auto a = leaf(ctx, {100}, static_cast<std::uint32_t>(i));
                    const auto sum = (a + a) + a;
                    const tl::Graph graph({sum});
                    graph.compute(gpu);
                    const auto values = a.read_f32(), sums = sum.read_f32();
                    for (std::size_t j = 0; j < sums.size(); j++) EXPECT_EQ(sums[j], values[j] + values[j] + values[j]);
                }
                ctx.reset();
            }
        }
        std::map<std::string, int> count;
        for (const support::Json &record : support::JsonReader::read(support::file_text(path)).array) {
            if (record["ph"].string == "X") count[record["name"].string]++;
        }
        EXPECT_EQ(count["graph"], 6);
        EXPECT_EQ(count["plan"], 1);
        return count["record CUDA graph"];
    };
    EXPECT_EQ(recordings(false), 1);
    EXPECT_EQ(recordings(true), 1) << "the fifth and the sixth run each lie elsewhere than the one before";
}

TEST_F(Devices, the_callers_device_stays) {
    const std::string last = support::cuda_devices().back();
    int device = -1;
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    const tl::Backend gpu(last);
    const tl::Context ctx(gpu);
    const auto sum = leaf(ctx, {100}, 1) + leaf(ctx, {100}, 2);
    const tl::Graph graph({sum});
    for (int i = 0; i < 3; i++) graph.compute(gpu);
    sum.read_f32();
    expect_error(tl::Status::out_of_memory, {last}, [&] { ctx.zeros(tl::Type::f32, {std::int64_t{1} << 40}); });
    ASSERT_EQ(cudaGetDevice(&device), cudaSuccess);
    EXPECT_EQ(device, 0);
}

TEST_F(Devices, one_that_is_not_there_is_named_with_those_that_are) {
    expect_error(tl::Status::unavailable, {"cuda:999", "cpu", "cuda:0"}, [] { tl::Backend("cuda:999"); });
    expect_error(tl::Status::unavailable, {"cuda:x", "cuda:0"}, [] { tl::Backend("cuda:x"); });
}

TEST_F(Transfers, leafs_start_as_zeros_and_hold_what_is_written) {
    const tl::Backend gpu("cuda:0");
    tl::Context ctx(gpu);
    for (int round = 0; round < 2; round++) {
        const auto t = ctx.zeros(tl::Type::f32, {1000});
        EXPECT_EQ(t.read_f32(), std::vector<float>(1000, 0.0f)) << "round " << round;
        t.write_f32(counted(1000));
        EXPECT_EQ(t.read_f32(), counted(1000));
    }
    ctx.reset();
    EXPECT_EQ(ctx.zeros(tl::Type::f32, {1000}).read_f32(), std::vector<float>(1000, 0.0f)) << "memory used before";
}

TEST_F(Transfers, a_reset_right_after_a_write) {
    const tl::Backend gpu("cuda:0");
    tl::Context ctx(gpu);
    for (int round = 0; round < 3; round++) {
        ctx.zeros(tl::Type::f32, {1000}).write_f32(counted(1000));
        ctx.reset();
        EXPECT_EQ(ctx.zeros(tl::Type::f32, {1000}).read_f32(), std::vector<float>(1000, 0.0f));
        ctx.zeros(tl::Type::f32, {3000}).write_f32(counted(3000));
        ctx.reset();
        const auto sum = leaf(ctx, {2000}, 1) + leaf(ctx, {2000}, 2);
        gpu.compute({sum});
        EXPECT_EQ(sum.read_f32().size(), 2000u);
    }
}

// Longer than the slots that transfers are staged through, all of them together too.
TEST_F(Transfers, more_than_all_slots_hold) {
    const tl::Backend gpu("cuda:0");
    const tl::Context ctx(gpu);
    const auto values = counted((std::size_t{9} << 20) / 4 + 12345);
    const auto t = ctx.tensor<float>({static_cast<std::int64_t>(values.size())}, std::span<const float>(values));
    EXPECT_EQ(t.read_f32(), values);
    const std::vector<float> once{-1, -2, -3};
    t.write_bytes(once.data(), 4 * 3000000 / 4, 12);
    float back[3];
    t.read_bytes(back, 4 * 3000000 / 4, 12);
    EXPECT_EQ(std::vector<float>(back, back + 3), once);
}

TEST_F(Transfers, views_of_all_kinds) {
    const tl::Backend gpu("cuda:0");
    const tl::Context on_gpu(gpu), on_cpu;
    // Makes equal views on both devices: whole, rows with gaps, one column (sparse), transposed, permuted, backwards in no dimension.
    const auto views = [](const tl::Tensor &t) {
        const auto nb = t.strides();
        return std::vector<tl::Tensor>{
            t,
            t.view({5, 11, 3}, std::vector<std::size_t>{nb[1], nb[2]}, 2 * nb[0]),
            t.view({1, 11, 3}, std::vector<std::size_t>{nb[1], nb[2]}, 4),
            t.view({30, 2, 3}, std::vector<std::size_t>{nb[1] * 5, nb[2]}, 4),
            t.transpose(),
            t.permute({2, 1, 0, 3}),
            t.view({3, 2}, std::vector<std::size_t>{4}, 0),  // rows that overlap
        };
    };
    const auto a = leaf(on_gpu, {30, 11, 3}, 1), b = leaf(on_cpu, {30, 11, 3}, 1);
    const auto va = views(a), vb = views(b);
    for (std::size_t i = 0; i < va.size(); i++) {
        EXPECT_EQ(va[i].read_f32(), vb[i].read_f32()) << "view " << i;
        auto values = vb[i].read_f32();
        for (float &v : values) v = v * 2 + static_cast<float>(i);
        va[i].write_f32(values);
        vb[i].write_f32(values);
        EXPECT_EQ(a.read_f32(), b.read_f32()) << "written through view " << i;
        // Parts that begin and end inside rows and elements.
        const std::size_t size = va[i].nbytes();
        std::vector<char> x(size), y(size);
        va[i].read_bytes(x.data(), size / 3, size / 2);
        vb[i].read_bytes(y.data(), size / 3, size / 2);
        EXPECT_EQ(x, y) << "view " << i;
        va[i].write_bytes(x.data(), size / 5, size / 3);
        vb[i].write_bytes(y.data(), size / 5, size / 3);
        EXPECT_EQ(a.read_f32(), b.read_f32()) << "view " << i;
    }
    for (const tl::Type type : {tl::Type::f16, tl::Type::i32, tl::Type::f64}) {
        const auto t = on_gpu.zeros(type, {7, 3});
        const auto values = counted(21);
        t.write_f32(values);
        EXPECT_EQ(t.read_f32(), values);
    }
}

TEST_F(Graphs, a_recorded_one_sees_new_values_of_leafs) {
    const tl::Backend gpu("cuda:0");
    const tl::Context ctx(gpu);
    const auto w = leaf(ctx, {20, 30}, 1), x = ctx.zeros(tl::Type::f32, {20, 12}), bias = leaf(ctx, {30}, 2);
    const auto y = mul_mat(w, x) + bias;
    const tl::Graph graph({y});
    for (std::uint32_t round = 0; round < 4; round++) {
        std::vector<float> values(20 * 12);
        for (std::size_t i = 0; i < values.size(); i++) values[i] = support::value(round + 5, static_cast<std::uint32_t>(i));
        x.write_f32(values);
        graph.compute(gpu);
        auto want = support::mul_mat(w.read_f32(), w.shape(), values, x.shape());
        const auto b = bias.read_f32();
        for (std::size_t i = 0; i < want.value.size(); i++) {
            want.value[i] += static_cast<double>(b[i % 30]);
            want.bound[i] += 1e-5;
        }
        EXPECT_EQ(support::first_wrong(y.read_f32(), want), "") << "run " << round;
    }
}

TEST_F(Graphs, a_cache_that_is_written_through_views_is_read_by_later_nodes) {
    const tl::Backend gpu("cuda:0");
    const tl::Context ctx(gpu);
    const auto cache = ctx.zeros(tl::Type::f32, {8, 4});
    for (int round = 0; round < 3; round++) {
        for (std::int64_t row = 0; row < 4; row++) {
            tl::Context step(gpu);
            const auto now = leaf(step, {8}, static_cast<std::uint32_t>(10 * round + row));
            const auto written = cpy(now, cache.view({8}, {}, static_cast<std::size_t>(row) * 32));
            const auto twice = cache + cache;
            const tl::Graph graph({written, twice});
            graph.compute(gpu);
            const auto all = cache.read_f32(), sum = twice.read_f32();
            for (std::size_t i = 0; i < all.size(); i++) EXPECT_EQ(sum[i], 2 * all[i]);
        }
    }
}

TEST_F(Graphs, progress_counts_what_is_done_and_can_stop) {
    const support::Environment fuse("TENSORLIB_FUSE", "0");  // a step for each node
    const tl::Backend gpu("cuda:0");
    const tl::Context ctx(gpu);
    auto t = leaf(ctx, {16}, 1);
    for (int i = 0; i < 5; i++) t = t + t;
    const tl::Graph graph({t});
    std::size_t calls = 0;
    graph.set_progress([&](std::size_t done, std::size_t total) {
        EXPECT_EQ(total, 5u);
        EXPECT_EQ(done, ++calls);
        return done < 3;
    });
    for (int round = 0; round < 3; round++) {
        calls = 0;
        expect_error(tl::Status::aborted, {"3 of 5"}, [&] { graph.compute(gpu); });
        expect_error(tl::Status::invalid_argument, {"not computed"}, [&] { t.read_f32(); });
    }
    graph.set_progress(nullptr);
    for (int round = 0; round < 3; round++) EXPECT_NO_THROW(graph.compute(gpu));
    EXPECT_NO_THROW(t.read_f32());
}

// By marks and within a bound, with steps of the weights in the same graph: the bits of the graph that keeps all.
TEST_F(Graphs, that_recompute_have_the_same_bits) {
    const tl::Backend gpu(support::cuda_devices().front());
    const auto run = [&](bool mark, std::optional<std::size_t> memory) {
        const tl::Context ctx(gpu);
        std::vector<tl::Tensor> weights, outputs;
        tl::Tensor y = leaf(ctx, {16, 8}, 1);
        for (std::uint32_t i = 0; i < 6; i++) {
            weights.push_back(leaf(ctx, {16, 16}, i + 2));
            const auto s = mul_mat(scale(weights.back(), 0.05), y);
            y = tanh(s);
            s.set_recompute(mark), y.set_recompute(mark && i % 3 != 2);
        }
        const auto loss = sum(sqr(y)), settings = ctx.tensor<float>({2}, {0.01f, 0});
        const auto gradients = ctx.gradients(std::array{loss}, weights);
        for (std::size_t i = 0; i < weights.size(); i++) outputs.push_back(opt_step_sgd(weights[i], gradients[i], settings));
        outputs.push_back(loss);
        const tl::Graph graph = memory ? tl::Graph::within(outputs, *memory) : tl::Graph(outputs);
        EXPECT_EQ(graph.plan_text(gpu).find(", recomputed") != std::string::npos, mark || memory);
        for (int i = 0; i < 3; i++) graph.compute(gpu);
        std::vector<float> all = loss.read_f32();
        for (const auto &w : weights) {
            for (const float x : w.read_f32()) all.push_back(x);
        }
        return all;
    };
    const auto want = run(false, {});
    EXPECT_EQ(run(true, {}), want);
    // All take 9,728 bytes.
    EXPECT_EQ(run(false, 7000), want);
}

TEST_F(Graphs, that_check_name_the_first_result_that_is_not_finite) {
    const tl::Backend gpu(support::cuda_devices().front());
    const tl::Context ctx(gpu);
    const auto x = ctx.tensor<float>({3, 2}, {1, 2, 3, 4, -5, 6}), y = log(x);
    const tl::Graph graph({sum(sqr(scale(y, 2))), x.transpose().cont()});
    graph.compute(gpu);
    graph.set_check_finite(true);
    for (int i = 0; i < 2; i++)
        expect_error(tl::Status::invalid_argument, {"check_finite: log [3, 2] f32: element 4 [1, 1, 0, 0] is NaN"},
                     [&] { graph.compute(gpu); });
    x.write_f32(std::vector<float>{1, 2, 3, 4, 5, 6});
    graph.compute(gpu);
    graph.set_check_finite(false);
    graph.compute(gpu);
}

TEST_F(Graphs, are_refused_if_they_are_batch_invariant) {
    const tl::Backend gpu(support::cuda_devices().front());
    const tl::Context ctx(gpu);
    const tl::Graph graph({sqr(support::leaf(ctx, {3}, 1))});
    graph.set_batch_invariant(true);
    expect_error(tl::Status::unsupported, {"batch-invariant", support::cuda_devices().front(), "cpu is valid"},
                 [&] { graph.compute(gpu); });
    graph.set_batch_invariant(false);
    graph.compute(gpu);
}

TEST_F(Graphs, backends_of_one_device_share_contexts) {
    const tl::Backend first("cuda:0"), second("cuda:0");
    const tl::Context mine(first), yours(second);
    const auto a = leaf(mine, {100}, 1), b = leaf(yours, {100}, 2);
    const auto sum = a + b, again = sum + a;
    for (int round = 0; round < 3; round++) {
        tl::Graph({sum}).compute(first);
        tl::Graph({again}).compute(second);
        const auto x = a.read_f32(), y = b.read_f32(), z = again.read_f32();
        for (std::size_t i = 0; i < x.size(); i++) EXPECT_EQ(z[i], x[i] + y[i] + x[i]);
    }
}

TEST_F(Graphs, threads_with_backends_of_their_own_over_shared_weights) {
    const tl::Backend owner("cuda:0");
    const tl::Context shared(owner);
    const auto weights = leaf(shared, {33, 20}, 1);
    const auto w = weights.read_f32();
    std::vector<std::thread> threads;
    for (std::uint32_t thread = 0; thread < 4; thread++) {
        threads.emplace_back([&, thread] {
            const tl::Backend gpu("cuda:0");
            for (std::uint32_t round = 0; round < 5; round++) {
                const tl::Context ctx(gpu);
                const auto x = leaf(ctx, {33, 11}, thread * 10 + round);
                const auto y = mul_mat(weights, x);
                const tl::Graph graph({y});
                for (int i = 0; i < 3; i++) graph.compute(gpu);
                EXPECT_EQ(support::first_wrong(y.read_f32(), support::mul_mat(w, weights.shape(), x.read_f32(), x.shape())), "");
            }
        });
    }
    for (auto &thread : threads) thread.join();
}

TEST_F(Graphs, handles_may_go_in_any_order) {
    auto gpu = std::make_unique<tl::Backend>("cuda:0");
    auto ctx = std::make_unique<tl::Context>(*gpu);
    auto t = leaf(*ctx, {50}, 1) + leaf(*ctx, {50}, 2);
    auto graph = std::make_unique<tl::Graph>(std::vector<tl::Tensor>{t});
    for (int i = 0; i < 3; i++) graph->compute(*gpu);
    gpu.reset();
    ctx.reset();
    EXPECT_EQ(t.read_f32().size(), 50u);
    graph.reset();
    EXPECT_EQ(t.read_f32().size(), 50u);
    // A write that may still be under way when its context goes.
    const tl::Backend other("cuda:0");
    for (int i = 0; i < 20; i++) leaf(tl::Context(other), {100000}, 3);
}

TEST_F(Misuse, of_devices_and_pointers) {
    const tl::Backend gpu("cuda:0"), cpu("cpu", {1});
    const tl::Context here, there(gpu);
    const auto a = leaf(here, {4}, 1), b = leaf(there, {4}, 2);
    for (const auto &mixed : {a + b, mul_mat(b, a), cpy(a, b)}) {
        for (const auto *backend : {&cpu, &gpu}) {
            expect_error(tl::Status::context_mismatch, {"graph_compute", "cpu", "cuda:0"}, [&] { backend->compute({mixed}); });
        }
    }
    const auto sum = b + b;
    expect_error(tl::Status::context_mismatch, {"graph_compute", "cuda:0", "cpu"}, [&] { cpu.compute({sum}); });
    expect_error(tl::Status::context_mismatch, {"graph_compute", "cuda:0", "cpu"}, [&] { gpu.compute({a + a}); });
    expect_error(tl::Status::invalid_argument, {"not computed"}, [&] { sum.read_f32(); });
    expect_error(tl::Status::invalid_argument, {"result of add"}, [&] { sum.write_f32({std::vector<float>(4)}); });
}

TEST_F(Misuse, originals_are_dropped_on_the_host_only) {
    const tl::Backend gpu("cuda:0");
    const tl::Context ctx(gpu);
    const auto t = leaf(ctx, {64, 40}, 1, tl::Type::q4_0);
    t.set_constant();
    gpu.compute({mul_mat(t, leaf(ctx, {64, 2}, 2))});
    expect_error(tl::Status::unsupported, {"drop_original", "cuda:0", "CPU"}, [&] { t.drop_original(); });
    EXPECT_EQ(t.read_f32().size(), 64u * 40);
}

TEST_F(Misuse, memory_is_shared_on_the_host_only) {
    const tl::Backend gpu("cuda:0");
    const tl::Context ctx(gpu), host;
    const auto t = leaf(ctx, {4}, 1), own = leaf(host, {4}, 1);
    expect_error(tl::Status::unavailable, {"tensor_to_dlpack", "cuda:0", "tensor_read"}, [&] { (void)t.to_dlpack(); });
    DLManagedTensorVersioned *shared = own.to_dlpack();
    expect_error(tl::Status::unavailable, {"tensor_from_dlpack", "cuda:0", "host"}, [&] { (void)ctx.from_dlpack(shared); });
    EXPECT_EQ(tl::Context().from_dlpack(shared).read_f32(), own.read_f32());
}

TEST_F(Misuse, more_memory_than_the_device_has_leaves_all_as_it_was) {
    const tl::Backend gpu("cuda:0");
    const tl::Context ctx(gpu);
    const auto t = leaf(ctx, {1000}, 1);
    const std::size_t used = ctx.used_memory();
    for (int round = 0; round < 3; round++) {
        expect_error(tl::Status::out_of_memory, {"cuda:0", "bytes asked"}, [&] { ctx.zeros(tl::Type::f32, {std::int64_t{1} << 40}); });
    }
    EXPECT_LT(ctx.used_memory() - used, 4096u) << "at most the descriptions of tensors";
    // Intermediates too: a plan that does not fit.
    const auto wide = ctx.zeros(tl::Type::f32, {1, 1 << 20}), tall = ctx.zeros(tl::Type::f32, {1, 1 << 20});
    expect_error(tl::Status::out_of_memory, {"cuda:0"}, [&] { gpu.compute({mul_mat(wide, tall)}); });
    gpu.compute({t + t});
    EXPECT_EQ(t.read_f32().size(), 1000u);
}

TEST_F(Devices, several_keep_apart) {
    const auto names = support::cuda_devices();
    ASSERT_GE(names.size(), 2u) << "the program asks for two itself";
    const tl::Backend first(names[0]), second(names[1]);
    const tl::Context one(first), other(second);
    const auto a = leaf(one, {40, 9}, 1), b = leaf(other, {40, 9}, 1);
    expect_error(tl::Status::context_mismatch, {names[0], names[1]}, [&] { first.compute({a + b}); });
    for (int round = 0; round < 3; round++) {
        first.compute({mul_mat(a, a)});
        second.compute({mul_mat(b, b)});
    }
    const auto x = mul_mat(a, a), y = mul_mat(b, b);
    first.compute({x});
    second.compute({y});
    EXPECT_EQ(x.read_f32(), y.read_f32());
    expect_error(tl::Status::context_mismatch, {names[0], names[1]}, [&] { first.compute({y}); });
}

TEST_F(Files, leafs_are_copied_to_the_device) {
    support::Bytes b;
    b.head(2, 0).tensor("t", {4}, 0, 0).tensor("empty", {0}, 0, 32).pad().floats(1, 4);
    for (const std::string &name : support::cuda_devices()) {
        const tl::Backend gpu(name);
        const tl::Context ctx(gpu, {.no_alloc = true});
        tl::Tensor t = [&] {
            // Neither the file nor its bytes are needed once the leaf is there.
            const std::string bytes = b.str();
            const auto file = tl::Gguf::open_memory(std::as_bytes(std::span(bytes)));
            EXPECT_EQ(file.tensor(ctx, "empty").n_elements(), 0);
            return file.tensor(ctx, "t");
        }();
        EXPECT_EQ(t.read<float>(), counted(4));
        const auto sum = t + t;
        gpu.compute({sum});
        EXPECT_EQ(sum.read<float>(), (std::vector<float>{2, 4, 6, 8}));
        expect_error(tl::Status::invalid_argument, {"GGUF file", "read-only"}, [&] { t.write_f32(counted(4)); });
    }
}

}  // namespace
