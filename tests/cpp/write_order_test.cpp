// Accesses to written memory that must keep their order: all that share a byte, and few others.
#include "graph/write_order.hpp"
#include "graph/context.hpp"
#include "ops/op_def.hpp"
#include "support.hpp"

#include <algorithm>
#include <random>
#include <set>

namespace core = tl::core;

namespace {

using Pairs = std::set<std::pair<core::GraphParts::NodeIndex, core::GraphParts::NodeIndex>>;

// Nodes that read or write views of one leaf.
struct Scene {
    core::Ref<core::Context> context = core::Context::create({});
    core::Tensor *root;
    std::vector<core::Tensor *> nodes;

    explicit Scene(const std::vector<std::int64_t> &shape)
        : root(context->new_leaf(core::contiguous_layout("test", core::DType::f32, shape))) {}
    core::Tensor *node(core::Op op, std::vector<core::Tensor *> src, std::vector<core::Attr> attrs = {}) {
        return core::build_node(*context, op, src, attrs);
    }
    void read(core::Tensor *view) { nodes.push_back(node(core::Op::sqr, {view})); }
    void write(core::Tensor *view) {
        const core::Layout like = core::contiguous_layout("test", core::DType::f32, std::span(view->layout.ne).first(4));
        nodes.push_back(node(core::Op::cpy, {context->new_leaf(like), view}));
    }
    Pairs pairs() const {
        Pairs found;
        core::WrittenMemory(nodes).for_each_pair([&](std::size_t, const auto &earlier, const auto &later) {
            EXPECT_LT(earlier.node, later.node);
            found.emplace(earlier.node, later.node);
        });
        return found;
    }
};

std::set<std::size_t> bytes_of(const core::Tensor &t) {
    std::set<std::size_t> bytes;
    const core::Layout &l = t.layout;
    for (std::int64_t row = 0; row < l.n_rows(); row++) {
        for (std::int64_t i = 0; i < l.ne[0]; i++) {
            const std::size_t first =
                t.root_offset + core::row_place(l.nb, core::row_index(l.ne, row)) + static_cast<std::size_t>(i) * l.nb[0];
            for (std::size_t b = 0; b < 4; b++) bytes.insert(first + b);
        }
    }
    return bytes;
}

// Every pair that shares a byte, of which one writes, for random blocks of a leaf of three dimensions.
TEST(WrittenMemory, pairs_that_share_bytes_are_found) {
    int apart = 0;
    for (int seed = 0; seed < support::repeats(150, 5000); seed++) {
        std::mt19937 random(static_cast<unsigned>(seed));
        const std::vector<std::int64_t> shape{8, 6, 4};
        Scene scene(shape);
        std::vector<core::Tensor *> touched;
        std::vector<bool> writes;
        for (int i = 0; i < 12; i++) {
            std::vector<std::int64_t> ne, start;
            for (const std::int64_t extent : shape) {
                start.push_back(static_cast<std::int64_t>(random()) % extent);
                ne.push_back(1 + static_cast<std::int64_t>(random()) % (extent - start.back()));
            }
            core::Tensor *view =
                scene.node(core::Op::view, {scene.root}, {core::Attr::of_ints("ne", ne), core::Attr::of_ints("start", start)});
            touched.push_back(view);
            writes.push_back(random() % 3 == 0);
            if (writes.back()) {
                scene.write(view);
            } else {
                scene.read(view);
            }
        }
        const Pairs found = scene.pairs();
        for (core::GraphParts::NodeIndex i = 0; i < touched.size(); i++) {
            for (core::GraphParts::NodeIndex j = i + 1; j < touched.size(); j++) {
                if (!writes[i] && !writes[j]) {
                    EXPECT_FALSE(found.contains({i, j}));
                    continue;
                }
                const auto a = bytes_of(*touched[i]), b = bytes_of(*touched[j]);
                const bool shared = std::ranges::any_of(a, [&](std::size_t byte) { return b.contains(byte); });
                if (shared) {
                    EXPECT_TRUE(found.contains({i, j})) << "seed " << seed << ", nodes " << i << " and " << j;
                } else {
                    apart += found.contains({i, j}) ? 0 : 1;
                }
            }
        }
    }
    EXPECT_GT(apart, 0);
}

// Slices of one leaf, by rows, by columns, and flat: each meets itself alone.
TEST(WrittenMemory, disjoint_slices_do_not_meet) {
    constexpr std::int64_t n = 500;
    for (const bool columns : {false, true}) {
        Scene scene(columns ? std::vector<std::int64_t>{2 * n, 5} : std::vector<std::int64_t>{2, 5 * n});
        for (std::int64_t i = 0; i < n; i++) {
            const std::vector<std::int64_t> ne{2, 5},
                start = columns ? std::vector<std::int64_t>{2 * i, 0} : std::vector<std::int64_t>{0, 5 * i};
            core::Tensor *slice =
                scene.node(core::Op::view, {scene.root}, {core::Attr::of_ints("ne", ne), core::Attr::of_ints("start", start)});
            scene.read(slice);
            scene.write(slice);
        }
        Pairs wanted;
        for (std::int64_t i = 0; i < n; i++) {
            wanted.emplace(static_cast<core::GraphParts::NodeIndex>(2 * i), static_cast<core::GraphParts::NodeIndex>(2 * i + 1));
        }
        EXPECT_EQ(scene.pairs(), wanted);
    }
}

// Training of many parameters that are slices of one leaf gives what separate leafs give.
TEST(WrittenMemory, parameters_in_one_leaf_learn_as_leafs_do) {
    constexpr std::int64_t n = 2000;
    std::vector<float> results[2];
    for (const bool flat : {false, true}) {
        const tl::Context ctx;
        const tl::Backend cpu("cpu", {2});
        const auto all = support::leaf(ctx, {4 * n}, 1), settings = ctx.tensor<float>({2}, {0.5f, 0});
        std::vector<tl::Tensor> parameters, outputs;
        auto sum = support::leaf(ctx, {4}, 2);
        const std::vector<float> values = all.read<float>();
        for (std::int64_t i = 0; i < n; i++) {
            parameters.push_back(flat ? all.narrow(0, 4 * i, 4)
                                      : ctx.tensor<float>({4}, std::span(values).subspan(static_cast<std::size_t>(4 * i), 4)));
            sum = sum + parameters.back() * parameters.back();
        }
        const auto loss = tl::sum(sum);
        const auto gradients = ctx.gradients(std::span(&loss, 1), parameters);
        for (std::size_t i = 0; i < parameters.size(); i++) outputs.push_back(opt_step_sgd(parameters[i], gradients[i], settings));
        cpu.compute(outputs);
        for (const tl::Tensor &p : parameters) {
            const auto part = p.read<float>();
            results[flat].insert(results[flat].end(), part.begin(), part.end());
        }
    }
    EXPECT_EQ(results[0], results[1]);
}

}  // namespace
