// The operations of groups: what each gives each rank, for types, shapes and strides; gradients compared with one process; ranks that
// differ; the order of nodes; splits. The ranks are threads, or in mpi_collectives_test processes.
#include "random_tensors.hpp"
#include "ranks.hpp"

#include <functional>

namespace {

using support::expect_error;
using support::inf;
using support::on_ranks;
using support::possible;

constexpr tl::Type reduced_types[] = {tl::Type::f32, tl::Type::f16, tl::Type::bf16, tl::Type::f64, tl::Type::i32, tl::Type::i64};
constexpr tl::Type moved_types[] = {tl::Type::f32, tl::Type::f16, tl::Type::f64,    tl::Type::i8,
                                    tl::Type::i64, tl::Type::u8,  tl::Type::boolean};

std::uint32_t seed_of(int rank) { return 100 + static_cast<std::uint32_t>(rank); }

// What rank `rank` has: small whole numbers, which any type but bool holds, and of which sums are exact.
std::vector<float> values_of(int rank, std::int64_t n) {
    std::vector<float> values(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < values.size(); i++) {
        values[i] = std::floor(support::value(seed_of(rank), static_cast<std::uint32_t>(i)) * 4) + 16;
    }
    return values;
}

tl::Tensor filled(const tl::Context &ctx, tl::Type type, const tl::Shape &shape, const std::vector<float> &values) {
    const tl::Tensor t = ctx.zeros(tl::Type::f32, shape);
    t.write_f32(values);
    const tl::Tensor made = t.cast(type);
    tl::Backend("cpu", {1}).compute({made});
    return made;
}

std::vector<float> computed(const tl::Tensor &t) {
    const tl::Backend cpu("cpu", {1});
    const tl::Tensor result = t.cast(tl::Type::f32);
    cpu.compute({result});
    return result.read_f32();
}

std::int64_t count(const tl::Shape &shape) {
    std::int64_t n = 1;
    for (const std::int64_t extent : shape) n *= extent;
    return n;
}

// The elements of a shape's dimension: the product of the extents below it, its own, and the product of those above it.
struct Cut {
    std::int64_t below = 1, own = 1, above = 1;
    Cut(const tl::Shape &shape, std::size_t dim) {
        for (std::size_t d = 0; d < shape.size(); d++) (d < dim ? below : d == dim ? own : above) *= shape[d];
    }
};

const tl::Shape shapes[] = {{1}, {7}, {5, 3}, {4, 1, 6}, {2, 3, 4, 5}, {0, 4}, {12, 4}, {300, 60}};

TEST(Collectives, sums_and_maxima_are_those_of_all_ranks) {
    for (const int n : possible({1, 2, 3, 4, 5, 8})) {
        on_ranks(n, [&](const tl::Group &group) {
            for (const tl::Type type : reduced_types) {
                for (const tl::Shape &shape : shapes) {
                    const tl::Context ctx;
                    const tl::Tensor a = filled(ctx, type, shape, values_of(group.rank(), count(shape)));
                    std::vector<float> sum(static_cast<std::size_t>(count(shape))), most(sum.size(), -inf);
                    for (int rank = 0; rank < n; rank++) {
                        const std::vector<float> values = values_of(rank, count(shape));
                        for (std::size_t i = 0; i < sum.size(); i++) sum[i] += values[i], most[i] = std::max(most[i], values[i]);
                    }
                    EXPECT_EQ(computed(a.all_sum(group)), sum) << n << " ranks, " << tl::type_name(type);
                    EXPECT_EQ(computed(a.all_max(group)), most) << n << " ranks, " << tl::type_name(type);
                }
            }
        });
    }
}

TEST(Collectives, parts_go_where_they_belong) {
    for (const int n : possible({1, 2, 3, 4})) {
        on_ranks(n, [&](const tl::Group &group) {
            const int own = group.rank();
            for (const tl::Type type : moved_types) {
                // As the type holds them.
                const auto of = [&](int rank, std::int64_t m) {
                    std::vector<float> values = values_of(rank, m);
                    for (float &value : values) value = type == tl::Type::boolean ? (value > 16 ? 1.0f : 0.0f) : value;
                    return values;
                };
                for (const tl::Shape &shape : shapes) {
                    const tl::Context ctx;
                    const std::int64_t m = count(shape);
                    const tl::Tensor a = filled(ctx, type, shape, of(own, m));
                    for (int root = 0; root < n; root++) EXPECT_EQ(computed(a.broadcast(root, group)), of(root, m));
                    for (std::size_t dim = 0; dim < 4; dim++) {
                        const Cut cut(shape, dim);
                        std::vector<float> gathered(static_cast<std::size_t>(m * n));
                        for (int rank = 0; rank < n; rank++) {
                            const std::vector<float> values = of(rank, m);
                            for (std::int64_t i = 0; i < m; i++) {
                                const std::int64_t low = i % cut.below, middle = i / cut.below % cut.own, high = i / cut.below / cut.own;
                                gathered[static_cast<std::size_t>(low + cut.below * (middle + cut.own * (rank + n * high)))] =
                                    values[static_cast<std::size_t>(i)];
                            }
                        }
                        EXPECT_EQ(computed(a.all_gather(static_cast<std::int64_t>(dim), group)), gathered) << n << " ranks, dim " << dim;
                    }
                    const tl::Tensor sent = a.send((own + 1) % n, group), received = a.receive((own + n - 1) % n, group);
                    const tl::Tensor got = received.cast(tl::Type::f32), kept = sent.cast(tl::Type::f32);
                    tl::Backend("cpu", {1}).compute({kept, got});
                    EXPECT_EQ(got.read_f32(), of((own + n - 1) % n, m));
                    EXPECT_EQ(kept.read_f32(), of(own, m));
                }
            }
        });
    }
}

TEST(Collectives, shares_are_divided_along_any_dimension) {
    for (const int n : possible({1, 2, 3, 4})) {
        on_ranks(n, [&](const tl::Group &group) {
            const int own = group.rank();
            for (std::size_t dim = 0; dim < 4; dim++) {
                for (tl::Shape shape : {tl::Shape{1, 1, 1, 1}, tl::Shape{5, 2, 3, 1}, tl::Shape{2, 3, 1, 2}, tl::Shape{0, 1, 1, 1}}) {
                    shape[dim] *= n;
                    const tl::Context ctx;
                    const std::int64_t m = count(shape), part = m / n;
                    const tl::Tensor a = filled(ctx, tl::Type::f32, shape, values_of(own, m));
                    const Cut cut(shape, dim);
                    // Where element i of a rank's share is in the whole.
                    const auto place = [&](std::int64_t i, int rank) {
                        const std::int64_t of_share = cut.own / n;
                        return static_cast<std::size_t>(i % cut.below + cut.below * (i / cut.below % of_share + of_share * rank +
                                                                                     cut.own * (i / cut.below / of_share)));
                    };
                    std::vector<float> share(static_cast<std::size_t>(part)), exchanged(static_cast<std::size_t>(m));
                    for (int rank = 0; rank < n; rank++) {
                        const std::vector<float> values = values_of(rank, m);
                        for (std::int64_t i = 0; i < part; i++) {
                            share[static_cast<std::size_t>(i)] += values[place(i, own)];
                            exchanged[place(i, rank)] = values[place(i, own)];
                        }
                    }
                    const auto d = static_cast<std::int64_t>(dim);
                    EXPECT_EQ(computed(a.sum_scatter(d, group)), share) << n << " ranks, dim " << dim;
                    EXPECT_EQ(computed(a.all_to_all(d, group)), exchanged) << n << " ranks, dim " << dim;
                    EXPECT_EQ(computed(a.all_to_all(d, group).all_to_all(d, group)), values_of(own, m));
                }
            }
        });
    }
}

// F32 rounds differently in another order, and F16 overflows before the end where it is rounded each time. More than 64 KiB are
// added in the order of ranks by threads alone.
TEST(Collectives, sums_are_in_the_order_of_ranks_and_rounded_once) {
    constexpr int n = 4;
    on_ranks(n, [&](const tl::Group &group) {
        const auto part = [](int rank, std::size_t i) {
            return support::value(seed_of(rank), static_cast<std::uint32_t>(i)) * std::pow(10.0f, static_cast<float>(rank * 2 - 4));
        };
        for (const std::int64_t m : {std::int64_t{1}, std::int64_t{16384}, std::int64_t{16385}, std::int64_t{100000}}) {
            const tl::Context ctx;
            std::vector<float> values(static_cast<std::size_t>(m)), sum(values.size());
            for (std::size_t i = 0; i < values.size(); i++) {
                values[i] = part(group.rank(), i);
                for (int rank = 0; rank < n; rank++) sum[i] = rank == 0 ? part(0, i) : sum[i] + part(rank, i);
            }
            const std::vector<float> got = computed(filled(ctx, tl::Type::f32, {m}, values).all_sum(group));
            if (m <= 16384 || !support::processes()) {
                EXPECT_EQ(got, sum);
            } else {
                for (std::size_t i = 0; i < sum.size(); i++) EXPECT_NEAR(got[i], sum[i], 1e-4);
            }
        }
        const std::vector<float> large{40000, 1}, opposite{-40000, 2};
        const tl::Context ctx;
        const tl::Tensor half = filled(ctx, tl::Type::f16, {2}, group.rank() < 2 ? large : opposite);
        EXPECT_EQ(computed(half.all_sum(group)), (std::vector<float>{0, 6}));
    });
}

TEST(Collectives, special_values) {
    on_ranks(2, [&](const tl::Group &group) {
        const tl::Context ctx;
        const std::vector<float> first{NAN, 1, -0.0f, 0, -inf, inf, -inf, 2}, second{1, NAN, 0, -0.0f, -inf, -inf, inf, 3};
        for (const tl::Type type : {tl::Type::f32, tl::Type::f16, tl::Type::bf16, tl::Type::f64}) {
            const tl::Tensor a = filled(ctx, type, {8}, group.rank() == 0 ? first : second);
            const std::vector<float> most = computed(a.all_max(group)), sum = computed(a.all_sum(group));
            EXPECT_TRUE(std::isnan(most[0]) && std::isnan(most[1]));
            for (const std::size_t i : {std::size_t{2}, std::size_t{3}})
                EXPECT_TRUE(most[i] == 0 && !std::signbit(most[i])) << tl::type_name(type);
            EXPECT_EQ((std::vector<float>(most.begin() + 4, most.end())), (std::vector<float>{-inf, inf, inf, 3}));
            EXPECT_TRUE(std::isnan(sum[0]) && std::isnan(sum[1]) && std::isnan(sum[5]) && std::isnan(sum[6]));
            EXPECT_EQ(sum[4], -inf);
        }
        const tl::Tensor wrapped = ctx.tensor<std::int32_t>({1}, {std::numeric_limits<std::int32_t>::max()}).all_sum(group);
        tl::Backend("cpu", {1}).compute({wrapped});
        EXPECT_EQ(wrapped.read<std::int32_t>()[0], -2);
    });
}

// Operands of any strides, and blocks of quantised types.
TEST(Collectives, views_and_quantised_rows) {
    on_ranks(3, [&](const tl::Group &group) {
        const tl::Context ctx;
        const tl::Tensor a = support::leaf(ctx, {6, 4, 3}, seed_of(group.rank()));
        std::vector<tl::Tensor> all;
        for (int rank = 0; rank < 3; rank++) all.push_back(support::leaf(ctx, {6, 4, 3}, seed_of(rank)));
        const std::function<tl::Tensor(const tl::Tensor &)> views[] = {
            [](const tl::Tensor &t) { return t.permute({2, 0, 1, 3}); },
            [](const tl::Tensor &t) { return t.narrow(0, 1, 3); },
            [](const tl::Tensor &t) { return t.narrow(1, 1, 2); },
            [](const tl::Tensor &t) { return t.narrow(1, 2, 1).expand({6, 5, 3}); },
            [](const tl::Tensor &t) { return t.transpose(); },
        };
        for (const auto &view : views) {
            EXPECT_EQ(computed(view(a).all_gather(2, group)), computed(tl::cat({view(all[0]), view(all[1]), view(all[2])}, 2)));
            EXPECT_EQ(computed(view(a).all_max(group)), computed(maximum(maximum(view(all[0]).cont(), view(all[1])), view(all[2]))));
            const tl::Tensor sum = view(all[0]) + view(all[1]) + view(all[2]);
            EXPECT_EQ(computed(view(a).sum_scatter(2, group)), computed(sum.chunk(3, 2)[static_cast<std::size_t>(group.rank())]));
        }
        const tl::Tensor rows = support::leaf(ctx, {64, 3}, seed_of(group.rank()), tl::Type::q4_0);
        std::vector<tl::Tensor> rows_of;
        for (int rank = 0; rank < 3; rank++) rows_of.push_back(support::leaf(ctx, {64, 3}, seed_of(rank), tl::Type::q4_0));
        EXPECT_EQ(computed(rows.broadcast(1, group)), computed(rows_of[1].cast(tl::Type::f32)));
        EXPECT_EQ(computed(rows.all_gather(1, group)),
                  computed(tl::cat({rows_of[0].cast(tl::Type::f32), rows_of[1].cast(tl::Type::f32), rows_of[2].cast(tl::Type::f32)}, 1)));
        EXPECT_EQ(computed(rows.narrow(0, 32, 32).all_gather(2, group).narrow(2, 2, 1)),
                  computed(rows_of[2].narrow(0, 32, 32).cast(tl::Type::f32)));
    });
}

// A loss that is the same on all ranks: the sum of w c^2 of each operation's result c, reduced over the ranks where they
// differ. One process computes it from all ranks' tensors, and its gradients are those of the ranks.
class CollectiveGradients : public ::testing::Test {
protected:
    static constexpr int n = 3;
    // `of_group(a, group)` is a rank's result, and `of_all(tensors)` the results of all ranks, computed alone.
    static void compare(const tl::Shape &shape, const std::function<tl::Tensor(const tl::Tensor &, const tl::Group &)> &of_group,
                        const std::function<std::vector<tl::Tensor>(const std::vector<tl::Tensor> &)> &of_all, bool differs) {
        on_ranks(n, [&](const tl::Group &group) {
            const tl::Context ctx;
            const tl::Backend cpu("cpu", {1});
            std::vector<tl::Tensor> all;
            for (int rank = 0; rank < n; rank++) all.push_back(support::leaf(ctx, shape, seed_of(rank)));
            const auto loss_of = [&](const tl::Tensor &c, int rank) {
                const auto ne = c.shape();
                const tl::Tensor w = support::leaf(ctx, tl::Shape(ne.begin(), ne.end()), differs ? 7 + seed_of(rank) : 7);
                return (w * c.sqr()).sum();
            };
            const std::vector<tl::Tensor> results = of_all(all);
            tl::Tensor loss = loss_of(results[0], 0);
            for (int rank = 1; differs && rank < n; rank++) loss = loss + loss_of(results[static_cast<std::size_t>(rank)], rank);
            const auto own = static_cast<std::size_t>(group.rank());
            const tl::Tensor a = support::leaf(ctx, shape, seed_of(group.rank()));
            const tl::Tensor of_rank = loss_of(of_group(a, group), group.rank());
            const tl::Tensor together = differs ? of_rank.all_sum(group) : of_rank;
            // A sum over ranks passes the gradient on as it is.
            const tl::Tensor got = ctx.gradients({{together}}, {{a}})[0], want = ctx.gradients({{loss}}, {{all[own]}})[0];
            cpu.compute({got, want, together, loss});
            const auto expect_near = [](const std::vector<float> &x, const std::vector<float> &y) {
                ASSERT_EQ(x.size(), y.size());
                for (std::size_t i = 0; i < x.size(); i++) EXPECT_NEAR(x[i], y[i], 1e-5 * (1 + std::fabs(y[i])));
            };
            expect_near(together.read_f32(), loss.read_f32());
            expect_near(got.read_f32(), want.read_f32());
        });
    }
    static tl::Tensor sum_of(const std::vector<tl::Tensor> &all) { return all[0] + all[1] + all[2]; }
};

TEST_F(CollectiveGradients, all_sum) {
    compare(
        {5, 4}, [](const tl::Tensor &a, const tl::Group &group) { return (a * 2).all_sum(group); },
        [](const std::vector<tl::Tensor> &all) { return std::vector(3, sum_of(all) * 2); }, false);
}
TEST_F(CollectiveGradients, all_max) {
    compare(
        {5, 4}, [](const tl::Tensor &a, const tl::Group &group) { return a.all_max(group); },
        [](const std::vector<tl::Tensor> &all) { return std::vector(3, tl::stack({all[0], all[1], all[2]}, 2).max({.dims = {2}})); },
        false);
}
TEST_F(CollectiveGradients, all_gather) {
    for (const int dim : {0, 1, 2}) {
        compare(
            {5, 4}, [&](const tl::Tensor &a, const tl::Group &group) { return a.sqr().all_gather(dim, group); },
            [&](const std::vector<tl::Tensor> &all) { return std::vector(3, tl::cat({all[0].sqr(), all[1].sqr(), all[2].sqr()}, dim)); },
            false);
    }
}
TEST_F(CollectiveGradients, sum_scatter) {
    for (const int dim : {0, 1}) {
        compare(
            {6, 3}, [&](const tl::Tensor &a, const tl::Group &group) { return a.sum_scatter(dim, group); },
            [&](const std::vector<tl::Tensor> &all) { return sum_of(all).chunk(3, dim); }, true);
    }
}
TEST_F(CollectiveGradients, all_to_all) {
    compare(
        {6, 3}, [&](const tl::Tensor &a, const tl::Group &group) { return a.all_to_all(0, group); },
        [&](const std::vector<tl::Tensor> &all) {
            std::vector<tl::Tensor> results;
            for (std::size_t rank = 0; rank < 3; rank++) {
                results.push_back(tl::cat({all[0].chunk(3, 0)[rank], all[1].chunk(3, 0)[rank], all[2].chunk(3, 0)[rank]}, 0));
            }
            return results;
        },
        true);
}
TEST_F(CollectiveGradients, broadcast) {
    compare(
        {4}, [&](const tl::Tensor &a, const tl::Group &group) { return a.broadcast(1, group); },
        [&](const std::vector<tl::Tensor> &all) { return std::vector(3, all[1] + (all[0] + all[2]) * 0); }, false);
}

// Tensor parallelism: the columns of one matrix and the rows of the next are divided among the ranks.
TEST_F(CollectiveGradients, copy_to_group_sums_what_the_ranks_give_back) {
    on_ranks(2, [&](const tl::Group &group) {
        const tl::Context ctx;
        const tl::Backend cpu("cpu", {1});
        const tl::Tensor x = support::leaf(ctx, {6, 5}, 1), up = support::leaf(ctx, {6, 8}, 2), down = support::leaf(ctx, {8, 6}, 3);
        const std::int64_t first = group.rank() * 4;
        const tl::Tensor input = x.sqr(), own_up = up.narrow(1, first, 4), own_down = down.narrow(0, first, 4).cont();
        const tl::Tensor hidden = mul_mat(own_up, input.copy_to_group(group)).silu();
        const tl::Tensor got = mul_mat(own_down, hidden).all_sum(group).sqr().sum();
        const tl::Tensor want = mul_mat(down, mul_mat(up, input).silu()).sqr().sum();
        const tl::Tensor dx = ctx.gradients({{got}}, {{x}})[0], all_dx = ctx.gradients({{want}}, {{x}})[0];
        const tl::Tensor dup = ctx.gradients({{got}}, {{up}})[0].narrow(1, first, 4).cont();
        const tl::Tensor all_dup = ctx.gradients({{want}}, {{up}})[0].narrow(1, first, 4).cont();
        cpu.compute({got, want, dx, all_dx, dup, all_dup});
        for (const auto &[a, b] : {std::pair(got, want), std::pair(dx, all_dx), std::pair(dup, all_dup)}) {
            const std::vector<float> x1 = a.read_f32(), y1 = b.read_f32();
            for (std::size_t i = 0; i < x1.size(); i++) EXPECT_NEAR(x1[i], y1[i], 1e-4 * (1 + std::fabs(y1[i])));
        }
    });
}

// A pipeline of two ranks: the second one gives back the gradient of what it received.
TEST_F(CollectiveGradients, what_was_sent_comes_back) {
    on_ranks(2, [&](const tl::Group &group) {
        const tl::Context ctx;
        const tl::Backend cpu("cpu", {1});
        const tl::Tensor x = support::leaf(ctx, {7}, 1), w = support::leaf(ctx, {7}, 2);
        const tl::Tensor alone = ctx.gradients({{(w * x.sqr()).sum()}}, {{x}})[0];
        if (group.rank() == 0) {
            // The loss is the other rank's, so this one's counts nothing.
            const tl::Tensor loss = x.sqr().send(1, group).sum() * 0;
            const tl::Tensor dx = ctx.gradients({{loss}}, {{x}})[0];
            cpu.compute({dx, alone});
            EXPECT_EQ(dx.read_f32(), alone.read_f32());
        } else {
            const tl::Tensor place = ctx.zeros(tl::Type::f32, {7}), received = place.receive(0, group);
            const tl::Tensor back = ctx.gradients({{(w * received).sum()}}, {{place}})[0];
            cpu.compute({back});
            EXPECT_EQ(back.read_f32(), std::vector<float>(7, 0.0f));
        }
    });
}

// Every rank gets the same message, and the group lives on.
TEST(Collectives, graphs_that_differ_are_told) {
    struct Case {
        std::function<tl::Tensor(const tl::Tensor &, const tl::Group &)> first, second;
        std::vector<std::string> words;
    };
    const auto all_sum = [](const tl::Tensor &a, const tl::Group &group) { return a.all_sum(group); };
    const Case cases[] = {
        {all_sum,
         [](const tl::Tensor &a, const tl::Group &group) { return a.all_max(group); },
         {"node 1", "all_sum of [4] f32 on rank 0", "all_max of [4] f32 on rank 1"}},
        {all_sum,
         [](const tl::Tensor &a, const tl::Group &group) { return a.cast(tl::Type::f16).all_sum(group); },
         {"all_sum of [4] f16 on rank 1"}},
        {all_sum,
         [](const tl::Tensor &a, const tl::Group &group) { return a.all_sum(group).all_sum(group); },
         {"node 2", "nothing on rank 0", "all_sum of [4] f32 on rank 1"}},
        {[](const tl::Tensor &a, const tl::Group &group) { return a.send(1, group); },
         [](const tl::Tensor &a, const tl::Group &group) { return a.narrow(0, 0, 3).receive(0, group); },
         {"rank 0 sends rank 1: [4] f32 after 0 others; that receives: [3] f32"}},
    };
    on_ranks(2, [&](const tl::Group &group) {
        for (const Case &one : cases) {
            const tl::Context ctx;
            const tl::Tensor a = support::leaf(ctx, {4}, 1), c = group.rank() == 0 ? one.first(a, group) : one.second(a, group);
            expect_error(tl::Status::group, one.words, [&] { tl::Backend("cpu", {1}).compute({c}); });
            EXPECT_EQ(computed(ctx.tensor<float>({1}, {1}).all_sum(group))[0], 2);
        }
    });
}

// Ranks name their outputs in different orders, and differentiate.
TEST(Collectives, nodes_run_in_the_order_in_which_they_were_built) {
    on_ranks(3, [&](const tl::Group &group) {
        const tl::Context ctx;
        const tl::Tensor a = support::leaf(ctx, {4}, seed_of(group.rank())), w = support::leaf(ctx, {4}, 5);
        const tl::Tensor first = a.all_sum(group), second = (a * 2).all_max(group), third = (a + 1).all_sum(group);
        const tl::Tensor fourth = ctx.gradients({{(w * first.sqr() + third.sqr()).sum()}}, {{a}})[0];
        const tl::Tensor fifth = (a * 3).copy_to_group(group).all_gather(0, group);
        const tl::Backend cpu("cpu", {2});
        for (int i = 0; i < 3; i++) {
            switch ((group.rank() + i) % 3) {
                case 0: cpu.compute({first, second, third, fourth, fifth}); break;
                case 1: cpu.compute({fifth, third, fourth, second, first}); break;
                default: cpu.compute({fourth, second, fifth, first, third}); break;
            }
        }
        float sum = 0, sum3 = 0;
        for (int rank = 0; rank < 3; rank++) sum += support::value(seed_of(rank), 0), sum3 += support::value(seed_of(rank), 0) + 1;
        EXPECT_NEAR(first.read_f32()[0], sum, 1e-5);
        EXPECT_NEAR(third.read_f32()[0], sum3, 1e-5);
        EXPECT_NEAR(fourth.read_f32()[0], 2 * (support::value(5, 0) * sum + sum3), 1e-4);
    });
}

// Memory that is bounded has other nodes computed twice, but never those of groups.
TEST(Collectives, nodes_of_groups_are_not_recomputed) {
    on_ranks(2, [&](const tl::Group &group) {
        const tl::Context ctx;
        const tl::Tensor x = support::leaf(ctx, {64, 64}, 1), w = support::leaf(ctx, {64, 64}, 2);
        tl::Tensor y = x;
        for (int i = 0; i < 6; i++) y = mul_mat(w, y.all_sum(group).sigmoid()).tanh();
        const tl::Tensor dw = ctx.gradients({{y.sum()}}, {{w}})[0];
        const tl::Backend cpu("cpu", {1});
        cpu.compute({dw});
        const std::vector<float> want = dw.read_f32();
        const tl::Graph small = tl::Graph::within({{dw}}, 400'000);
        small.compute(cpu);
        EXPECT_EQ(dw.read_f32(), want);
    });
}

TEST(Collectives, splits_are_groups) {
    on_ranks(4, [&](const tl::Group &group) {
        const int rank = group.rank();
        const tl::Context ctx;
        const tl::Tensor own = ctx.tensor<float>({1}, {static_cast<float>(rank)});
        // Even ranks, in the opposite order, and rank 1; rank 3 is in neither.
        const std::optional<tl::Group> part = group.split(rank == 3 ? -1 : rank % 2, -rank);
        if (rank == 3) {
            EXPECT_FALSE(part);
        } else if (rank == 1) {
            EXPECT_EQ(part->size(), 1);
        } else {
            EXPECT_EQ(part->size(), 2);
            EXPECT_EQ(part->rank(), rank == 0 ? 1 : 0);
            EXPECT_EQ(computed(own.all_gather(0, *part)), (std::vector<float>{2, 0}));
        }
        // Both groups in one graph.
        const tl::Tensor all = own.all_sum(group), some = part ? own.all_sum(*part) : own * 1;
        tl::Backend("cpu", {1}).compute({some, all});
        EXPECT_EQ(all.read_f32()[0], 6);
        EXPECT_EQ(some.read_f32()[0], rank % 2 == 0 ? 2 : static_cast<float>(rank));
        // Equal keys keep the order; a part of a part.
        const std::optional<tl::Group> same = group.split(7);
        EXPECT_EQ(same->rank(), rank);
        const std::optional<tl::Group> alone = same->split(rank);
        EXPECT_EQ(alone->size(), 1);
        EXPECT_EQ(computed(own.all_sum(*alone))[0], static_cast<float>(rank));
    });
}

TEST(Collectives, groups_live_as_long_as_their_nodes) {
    on_ranks(2, [&](const tl::Group &group) {
        const tl::Context ctx;
        std::optional<tl::Group> part = group.split(0);
        const tl::Tensor sum = support::leaf(ctx, {4}, 1).all_sum(*part);
        part.reset();
        const tl::Graph graph{sum};
        const tl::Backend cpu("cpu", {1});
        for (int i = 0; i < 100; i++) graph.compute(cpu);
        EXPECT_EQ(sum.read_f32()[1], 2 * support::value(1, 1));
    });
}

}  // namespace
