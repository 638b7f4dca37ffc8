// Joined backends: graphs whose tensors lie on several devices. Virtual CPUs compute as one CPU does, so results are equal bit for bit;
// with a GPU among the devices, real or simulated, results agree within the rounding of the computation.
#include "cpu/cpu_backend.hpp"
#include "graph/constants.hpp"
#include "joined_devices.hpp"
#include "random_tensors.hpp"
#include "runtime/placement.hpp"

#include <cstring>
#include <numeric>
#include <thread>

#if defined(__linux__)
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace core = tl::core;
using support::expect_error;
using support::leaf;

namespace {

// Before anybody asks for the devices.
[[maybe_unused]] const bool three_cpus = setenv("TENSORLIB_CPU_VIRTUAL_DEVICES", "3", 0) == 0;

std::vector<std::vector<std::string>> device_sets() {
    std::vector<std::vector<std::string>> sets{{"cpu:0", "cpu:1", "cpu:2"}, {"cpu:1", "cpu"}};
    for (const tl::DeviceInfo &device : tl::devices()) {
        if (!device.name.starts_with("cuda:")) continue;
        sets.push_back({"cpu", device.name});
        sets.push_back({device.name, "cpu:0", "cpu"});
        break;
    }
    return sets;
}

std::vector<tl::Backend> opened(const std::vector<std::string> &names, int n_threads = 2) {
    std::vector<tl::Backend> backends;
    for (const std::string &name : names) backends.emplace_back(name, tl::BackendOptions{n_threads});
    return backends;
}

bool has_gpu(const std::vector<std::string> &names) {
    return std::ranges::any_of(names, [](const std::string &name) { return name.starts_with("cuda:"); });
}

// A graph of random operations on random devices, and the same on the CPU alone.
struct Twins {
    support::Random &random;
    std::vector<tl::Context> contexts;  // on the devices; the last ones are younger, and nodes are in the youngest of their operands'
    tl::Context alone{};
    std::vector<std::pair<tl::Tensor, tl::Tensor>> tensors;  // [8, 6] all

    Twins(support::Random &r, std::span<const tl::Backend> backends) : random(r) {
        for (const tl::Backend &backend : backends) contexts.emplace_back(backend);
    }
    void add_leaf() {
        const tl::Context &ctx = support::one_of(random, contexts);
        const auto seed = static_cast<std::uint32_t>(random());
        tensors.emplace_back(leaf(ctx, {8, 6}, seed), leaf(alone, {8, 6}, seed));
        if (random() % 3 == 0) tensors.back().first.set_constant(), tensors.back().second.set_constant();
    }
    void add_node() {
        const auto &[a, a0] = support::one_of(random, tensors);
        const auto &[b, b0] = support::one_of(random, tensors);
        const auto both = [&](auto f) { tensors.emplace_back(f(a, b), f(a0, b0)); };
        switch (random() % 9) {
            case 0: return both([](auto &x, auto &y) { return x + y; });
            case 1: return both([](auto &x, auto &y) { return x * y.slice({0, 2}, {8, 1}); });
            case 2: return both([](auto &x, auto &) { return rms_norm(x, 1e-5); });
            case 3: return both([](auto &x, auto &) { return tanh(x); });
            case 4: return both([](auto &x, auto &y) { return mul_mat(mul_mat(x, y), y.transpose().cont()).transpose().cont(); });
            case 5: return both([](auto &x, auto &) { return soft_max(x); });
            case 6: return both([](auto &x, auto &y) { return concat(x.slice({0, 0}, {8, 2}), y.slice({0, 1}, {8, 4}), 1); });
            case 7: return both([](auto &x, auto &y) { return cpy(y, x + x); });
            default: return both([](auto &x, auto &) { return scale(x, 0.25f); });
        }
    }
};

// tanh and soft_max have a few units of the last place between devices, products are of 8 numbers below 4 each, and nothing grows by more
// than a product at a time: so much of the largest element.
void expect_near(const std::vector<float> &got, const std::vector<float> &wanted, bool equal_bits, const std::string &what) {
    ASSERT_EQ(got.size(), wanted.size());
    if (equal_bits) {
        EXPECT_EQ(std::memcmp(got.data(), wanted.data(), got.size() * sizeof(float)), 0) << what;
        return;
    }
    double largest = 1;
    for (const float value : wanted) largest = std::max(largest, std::fabs(double{value}));
    for (std::size_t i = 0; i < got.size(); i++) ASSERT_NEAR(got[i], wanted[i], 1e-4 * largest) << what << ": element " << i;
}

class Joined : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(Joined, random_graphs_have_the_results_of_one_device) {
    const auto backends = opened(GetParam());
    const tl::Backend joined = tl::Backend::join(backends), cpu("cpu", {1});
    for (std::uint32_t seed = 0; seed < static_cast<std::uint32_t>(support::repeats(150, 3000)); seed++) {
        support::Random random(seed);
        Twins twins(random, backends);
        for (int i = 0; i < 4; i++) twins.add_leaf();
        for (int i = 0; i < 12; i++) twins.add_node();
        std::vector<tl::Tensor> outputs, outputs0;
        for (int i = 0; i < 3; i++) {
            const auto &[a, b] = twins.tensors[twins.tensors.size() - 1 - static_cast<std::size_t>(random() % 8)];
            outputs.push_back(a), outputs0.push_back(b);
        }
        if (random() % 4 == 0) {
            // By hand, where that is allowed.
            try {
                twins.tensors[10].first.place(support::one_of(random, GetParam()));
            } catch (const tl::Error &) {
            }
        }
        const tl::Graph graph(outputs), graph0(outputs0);
        for (int run = 0; run < 3; run++) {
            graph.compute(joined);
            graph0.compute(cpu);
            for (std::size_t i = 0; i < outputs.size(); i++) {
                expect_near(outputs[i].read_f32(), outputs0[i].read_f32(), !has_gpu(GetParam()),
                            "seed " + std::to_string(seed) + "\n" + graph.plan_text(joined));
            }
            if (HasFailure()) return;
        }
    }
}

TEST_P(Joined, outputs_end_on_their_contexts_devices_and_leafs_stay) {
    const auto backends = opened(GetParam());
    const tl::Backend joined = tl::Backend::join(backends);
    EXPECT_EQ(joined.devices(), GetParam());
    for (const tl::Backend &here : backends) {
        for (const tl::Backend &there : backends) {
            const tl::Context old(here), young(there);
            const auto w = leaf(old, {16, 8}, 1), x = leaf(young, {16, 3}, 2);
            const auto y = mul_mat(w, x);  // in the younger context
            y.place(here.device());
            joined.compute({y});
            const tl::Context alone;
            const auto y0 = mul_mat(leaf(alone, {16, 8}, 1), leaf(alone, {16, 3}, 2));
            tl::Backend("cpu", {1}).compute({y0});
            expect_near(y.read_f32(), y0.read_f32(), !has_gpu(GetParam()), here.device() + " to " + there.device());
            EXPECT_EQ(w.read_f32(), leaf(alone, {16, 8}, 1).read_f32());
            if (&here != &there) {
                expect_error(tl::Status::context_mismatch, {"graph_compute", here.device(), there.device()}, [&] { there.compute({y}); });
            }
        }
    }
}

// Where all of a graph lies on one device nothing is looked for to be copied. It is not so where a node was placed elsewhere, or has data
// of its own there.
TEST_P(Joined, graphs_that_lie_on_one_device_stay_there) {
    const auto backends = opened(GetParam());
    const tl::Backend joined = tl::Backend::join(backends);
    for (const tl::Backend &here : backends) {
        const tl::Context on_it(here), alone;
        const auto build = [](const tl::Context &ctx) {
            const auto w = leaf(ctx, {16, 8}, 1), x = leaf(ctx, {16, 3}, 2);
            return gelu(mul_mat(w, x)) + leaf(ctx, {8}, 3);
        };
        const auto y = build(on_it), y0 = build(alone);
        tl::Backend("cpu", {1}).compute({y0});
        const tl::Graph graph({y});
        graph.compute(joined);
        expect_near(y.read_f32(), y0.read_f32(), !has_gpu(GetParam()), here.device());
        const std::string text = graph.plan_text(joined);
        EXPECT_EQ(text.find("copy "), std::string::npos) << text;
        EXPECT_NE(text.find("segment on " + here.device() + ":"), std::string::npos) << text;
        for (std::size_t p = 0; p < backends.size(); p++) {
            const auto bytes = graph.plan_bytes(joined);
            EXPECT_EQ(bytes[p] > 0, backends[p].device() == here.device()) << text;
        }
        for (const tl::Backend &there : backends) {
            if (&there == &here) continue;
            const auto z = build(on_it);
            z.place(there.device());
            const tl::Graph moved({z});
            moved.compute(joined);
            expect_near(z.read_f32(), y0.read_f32(), !has_gpu(GetParam()), here.device() + " to " + there.device());
            EXPECT_NE(moved.plan_text(joined).find("copy "), std::string::npos);
            // A node of another device's context, which has data there from another graph.
            const tl::Context far(there), back(here);
            const auto x = leaf(on_it, {16, 3}, 2);
            const auto middle = [&] {
                const auto made = far.neg(x);
                joined.compute({made});
                return made;
            }();
            const auto last = back.neg(middle);
            joined.compute({last});
            EXPECT_EQ(last.read_f32(), x.read_f32()) << here.device() << " and " << there.device();
        }
    }
}

// A feed-forward block whose neurons lie on several devices.
struct Neurons {
    static constexpr std::int64_t k = 64, n = 200, m = 40;
    const tl::Context values;
    const std::vector<float> gate = leaf(values, {k, n}, 1).read_f32(), up = leaf(values, {k, n}, 2).read_f32(),
                             down = leaf(values, {m, n}, 3).read_f32();

    struct Part {
        const tl::Context &ctx;
        const std::vector<std::int32_t> &numbers;
        const tl::Backend &backend;
    };

    static std::vector<float> chosen(const std::vector<float> &all, std::int64_t row, const std::vector<std::int32_t> &numbers) {
        std::vector<float> some;
        for (const std::int32_t i : numbers) some.insert(some.end(), all.begin() + i * row, all.begin() + (i + 1) * row);
        return some;
    }

    // The sums of the parts' blocks and sparse products. Half of the neurons are active in a token: scores are from -1 to 1.
    std::pair<tl::Tensor, tl::Tensor> build(const tl::Context &first, std::int64_t tokens, const std::vector<Part> &parts) const {
        const auto x = leaf(first, {k, tokens}, 4), scores = leaf(first, {n, tokens}, 5);
        std::vector<tl::Tensor> blocks, products;
        for (const auto &[ctx, numbers, backend] : parts) {
            const auto count = static_cast<std::int64_t>(numbers.size());
            const auto g = ctx.tensor<float>({k, count}, chosen(gate, k, numbers)),
                       u = ctx.tensor<float>({k, count}, chosen(up, k, numbers));
            const auto d = ctx.tensor<float>({m, count}, chosen(down, m, numbers));
            for (const tl::Tensor &constant : {g, u, d}) constant.set_constant();
            const auto rows = ctx.tensor<std::int32_t>({count}, numbers);
            const tl::SparseFfnOptions options{.activation = tl::SparseFfnActivation::silu};
            blocks.push_back(sparse_ffn(x, g, u, d, scores, rows, options));
            products.push_back(mul_mat_sparse(g, x, scores, rows, {}));
            // Weights this small would else be copied to where the tokens are.
            for (const tl::Tensor &part : {blocks.back(), products.back()}) part.place(backend.device());
        }
        const auto sum = [](const std::vector<tl::Tensor> &of) { return of.size() == 1 ? of[0] : of[0] + of[1]; };
        return {sum(blocks), sum(products)};
    }
};

// What a model does with its hot and cold neurons: each device has its own ones' rows, and computes their part of the sum.
TEST_P(Joined, neurons_on_two_devices_sum_to_the_whole) {
    const auto backends = opened(GetParam());
    const tl::Backend joined = tl::Backend::join(backends), cpu("cpu", {2});
    const Neurons neurons;
    std::vector<std::int32_t> all(Neurons::n), hot, cold;
    std::iota(all.begin(), all.end(), 0);
    for (const std::int32_t i : all) (i % 7 < 2 ? hot : cold).push_back(i);
    for (const std::int64_t tokens : {1, 3, 20}) {
        // `here` is the youngest context, and has the outputs.
        const tl::Context there(backends[1]), here(backends[0]), alone, whole;
        const auto [block, product] = neurons.build(here, tokens, {{here, cold, backends[0]}, {there, hot, backends[1]}});
        const auto [block0, product0] = neurons.build(alone, tokens, {{alone, cold, cpu}, {alone, hot, cpu}});
        const auto [of_all, product_of_all] = neurons.build(whole, tokens, {{whole, all, cpu}});
        joined.compute({block, product});
        cpu.compute({block0, product0});
        cpu.compute({of_all, product_of_all});
        const bool equal_bits = !has_gpu(GetParam());
        expect_near(block.read_f32(), block0.read_f32(), equal_bits, "blocks");
        expect_near(product.read_f32(), product0.read_f32(), equal_bits, "products");
        expect_near(block.read_f32(), of_all.read_f32(), false, "blocks of all");
        expect_near(product.read_f32(), product_of_all.read_f32(), false, "products of all");
        const tl::Graph graph({block, product});
        const std::string text = graph.plan_text(joined);
        for (const std::size_t p : {0, 1}) {
            EXPECT_NE(text.find(": " + backends[p].device() + " sparse_ffn"), std::string::npos) << text;
        }
    }
}

TEST_P(Joined, each_device_refuses_each_operation_and_the_others_take_it) {
    for (const std::string &refusing : GetParam()) {
        for (const char *op : {"mul_mat", "add", "rms_norm", "gelu", "get_rows", "cont"}) {
            const support::Environment refuse("TENSORLIB_REFUSE", (refusing + "/" + op).c_str());
            const auto backends = opened(GetParam());
            const tl::Backend joined = tl::Backend::join(backends), cpu("cpu:2", {1});
            const auto run = [&](const tl::Backend &backend, auto place_of) {
                const tl::Context first(place_of(0)), second(place_of(1));
                const auto w = leaf(first, {16, 8}, 1), x = leaf(second, {16, 5}, 2);
                const auto rows = second.tensor<std::int32_t>({3}, {4, 0, 4});
                const auto y = gelu(rms_norm(mul_mat(w, x) + leaf(first, {8}, 3), 1e-5));
                const auto z = get_rows(y.transpose().cont().transpose().cont(), rows);
                const tl::Graph graph({z});
                graph.compute(backend);
                if (backend.devices().size() > 1) {
                    const std::string text = graph.plan_text(backend);
                    // Said only where the device would else have been the best.
                    if (text.find(", not on") != std::string::npos) {
                        EXPECT_NE(text.find("not on " + refusing + ": TENSORLIB_REFUSE"), std::string::npos) << text;
                    }
                }
                return z.read_f32();
            };
            const auto got = run(joined, [&](std::size_t i) { return backends[i % backends.size()]; });
            const support::Environment nothing("TENSORLIB_REFUSE", "");
            const tl::Backend one("cpu", {1});
            expect_near(got, run(one, [&](std::size_t) { return one; }), !has_gpu(GetParam()), refusing + "/" + op);
        }
    }
}

TEST_P(Joined, values_that_an_operation_cannot_take_are_found_on_each_device) {
    const auto backends = opened(GetParam());
    const tl::Backend joined = tl::Backend::join(backends);
    for (const tl::Backend &backend : backends) {
        const tl::Context far(backends[0]), ctx(backend);
        const auto table = leaf(far, {4, 5}, 1), scale = leaf(ctx, {4}, 2);
        const auto rows = ctx.tensor<std::int32_t>({3}, {0, 7, 1});
        const auto y = get_rows(table, rows), other = y * scale;
        y.place(backend.device());
        const tl::Graph graph({other});
        expect_error(tl::Status::invalid_argument, {"get_rows", "element 1", "7", "5"}, [&] { graph.compute(joined); });
        expect_error(tl::Status::invalid_argument, {"not computed"}, [&] { other.read_f32(); });
        rows.write<std::int32_t>({{0, 4, 1}});
        graph.compute(joined);
        EXPECT_EQ(other.read_f32().size(), 12u);
    }
}

TEST_P(Joined, a_callback_and_a_check_for_nan_see_each_step) {
    const auto backends = opened(GetParam());
    const tl::Backend joined = tl::Backend::join(backends);
    const tl::Context one(backends[0]), two(backends[1]);
    const auto a = leaf(one, {64}, 1), b = leaf(two, {64}, 2);
    const auto root = sqrt(a), sum = root + exp(b);
    tl::Graph graph({sum});
    std::vector<std::size_t> seen;
    graph.set_progress([&](std::size_t done, std::size_t total) {
        seen.push_back(done);
        expect_error(tl::Status::busy, {"callback"}, [&] { tl::Graph({a + a}).compute(backends[0]); });
        return done <= total;
    });
    graph.compute(joined);
    EXPECT_TRUE(std::ranges::is_sorted(seen) && seen.back() == 3) << seen.size();
    graph.set_progress({});
    graph.set_check_finite(true);
    expect_error(tl::Status::invalid_argument, {"check_finite", "sqrt", "NaN"}, [&] { graph.compute(joined); });
    graph.set_check_finite(false);
    graph.compute(joined);
}

// What a plan says beforehand is what is there afterwards.
TEST_P(Joined, bytes_are_known_before_anything_is_taken) {
    const auto backends = opened(GetParam());
    const tl::Backend joined = tl::Backend::join(backends);
    const tl::Context weights(backends[0], {.no_alloc = true}), ctx(backends[1], {.no_alloc = true});
    const auto w = weights.zeros(tl::Type::f32, {256, 100}), x = ctx.zeros(tl::Type::f32, {256, 7});
    const auto y = tanh(mul_mat(w, x)), z = y + y;
    const tl::Graph graph({z});
    const auto bytes = graph.plan_bytes(joined);
    ASSERT_EQ(bytes.size(), GetParam().size());
    // The weights, what of x is copied there, and at least the product; x and the output.
    EXPECT_GE(bytes[0], 256u * 100 * 4 + 256 * 7 * 4 + 100 * 7 * 4);
    EXPECT_GE(bytes[1], 256u * 7 * 4 + 100 * 7 * 4);
    expect_error(tl::Status::invalid_argument, {"no data"}, [&] { graph.compute(joined); });
    weights.allocate();
    ctx.allocate();
    EXPECT_EQ(graph.plan_bytes(joined), bytes);
    graph.compute(joined);
    EXPECT_EQ(graph.plan_bytes(joined), bytes) << "outputs that are there are counted all the same";
    w.set_constant();
    EXPECT_GE(graph.plan_bytes(joined)[0], bytes[0]) << "with a packed copy";
}

INSTANTIATE_TEST_SUITE_P(Sets, Joined, testing::ValuesIn(device_sets()), [](const auto &set) {
    std::string name;
    for (const std::string &device : set.param) name += (name.empty() ? "" : "_") + device;
    std::ranges::replace(name, ':', '_');
    return name;
});

std::size_t copied_in_each_run(const tl::Graph &graph, const tl::Backend &joined) {
    const std::string text = graph.plan_text(joined);
    const std::size_t at = text.find(" copies of ");
    return at == std::string::npos ? 0 : std::stoul(text.substr(at + 11));
}

// Steps on two devices in turn: what is copied takes the memory of what was copied before, on each device.
TEST(Transfers, share_memory_with_intermediates) {
    const tl::Backend a("cpu:0", {1}), b("cpu:1", {1}), joined = tl::Backend::join({a, b}), cpu("cpu", {1});
    std::vector<std::size_t> bytes[2];
    for (const int steps : {60, 600}) {
        std::vector<float> results[2];
        for (const bool on_two : {false, true}) {
            const tl::Context ctx = on_two ? tl::Context(a) : tl::Context();
            auto y = leaf(ctx, {256, 64}, 1);
            for (int i = 0; i < steps; i++) {
                y = i % 3 == 0 ? cumsum(y) : i % 3 == 1 ? tanh(y) : soft_max(y);
                if (on_two) y.place(i % 2 ? "cpu:1" : "cpu:0");
            }
            const tl::Graph graph({y});
            if (on_two) bytes[steps == 600] = graph.plan_bytes(joined);
            for (int run = 0; run < 2; run++) graph.compute(on_two ? joined : cpu);
            results[on_two] = y.read<float>();
        }
        EXPECT_EQ(results[0], results[1]) << steps;
    }
    EXPECT_EQ(bytes[0], bytes[1]);
    for (const std::size_t of_device : bytes[1]) EXPECT_LE(of_device, 4u * 256 * 64 * 4 + 4096);
}

TEST(Transfers, have_the_bytes_that_are_read) {
    const tl::Backend a("cpu:0", {1}), b("cpu:1", {1}), joined = tl::Backend::join({a, b});
    const tl::Context far(a), near(b);
    const auto big = leaf(far, {100'000}, 1);
    const std::vector<float> values = big.read<float>();
    // Two slices: from the first to the end of the second, of which the first begins at a multiple of the alignment or before.
    const auto y = near.add(big.narrow(0, 5000, 16), big.narrow(0, 5100, 16));
    y.place("cpu:1");
    const tl::Graph reads({y});
    reads.compute(joined);
    const auto sum = y.read<float>();
    for (std::size_t i = 0; i < 16; i++) EXPECT_EQ(sum[i], values[5000 + i] + values[5100 + i]);
    EXPECT_GE(copied_in_each_run(reads, joined), 116u * 4);
    EXPECT_LE(copied_in_each_run(reads, joined), 116u * 4 + 128);
    EXPECT_LT(reads.plan_bytes(joined)[1], 4096u);

    // What is written goes there and back, and no more: the slice between stays as it was written meanwhile at home.
    const auto written = near.cpy(leaf(near, {16}, 2), big.narrow(0, 7000, 16));
    written.place("cpu:1");
    const tl::Graph writes({written});
    writes.compute(joined);
    EXPECT_LE(copied_in_each_run(writes, joined), 2u * 16 * 4 + 128);
    const std::vector<float> now = big.read<float>(), small = leaf(near, {16}, 2).read<float>();
    for (std::size_t i = 0; i < now.size(); i++) EXPECT_EQ(now[i], i >= 7000 && i < 7016 ? small[i - 7000] : values[i]) << i;
}

// A step of an optimiser on another device than its parameter and moments, which are slices of one leaf: all of them come back.
TEST(Transfers, bring_back_each_written_slice_of_a_leaf) {
    std::vector<float> results[2];
    for (const bool on_two : {false, true}) {
        const tl::Backend a("cpu:0", {1}), b("cpu:1", {1});
        const tl::Backend backend = on_two ? tl::Backend::join({a, b}) : tl::Backend("cpu", {1});
        const tl::Context ctx = on_two ? tl::Context(a) : tl::Context();
        const auto flat = leaf(ctx, {4000}, 1), g = leaf(ctx, {64}, 2);
        const auto settings = ctx.tensor<float>({7}, {0.1f, 0.9f, 0.999f, 1e-8f, 0.01f, 0.5f, 0.5f});
        const auto p = flat.narrow(0, 3000, 64), m = flat.narrow(0, 128, 64), v = sqr(flat.narrow(0, 1000, 64));
        const auto second = flat.narrow(0, 2000, 64);
        const auto squared = cpy(v, second);
        const auto step = opt_step_adamw(p, g, m, squared, settings);
        if (on_two) step.place("cpu:1");
        const tl::Graph graph({step});
        for (int run = 0; run < 2; run++) graph.compute(backend);
        results[on_two] = flat.read<float>();
    }
    EXPECT_EQ(results[0], results[1]);
}

// A bound that the copies between devices exceed is an error when the plan is made, and is met where it can be.
TEST(Transfers, count_within_a_bound) {
    const tl::Backend a("cpu:0", {1}), b("cpu:1", {1}), joined = tl::Backend::join({a, b});
    const tl::Context ctx(a);
    const auto y = sqr(leaf(ctx, {1 << 12}, 1));
    y.place("cpu:1");
    const std::vector<tl::Tensor> outputs{y};
    const tl::Graph tight = tl::Graph::within(outputs, 4096), wide = tl::Graph::within(outputs, std::size_t{2} << 14);
    for (const auto &use :
         {std::function<void()>([&] { tight.compute(joined); }), std::function<void()>([&] { tight.plan_text(joined); })}) {
        expect_error(tl::Status::out_of_memory, {"graph_create_within", "4096", "cpu:1", "is valid"}, use);
    }
    EXPECT_GT(tight.plan_bytes(joined)[1], 4096u);  // an estimate says what it would take
    wide.compute(joined);
    EXPECT_EQ(y.read<float>().size(), 1u << 12);
}

// A product is moved to another device because a later node, which its device refuses, pulls it along. Copies are made after placement, so
// the first device keeps none.
TEST(Join, constants_are_packed_only_on_the_device_that_multiplies_with_them) {
    const support::Environment refuse("TENSORLIB_REFUSE", "cpu:0/cumsum");
    const tl::Backend a("cpu:0", {1}), b("cpu:1", {1}), joined = tl::Backend::join({a, b});
    const tl::Context ctx(a);
    const auto w = ctx.zeros(tl::Type::q8_0, {64, 4096}), x = ctx.zeros(tl::Type::f32, {64, 256});
    w.set_constant();
    const tl::Graph graph({sum(cumsum(mul_mat(w, x)))});
    graph.plan_bytes(joined);
    EXPECT_EQ(a.packed_memory() + b.packed_memory(), 0u);
    graph.compute(joined);
    const std::string text = graph.plan_text(joined);
    const bool on_first = text.find(": cpu:0 mul_mat") != std::string::npos;
    EXPECT_EQ((on_first ? b : a).packed_memory(), 0u) << text;
}

TEST(Join, bad_input_says_what_would_be_valid) {
    const tl::Backend a("cpu:0", {1}), b("cpu:1", {1}), again("CPU:0", {1});
    expect_error(tl::Status::invalid_argument, {"backend_join", "0 backends", "1 to 32"}, [] { tl::Backend::join({}); });
    expect_error(tl::Status::invalid_argument, {"33 backends"}, [&] { tl::Backend::join(std::vector(33, a)); });
    expect_error(tl::Status::invalid_argument, {"backends 0 and 2", "cpu:0", "one of each"}, [&] { tl::Backend::join({a, b, again}); });
    const tl::Backend joined = tl::Backend::join({a, b});
    expect_error(tl::Status::invalid_argument, {"backend 1", "joined itself", "cpu:0+cpu:1"}, [&] { tl::Backend::join({a, joined}); });
    EXPECT_EQ(joined.device(), "cpu:0+cpu:1");
    const support::Environment refuse("TENSORLIB_REFUSE", "cpu/no_such_thing");
    expect_error(tl::Status::invalid_argument, {"TENSORLIB_REFUSE", "no_such_thing", "cuda:0/add"}, [] { tl::Backend("cpu", {1}); });
}

TEST(Join, an_operation_that_no_device_takes_names_all_refusals) {
    const support::Environment refuse("TENSORLIB_REFUSE", "cpu:0/mul_mat,cpu:1/mul_mat,cpu:1/cpy");
    const tl::Backend a("cpu:0", {1}), b("cpu:1", {1}), joined = tl::Backend::join({a, b});
    const tl::Context one(a), two(b);
    const auto w = leaf(one, {4, 4}, 1), x = leaf(two, {4, 4}, 2);
    expect_error(tl::Status::unsupported, {"mul_mat", "no device", "cpu:0: ", "cpu:1: ", "TENSORLIB_REFUSE"},
                 [&] { joined.compute({mul_mat(w, x)}); });
    // What is written there goes there and back.
    const auto copied = cpy(w, x);
    const tl::Graph writes({copied});
    writes.compute(joined);
    EXPECT_EQ(x.read_f32(), w.read_f32());
    EXPECT_NE(writes.plan_text(joined).find("segment on cpu:0"), std::string::npos) << writes.plan_text(joined);
    copied.place("cpu:1");
    expect_error(tl::Status::unsupported, {"cpy", "cpu:0: it was placed elsewhere", "cpu:1: TENSORLIB_REFUSE"},
                 [&] { writes.compute(joined); });
    const auto sum = w + x;
    sum.place("cpu:2");
    expect_error(tl::Status::context_mismatch, {"cpu:2", "cpu:0+cpu:1"}, [&] { joined.compute({sum}); });
    sum.place("");
    joined.compute({sum});
}

TEST(NodeIndex, is_of_nodes_that_have_memory_of_their_own) {
    const tl::Backend a("cpu:0", {1}), b("cpu:1", {1}), joined = tl::Backend::join({a, b});
    const tl::Context ctx(a);
    const auto x = leaf(ctx, {4, 4}, 1), y = exp(x);
    expect_error(tl::Status::invalid_argument, {"tensor_place", "leaf"}, [&] { x.place("cpu:1"); });
    expect_error(tl::Status::invalid_argument, {"tensor_place", "leaf"}, [&] { x.transpose().place("cpu:1"); });
    expect_error(tl::Status::invalid_argument, {"tensor_place", "abacus", "cpu:2"}, [&] { y.place("abacus"); });
    const tl::Graph graph({y});
    graph.compute(joined);
    EXPECT_EQ(graph.plan_text(joined).find("copy "), std::string::npos);
    y.transpose().place("CPU:1");
    graph.compute(joined);
    const std::string text = graph.plan_text(joined);
    EXPECT_NE(text.find("segment on cpu:1: nodes 0"), std::string::npos) << text;
    EXPECT_NE(text.find("64 bytes: cpu:0 to cpu:1"), std::string::npos) << text;
    EXPECT_NE(text.find("64 bytes: cpu:1 to cpu:0"), std::string::npos) << text;
    // A backend of the leafs' device alone does not have the other one.
    a.compute({x + x});
}

TEST(Plans, are_found_again_for_leafs_on_the_same_devices_only) {
    const tl::Backend a("cpu:0", {1}), b("cpu:1", {1}), joined = tl::Backend::join({a, b});
    const tl::Context one(a), two(b), nodes(a);
    const auto x = leaf(one, {8}, 1), y = leaf(two, {8}, 1);
    for (int round = 0; round < 4; round++) {
        const auto &operand = round % 2 ? x : y;
        const auto z = nodes.exp(operand);
        joined.compute({z});
        EXPECT_EQ(z.read_f32()[3], std::exp(support::value(1, 3))) << round;
    }
}

TEST(Constants, are_copied_once_and_gone_with_their_context) {
    const tl::Backend a("cpu:0", {1}), b("cpu:1", {1}), joined = tl::Backend::join({a, b});
    const tl::Context inputs(b);
    const auto x = leaf(inputs, {32, 40}, 2);
    {
        const tl::Context weights(a);
        const auto w = leaf(weights, {32, 8}, 1);
        w.set_constant();
        const auto y = inputs.mul_mat(w, x);
        const tl::Graph graph({y});
        graph.compute(joined);
        EXPECT_EQ(joined.packed_memory(), 32u * 8 * 4);
        const auto first = y.read_f32();
        graph.compute(joined);
        EXPECT_EQ(y.read_f32(), first);
        EXPECT_NE(graph.plan_text(joined).find("1024 bytes kept on cpu:1"), std::string::npos) << graph.plan_text(joined);
    }
    // The node keeps its operand's context, and the graph is gone.
    EXPECT_EQ(joined.packed_memory(), 32u * 8 * 4);
}

TEST(Constants, may_be_empty) {
    const tl::Backend a("cpu:0", {1}), b("cpu:1", {1}), joined = tl::Backend::join({a, b});
    for (const tl::Shape &shape : {tl::Shape{0, 8}, tl::Shape{8, 0}, tl::Shape{0, 0}}) {
        const tl::Context weights(a), ctx(b);
        const auto w = weights.zeros(tl::Type::f32, shape);
        w.set_constant();
        const auto y = ctx.exp(w);
        y.place("cpu:1");
        joined.compute({y});
        EXPECT_TRUE(y.read_f32().empty());
    }
}

TEST(Constants, whose_original_was_dropped_go_to_other_devices_too) {
    const tl::Backend cpu("cpu", {1}), b("cpu:1", {1}), joined = tl::Backend::join({b, cpu});
    const tl::Context weights(cpu), ctx(b);
    const auto w = leaf(weights, {256, 64}, 1, tl::Type::q8_0), x = leaf(ctx, {256, 200}, 2);
    const auto x_here = leaf(weights, {256, 200}, 2);
    w.set_constant();
    const auto y = weights.mul_mat(w, x_here);
    cpu.compute({y});
    if (cpu.packed_memory() == 0) GTEST_SKIP() << "no packed copies of q8_0 on this ISA";
    w.drop_original();
    const auto z = ctx.mul_mat(w, x);
    joined.compute({z});
    EXPECT_EQ(z.read_f32(), y.read_f32());
}

// The bytes that a placement copies, counted independently: each root once for each part that reads it elsewhere, between two writes.
std::uint64_t copied_bytes(const core::Graph &graph, const core::Backend &backend, const std::vector<std::uint32_t> &part) {
    std::vector<std::pair<const core::Tensor *, std::uint32_t>> there;
    std::uint64_t bytes = 0;
    const auto place_of = [&](const core::Tensor *root) {
        if (root->is_leaf()) return static_cast<std::uint32_t>(*backend.part_on(root->context->memory()));
        return part[static_cast<std::size_t>(std::ranges::find(graph.nodes(), root) - graph.nodes().begin())];
    };
    const auto need = [&](const core::Tensor *root, std::uint32_t at) {
        if (place_of(root) == at || std::ranges::find(there, std::pair(root, at)) != there.end()) return;
        there.emplace_back(root, at);
        bytes += root->layout.nbytes();
    };
    for (std::size_t i = 0; i < graph.nodes().size(); i++) {
        const core::Tensor &node = *graph.nodes()[i];
        if (node.is_pure_view()) continue;
        for (const core::Tensor *source : node.sources()) need(source->root, part[i]);
        for (std::size_t s = 0; s < node.n_src; s++) {
            if (node.writes(s)) std::erase_if(there, [&](const auto &copy) { return copy.first == node.src[s]->root; });
        }
    }
    for (const core::Tensor *output : graph.outputs()) {
        if (!output->root->is_leaf()) need(output->root, static_cast<std::uint32_t>(*backend.part_on(output->root->context->memory())));
    }
    return bytes;
}

void compare_with_brute_force(std::size_t n_parts, std::uint32_t seed) {
    std::vector<core::Ref<core::Backend>> owned;
    std::vector<core::Backend *> parts;
    for (std::size_t p = 0; p < n_parts; p++) owned.push_back(core::open_backend(("cpu:" + std::to_string(p)).c_str(), {1, false}));
    for (const auto &part : owned) parts.push_back(part.get());
    const auto joined = core::join_backends(parts);
    support::Random random(seed);
    std::vector<core::Ref<core::Context>> contexts;
    for (core::Backend *part : parts) {
        core::ContextParams params;
        params.memory = &part->device().memory();
        contexts.push_back(core::Context::create(params));
    }
    // Leafs of 1 to 64 rows of 8, and sums over rows that repeat: sizes differ, so that it matters what is copied.
    std::vector<core::Tensor *> tensors;
    for (int i = 0; i < 4; i++) {
        const std::int64_t rows = std::int64_t{1} << random() % 7;
        const auto &context = support::one_of(random, contexts);
        tensors.push_back(context->new_leaf(core::contiguous_layout("leaf", core::DType::f32, std::vector<std::int64_t>{8, rows})));
    }
    // In one context, so that none refers back to another.
    core::ContextParams params;
    params.memory = &support::one_of(random, parts)->device().memory();
    const auto nodes = core::Context::create(params);
    const std::size_t n_nodes = 3 + random() % 8;
    for (std::size_t i = 0; i < n_nodes; i++) {
        core::Tensor *src[] = {support::one_of(random, tensors), support::one_of(random, tensors)};
        if (src[0]->layout.ne[1] % src[1]->layout.ne[1] != 0) std::swap(src[0], src[1]);
        const bool both = src[0]->layout.ne[1] % src[1]->layout.ne[1] == 0;
        tensors.push_back(both ? core::build_node(*nodes, core::Op::add, src) : core::build_node(*nodes, core::Op::exp, std::span(src, 1)));
    }
    core::Tensor *outputs[] = {tensors.back(), tensors[tensors.size() - 2]};
    const auto graph = core::Graph::create(*nodes, outputs);
    core::TensorSet places;
    bool added;
    for (std::uint32_t i = 0; i < graph->nodes().size(); i++) places.insert(graph->nodes()[i], i, added);
    for (std::uint32_t i = 0; i < graph->leafs().size(); i++) places.insert(graph->leafs()[i], i | core::Graph::leaf_bit, added);
    const auto nothing = [](std::size_t, std::size_t) { return std::string(); };
    const core::Placement placement = core::place_nodes(*graph, places, *joined, core::RefusedNodes(n_parts), nothing);
    EXPECT_EQ(placement.bytes, copied_bytes(*graph, *joined, placement.part)) << "seed " << seed;
    std::uint64_t best = ~std::uint64_t{0};
    std::vector<std::uint32_t> part(graph->nodes().size());
    for (bool more = true; more;) {
        best = std::min(best, copied_bytes(*graph, *joined, part));
        more = false;
        for (std::uint32_t &p : part) {
            if (++p < n_parts) {
                more = true;
                break;
            }
            p = 0;
        }
    }
    // The placement has the fewest bytes for two parts; for three parts the design allows at most a tenth more.
    if (n_parts == 2) {
        EXPECT_EQ(placement.bytes, best) << "seed " << seed;
    } else {
        EXPECT_LE(static_cast<double>(placement.bytes), 1.1 * static_cast<double>(best)) << "seed " << seed;
    }
}

TEST(Placing, copies_the_fewest_bytes_that_there_are) {
    const auto n = static_cast<std::uint32_t>(support::repeats(100, 2000));
    for (std::uint32_t seed = 0; seed < n; seed++) compare_with_brute_force(2, seed);
    for (std::uint32_t seed = 0; seed < n / 4; seed++) compare_with_brute_force(3, seed);
}

// Devices that compute later than they are told to: memory in which a copy lands may still be used by what the device has not done yet.
// Random graphs with random devices for their nodes, in which most results die soon and have one size.
TEST(Trouble, devices_that_compute_late_change_no_result) {
    support::StrangeDevice first("late:0"), second("late:1");
    first.is_late = second.is_late = true;
    const core::Ref<core::Backend> a = first.open({1, false}), b = second.open({1, false}), cpu = core::cpu_device().open({1, false});
    core::Backend *parts[] = {a.get(), b.get()};
    const auto joined = core::join_backends(parts);
    for (std::uint32_t seed = 0; seed < static_cast<std::uint32_t>(support::repeats(30, 600)); seed++) {
        std::vector<float> results[2];
        for (const bool late : {false, true}) {
            support::Random random(seed);
            std::vector<core::Ref<core::Context>> contexts;
            for (support::StrangeMemory *memory : {&first.memory_, &second.memory_}) {
                core::ContextParams params;
                params.memory = late ? memory : nullptr;
                contexts.push_back(core::Context::create(params));
            }
            std::vector<core::Tensor *> tensors;
            for (std::uint32_t i = 0; i < 4; i++) {
                core::Tensor *t =
                    contexts[i % 2]->new_leaf(core::contiguous_layout("leaf", core::DType::f32, std::vector<std::int64_t>{32, 8}));
                std::vector<float> values(256);
                for (std::uint32_t k = 0; k < 256; k++) values[k] = support::value(i, k);
                core::write_f32(*t, values.data(), values.size());
                tensors.push_back(t);
            }
            const auto nodes = core::Context::create([&] {
                core::ContextParams params;
                params.memory = late ? &first.memory_ : nullptr;
                return params;
            }());
            for (int i = 0; i < 40; i++) {
                // Mostly of what was made last.
                const auto pick = [&] { return tensors[tensors.size() - 1 - std::min<std::size_t>(random() % 5, tensors.size() - 1)]; };
                core::Tensor *src[] = {pick(), pick()};
                const unsigned kind = random() % 4, place = random() % 3;
                core::Tensor *node = kind == 0   ? core::build_node(*nodes, core::Op::add, src)
                                     : kind == 1 ? core::build_node(*nodes, core::Op::tanh, std::span(src, 1))
                                     : kind == 2 ? core::build_node(*nodes, core::Op::cumsum, std::span(src, 1))
                                                 : core::build_node(*nodes, core::Op::soft_max, std::span(src, 1));
                if (late && place < 2) core::place(*node, place == 0 ? &first.memory_ : &second.memory_);
                tensors.push_back(node);
            }
            const auto graph = core::Graph::create(*nodes, std::span(&tensors.back(), 1));
            core::Backend &backend = late ? *joined : *cpu;
            for (int run = 0; run < 2; run++) core::compute(*graph, backend);
            results[late].resize(256);
            core::read_f32(*tensors.back(), results[late].data(), 256);
        }
        ASSERT_EQ(std::memcmp(results[0].data(), results[1].data(), 256 * sizeof(float)), 0) << "seed " << seed;
    }
}

// Devices that are slow, small or break.
TEST(Trouble, delays_in_copies_change_no_result) {
    support::StrangeDevice slow("slow:0"), other("slow:1");
    slow.memory_.delays = other.memory_.delays = true;
    const tl::core::Ref<core::Backend> a = slow.open({2, false}), b = other.open({2, false});
    core::Backend *parts[] = {a.get(), b.get()};
    const auto joined = core::join_backends(parts);
    support::TwoDevices graph(slow, other);
    const auto wanted = graph.computed(*joined);
    for (int run = 0; run < support::repeats(200, 1000); run++) ASSERT_EQ(graph.computed(*joined), wanted) << run;
}

TEST(Trouble, memory_that_ends_at_any_step_leaves_all_usable) {
    support::StrangeDevice small("small:0"), other("small:1");
    const tl::core::Ref<core::Backend> a = small.open({1, false}), b = other.open({1, false});
    core::Backend *parts[] = {a.get(), b.get()};
    support::TwoDevices graph(small, other);
    const auto wanted = graph.computed(*core::join_backends(parts));
    for (auto *device : {&small, &other}) {
        bool failed = true;
        for (int allowed = 0; failed && allowed < 50; allowed++) {
            // A new one has no block yet.
            const auto joined = core::join_backends(parts);
            device->memory_.acquires_left = allowed;
            failed = false;
            try {
                (void)graph.computed(*joined);
            } catch (const tl::Error &error) {
                failed = true;
                EXPECT_EQ(error.code(), tl::Status::out_of_memory) << error.what();
                EXPECT_NE(std::string(error.what()).find(device->name()), std::string::npos) << error.what();
            }
            device->memory_.acquires_left = -1;
            EXPECT_EQ(graph.computed(*joined), wanted) << allowed;
        }
        EXPECT_FALSE(failed);
    }
}

TEST(Trouble, a_device_that_fails_ends_the_run_and_nothing_else) {
    support::StrangeDevice breaks("breaks:0"), other("whole:1");
    const tl::core::Ref<core::Backend> a = breaks.open({1, false}), b = other.open({1, false});
    core::Backend *parts[] = {a.get(), b.get()};
    const auto joined = core::join_backends(parts);
    support::TwoDevices graph(breaks, other);
    const auto wanted = graph.computed(*joined);
    bool failed = true;
    int allowed = 0;
    for (; failed && allowed < 50; allowed++) {
        breaks.memory_.transfers_left = allowed;
        failed = false;
        try {
            graph.compute(*joined);
        } catch (const tl::Error &error) {
            failed = true;
            EXPECT_EQ(error.code(), tl::Status::device) << error.what();
        }
        breaks.memory_.transfers_left = -1;
        // What is not its own goes on, and it too when it is well again.
        if (failed) expect_error(tl::Status::invalid_argument, {"not computed"}, [&] { (void)graph.read(); });
        EXPECT_EQ(graph.alone_on(*b), 3) << allowed;
        EXPECT_EQ(graph.computed(*joined), wanted) << allowed;
    }
    EXPECT_FALSE(failed);
    EXPECT_GT(allowed, 2) << "copies to it and from it";
}

TEST(Turns, of_backends_that_are_joined_in_any_order_never_block_each_other) {
    const tl::Backend a("cpu:0", {1}), b("cpu:1", {1});
    const tl::Backend one = tl::Backend::join({a, b}), two = tl::Backend::join({b, a});
    std::vector<std::thread> threads;
    for (const tl::Backend *backend : {&one, &two, &a, &b}) {
        threads.emplace_back([&, backend] {
            const bool both = backend == &one || backend == &two;
            const tl::Context first(backend == &b ? b : a), second(both ? b : backend == &b ? b : a);
            const auto sum = leaf(first, {100}, 1) + leaf(second, {100}, 2);
            const tl::Graph graph({sum});
            for (int i = 0; i < 300; i++) graph.compute(*backend);
            EXPECT_EQ(sum.read_f32()[7], support::value(1, 7) + support::value(2, 7));
        });
    }
    for (std::thread &thread : threads) thread.join();
}

#if defined(__linux__) && !defined(__SANITIZE_THREAD__)
TEST(Join, a_forked_child_cannot_use_the_parents_backends) {
    const tl::Backend a("cpu:0", {2}), b("cpu:1", {2}), joined = tl::Backend::join({a, b});
    const pid_t child = fork();
    if (child == 0) {
        int wrong = 0;
        try {
            tl::Backend::join({a, b});
            wrong = 1;
        } catch (const tl::Error &error) {
            if (error.code() != tl::Status::unavailable) wrong = 2;
        }
        try {
            const tl::Context ctx(joined);
            joined.compute({leaf(ctx, {4}, 1) + leaf(ctx, {4}, 2)});
            wrong = 3;
        } catch (const tl::Error &error) {
            if (error.code() != tl::Status::unavailable) wrong = 4;
        }
        _exit(wrong);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 0);
}
#endif

}  // namespace
