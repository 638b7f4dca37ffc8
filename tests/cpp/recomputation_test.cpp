// Recomputation: equal bits as without it, in less memory; by marks and within a bound; and the calls that must be refused.
#include "random_tensors.hpp"
#include "runtime/memory_budget.hpp"
#include "support.hpp"

#include <bit>
#include <cmath>
#include <optional>

using tl::Status;

namespace {

namespace core = tl::core;

using Many = std::vector<tl::Tensor>;

// The number that precedes these words in the plan's text.
std::size_t number_before(const std::string &text, const std::string &words) {
    const std::size_t end = text.find(words);
    if (end == std::string::npos) ADD_FAILURE() << "'" << words << "' is not in: " << text;
    std::size_t begin = end;
    while (begin > 0 && std::isdigit(static_cast<unsigned char>(text[begin - 1]))) begin--;
    return begin == end ? 0 : std::stoul(text.substr(begin, end - begin));
}
std::size_t intermediates(const std::string &text) { return number_before(text, " bytes ("); }
std::size_t n_recomputed(const std::string &text) {
    return text.find("recomputed:") == std::string::npos ? 0 : number_before(text, " nodes recomputed");
}

void expect_same(const std::vector<float> &got, const std::vector<float> &want, const std::string &what) {
    EXPECT_TRUE(support::same_values(got, want)) << what;
}

std::vector<std::vector<float>> computed(const tl::Graph &graph, const Many &outputs, const tl::Backend &cpu) {
    graph.compute(cpu);
    std::vector<std::vector<float>> values;
    for (const auto &t : outputs) values.push_back(t.read_f32());
    return values;
}

// Layers x -> tanh(w x) of n by n, of a batch of b.
struct Layers {
    tl::Context ctx;
    Many weights, sums, activations, outputs;

    Layers(int layers, std::int64_t n, std::int64_t b) {
        tl::Tensor x = support::leaf(ctx, {n, b}, 1);
        for (int i = 0; i < layers; i++) {
            weights.push_back(scaled_leaf(n, 2 + static_cast<std::uint32_t>(i)));
            sums.push_back(mul_mat(weights.back(), x));
            activations.push_back(x = tanh(sums.back()));
        }
        const auto loss = sum(sqr(x));
        outputs = ctx.gradients(std::array{loss}, weights);
        outputs.insert(outputs.begin(), loss);
    }
    tl::Tensor scaled_leaf(std::int64_t n, std::uint32_t seed) const {
        const auto t = support::leaf(ctx, {n, n}, seed);
        auto values = t.read_f32();
        for (float &v : values) v /= 4 * std::sqrt(static_cast<float>(n));
        t.write_f32(values);
        return t;
    }
    // Marks all sums, and all activations except the last one of each part of `each` layers.
    void mark_but_each(int each) const {
        for (std::size_t i = 0; i < sums.size(); i++) {
            sums[i].set_recompute(true);
            activations[i].set_recompute((i + 1) % static_cast<std::size_t>(each) != 0);
        }
    }
};

// 36 layers in parts of 6. The plain graph keeps each layer's activation until its gradient is computed: 36 units of n b floats, and a
// few more for the layer at work. The marked graph keeps the 6 between parts, 5 more of the part at work, and those few. A unit is 64 x
// 128 floats.
TEST(Marks, keep_the_root_of_the_layers) {
    const Layers plain(36, 64, 128), marked(36, 64, 128);
    marked.mark_but_each(6);
    const tl::Graph of_plain(plain.outputs), of_marked(marked.outputs);
    const std::size_t unit = 64 * 128 * 4;
    for (const std::string &isa : support::isas()) {
        for (const int threads : {1, 3}) {
            const tl::Backend cpu = support::backend(isa, threads);
            const auto want = computed(of_plain, plain.outputs, cpu), got = computed(of_marked, marked.outputs, cpu);
            for (std::size_t i = 0; i < want.size(); i++) expect_same(got[i], want[i], isa + " output " + std::to_string(i));
            const std::string before = of_plain.plan_text(cpu), after = of_marked.plan_text(cpu);
            EXPECT_GE(intermediates(before), 36 * unit);
            EXPECT_LE(intermediates(after), (6 + 5 + 4) * unit) << after;
            // Recomputes a product and an activation for each layer, except the layers that end a part, whose activation is kept.
            EXPECT_EQ(n_recomputed(after), 36u - 6 + 36 - 6) << after;
            EXPECT_NE(after.find(", recomputed"), std::string::npos);
            EXPECT_EQ(n_recomputed(before), 0u);
        }
    }
}

TEST(Marks, can_be_taken_away) {
    const Layers m(4, 8, 8);
    m.mark_but_each(2);
    const tl::Graph with(m.outputs);
    for (const auto *all : {&m.sums, &m.activations}) {
        for (const auto &t : *all) t.set_recompute(false);
    }
    EXPECT_GT(with.n_nodes(), tl::Graph(m.outputs).n_nodes());
}

// A view's mark is its tensor's.
TEST(Marks, of_views_are_of_what_they_view) {
    const tl::Context ctx;
    const auto x = support::leaf(ctx, {6, 4}, 1), w = support::leaf(ctx, {6, 4}, 2);
    const auto y = exp(scale(x, 0.25)), flat = y.reshape({24}), loss = sum(sqr(flat) * w.reshape({24}));
    const auto gradient = loss.gradients({x}).at(0);
    const tl::Backend cpu = support::backend(support::isas().front(), 2);
    const auto want = computed(tl::Graph({gradient}), {gradient}, cpu);
    flat.set_recompute(true);
    const tl::Graph graph({gradient});
    EXPECT_GT(n_recomputed(graph.plan_text(cpu)), 0u);
    expect_same(computed(graph, {gradient}, cpu)[0], want[0], "a view");
}

TEST(Marks, are_refused_where_nothing_is_computed_or_something_is_written) {
    const tl::Context ctx;
    const auto a = support::leaf(ctx, {4}, 1), b = support::leaf(ctx, {4}, 2);
    support::expect_error(Status::invalid_argument, {"tensor_set_recompute", "leaf", "[4] f32"}, [&] { a.set_recompute(true); });
    support::expect_error(Status::invalid_argument, {"tensor_set_recompute", "reshape", "lies in a leaf"},
                          [&] { a.reshape({2, 2}).set_recompute(true); });
    support::expect_error(Status::invalid_argument, {"tensor_set_recompute", "cpy"}, [&] { cpy(b, a).set_recompute(true); });
    const auto made = a + b;
    support::expect_error(Status::invalid_argument, {"tensor_set_recompute", "cpy", "writes"}, [&] { cpy(b, made).set_recompute(true); });
}

// Marked where it changes nothing: outputs, and a node that no gradient reads.
TEST(Marks, leave_outputs_as_they_are) {
    const tl::Context ctx;
    const auto x = support::leaf(ctx, {300}, 1), y = exp(scale(x, 0.1)), z = tanh(y), loss = sum(sqr(z));
    const auto gradient = loss.gradients({x}).at(0);
    for (const auto &t : {y, z, loss}) t.set_recompute(true);
    const tl::Graph graph({y, loss, gradient});
    const tl::Backend cpu = support::backend(support::isas().front(), 2);
    graph.compute(cpu);
    const std::string text = graph.plan_text(cpu);
    EXPECT_NE(text.find("kept as an output"), std::string::npos) << text;
    EXPECT_EQ(n_recomputed(text), 1u) << text;
    const auto xs = x.read_f32(), ys = y.read_f32();
    for (std::size_t i = 0; i < xs.size(); i++) EXPECT_NEAR(ys[i], std::exp(0.1f * xs[i]), 1e-5f);
}

// A parameter's step follows the nodes that are recomputed from it. Nothing written before the gradients is read again.
TEST(Marks, read_memory_as_it_was) {
    for (const bool mark : {false, true}) {
        Layers m(6, 16, 8);
        if (mark) m.mark_but_each(3);
        const auto settings = m.ctx.tensor<float>({2}, {0.01f, 0});
        Many outputs;
        for (std::size_t i = 0; i < m.weights.size(); i++) outputs.push_back(opt_step_sgd(m.weights[i], m.outputs[i + 1], settings));
        outputs.push_back(m.outputs[0]);
        const tl::Graph graph(outputs);
        const tl::Backend cpu = support::backend(support::isas().front(), 2);
        for (int i = 0; i < 3; i++) graph.compute(cpu);
        static std::vector<float> first;
        std::vector<float> all = m.outputs[0].read_f32();
        for (const auto &w : m.weights) {
            for (const float x : w.read_f32()) all.push_back(x);
        }
        if (mark) {
            expect_same(all, first, "steps");
            EXPECT_GT(n_recomputed(graph.plan_text(cpu)), 0u);
        }
        first = all;
    }
}

TEST(Marks, keep_what_reads_memory_that_is_written_before_gradients) {
    const tl::Context ctx;
    const auto x = support::leaf(ctx, {64}, 1), other = support::leaf(ctx, {64}, 2);
    const auto s = scale(x, 0.1), y = exp(s), first = sum(sqr(y)), written = cpy(other, x), loss = first + sum(written * other);
    for (const auto &t : {s, y}) t.set_recompute(true);
    const auto gradient = loss.gradients({y}).at(0);
    const tl::Graph graph({loss, gradient});
    const tl::Backend cpu = support::backend(support::isas().front(), 2);
    const auto values = x.read_f32();
    graph.compute(cpu);
    const auto got = gradient.read_f32();
    for (std::size_t i = 0; i < got.size(); i++) EXPECT_NEAR(got[i], 2 * std::exp(0.1f * values[i]), 1e-5f);
    const std::string text = graph.plan_text(cpu);
    EXPECT_NE(text.find("kept, as what it reads is written before gradients read it"), std::string::npos) << text;
    EXPECT_EQ(n_recomputed(text), 1u) << text;
}

TEST(Marks, see_the_same_random_numbers) {
    const tl::Context ctx;
    const auto x = support::leaf(ctx, {500}, 1), seed = ctx.zeros(tl::Type::i64, {2});
    seed.write<std::int64_t>(std::vector<std::int64_t>{7, 9});
    const auto dropped = dropout(exp(scale(x, 0.1)), seed, 0.4, 1), loss = sum(sqr(dropped));
    const auto gradient = loss.gradients({x}).at(0);
    const tl::Backend cpu = support::backend(support::isas().front(), 2);
    const auto want = computed(tl::Graph({gradient}), {gradient}, cpu)[0];
    dropped.set_recompute(true);
    const tl::Graph graph({gradient});
    EXPECT_GT(n_recomputed(graph.plan_text(cpu)), 0u);
    expect_same(computed(graph, {gradient}, cpu)[0], want, "dropout");
}

TEST(Marks, hold_in_gradients_of_gradients) {
    const auto build = [](const tl::Context &ctx, bool mark) {
        const auto x = support::leaf(ctx, {8, 4}, 1), w = support::leaf(ctx, {8, 8}, 2);
        const auto s = scale(mul_mat(w, x), 0.1), y = tanh(s), z = sigmoid(mul_mat(w, y));
        for (const auto &t : {s, y, z}) {
            if (mark) t.set_recompute(true);
        }
        const auto g = sum(sqr(z)).gradients({x}).at(0);
        return Many{g, sum(sqr(g)).gradients({w}).at(0)};
    };
    const tl::Context a, b;
    const Many plain = build(a, false), marked = build(b, true);
    const tl::Backend cpu = support::backend(support::isas().front(), 2);
    const auto want = computed(tl::Graph(plain), plain, cpu);
    const tl::Graph graph(marked);
    EXPECT_GT(n_recomputed(graph.plan_text(cpu)), 2u);
    const auto got = computed(graph, marked, cpu);
    for (std::size_t i = 0; i < 2; i++) expect_same(got[i], want[i], std::to_string(i));
}

// Graphs have tensors of their own; what they share stays the context's.
TEST(Marks, go_with_their_graph) {
    const Layers m(4, 8, 8);
    const tl::Backend cpu = support::backend(support::isas().front(), 2);
    const tl::Graph plain(m.outputs);
    const auto want = computed(plain, m.outputs, cpu);
    const std::size_t before = m.ctx.used_memory();
    for (int i = 0; i < 3; i++) {
        m.mark_but_each(2);
        std::optional<tl::Graph> marked(m.outputs);
        EXPECT_GT(m.ctx.used_memory(), before);
        const auto got = computed(*marked, m.outputs, cpu);
        marked.reset();
        const auto again = computed(plain, m.outputs, cpu);
        for (std::size_t k = 0; k < want.size(); k++) {
            expect_same(got[k], want[k], "marked");
            expect_same(again[k], want[k], "plain");
        }
    }
}

// A value that cannot be taken is named as ever, though it is met twice.
TEST(Marks, name_what_cannot_be_taken_once) {
    const tl::Context ctx;
    const auto x = support::leaf(ctx, {8, 5}, 1), rows = ctx.zeros(tl::Type::i32, {3});
    const auto y = get_rows(x, rows), loss = sum(sqr(tanh(y)));
    y.set_recompute(true);
    const auto gradient = loss.gradients({x}).at(0);
    const tl::Graph graph({gradient});
    const tl::Backend cpu = support::backend(support::isas().front(), 2);
    graph.compute(cpu);
    rows.write<std::int32_t>(std::vector<std::int32_t>{0, 9, 1});
    support::expect_error(Status::invalid_argument, {"get_rows", "element 1", "9"}, [&] { graph.compute(cpu); });
    rows.write<std::int32_t>(std::vector<std::int32_t>{0, 4, 1});
    graph.compute(cpu);
}

// From what all takes down to the least that the error names, and below.
TEST(Within, meets_bounds_down_to_the_least) {
    const Layers m(36, 32, 64);
    const tl::Backend cpu = support::backend(support::isas().front(), 2);
    const tl::Graph plain(m.outputs);
    const auto want = computed(plain, m.outputs, cpu);
    std::size_t least = 0;
    try {
        (void)tl::Graph::within(m.outputs, 1);
        FAIL();
    } catch (const tl::Error &error) {
        EXPECT_EQ(error.code(), Status::out_of_memory);
        const std::string text = error.what();
        least = number_before(text, " are valid");
    }
    const std::size_t unit = 32 * 64 * 4;
    // As by marks: parts of 6 layers. A bound finds no better ones, and ends not far from it.
    EXPECT_LE(least, 20 * unit);
    EXPECT_GT(least, 0u);
    for (const std::size_t bound : {least, least + 5 * unit, 30 * unit, 60 * unit, 1000 * unit}) {
        const auto graph = tl::Graph::within(m.outputs, bound);
        const std::string text = graph.plan_text(cpu);
        EXPECT_LE(intermediates(text), bound) << text;
        const auto got = computed(graph, m.outputs, cpu);
        for (std::size_t i = 0; i < want.size(); i++) expect_same(got[i], want[i], std::to_string(bound));
        // 60 are enough in the order in which each layer's gradient is used up when it is made.
        EXPECT_EQ(n_recomputed(text) == 0, bound >= 60 * unit) << bound;
    }
    support::expect_error(Status::out_of_memory, {"graph_create_within", "at least " + std::to_string(least)},
                          [&] { (void)tl::Graph::within(m.outputs, least - 1); });
    support::expect_error(Status::invalid_argument, {"graph_create_within", "no outputs"}, [&] { (void)tl::Graph::within({}, 1000); });
}

// What costs little goes first: gelu's derivative needs its operand, from which its result can be had again.
TEST(Within, computes_cheap_nodes_again_before_products) {
    const tl::Context ctx;
    tl::Tensor x = support::leaf(ctx, {128, 64}, 1);
    Many weights;
    for (std::uint32_t i = 0; i < 8; i++) {
        weights.push_back(support::leaf(ctx, {128, 128}, i + 2));
        x = gelu(scale(mul_mat(weights.back(), x), 0.01));
    }
    const Many gradients = ctx.gradients(std::array{sum(sqr(x))}, weights);
    const tl::Backend cpu = support::backend(support::isas().front(), 2);
    const std::size_t all = [&] {
        try {
            (void)tl::Graph::within(gradients, 1);
        } catch (const tl::Error &error) {
            const std::string text = error.what();
            return number_before(text, " bytes, and");
        }
        return std::size_t{0};
    }();
    const auto graph = tl::Graph::within(gradients, all - 3 * 128 * 64 * 4);
    const std::string text = graph.plan_text(cpu);
    EXPECT_GT(n_recomputed(text), 0u);
    std::size_t at = 0;
    while ((at = text.find(", recomputed", at)) != std::string::npos) {
        const std::size_t line = text.rfind('\n', at) + 1;
        EXPECT_EQ(text.substr(line, at - line).find("mul_mat"), std::string::npos) << text.substr(line, at - line);
        at++;
    }
}

// Norms, attention with a mask, a gate and what goes around them; by marks on all that lies between its input and its result.
TEST(Marks, hold_in_a_transformer_block) {
    const auto build = [](const tl::Context &ctx, Many &inside) {
        const std::int64_t n = 16, heads = 2, tokens = 6;
        const auto note = [&](const tl::Tensor &t) {
            inside.push_back(t);
            return t;
        };
        std::uint32_t seed = 1;
        Many weights;
        const auto product = [&](std::int64_t to, const tl::Tensor &t) {
            weights.push_back(support::leaf(ctx, {t.shape()[0], to}, ++seed));
            return note(mul_mat(scale(weights.back(), 0.1), t));
        };
        const auto x = support::leaf(ctx, {n, tokens}, 1), mask = ctx.zeros(tl::Type::f32, {tokens, tokens});
        tl::Tensor y = x;
        for (int layer = 0; layer < 2; layer++) {
            const auto h = note(rms_norm(y, 1e-5));
            const auto split = [&](const tl::Tensor &t) { return t.reshape({n / heads, heads, tokens}).permute({0, 2, 1, 3}); };
            const auto q = split(product(n, h)), k = split(product(n, h)), v = split(product(n, h));
            const auto scores = note(soft_max_ext(note(mul_mat(k.cont(), q.cont())), mask, std::nullopt, {.scale = 0.35}));
            const auto mixed = note(mul_mat(note(v.transpose().cont()), scores)).permute({0, 2, 1, 3}).cont().reshape({n, tokens});
            y = note(y + product(n, mixed));
            const auto norm = note(rms_norm(y, 1e-5));
            const auto gated = note(silu(product(2 * n, norm)) * product(2 * n, norm));
            y = y + product(n, gated);
        }
        weights.push_back(x);
        return ctx.gradients(std::array{sum(sqr(y))}, weights);
    };
    const tl::Context a, b;
    Many inside_a, inside_b;
    const Many plain = build(a, inside_a), marked = build(b, inside_b);
    for (const auto &t : inside_b) t.set_recompute(true);
    const tl::Graph of_plain(plain), of_marked(marked);
    for (const std::string &isa : support::isas()) {
        for (const int threads : {1, 2}) {
            const tl::Backend cpu = support::backend(isa, threads);
            const auto want = computed(of_plain, plain, cpu), got = computed(of_marked, marked, cpu);
            for (std::size_t i = 0; i < want.size(); i++) expect_same(got[i], want[i], isa + " gradient " + std::to_string(i));
            EXPECT_LT(intermediates(of_marked.plan_text(cpu)), intermediates(of_plain.plan_text(cpu)));
        }
    }
}

// Random graphs with random marks, and within random bounds: the same bits.
TEST(Random, graphs_have_the_same_bits) {
    support::Random random(20261124);
    const int runs = support::repeats(60, 1500);
    for (int run = 0; run < runs; run++) {
        const tl::Context ctx;
        const std::int64_t n = 1 + static_cast<std::int64_t>(random() % 9), b = 1 + static_cast<std::int64_t>(random() % 5);
        Many made{support::leaf(ctx, {n, b}, 1), support::leaf(ctx, {n, b}, 2)}, wrt = made;
        const auto some = [&] { return made[random() % made.size()]; };
        for (int i = 0; i < 12; i++) {
            switch (random() % 9) {
                case 0: made.push_back(tanh(some())); break;
                case 1: made.push_back(scale(some() * some(), 0.25)); break;
                case 2: made.push_back(some() + some()); break;
                case 3: made.push_back(sigmoid(some())); break;
                case 4: made.push_back(rms_norm(some(), 1e-5)); break;
                case 5: made.push_back(soft_max(some())); break;
                case 6: made.push_back(some().transpose().cont().reshape({n, b})); break;
                case 7: {
                    const auto w = support::leaf(ctx, {n, n}, static_cast<std::uint32_t>(random()));
                    wrt.push_back(w);
                    made.push_back(tanh(scale(mul_mat(w, some()), 0.1)));
                    break;
                }
                default: made.push_back(some().reshape({b, n}).transpose().cont().reshape({n, b})); break;
            }
        }
        tl::Tensor loss = sum(sqr(made.back()));
        for (int i = 0; i < 3; i++) loss = loss + sum(some());
        Many outputs = ctx.gradients(std::array{loss}, wrt);
        if (random() % 3 == 0) outputs.push_back(sum(sqr(outputs[0])).gradients({wrt.back()}).at(0));
        if (random() % 2) outputs.push_back(some());
        outputs.push_back(loss);
        std::erase_if(outputs, [](const tl::Tensor &t) { return t.op() == std::string("leaf"); });
        const tl::Backend cpu = support::backend(support::isas().back(), 1 + static_cast<int>(random() % 2));
        const auto want = computed(tl::Graph(outputs), outputs, cpu);
        std::size_t least = 0;
        for (std::size_t i = 2; i < made.size(); i++) made[i].set_recompute(random() % 2);
        const tl::Graph marked(outputs);
        const auto got = computed(marked, outputs, cpu);
        for (std::size_t i = 0; i < want.size(); i++)
            expect_same(got[i], want[i], "run " + std::to_string(run) + " output " + std::to_string(i));
        for (std::size_t i = 2; i < made.size(); i++) made[i].set_recompute(false);
        try {
            (void)tl::Graph::within(outputs, 0);
        } catch (const tl::Error &error) {
            const std::string text = error.what();
            least = number_before(text, " are valid");
        }
        const auto within = tl::Graph::within(outputs, least);
        EXPECT_LE(intermediates(within.plan_text(cpu)), least);
        const auto bound = computed(within, outputs, cpu);
        for (std::size_t i = 0; i < want.size(); i++) expect_same(bound[i], want[i], "run " + std::to_string(run) + " within");
    }
}

// Memory that ends at any point: an error, and nothing lost.
TEST(Memory, may_end_anywhere) {
    std::size_t used = 0;
    {
        const Layers m(4, 8, 8);
        m.mark_but_each(2);
        tl::Graph(m.outputs).compute(support::backend(support::isas().front(), 1));
        used = m.ctx.peak_memory();
    }
    int failed = 0, done = 0;
    for (std::size_t limit = 64 << 10; limit <= used + (32 << 10); limit += 256) {
        const tl::Context ctx({.mem_limit = limit});
        try {
            const auto x = support::leaf(ctx, {8, 8}, 1), w = support::leaf(ctx, {8, 8}, 2);
            const auto s = mul_mat(w, x), y = tanh(s), loss = sum(sqr(mul_mat(w, y)));
            s.set_recompute(true), y.set_recompute(true);
            const auto gradient = loss.gradients({w}).at(0);
            const std::size_t before = ctx.used_memory();
            try {
                const tl::Graph graph({gradient});
                graph.compute(support::backend(support::isas().front(), 1));
                done++;
            } catch (...) {
                EXPECT_LE(ctx.used_memory(), before + (4 << 10));
                throw;
            }
        } catch (const tl::Error &error) {
            EXPECT_EQ(error.code(), Status::out_of_memory);
            failed++;
        }
    }
    (void)failed;
    EXPECT_GT(done, 0);
}

}  // namespace
