// Every allocation of the engine fails once: operator new gives up at the n-th call, for n = 0, 1, ... until the whole scenario succeeds.
// Each failure has to come back as an exception, with nothing lost (the sanitizer build counts) and everything usable afterwards.
#include "gguf_files.hpp"
#include "support.hpp"

#include <tensorlib/tensorlib.h>
#include <tensorlib/gguf.hpp>

#include <atomic>
#include <new>

namespace {

// Calls left before one fails; negative: none does. And whether all after it fail too: the heap is exhausted.
std::atomic<int> calls_left{-1};
std::atomic<bool> exhausted{false};

void *allocate(std::size_t size) {
    if (calls_left.load(std::memory_order_relaxed) >= 0 && calls_left.fetch_sub(1, std::memory_order_relaxed) == 0) {
        if (exhausted) calls_left = 0;
        throw std::bad_alloc();
    }
    void *p = std::malloc(size ? size : 1);
    if (!p) throw std::bad_alloc();
    return p;
}

}  // namespace

void *operator new(std::size_t size) { return allocate(size); }
void *operator new[](std::size_t size) { return allocate(size); }
void operator delete(void *p) noexcept { std::free(p); }
void operator delete[](void *p) noexcept { std::free(p); }
void operator delete(void *p, std::size_t) noexcept { std::free(p); }
void operator delete[](void *p, std::size_t) noexcept { std::free(p); }

namespace {

// Fails f's n-th allocation for each n until f gets through; returns how many times it failed.
template <class F>
int fail_everywhere(F f) {
    for (int n = 0;; n++) {
        bool failed = false;
        calls_left = n;
        try {
            f();
        } catch (const std::bad_alloc &) {
            failed = true;
        } catch (const tl::Error &error) {
            calls_left = -1;
            failed = true;
            EXPECT_TRUE(error.code() == tl::Status::out_of_memory || error.code() == tl::Status::unavailable) << error.what();
        }
        // Still armed: f made no more than n allocations.
        const bool untouched = calls_left.exchange(-1) >= 0;
        if (!failed && untouched) return n;
        if (n > 5000) {
            ADD_FAILURE() << "no end";
            return n;
        }
    }
}

TEST(OutOfMemory, a_whole_program_survives_a_failure_at_any_allocation) {
    const int points = fail_everywhere([] {
        const tl::Backend cpu("cpu", {2});
        tl::Context weights, token;
        const auto w = weights.zeros(tl::Type::f32, {40, 30});
        const auto x = token.zeros(tl::Type::f32, {40, 20});
        const auto y = (mul_mat(w, x).transpose().cont() + w.view({1})).cast(tl::Type::f16);
        const tl::Graph graph({y});
        graph.compute(cpu);
        graph.plan_text(cpu);
        graph.dot();
        y.read_f32();
    });
    EXPECT_GT(points, 50);
}

TEST(OutOfMemory, what_was_there_before_stays_usable) {
    const tl::Backend cpu("cpu", {2});
    const tl::Context ctx;
    const auto a = ctx.tensor<float>({2}, {1, 2}), b = ctx.tensor<float>({2}, {10, 20});
    const auto c = a + b;
    const tl::Graph graph({c});
    fail_everywhere([&] {
        const auto d = mul_mat(a, c);
        cpu.compute({d, c});
    });
    graph.compute(cpu);
    EXPECT_EQ(c.read<float>(), (std::vector<float>{11, 22}));
}

// A plan that fails when it has its memory already gives it back.
TEST(OutOfMemory, graphs_and_plans_that_fail_leave_no_memory_taken) {
    const tl::Backend cpu("cpu", {1});
    const tl::Context ctx;
    const auto a = support::leaf(ctx, {40, 30}, 1), rows = ctx.zeros(tl::Type::i32, {3});
    const auto out = get_rows(mul_mat(a, a) + a.view({30}), rows);
    cpu.compute({out});  // the output's own data stay
    const std::size_t before = ctx.used_memory();
    const int points = fail_everywhere([&] { tl::Graph({out}).compute(cpu); });
    EXPECT_GT(points, 10);
    EXPECT_EQ(ctx.used_memory(), before);
}

// Those that compute nodes again have tensors of their own.
TEST(OutOfMemory, graphs_that_recompute_leave_no_memory_taken) {
    const tl::Backend cpu("cpu", {1});
    const tl::Context ctx;
    const auto a = support::leaf(ctx, {8, 8}, 1);
    tl::Tensor y = a;
    for (int i = 0; i < 6; i++) {
        y = tanh(mul_mat(a, y));
        y.set_recompute(i % 3 != 2);
    }
    const auto gradient = sum(sqr(y)).gradients({a}).at(0);
    // The output's own data and plans that wait stay.
    tl::Graph({gradient}).compute(cpu);
    tl::Graph::within(std::array{gradient}, 3000).compute(cpu);
    const std::size_t before = ctx.used_memory();
    const int points = fail_everywhere([&] { tl::Graph({gradient}).compute(cpu); });
    EXPECT_GT(points, 10);
    EXPECT_EQ(ctx.used_memory(), before);
    fail_everywhere([&] { tl::Graph::within(std::array{gradient}, 3000).compute(cpu); });
    EXPECT_EQ(ctx.used_memory(), before);
}

TEST(OutOfMemory, an_original_is_dropped_or_stays) {
    const tl::Backend cpu("cpu", {2});
    const tl::Context model, token;
    const auto a = model.zeros(tl::Type::q4_0, {64, 40});
    a.write_f32(support::leaf(token, {64, 40}, 1).read_f32());
    a.set_constant();
    const auto before = a.read_f32();
    const tl::Graph graph({mul_mat(a, support::leaf(token, {64, 2}, 2)), a.cast(tl::Type::f16)});
    graph.compute(cpu);
    if (cpu.packed_memory() == 0) GTEST_SKIP() << "no packed copies at " << cpu.isa();
    const int points = fail_everywhere([&] {
        a.drop_original();
        EXPECT_EQ(a.read_f32(), before);
        graph.compute(cpu);
    });
    EXPECT_GT(points, 5);
    EXPECT_EQ(cpu.packed_memory(), 0u);
    EXPECT_EQ(a.read_f32(), before);
}

TEST(OutOfMemory, files_are_read_and_written_or_not_at_all) {
    const support::TempFolder folder;
    support::Bytes b;
    b.head(2, 2).key("text", support::t_string).string(std::string(100, 'x')).key("list", support::t_array).array(support::t_string, 2);
    b.string("a")
        .string("b")
        .tensor(std::string(40, 'v'), {3}, 0, 0)
        .tensor(std::string(40, 's'), {}, 0, 32)
        .pad()
        .floats(1, 3)
        .pad()
        .floats(1, 1);
    const std::string bytes = b.str(), path = folder.path("out.gguf");
    const int points = fail_everywhere([&] {
        const auto file = tl::Gguf::open_memory(std::as_bytes(std::span(bytes)));
        const tl::Context ctx;
        const auto t = file.tensor(ctx, std::string(40, 'v'));
        EXPECT_EQ(file.strings("list").size(), 2u);
        tl::GgufWriter writer(path, {.split_size = 1});
        writer.copy_keys(file);
        writer.set("more", std::span<const float>(std::vector<float>(100)));
        writer.add(t);
        writer.add(file.tensor(ctx, std::string(40, 's')));
        writer.finish();
    });
    EXPECT_GT(points, 50);
    EXPECT_EQ(tl::Gguf::open(folder.path("out-00002-of-00002.gguf")).tensors().size(), 2u);
    EXPECT_EQ(folder.names().size(), 2u);
}

// Through the C ABI, where no exception may pass: the n-th request and all after it fail, so that there is no memory for messages either.
TEST(OutOfMemory, an_exhausted_heap_is_a_status_at_the_c_abi) {
    const auto whole_program = [](tl_error *err) -> tl_status {
        tl_backend *cpu = nullptr;
        tl_context *ctx = nullptr;
        tl_graph *graph = nullptr;
        tl_tensor *sum = nullptr;
        const int64_t ne[] = {40, 30};
        const auto run = [&]() -> tl_status {
            if (const tl_status status = tl_backend_create("cpu", nullptr, &cpu, err)) return status;
            if (const tl_status status = tl_context_create(nullptr, &ctx, err)) return status;
            if (const tl_status status = tl_context_set_name(ctx, "a name that is longer than a string holds in itself", err))
                return status;
            tl_tensor *a = tl_tensor_new(ctx, TL_TYPE_F32, 2, ne);
            sum = tl_add(ctx, tl_mul_mat(ctx, a, a), tl_view(ctx, a, 1, ne + 1, nullptr, 0));
            // An error of the ordinary kind, whose message needs memory.
            tl_add(ctx, a, tl_tensor_new_1d(ctx, TL_TYPE_F32, 7));
            if (tl_context_error(ctx, err) == TL_STATUS_OK) return TL_STATUS_INTERNAL;
            if (err->code != TL_STATUS_SHAPE_MISMATCH) return err->code;
            if (const tl_status status = tl_graph_create(ctx, &sum, 1, &graph, err)) return status;
            if (const tl_status status = tl_graph_compute(graph, cpu, err)) return status;
            float value = 0;
            return tl_tensor_get_f32(sum, 1, 1, 0, 0, &value, err);
        };
        const tl_status status = run();
        tl_graph_free(graph);
        tl_context_free(ctx);
        tl_backend_free(cpu);
        return status;
    };
    exhausted = true;
    int points = 0;
    for (; points < 5000; points++) {
        tl_error err{};
        err.struct_size = sizeof err;
        calls_left = points;
        const tl_status status = whole_program(&err);
        calls_left = -1;
        if (status == TL_STATUS_OK) break;
        ASSERT_TRUE(status == TL_STATUS_OUT_OF_MEMORY || status == TL_STATUS_UNAVAILABLE)
            << status << " " << err.message << " at " << points;
        ASSERT_NE(err.message[0], '\0') << points;
    }
    exhausted = false;
    EXPECT_GT(points, 30);
    EXPECT_LT(points, 5000);
}

}  // namespace
