// Indexing, functions on lists of tensors, reshapes of strided tensors, and composed operations: what the shared cases do not see.
#include "support.hpp"

#include "ops/op_def.hpp"

#include <tensorlib/tensorlib.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

namespace {

using namespace tensorlib;
using Floats = std::vector<float>;
using Extents = std::array<std::int64_t, 4>;

class Shapes : public testing::Test {
protected:
    // Element (i, j, k) is i + 5 j + 20 k.
    tl::Tensor counted() const {
        Floats values(60);
        std::iota(values.begin(), values.end(), 0.0f);
        return ctx.tensor({5, 4, 3}, values);
    }
    Floats values(const tl::Tensor &t) const {
        cpu.compute({t});
        return t.read_f32();
    }
    std::size_t made() const { return ctx.tensors().size(); }

    tl::Context ctx;
    tl::Backend cpu;
};

TEST_F(Shapes, are_selected_by_indices) {
    const tl::Tensor a = counted();
    EXPECT_EQ(values(a[{2, 1, 0}]), (Floats{7}));
    EXPECT_EQ(values(a[{-1, -1, -1}]), (Floats{59}));
    EXPECT_EQ(values(a[{{1, 3}, 2, 1}]), (Floats{31, 32}));
    EXPECT_EQ(values(a[{{-2, tl::Index::end}, 0, 0}]), (Floats{3, 4}));
    EXPECT_EQ(values(a[{{-3, -1}, 0, 0}]), (Floats{2, 3}));
    EXPECT_EQ(values(a[{0, tl::every, 1}]), (Floats{20, 25, 30, 35}));
    EXPECT_EQ((a[{0, {1, 3}}].shape()), (Extents{2, 3, 1, 1}));
    EXPECT_EQ(a[{0}].n_dims(), 2);
    EXPECT_EQ(a[{}].shape(), a.shape());
    EXPECT_EQ((a[{0, 0, 0}].n_dims()), 1);
    const std::size_t before = made();
    const auto refuse = [&](std::initializer_list<tl::Index> indices, const char *word) {
        support::expect_error(tl::Status::invalid_argument, {"index", word}, [&] { return a[indices]; });
    };
    refuse({0, 4}, "index 4 of dimension 1");
    refuse({{4, 2}}, "elements 4 to 2 of dimension 0");
    refuse({tl::every, tl::every, tl::every, tl::every, tl::every}, "5 ranges");
    EXPECT_EQ(made(), before);
    support::expect_error(tl::Status::invalid_argument, {"null"}, [] { return tl::Tensor()[{0}]; });
}

TEST_F(Shapes, are_split) {
    const tl::Tensor a = counted();
    const auto sizes = [](const std::vector<tl::Tensor> &parts) {
        std::vector<std::int64_t> all;
        for (const tl::Tensor &part : parts) all.push_back(part.shape()[0]);
        return all;
    };
    using Sizes = std::vector<std::int64_t>;
    EXPECT_EQ(sizes(a.split(2, 0)), (Sizes{2, 2, 1}));
    EXPECT_EQ(sizes(a.split(INT64_MAX, 0)), (Sizes{5}));
    EXPECT_EQ(sizes(a.split(Sizes{1, 0, 4}, 0)), (Sizes{1, 0, 4}));
    EXPECT_EQ(sizes(a.chunk(2, 0)), (Sizes{3, 2}));
    EXPECT_EQ(sizes(a.chunk(9, 0)), (Sizes{1, 1, 1, 1, 1}));
    EXPECT_EQ(sizes(a.unbind(2)), (Sizes{5, 5, 5}));
    EXPECT_EQ(values(a.unbind(2)[2][{0, 0}]), (Floats{40}));
    const auto refuse = [](const char *word, const auto &call) { support::expect_error(tl::Status::invalid_argument, {word}, call); };
    refuse("size is 0", [&] { return a.split(0, 0); });
    refuse("dim is 4", [&] { return a.split(1, 4); });
    refuse("dim is -1", [&] { return a.unbind(-1); });
    refuse("sum is 5", [&] { return a.split(Sizes{2, 2}, 0); });
    refuse("sum is 5", [&] { return a.split(Sizes{6, -1}, 0); });
    refuse("sum is 5", [&] { return a.split(Sizes{INT64_MAX, INT64_MAX}, 0); });
    refuse("n is 0", [&] { return a.chunk(0, 0); });
}

TEST_F(Shapes, of_lists) {
    const tl::Tensor a = ctx.tensor({2}, Floats{1, 2}), b = ctx.tensor({2}, Floats{3, 4});
    EXPECT_EQ(values(cat({a, b, a}, 0)), (Floats{1, 2, 3, 4, 1, 2}));
    EXPECT_EQ(values(stack({a, b}, 0)), (Floats{1, 3, 2, 4}));
    EXPECT_EQ(values(einsum("i,j->ij", {a, b})), (Floats{3, 6, 4, 8}));
    const tl::Context young;
    EXPECT_EQ(cat({a, young.tensor({1}, Floats{5})}, 0).context().id(), young.id());
    const std::vector<tl::Tensor> grid = meshgrid({a, b});
    EXPECT_EQ(values(grid[0]), (Floats{1, 2, 1, 2}));
    EXPECT_EQ(values(grid[1]), (Floats{3, 3, 4, 4}));
    const auto refuse = [](const char *word, const auto &call) { support::expect_error(tl::Status::invalid_argument, {word}, call); };
    refuse("at least one", [] { return tl::cat({}, 0); });
    refuse("at least one", [] { return tl::einsum("", {}); });
    refuse("0 operands", [&] { return ctx.stack({}, 0); });
    refuse("null", [&] { return tl::cat({a, tl::Tensor()}, 0); });
    refuse("0 vectors", [] { return tl::meshgrid({}); });
    refuse("5 vectors", [&] { return tl::meshgrid({a, a, a, a, a}); });
    support::expect_error(tl::Status::shape_mismatch, {"meshgrid", "[2, 2]"}, [&] { return tl::meshgrid({grid[0]}); });
}

// A shape may lack dimensions, which are 1.
TEST_F(Shapes, of_few_dimensions) {
    const tl::Tensor a = ctx.tensor({2}, Floats{1, 2}), state = ctx.tensor({2}, std::vector<std::int64_t>{7, 0});
    EXPECT_EQ(values(expand(a, {2, 2})), (Floats{1, 2, 1, 2}));
    EXPECT_EQ(values(repeat(a, {4})), (Floats{1, 2, 1, 2}));
    EXPECT_EQ(expand(ctx.zeros(tl::Type::f32, {1, 3}), {2, 3}).n_dims(), 2);
    const tl::Tensor index = ctx.tensor({1}, std::vector<std::int32_t>{1});
    for (const tl::Type type : {tl::Type::f32, tl::Type::f64}) {
        for (const int dim : {0, 1, 2}) EXPECT_EQ(index_select(ctx.zeros(type, {2, 3}), index, dim).n_dims(), std::max(dim + 1, 2)) << dim;
    }
    EXPECT_EQ(values(state.random_normal({3, 2}, 0, 1, 0)), values(state.random_normal({3, 2, 1, 1}, 0, 1, 0)));
    EXPECT_EQ(values(state.random_uniform({3, 2}, 0, 1, 0)).size(), 6u);
    EXPECT_EQ(repeat(a, {0}).n_elements(), 0);
    const std::function<tl::Tensor(const tl::Shape &)> all[] = {
        [&](const tl::Shape &shape) { return expand(a, shape); },
        [&](const tl::Shape &shape) { return repeat(a, shape); },
        [&](const tl::Shape &shape) { return state.random_uniform(shape, 0, 1, 0); },
        [&](const tl::Shape &shape) { return state.random_normal(shape, 0, 1, 0); },
    };
    for (const auto &make : all) {
        support::expect_error(tl::Status::invalid_argument, {"0 values", "1 to 4"}, [&] { return make({}); });
        support::expect_error(tl::Status::invalid_argument, {"5 dimensions", "1 to 4"}, [&] { return make({2, 1, 1, 1, 1}); });
        support::expect_error(tl::Status::invalid_argument, {"-2"}, [&] { return make({2, -2}); });
    }
}

// By name, a node of concat takes up to 10 operands, and composed operations any number.
TEST_F(Shapes, of_many_tensors) {
    std::vector<tl::Tensor> many;
    for (int i = 0; i < 137; i++)
        many.push_back(ctx.tensor({1 + i % 2, 2}, Floats(static_cast<std::size_t>(2 + i % 2 * 2), static_cast<float>(i))));
    const tl::Tensor all = cat(many, 0);
    EXPECT_EQ(all.shape(), (Extents{137 + 68, 2, 1, 1}));
    const Floats row = values(all);
    for (std::size_t i = 0, at = 0; i < many.size(); at += 1 + i++ % 2) EXPECT_EQ(row[at], static_cast<float>(i));
    support::expect_error(tl::Status::invalid_argument, {"einsum: 137 tensors", "up to 64"}, [&] { einsum("ab,ab->", many); });
    const core::OpDef &concat = core::op_def(core::Op::concat);
    EXPECT_NO_THROW(core::check_operand_count(concat, 10));
    support::expect_error(tl::Status::invalid_argument, {"concat: 11 operands: 2 to 10"}, [&] { core::check_operand_count(concat, 11); });
    support::expect_error(tl::Status::invalid_argument, {"cat: 0 operands: 1 to 1048576"},
                          [&] { core::check_operand_count(core::op_def(core::Op::cat), 0); });
}

// Every shape of a strided tensor is a view, or refused: compared with a copy that is reshaped.
TEST_F(Shapes, of_strided_tensors) {
    const tl::Tensor whole = ctx.tensor({4, 6, 2, 3}, [] {
        Floats values(144);
        std::iota(values.begin(), values.end(), 0.0f);
        return values;
    }());
    const tl::Tensor sources[] = {whole.permute({1, 0, 2, 3}),
                                  whole.permute({2, 3, 0, 1}),
                                  whole[{{1, 3}}],
                                  whole[{tl::every, {0, 4}}],
                                  whole[{tl::every, tl::every, 1}].transpose(),
                                  expand(whole[{tl::every, {0, 1}}], {4, 3, 2, 3}),
                                  expand(whole[{0, 0, 0, 0}], {4, 3, 2, 1})};
    int views = 0, refused = 0;
    for (const tl::Tensor &source : sources) {
        const std::int64_t n = source.n_elements();
        const Floats wanted = values(cont(source));
        for (std::int64_t i = 1; i <= n; i++) {
            for (std::int64_t j = 1; n % i == 0 && j <= n / i; j++) {
                if (n / i % j != 0) continue;
                for (const tl::Shape &shape : {tl::Shape{i, j, n / i / j}, tl::Shape{i, 1, j, n / i / j}}) {
                    try {
                        const tl::Tensor view = source.reshape(shape);
                        EXPECT_EQ(values(view), wanted);
                        views++;
                    } catch (const tl::Error &error) {
                        EXPECT_EQ(error.code(), tl::Status::invalid_argument) << error.what();
                        refused++;
                    }
                }
            }
        }
    }
    EXPECT_GT(views, 40);
    EXPECT_GT(refused, 40);
}

// What repeats without a copy is read as its copy is, also where it is an intermediate whose memory others may take.
TEST_F(Shapes, of_repeated_intermediates) {
    const tl::Tensor column = ctx.tensor({1, 6}, Floats{3, -1, 2, 0.5f, -2, 1}), row = ctx.tensor({5, 1}, Floats{1, -2, 3, 0.25f, 2}),
                     x = ctx.tensor({5, 6}, [] {
                         Floats values(30);
                         std::iota(values.begin(), values.end(), -10.0f);
                         return values;
                     }());
    const tl::Tensor rows = ctx.tensor({3}, std::vector<std::int32_t>{5, 0, 5});
    const tl::Shape ne{5, 6};
    using Made = std::function<tl::Tensor(const tl::Tensor &)>;
    const std::pair<const char *, Made> all[] = {
        {"neg", [](const tl::Tensor &e) { return neg(e); }},
        {"scale", [](const tl::Tensor &e) { return e * 3; }},
        {"add", [&](const tl::Tensor &e) { return e + x; }},
        {"sub", [&](const tl::Tensor &e) { return x - e; }},
        {"twice", [](const tl::Tensor &e) { return e * e + e; }},
        {"soft_max", [](const tl::Tensor &e) { return soft_max(e); }},
        {"norm", [](const tl::Tensor &e) { return norm(e, 1e-5); }},
        {"rms_norm", [](const tl::Tensor &e) { return rms_norm(e, 1e-5); }},
        {"cumsum", [](const tl::Tensor &e) { return cumsum(e); }},
        {"sum", [](const tl::Tensor &e) { return sum(e, {.dims = {0}}); }},
        {"max", [](const tl::Tensor &e) { return max(e, {.dims = {1}}); }},
        {"argsort", [](const tl::Tensor &e) { return argsort(e).cast(tl::Type::f32); }},
        {"mul_mat", [&](const tl::Tensor &e) { return mul_mat(e, x); }},
        {"mul_mat_b", [&](const tl::Tensor &e) { return mul_mat(x, e); }},
        {"out_prod", [&](const tl::Tensor &e) { return out_prod(e, x); }},
        {"transpose", [](const tl::Tensor &e) { return cont(e.transpose()); }},
        {"concat", [&](const tl::Tensor &e) { return cat({e, x, e}, 0); }},
        {"flip", [](const tl::Tensor &e) { return flip(e, 1); }},
        {"get_rows", [&](const tl::Tensor &e) { return get_rows(e, rows); }},
        {"cast", [](const tl::Tensor &e) { return e.cast(tl::Type::f16).cast(tl::Type::f32); }},
        {"acc", [&](const tl::Tensor &e) { return acc(x, e, {.nb1 = 20, .nb2 = 120, .nb3 = 120}); }},
        {"glu", [&](const tl::Tensor &e) { return glu(e, x, tl::GluOp::swiglu, {.split = true}); }},
    };
    for (const auto &[name, make] : all) {
        for (const tl::Tensor &source : {column, row}) {
            for (const std::string &isa : support::isas()) {
                const tl::Tensor once = sqr(source) + source, again = sqr(source) + source;
                const tl::Tensor viewed = make(expand(once, ne)), copied = make(repeat(again, ne));
                support::backend(isa, 2).compute({viewed, copied});
                EXPECT_EQ(viewed.read_f32(), copied.read_f32()) << name << ", " << isa;
            }
        }
    }
}

// Errors of the nodes that an operation is made of name the operation, and the nodes before them are taken back.
TEST_F(Shapes, that_are_refused_leave_nothing) {
    const tl::Context small({.mem_limit = 1800});
    const tl::Tensor a = small.zeros(tl::Type::f32, {8, 8});
    const std::size_t used = small.used_memory(), nodes = small.tensors().size();
    std::vector<tl::Tensor> many(40, a.transpose());
    const std::size_t before = small.tensors().size();
    const std::size_t used_before = small.used_memory();
    support::expect_error(tl::Status::out_of_memory, {"cat: concat"}, [&] { return cat(many, 0); });
    EXPECT_EQ(small.tensors().size(), before);
    EXPECT_EQ(small.used_memory(), used_before);
    EXPECT_GE(used_before, used);
    EXPECT_EQ(before, nodes + 1);
}

// A composed operation may be made of composed ones. If a later part is refused, all nodes of earlier parts are taken back, and none
// of the caller's.
TEST(Composed, leaves_nothing_where_a_part_is_refused) {
    tl::Context ctx;
    const tl::Tensor blocks = ctx.zeros(tl::Type::q8_0, {32});
    const std::size_t used = ctx.used_memory();
    // The diagonal of the second and third dimension is made first; then blocks cannot be summed.
    support::expect_error(tl::Status::type_mismatch, {"einsum", "q8_0"}, [&] { tl::einsum("bool", {blocks}); });
    EXPECT_EQ(ctx.used_memory(), used);
    EXPECT_EQ(blocks.shape()[0], 32);
}

}  // namespace
