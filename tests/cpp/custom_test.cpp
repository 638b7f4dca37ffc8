// Custom operations: values over slices, shapes, types and strides; failures, and calls that a function must not make; how long an
// operation lives; gradients; plans, traces and joined devices.
#include "random_tensors.hpp"

#include <tensorlib/tensorlib.h>
#include <tensorlib/custom.hpp>
#include <tensorlib/group.hpp>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

namespace {

using support::expect_error;
using Options = tl::CustomOp::Options;
using Operand = tl::CustomOp::Operand;

std::vector<float> computed(const tl::Tensor &t, int threads = 1) {
    const tl::Backend cpu("cpu", {threads});
    cpu.compute({t});
    return t.read_f32();
}

// y = 2 x + 1 of F32, whatever the slices.
void twice_plus_one(const tl::CustomSlice &slice) {
    const auto x = slice.operands[0].elements<float>();
    const auto y = slice.elements<float>();
    for (std::size_t i = 0; i < y.size(); i++) y[i] = 2 * x[static_cast<std::size_t>(slice.begin) + i] + 1;
}

// Each element belongs to one slice, which begins at a multiple of the unit.
TEST(Custom, slices_cover_the_result_once) {
    for (const std::int64_t unit : {-1, 0, 1, 7, 64, 100000}) {
        for (const tl::Shape &shape :
             {tl::Shape{1}, tl::Shape{37}, tl::Shape{5, 41, 3}, tl::Shape{1000, 70}, tl::Shape{0, 4}, tl::Shape{4, 0}}) {
            for (const int threads : {1, 2, 3, 8}) {
                const tl::Context ctx;
                const tl::Tensor a = ctx.zeros(tl::Type::f32, shape);
                const auto n = static_cast<std::size_t>(a.n_elements());
                std::vector<std::atomic<int>> written(n);
                std::mutex lock;
                std::vector<int> running;
                const auto fill = [&](const tl::CustomSlice &slice) {
                    {
                        std::lock_guard guard(lock);
                        ASSERT_EQ(std::ranges::count(running, slice.thread), 0) << "two calls with one thread's number";
                        running.push_back(slice.thread);
                    }
                    EXPECT_LT(slice.thread, threads);
                    const std::int64_t row = unit == 0 ? shape[0] : unit;
                    if (row > 0) {
                        EXPECT_EQ(slice.begin % row, 0);
                        EXPECT_TRUE(slice.end % row == 0 || slice.end == slice.result.n_elements());
                    } else {
                        EXPECT_EQ(slice.begin, 0);
                        EXPECT_EQ(slice.end, slice.result.n_elements());
                    }
                    const auto y = slice.elements<float>();
                    for (std::size_t i = 0; i < y.size(); i++) {
                        const std::size_t at = static_cast<std::size_t>(slice.begin) + i;
                        y[i] = static_cast<float>(at);
                        written[at]++;
                    }
                    std::lock_guard guard(lock);
                    std::erase(running, slice.thread);
                };
                const tl::CustomOp op("fill", fill, {.slice_unit = unit, .cost = 1000});
                const std::vector<float> got = computed(op(a), threads);
                for (std::size_t i = 0; i < n; i++) {
                    ASSERT_EQ(written[i], 1) << unit << ", " << i;
                    ASSERT_EQ(got[i], static_cast<float>(i));
                }
            }
        }
    }
}

// Up to ten operands of any types and strides, by their addresses.
TEST(Custom, operands_have_any_type_and_stride) {
    const tl::Context ctx;
    const auto a = ctx.tensor({3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6}).transpose();
    const auto b = ctx.tensor({2, 3}, std::vector<std::int32_t>{10, 20, 30, 40, 50, 60});
    const auto c = ctx.tensor({1}, std::vector<double>{0.5}).expand({2, 3});
    const auto d = ctx.tensor({2, 3}, std::vector<bool>{true, false, true, true, false, false});
    const tl::Tensor q = ctx.zeros(tl::Type::q4_0, {32, 6});
    const tl::CustomOp op(
        "mixed",
        [](const tl::CustomSlice &slice) {
            const auto at = [&]<class T>(std::size_t operand, std::int64_t i, T) {
                const auto &v = slice.operands[operand];
                EXPECT_EQ(v.type, tl::type_of<T>());
                return *reinterpret_cast<const T *>(v.data + static_cast<std::size_t>(i % v.shape[0]) * v.strides[0] +
                                                    static_cast<std::size_t>(i / v.shape[0]) * v.strides[1]);
            };
            EXPECT_EQ(slice.operands.size(), 5u);
            EXPECT_EQ(slice.operands[4].type, tl::Type::q4_0);
            EXPECT_EQ(slice.operands[4].shape, (std::array<std::int64_t, 4>{32, 6, 1, 1}));
            EXPECT_FALSE(slice.operands[0].contiguous());
            for (std::int64_t i = slice.begin; i < slice.end; i++)
                slice.result.elements<double>()[static_cast<std::size_t>(i)] =
                    at(3, i, bool{}) ? static_cast<double>(at(0, i, float{})) + at(1, i, std::int32_t{}) + at(2, i, double{}) : -1;
        },
        {.shape = [](std::span<const Operand> of) { return Operand{tl::Type::f64, of[0].shape}; }});
    const tl::Tensor y = op(a, b, c, d, q);
    EXPECT_EQ(y.type(), tl::Type::f64);
    EXPECT_EQ(y.op(), "custom");
    EXPECT_EQ(y.sources().size(), 5u);
    EXPECT_EQ(computed(y), (std::vector<float>{11.5f, -1, 32.5f, 45.5f, -1, -1}));
    // Elements in order only if they are.
    const tl::CustomOp plain("plain", twice_plus_one);
    expect_error(tl::Status::invalid_argument, {"plain", "not contiguous", "cont()"}, [&] { computed(plain(a)); });
    expect_error(tl::Status::type_mismatch, {"plain", "i32", "f32"}, [&] { computed(plain(b)); });
    EXPECT_EQ(computed(plain(cont(a))), (std::vector<float>{3, 9, 5, 11, 7, 13}));
    std::vector<tl::Tensor> many(10, b);
    EXPECT_NO_THROW(plain(many));
    many.push_back(b);
    expect_error(tl::Status::invalid_argument, {"custom", "11", "10"}, [&] { plain(many); });
    expect_error(tl::Status::invalid_argument, {"custom", "no tensors"}, [&] { plain(std::vector<tl::Tensor>{}); });
    expect_error(tl::Status::invalid_argument, {"null"}, [&] { plain(tl::Tensor()); });
}

// A chain with other operations, which read its result and whose results it reads; large enough for several threads.
TEST(Custom, works_between_other_operations) {
    const tl::CustomOp op("twice_plus_one", twice_plus_one);
    for (const int threads : {1, 2, 8}) {
        const tl::Context ctx;
        const tl::Tensor a = support::leaf(ctx, {300, 400}, 3), y = op(a + 1.0) * 3.0 + op(op(a));
        const std::vector<float> x = a.read_f32(), got = computed(y, threads);
        for (std::size_t i = 0; i < x.size(); i++) ASSERT_FLOAT_EQ(got[i], 3 * (2 * (x[i] + 1) + 1) + 4 * x[i] + 3);
    }
}

TEST(Custom, shapes_are_the_functions) {
    const tl::Context ctx;
    const tl::Tensor a = ctx.zeros(tl::Type::f16, {4, 3});
    const auto nothing = [](const tl::CustomSlice &) {};
    EXPECT_EQ(tl::CustomOp("same", nothing)(a).shape(), a.shape());
    EXPECT_EQ(tl::CustomOp("same", nothing)(a).type(), tl::Type::f16);
    const auto shaped = [&](Operand result) {
        return tl::CustomOp("shaped", nothing, {.shape = [=](std::span<const Operand> of) {
                                EXPECT_EQ(of[0].shape, (tl::Shape{4, 3}));
                                EXPECT_EQ(of[0].type, tl::Type::f16);
                                return result;
                            }})(a);
    };
    EXPECT_EQ(shaped({tl::Type::i64, {2, 1, 5}}).shape(), (std::array<std::int64_t, 4>{2, 1, 5, 1}));
    EXPECT_EQ(shaped({tl::Type::boolean, {0}}).n_elements(), 0);
    const std::size_t before = ctx.tensors().size();
    expect_error(tl::Status::type_mismatch, {"custom 'shaped'", "[4, 3] f16", "q4_0", "not quantised"},
                 [&] { shaped({tl::Type::q4_0, {32}}); });
    expect_error(tl::Status::invalid_argument, {"no type 77"}, [&] { shaped({static_cast<tl::Type>(77), {32}}); });
    expect_error(tl::Status::invalid_argument, {"shaped"}, [&] { shaped({tl::Type::f32, {}}); });
    expect_error(tl::Status::invalid_argument, {"shaped"}, [&] { shaped({tl::Type::f32, {1, 1, 1, 1, 1}}); });
    expect_error(tl::Status::invalid_argument, {"shaped"}, [&] { shaped({tl::Type::f32, {-1}}); });
    expect_error(tl::Status::invalid_argument, {"shaped"}, [&] { shaped({tl::Type::f32, {INT64_MAX, INT64_MAX}}); });
    const tl::CustomOp picky("picky", nothing, {.shape = [](std::span<const Operand> of) -> Operand {
                                 throw tl::Error(tl::Status::shape_mismatch,
                                                 "rows of 7 are valid, not of " + std::to_string(of[0].shape[0]));
                             }});
    expect_error(tl::Status::shape_mismatch, {"rows of 7 are valid, not of 4"}, [&] { picky(a); });
    EXPECT_EQ(ctx.tensors().size(), before) << "a failed call made a node";
}

TEST(Custom, properties_are_checked) {
    const auto nothing = [](const tl::CustomSlice &) {};
    const std::string long_name(65, 'x');
    for (const std::string &name : {std::string(), long_name, std::string("\xff")})
        expect_error(tl::Status::invalid_argument, {"custom", "1 to 64 bytes"}, [&] { tl::CustomOp(name, nothing); });
    expect_error(tl::Status::invalid_argument, {"'x'", "no function"}, [&] { tl::CustomOp("x", {}); });
    expect_error(tl::Status::invalid_argument, {"slice_unit is -2"}, [&] { tl::CustomOp("x", nothing, {.slice_unit = -2}); });
    for (const double cost : {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
        expect_error(tl::Status::invalid_argument, {"'x'", "cost"}, [&] { tl::CustomOp("x", nothing, {.cost = cost}); });
    EXPECT_NO_THROW(tl::CustomOp(std::string(64, 'x'), nothing));
    // By name, only operations that exist.
    const tl::Context ctx;
    expect_error(tl::Status::invalid_argument, {"there is no operation"},
                 [&] { ctx.op("custom", {ctx.zeros(tl::Type::f32, {1})}, {{"function", {1 << 30}, ""}}); });
}

// The first slice's failure is the run's, and the next run is another one.
TEST(Custom, failures_fail_the_run) {
    for (const int threads : {1, 8}) {
        const tl::Context ctx;
        std::atomic<int> failing{0};
        const tl::CustomOp op("unsure",
                              [&](const tl::CustomSlice &slice) {
                                  for (float &y : slice.elements<float>()) y = 1;
                                  if (failing == 1) throw tl::Error(tl::Status::aborted, "slice at " + std::to_string(slice.begin));
                                  if (failing == 2) throw std::runtime_error("no idea");
                                  if (failing == 3) throw 7;
                                  if (failing == 4) throw std::bad_alloc();
                              },
                              {.slice_unit = 10, .cost = 1e9});
        const tl::Tensor y = op(ctx.zeros(tl::Type::f32, {100})) + 1.0;
        const tl::Graph graph({y});
        const tl::Backend cpu("cpu", {threads});
        for (int round = 0; round < 2; round++) {
            failing = 1;
            expect_error(tl::Status::aborted, {"custom 'unsure'", "[100] f32", "slice at 0"}, [&] { graph.compute(cpu); });
            expect_error(tl::Status::invalid_argument, {"not computed"}, [&] { y.read_f32(); });
            failing = 2;
            expect_error(tl::Status::internal, {"unsure", "no idea"}, [&] { graph.compute(cpu); });
            failing = 3;
            expect_error(tl::Status::internal, {"unsure", "no exception"}, [&] { graph.compute(cpu); });
            failing = 4;
            expect_error(tl::Status::out_of_memory, {"unsure", "no memory"}, [&] { graph.compute(cpu); });
            failing = 0;
            graph.compute(cpu);
            for (const float v : y.read_f32()) ASSERT_EQ(v, 2);
        }
    }
}

// Calls that would wait for the run, which waits for them.
TEST(Custom, calls_that_need_the_run_are_refused) {
    const tl::Context ctx, other;
    const tl::Backend cpu("cpu", {2}), second("cpu", {1});
    const tl::Tensor a = support::leaf(ctx, {4}, 1), elsewhere = support::leaf(other, {4}, 2), done = elsewhere + 1.0;
    const tl::Graph graph_elsewhere({done});
    const tl::Group group("self");
    ctx.set_busy_timeout(std::chrono::seconds(20));
    other.set_busy_timeout(std::chrono::seconds(20));
    std::vector<std::string> refused;
    const tl::CustomOp op("curious", [&](const tl::CustomSlice &slice) {
        const auto refuse = [&](const char *what, auto call) {
            try {
                call();
                ADD_FAILURE() << what << " was allowed";
            } catch (const tl::Error &error) {
                EXPECT_EQ(error.code(), tl::Status::invalid_argument) << what;
                EXPECT_NE(std::string(error.what()).find("custom 'curious'"), std::string::npos) << error.what();
                refused.push_back(what);
            }
        };
        refuse("read", [&] { a.read_f32(); });
        refuse("read elsewhere", [&] { elsewhere.read_f32(); });
        refuse("write", [&] { a.write_f32(std::vector<float>(4)); });
        refuse("leaf", [&] { other.zeros(tl::Type::f32, {1}); });
        refuse("node", [&] { elsewhere + 1.0; });
        refuse("compute", [&] { graph_elsewhere.compute(second); });
        refuse("plan", [&] { graph_elsewhere.plan_text(second); });
        refuse("progress", [&] { graph_elsewhere.set_check_finite(true); });
        refuse("split", [&] { static_cast<void>(group.split(0, 0)); });
        // Shapes and types are never locked.
        EXPECT_EQ(a.n_elements(), 4);
        std::ranges::fill(slice.elements<float>(), 5.0f);
    });
    const auto begin = std::chrono::steady_clock::now();
    const tl::Tensor y = op(a);
    cpu.compute({y});
    EXPECT_EQ(y.read_f32(), std::vector<float>(4, 5.0f));
    EXPECT_EQ(refused.size(), 9u);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10)) << "it waited";
    // Afterwards everything works.
    cpu.compute({done});
    EXPECT_EQ(done.read_f32().size(), 4u);
}

// ---- How long it lives.

struct Counted {
    explicit Counted(int &c) : count(c) { count++; }
    Counted(const Counted &o) : count(o.count) { count++; }
    Counted &operator=(const Counted &) = delete;
    ~Counted() { count--; }
    int &count;
};

TEST(Custom, lives_as_long_as_its_nodes) {
    int alive = 0;
    const auto made = [&] {
        return tl::CustomOp("counted", [counted = Counted(alive)](const tl::CustomSlice &slice) { twice_plus_one(slice); });
    };
    {
        const tl::CustomOp op = made();
        EXPECT_GE(alive, 1);
    }
    EXPECT_EQ(alive, 0);
    {
        const tl::Context ctx;
        tl::Tensor y = made()(ctx.tensor({1}, std::vector<float>{4}));
        EXPECT_GE(alive, 1);
        EXPECT_EQ(computed(y), std::vector<float>{9});
        y = tl::Tensor();
        EXPECT_GE(alive, 1) << "the context has the node";
    }
    EXPECT_EQ(alive, 0);
    {
        tl::Context ctx;
        made()(ctx.zeros(tl::Type::f32, {1}));
        EXPECT_GE(alive, 1);
        ctx.reset();
        EXPECT_EQ(alive, 0) << "a reset context keeps it";
    }
}

// ---- Gradients.

tl::CustomOp cube(bool with_gradient = true) {
    Options options;
    if (with_gradient)
        options.gradient = [](const tl::Tensor &node, const tl::Tensor &gradient, std::size_t operand) {
            EXPECT_EQ(operand, 0u);
            const tl::Tensor x = *node.sources()[0];
            return gradient * 3.0 * sqr(x);
        };
    return {"cube",
            [](const tl::CustomSlice &slice) {
                const auto x = slice.operands[0].elements<float>();
                const auto y = slice.elements<float>();
                for (std::size_t i = 0; i < y.size(); i++) {
                    const float v = x[static_cast<std::size_t>(slice.begin) + i];
                    y[i] = v * v * v;
                }
            },
            options};
}

TEST(Custom, gradients_are_what_the_function_builds) {
    const tl::Context ctx;
    const tl::Tensor x = ctx.tensor({3}, std::vector<float>{1, -2, 3});
    const tl::CustomOp op = cube();
    const tl::Tensor loss = sum(op(x * 2.0));
    const tl::Tensor d = loss.gradients({x}).at(0);
    // (2 x)^3, whose derivative is 24 x^2.
    EXPECT_EQ(computed(d), (std::vector<float>{24, 96, 216}));
    // Twice: the gradient's nodes are nodes.
    const tl::Tensor dd = sum(d).gradients({x}).at(0);
    EXPECT_EQ(computed(dd), (std::vector<float>{48, -96, 144}));
    // What is not differentiated needs no gradient.
    const tl::CustomOp none = cube(false);
    const tl::Tensor w = ctx.tensor({3}, std::vector<float>{1, 1, 1});
    EXPECT_EQ(computed(sum(none(x) * w).gradients({w}).at(0)), (std::vector<float>{1, -8, 27}));
    expect_error(tl::Status::unsupported, {"cannot be differentiated", "custom", "'cube' has no gradient function"},
                 [&] { sum(none(x)).gradients({x}); });
}

TEST(Custom, wrong_gradients_are_refused) {
    const tl::Context ctx;
    const tl::Tensor x = ctx.tensor({3}, std::vector<float>{1, -2, 3});
    const auto with = [&](std::function<tl::Tensor(const tl::Tensor &, const tl::Tensor &, std::size_t)> gradient) {
        return sum(tl::CustomOp("wrong", twice_plus_one, {.gradient = std::move(gradient)})(x)).gradients({x});
    };
    expect_error(tl::Status::invalid_argument, {"custom 'wrong'", "operand 0", "[4]", "the operand's shape"},
                 [&] { with([&](auto &, auto &, std::size_t) { return ctx.zeros(tl::Type::f32, {4}); }); });
    expect_error(tl::Status::invalid_argument, {"custom 'wrong'", "i32"},
                 [&] { with([&](auto &, auto &, std::size_t) { return ctx.zeros(tl::Type::i32, {3}); }); });
    expect_error(tl::Status::invalid_argument, {"custom 'wrong'", "NULL"},
                 [&] { with([&](auto &, auto &, std::size_t) { return tl::Tensor(); }); });
    expect_error(tl::Status::aborted, {"not today"},
                 [&] { with([&](auto &, auto &, std::size_t) -> tl::Tensor { throw tl::Error(tl::Status::aborted, "not today"); }); });
    // F16 is converted.
    const auto d = with([&](auto &, auto &g, std::size_t) { return (g * 2.0).cast(tl::Type::f16); });
    EXPECT_EQ(computed(d.at(0)), (std::vector<float>{2, 2, 2}));
}

// ---- Plans, traces, devices.

TEST(Custom, plans_and_traces_name_it) {
    const tl::Context ctx;
    const tl::Backend cpu("cpu", {1});
    const tl::CustomOp op("soft_clip", twice_plus_one);
    const tl::Tensor y = op(ctx.zeros(tl::Type::f32, {8}));
    const tl::Graph graph({y});
    EXPECT_NE(graph.plan_text(cpu).find("custom 'soft_clip'"), std::string::npos) << graph.plan_text(cpu);
    const std::string path = testing::TempDir() + "custom_trace.json";
    std::filesystem::remove(path);
    {
        const support::Environment trace("TENSORLIB_TRACE", path.c_str());
        const tl::Backend traced("cpu", {1});
        graph.compute(traced);
    }
    std::ifstream in(path);
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    EXPECT_NE(text.find("soft_clip"), std::string::npos) << text;
    std::filesystem::remove(path);
}

TEST(Custom, rebuilt_graphs_of_one_operation_share_a_plan) {
    const tl::Backend cpu("cpu", {1});
    const tl::CustomOp one("one", twice_plus_one),
        other("one", [](const tl::CustomSlice &slice) { std::ranges::fill(slice.elements<float>(), -7.0f); });
    tl::Context weights;
    const tl::Tensor a = weights.tensor({2}, std::vector<float>{1, 2});
    tl::Context scratch;
    for (int round = 0; round < 3; round++) {
        // Alternating operations of one name and shape are not taken for each other.
        for (const tl::CustomOp &op : {one, other}) {
            scratch.reset();
            const tl::Context &ctx = scratch;
            const tl::Tensor y = ctx.op("custom", {a}, {{"function", {static_cast<std::int64_t>(op.number())}, ""}});
            cpu.compute({y});
            EXPECT_EQ(y.read_f32(), (op.number() == one.number() ? std::vector<float>{3, 5} : std::vector<float>{-7, -7}));
        }
    }
}

// On a device without it, the CPU of a joined backend computes it.
TEST(Custom, other_devices_leave_it_to_the_cpu) {
    const tl::CustomOp op("twice_plus_one", twice_plus_one);
    for (const tl::DeviceInfo &device : tl::devices()) {
        if (!device.name.starts_with("cuda:")) continue;
        const tl::Backend gpu(device.name), joined = tl::Backend::join({gpu, tl::Backend("cpu", {2})});
        const tl::Context ctx(gpu);
        const tl::Tensor a = support::leaf(ctx, {30, 7}, 5), y = op(a * 2.0) + 1.0;
        expect_error(tl::Status::unsupported, {"custom"}, [&] { gpu.compute({y}); });
        joined.compute({y});
        const std::vector<float> x = a.read_f32(), got = y.read_f32();
        for (std::size_t i = 0; i < x.size(); i++) ASSERT_FLOAT_EQ(got[i], 4 * x[i] + 2);
        break;
    }
}

// ---- The C ABI.

struct Calls {
    std::atomic<int> computed{0};
    int destroyed = 0;
    bool fails = false;
};

tl_status add_one(void *user_data, const tl_custom_slice *slice, tl_error *err) {
    auto &calls = *static_cast<Calls *>(user_data);
    calls.computed++;
    if (calls.fails) {
        std::snprintf(err->message, sizeof err->message, "asked to fail");
        return TL_STATUS_UNSUPPORTED;
    }
    const auto *x = static_cast<const float *>(slice->src[0].data);
    auto *y = static_cast<float *>(slice->dst.data);
    for (int64_t i = slice->begin; i < slice->end; i++) y[i] = x[i] + 1;
    return TL_STATUS_OK;
}
void destroyed(void *user_data) { static_cast<Calls *>(user_data)->destroyed++; }

TEST(CustomInC, parameters_are_checked_and_data_freed_once) {
    Calls calls;
    tl_error err{sizeof(tl_error), TL_STATUS_OK, "", 0};
    tl_custom_op *op = reinterpret_cast<tl_custom_op *>(&calls);
    tl_custom_params params;
    tl_custom_params_init(&params, sizeof params);
    const auto refused = [&](const char *word) {
        EXPECT_EQ(tl_custom_op_create(&params, &op, &err), TL_STATUS_INVALID_ARGUMENT);
        EXPECT_NE(std::string(err.message).find(word), std::string::npos) << err.message;
        EXPECT_EQ(op, nullptr);
    };
    refused("name is NULL");
    params.name = "c";
    params.user_data = &calls;
    params.destroy = destroyed;
    refused("compute is NULL");
    params.compute = add_one;
    params.slice_unit = -5;
    refused("slice_unit is -5");
    params.slice_unit = 0;
    params.struct_size = 8;
    refused("struct_size");
    params.struct_size = sizeof params;
    EXPECT_EQ(tl_custom_op_create(nullptr, &op, &err), TL_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(tl_custom_op_create(&params, nullptr, &err), TL_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(calls.destroyed, 0) << "the data of an operation that was not made are the caller's";
    ASSERT_EQ(tl_custom_op_create(&params, &op, &err), TL_STATUS_OK) << err.message;
    EXPECT_NE(tl_custom_op_number(op), 0u);
    EXPECT_EQ(tl_custom_op_number(nullptr), 0u);
    tl_custom_op_free(nullptr);
    tl_custom_op_free(op);
    EXPECT_EQ(calls.destroyed, 1);
}

TEST(CustomInC, computes_and_fails_as_asked) {
    Calls calls;
    tl_error err{sizeof(tl_error), TL_STATUS_OK, "", 0};
    tl_custom_params params;
    tl_custom_params_init(&params, sizeof params);
    params.name = "add_one";
    params.compute = add_one;
    params.user_data = &calls;
    params.destroy = destroyed;
    params.shape = [](void *, tl_tensor *const *src, size_t n, tl_custom_result *result, tl_error *e) -> tl_status {
        EXPECT_EQ(n, 1u);
        EXPECT_EQ(result->n_dims, tl_tensor_n_dims(src[0]));
        EXPECT_EQ(result->ne[0], tl_tensor_ne(src[0], 0));
        if (result->ne[0] != 13) return TL_STATUS_OK;
        std::snprintf(e->message, sizeof e->message, "13 is unlucky");
        return TL_STATUS_SHAPE_MISMATCH;
    };
    tl_custom_op *op;
    ASSERT_EQ(tl_custom_op_create(&params, &op, &err), TL_STATUS_OK) << err.message;
    const tl::Context ctx;
    const tl::Tensor a = support::leaf(ctx, {4, 5}, 1), unlucky = ctx.zeros(tl::Type::f32, {13});
    tl_context *c = tl_tensor_context(a.handle());  // a reference of its own
    tl_tensor *src[] = {a.handle()}, *bad[] = {unlucky.handle()}, *null[] = {nullptr}, *none[] = {tl_none()};
    const auto refused = [&](tl_tensor *made, tl_status status, const char *word) {
        EXPECT_EQ(made, nullptr);
        EXPECT_EQ(tl_context_error(c, &err), status) << err.message;
        EXPECT_NE(std::string(err.message).find(word), std::string::npos) << err.message;
    };
    refused(tl_custom(c, op, bad, 1), TL_STATUS_SHAPE_MISMATCH, "13 is unlucky");
    refused(tl_custom(c, nullptr, src, 1), TL_STATUS_INVALID_ARGUMENT, "op is NULL");
    refused(tl_custom(c, op, nullptr, 1), TL_STATUS_INVALID_ARGUMENT, "src is NULL");
    refused(tl_custom(c, op, src, 0), TL_STATUS_INVALID_ARGUMENT, "custom");
    refused(tl_custom(c, op, none, 1), TL_STATUS_INVALID_ARGUMENT, "left out");
    EXPECT_EQ(tl_custom(c, op, null, 1), nullptr);
    (void)tl_context_error(c, nullptr);
    EXPECT_EQ(tl_custom(nullptr, op, src, 1), nullptr);
    const tl::Tensor y = tl::Tensor::from(tl_custom(c, op, src, 1));
    tl_custom_op_free(op);
    EXPECT_EQ(calls.destroyed, 0) << "a node needs it";
    const std::vector<float> x = a.read_f32(), got = computed(y, 2);
    for (std::size_t i = 0; i < x.size(); i++) EXPECT_EQ(got[i], x[i] + 1);
    calls.fails = true;
    expect_error(tl::Status::unsupported, {"custom 'add_one'", "[4, 5] f32", "asked to fail"}, [&] { computed(y, 2); });
    tl_context_free(c);
}

}  // namespace
