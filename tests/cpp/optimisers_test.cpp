// Optimiser steps: against their formulas in double, with equal bits on every ISA at any number of threads; and a small model that they
// train, by gradients, in one graph.
#include "support.hpp"

#include <bit>
#include <cmath>

using tl::Status;

namespace {

const std::vector<std::string> names{"opt_step_sgd", "opt_step_momentum", "opt_step_adamw", "opt_step_lion"};
const std::vector<std::vector<float>> settings{
    {0.1f, 0.01f}, {0.1f, 0.01f, 0.9f}, {0.01f, 0.9f, 0.999f, 1e-8f, 0.01f, 3.69f, 333.7f}, {0.01f, 0.9f, 0.99f, 0.1f}};

struct Problem {
    std::size_t which;
    bool nesterov;
    tl::Context ctx;
    tl::Tensor a, grad;
    std::vector<tl::Tensor> state;
    tl::Tensor given, stepped;

    // The gradient is of any type, and transposed or not.
    Problem(std::size_t which, bool nesterov, std::int64_t n0, std::int64_t n1, tl::Type type = tl::Type::f32, bool turned = false)
        : which(which),
          nesterov(nesterov),
          a(support::leaf(ctx, {n0, n1}, 1)),
          grad(turned ? support::leaf(ctx, {n1, n0}, 2, type).transpose() : support::leaf(ctx, {n0, n1}, 2, type)) {
        for (std::size_t s = 0; s < (which == 0 ? 0u : which == 2 ? 2u : 1u); s++) {
            state.push_back(support::leaf(ctx, {n0, n1}, 3 + static_cast<std::uint32_t>(s)));
            auto values = state.back().read_f32();
            for (float &v : values) v = std::fabs(v);
            state.back().write_f32(values);
        }
        given = ctx.tensor<float>({static_cast<std::int64_t>(settings[which].size())}, settings[which]);
        switch (which) {
            case 0: stepped = opt_step_sgd(a, grad, given); break;
            case 1: stepped = opt_step_momentum(a, grad, state[0], given, {.nesterov = nesterov}); break;
            case 2: stepped = opt_step_adamw(a, grad, state[0], state[1], given); break;
            default: stepped = opt_step_lion(a, grad, state[0], given);
        }
    }

    // All that is written, one after the other.
    std::vector<float> written() const {
        std::vector<float> all = a.read_f32();
        for (const auto &t : state) {
            const auto more = t.read_f32();
            all.insert(all.end(), more.begin(), more.end());
        }
        return all;
    }

    std::vector<double> wanted() const {
        const auto av = a.read_f32(), gv = grad.read_f32();
        std::vector<std::vector<float>> sv;
        for (const auto &t : state) sv.push_back(t.read_f32());
        std::vector<double> p(settings[which].begin(), settings[which].end());
        const std::size_t n = av.size();
        std::vector<double> out(n * (1 + state.size()));
        for (std::size_t i = 0; i < n; i++) {
            const double x = double{av[i]}, g = double{gv[i]};
            switch (which) {
                case 0: out[i] = x * (1 - p[0] * p[1]) - p[0] * g; break;
                case 1: {
                    const double v = p[2] * double{sv[0][i]} + g;
                    out[n + i] = v, out[i] = x * (1 - p[0] * p[1]) - p[0] * (nesterov ? g + p[2] * v : v);
                    break;
                }
                case 2: {
                    const double m = p[1] * double{sv[0][i]} + (1 - p[1]) * g, v = p[2] * double{sv[1][i]} + (1 - p[2]) * g * g;
                    out[n + i] = m, out[2 * n + i] = v;
                    out[i] = x * (1 - p[0] * p[4]) - p[0] * (m * p[5]) / (std::sqrt(v * p[6]) + p[3]);
                    break;
                }
                default: {
                    const double u = p[1] * double{sv[0][i]} + (1 - p[1]) * g;
                    out[n + i] = p[2] * double{sv[0][i]} + (1 - p[2]) * g;
                    out[i] = x * (1 - p[0] * p[3]) - p[0] * (u > 0 ? 1 : u < 0 ? -1 : u);
                }
            }
        }
        return out;
    }
};

// 16 roundings of F32 of numbers of up to 4, which no step exceeds here.
TEST(Steps, are_those_of_their_formulas) {
    const tl::Type types[] = {tl::Type::f32, tl::Type::f16, tl::Type::bf16};
    for (std::size_t which = 0; which < names.size(); which++) {
        for (const bool nesterov : {false, true}) {
            if (nesterov && which != 1) continue;
            for (const auto &[n0, n1] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {7, 3}, {1025, 1}, {33, 70}, {0, 5}}) {
                for (const tl::Type type : types) {
                    for (const bool turned : {false, true}) {
                        const Problem p(which, nesterov, n0, n1, type, turned);
                        const auto wanted = p.wanted();
                        support::backend(support::isas().front(), 2).compute({p.stepped});
                        const auto got = p.written();
                        ASSERT_EQ(got.size(), wanted.size());
                        for (std::size_t i = 0; i < got.size(); i++)
                            ASSERT_NEAR(double{got[i]}, wanted[i], 16 * 0x1p-24 * 4)
                                << names[which] << " " << i << " of " << n0 << "x" << n1;
                    }
                }
            }
        }
    }
}

TEST(Steps, have_the_same_bits_on_every_isa_by_any_number_of_threads) {
    for (std::size_t which = 0; which < names.size(); which++) {
        std::vector<float> first;
        for (const std::string &isa : support::isas()) {
            for (int threads = 1; threads <= 8; threads++) {
                const Problem p(which, true, 997, 301);
                support::backend(isa, threads).compute({p.stepped});
                const auto got = p.written();
                if (first.empty()) first = got;
                for (std::size_t i = 0; i < got.size(); i++)
                    ASSERT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::bit_cast<std::uint32_t>(first[i]))
                        << names[which] << " " << isa << " " << i;
            }
        }
    }
}

// Many at a time: what the backend runs as one has the bits of one by one, which a run with a progress callback has. Of several sizes, with
// more than one chunk too; of a parameter that is stepped twice, and of those whose gradient or settings are another's value.
std::vector<float> after_many_steps(bool one_by_one, std::size_t which, int threads) {
    std::vector<Problem> problems;
    std::vector<tl::Tensor> outputs;
    problems.reserve(40);
    for (std::int64_t i = 0; i < 40; i++) {
        const std::int64_t n = i == 7 ? 90000 : i == 9 ? 0 : 1 + 97 * i;
        problems.emplace_back(which, true, n, 1, i % 5 == 0 ? tl::Type::f16 : tl::Type::f32, i % 3 == 0);
        outputs.push_back(problems.back().stepped);
    }
    const auto pair_of = [&](std::size_t i) { return problems[i].a.narrow(0, 0, 2); };
    const auto other = support::leaf(problems[5].ctx, {problems[5].a.shape()[0], 1}, 9);
    outputs.push_back(opt_step_sgd(problems[3].a, problems[3].grad, pair_of(8)));
    outputs.push_back(opt_step_sgd(problems[3].a, problems[3].grad, pair_of(4)));
    outputs.push_back(opt_step_sgd(other, problems[5].a, pair_of(6)));
    outputs.push_back(opt_step_sgd(problems[6].a, problems[6].grad, problems[6].ctx.tensor<float>({2}, {0.1f, 0})));
    const tl::Graph graph(outputs);
    if (one_by_one) graph.set_progress([](std::size_t, std::size_t) { return true; });
    const tl::Backend cpu = support::backend(support::isas().back(), threads);
    for (int i = 0; i < 3; i++) graph.compute(cpu);
    std::vector<float> all = other.read_f32();
    for (const Problem &p : problems) {
        for (const float x : p.written()) all.push_back(x);
    }
    return all;
}

TEST(Steps, run_together_as_one_by_one) {
    for (std::size_t which = 0; which < names.size(); which++) {
        const auto want = after_many_steps(true, which, 1);
        for (const int threads : {1, 2, 3, 8}) {
            const auto got = after_many_steps(false, which, threads);
            ASSERT_EQ(got.size(), want.size());
            for (std::size_t i = 0; i < got.size(); i++)
                ASSERT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::bit_cast<std::uint32_t>(want[i])) << names[which] << " " << threads;
        }
    }
}

// In a graph of gradients they come last, side by side, whatever stands between them among the outputs; a step that others read stays.
TEST(Steps, of_small_parameters_come_last) {
    const tl::Context ctx;
    const auto x = support::leaf(ctx, {6, 8}, 1), w = support::leaf(ctx, {6, 6}, 2), v = support::leaf(ctx, {6, 6}, 3),
               b = support::leaf(ctx, {6}, 4), given = ctx.tensor<float>({2}, settings[0]);
    const auto loss = sum(sqr(mul_mat(v, tanh(add(mul_mat(w, x), b)))));
    const auto gradients = loss.gradients({w, v, b});
    const auto read = opt_step_sgd(b, gradients[2], given);
    const tl::Graph graph({opt_step_sgd(w, gradients[0], given), loss, opt_step_sgd(v, gradients[1], given), scale(read, 2)});
    const std::string text = graph.plan_text(support::backend(support::isas().front(), 1));
    std::vector<std::string> last;
    for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at++) last.push_back(text.substr(at + 1, 20));
    ASSERT_GT(last.size(), 4u);
    last.pop_back();
    EXPECT_NE(last[last.size() - 1].find("opt_step_sgd"), std::string::npos) << text;
    EXPECT_NE(last[last.size() - 2].find("opt_step_sgd"), std::string::npos) << text;
}

TEST(Steps, refuse_constants) {
    const tl::Context ctx;
    const auto a = support::leaf(ctx, {3}, 1), grad = support::leaf(ctx, {3}, 2), given = ctx.tensor<float>({2}, settings[0]);
    a.set_constant();
    support::expect_error(Status::invalid_argument, {"opt_step_sgd", "a is", "cannot be written"},
                          [&] { (void)opt_step_sgd(a, grad, given); });
}

// y = w x + b from points on a line, by each optimiser: steps of both parameters and the loss in one graph, in either order.
TEST(Training, finds_a_line) {
    for (std::size_t which = 0; which < names.size(); which++) {
        for (const bool swapped : {false, true}) {
            const tl::Context ctx;
            const auto x = support::leaf(ctx, {1, 64}, 5), y = ctx.zeros(tl::Type::f32, {1, 64});
            auto values = x.read_f32();
            for (float &v : values) v = 1.75f * v - 0.5f;
            y.write_f32(values);
            const auto w = ctx.zeros(tl::Type::f32, {1, 1}), b = ctx.zeros(tl::Type::f32, {1});
            const auto loss = scale(sum(sqr(sub(add(mul_mat(w, x), b), y))), 1.0 / 64);
            const auto gradients = loss.gradients({w, b});
            auto own = settings[which];
            const float rate = which == 2 ? 0.05f : which == 3 ? 0.004f : 0.05f;
            own[0] = rate, own[which == 2 ? 4 : which == 3 ? 3 : 1] = 0;
            const auto given = ctx.tensor<float>({static_cast<std::int64_t>(own.size())}, own);
            const auto state = [&](const tl::Tensor &t) { return ctx.zeros(tl::Type::f32, {t.shape()[0], t.shape()[1]}); };
            const auto step = [&](const tl::Tensor &t, const tl::Tensor &g) {
                switch (which) {
                    case 0: return opt_step_sgd(t, g, given);
                    case 1: return opt_step_momentum(t, g, state(t), given);
                    case 2: return opt_step_adamw(t, g, state(t), state(t), given);
                    default: return opt_step_lion(t, g, state(t), given);
                }
            };
            std::vector<tl::Tensor> outputs{step(w, gradients[0]), step(b, gradients[1])};
            if (swapped) std::swap(outputs[0], outputs[1]);
            outputs.push_back(loss);
            const tl::Graph graph(outputs);
            const tl::Backend cpu = support::backend(support::isas().front(), 2);
            for (int i = 1; i <= 1500; i++) {
                if (which == 2) {
                    own[5] = static_cast<float>(1 / (1 - std::pow(0.9, i))), own[6] = static_cast<float>(1 / (1 - std::pow(0.999, i)));
                    given.write_f32(own);
                } else if (which == 3) {
                    own[0] = rate * static_cast<float>(1500 - i) / 1500;
                    given.write_f32(own);
                }
                graph.compute(cpu);
            }
            EXPECT_NEAR(w.read_f32()[0], 1.75f, 2e-3f) << names[which];
            EXPECT_NEAR(b.read_f32()[0], -0.5f, 2e-3f) << names[which];
            EXPECT_LT(loss.read_f32()[0], 1e-5f) << names[which];
        }
    }
}

}  // namespace
