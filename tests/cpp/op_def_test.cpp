// Operations: which operands they accept, and that each one is complete everywhere.
#include "ops/gen/op_facts.hpp"

#include "support.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <vector>

using namespace tl::core;

namespace {

std::string file(const std::string &path) {
    std::ifstream in(std::string(TENSORLIB_ROOT) + "/" + path);
    EXPECT_TRUE(in.good()) << path;
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

// An operation is done when it has all of this: the list in docs/adding-an-op.md.
TEST(Completeness, every_operation_has_all_its_parts) {
    // By hand, or written by `cargo xtask ops`.
    const std::string header = file("capi/include/tensorlib/tensorlib.h");
    const std::string rust = file("rust/tensorlib/src/ops.rs") + file("rust/tensorlib/src/lists.rs") +
                             file("rust/tensorlib/src/custom.rs") + file("rust/tensorlib/src/gen/op_functions.rs");
    const std::string cpp = file("cpp/api/ops.cpp") + file("cpp/api/tensor.cpp") + file("cpp/api/shapes.cpp") + file("cpp/api/custom.cpp") +
                            file("cpp/api/gen/op_functions.cpp");
    std::string cases;
    for (const char *name :
         {"add",        "mul_mat",    "mul_mat_id", "views",       "cpy",       "rows",        "blocks",     "elementwise",    "norms",
          "attention",  "reductions", "out_prod",   "out_prod_id", "layout",    "convolution", "gradients",  "gradient_edges", "random",
          "optimisers", "sparse",     "shapes",     "wide_types",  "recurrent", "solve",       "collectives"})
        cases += file("tests/cases/" + std::string(name) + ".cases");
    EXPECT_EQ(all_ops().size(), op_count);
    for (const OpDef *def : all_ops()) {
        const std::string name = def->name;
        EXPECT_EQ(name, op_name(def->op));
        EXPECT_EQ(find_op(name), def);
        EXPECT_EQ(&op_def(def->op), def);
        EXPECT_NE(header.find("tl_tensor *tl_" + name + "("), std::string::npos) << name << " has no C function";
        // By what it calls: where a name is a language's own word, its function has another.
        EXPECT_NE(rust.find("sys::tl_" + name + "("), std::string::npos) << name << " has no Rust method";
        EXPECT_NE(cpp.find("Op::" + name + ","), std::string::npos) << name << " has no C++ function";
        // A case cannot contain a function of the user's. Each language tests its own: custom_test.cpp, custom.rs and others.
        EXPECT_TRUE(def->op == Op::custom || cases.find(" " + name + " ") != std::string::npos) << name << " is in no case";
        // By it functions find their context; an operation without operands is a method of one.
        EXPECT_TRUE(def->operands.empty() || !def->operands[0].optional) << name << " has no operand that is always there";
        for (const Operand &operand : def->operands) {
            const bool differentiable = operand.role != Role::indices;
            EXPECT_TRUE(differentiable || operand.no_gradient) << name << " does not say why " << operand.name << " has no gradient";
        }
    }
    EXPECT_EQ(find_op("leaf"), nullptr);
    EXPECT_EQ(find_op("no_such_op"), nullptr);
}

// What nodes keep of their attributes, and what the roles of their operands make of them.
TEST(Nodes, keep_their_attributes_and_follow_the_roles) {
    const Ref<Context> context = Context::create({});
    const auto leaf = [&](DType type, std::initializer_list<std::int64_t> ne) {
        return context->new_leaf(contiguous_layout("leaf", type, {ne.begin(), ne.size()}));
    };
    Tensor *a = leaf(DType::f32, {4, 6}), *b = leaf(DType::f32, {4, 3}), *rows = leaf(DType::i32, {3});
    const auto node = [&](Op op, std::vector<Tensor *> src, std::vector<Attr> attrs = {}) { return build_node(*context, op, src, attrs); };
    const std::array<std::int64_t, 2> ne{2, 3}, start{1, 2};
    const Tensor *window = node(Op::view, {a}, {Attr::of_ints("ne", ne), Attr::of_ints("start", start)});
    const auto &kept = attrs_of<ops::ViewAttrs>(*window);
    EXPECT_TRUE(std::ranges::equal(kept.ne.span(), ne) && std::ranges::equal(kept.start.span(), start));
    EXPECT_EQ(kept.nb.n, 0);
    EXPECT_EQ(kept.offset, 0);
    EXPECT_TRUE(window->is_pure_view() && window->root == a);
    EXPECT_EQ(window->root_offset, 4 * (1 + 2 * 4));

    const Tensor *turned = node(Op::permute, {a}, {Attr::of_ints("axes", std::array<std::int64_t, 4>{1, 0, 2, 3})});
    EXPECT_EQ(attrs_of<ops::PermuteAttrs>(*turned).axes.span()[0], 1);
    EXPECT_EQ(attrs_of<ops::CastAttrs>(*node(Op::cast, {a}, {Attr::of_text("to", "BF16")})).to, DType::bf16);
    EXPECT_TRUE(ops::is_exact(*node(Op::mul_mat, {a, b}, {Attr::of_int("exact", 1)})));
    EXPECT_FALSE(ops::is_exact(*node(Op::mul_mat, {a, b})));
    EXPECT_EQ(node(Op::add, {a, a})->attrs, nullptr);

    const Tensor *written = node(Op::set_rows, {a, b, rows}), *copied = node(Op::cpy, {b, leaf(DType::f16, {4, 3})});
    EXPECT_TRUE(written->writes(0) && !written->writes(1) && written->root == a && !written->is_pure_view());
    EXPECT_TRUE(copied->writes(1) && !copied->writes(0) && copied->root == copied->src[1]);
    EXPECT_FALSE(node(Op::get_rows, {a, rows})->is_view);
}

class OpDefs : public testing::Test {
protected:
    tl::Context ctx;
    tl::Tensor f(const tl::Shape &shape, tl::Type type = tl::Type::f32) { return ctx.zeros(type, shape); }
};

TEST_F(OpDefs, shapes_of_results) {
    EXPECT_EQ(mul_mat(f({2, 4}), f({2, 3})).shape(), (std::array<std::int64_t, 4>{4, 3, 1, 1}));
    EXPECT_EQ(mul_mat(f({2, 4, 2}), f({2, 3, 6, 5})).shape(), (std::array<std::int64_t, 4>{4, 3, 6, 5}));
    EXPECT_EQ(mul_mat(f({7}), f({7})).shape(), (std::array<std::int64_t, 4>{1, 1, 1, 1}));
    const auto number = [&](const tl::Shape &shape) { return f(shape, tl::Type::i32); };
    EXPECT_EQ(mul_mat_id(f({2, 4, 9}), f({2, 1, 5}), number({3, 5})).shape(), (std::array<std::int64_t, 4>{4, 3, 5, 1}));
    EXPECT_EQ(mul_mat_id(f({2, 4}), f({2}), number({1})).shape(), (std::array<std::int64_t, 4>{4, 1, 1, 1}));
    EXPECT_EQ(add(f({4, 6}), f({2, 3})).shape(), (std::array<std::int64_t, 4>{4, 6, 1, 1}));
    const auto p = f({2, 3, 4, 5}).permute({3, 0, 1, 2});
    EXPECT_EQ(p.shape(), (std::array<std::int64_t, 4>{3, 4, 5, 2}));
    EXPECT_EQ(p.strides(), (std::array<std::size_t, 4>{8, 24, 96, 4}));
    EXPECT_EQ(f({3}).transpose().n_dims(), 2);
    EXPECT_EQ(f({6, 4}).reshape({3, 8}).strides(), (std::array<std::size_t, 4>{4, 12, 96, 96}));
    const std::vector<std::size_t> nb{48};
    EXPECT_EQ(f({6, 4}).view({2, 2}, nb, 8).strides(), (std::array<std::size_t, 4>{4, 48, 96, 96}));
}

// Refusals name the operation, the shapes and what is valid.
void refuse_both(auto op, tl::Status code, const std::vector<std::string> &words, const tl::Tensor &a, const tl::Tensor &b) {
    support::expect_error(code, words, [&] { op(a, b); });
}

TEST_F(OpDefs, refusals_of_products) {
    using S = tl::Status;
    const auto mm = [](const tl::Tensor &a, const tl::Tensor &b) { mul_mat(a, b); };
    refuse_both(mm, S::shape_mismatch, {"mul_mat", "[2, 4] f32", "[7] f32", "2 and 7"}, f({2, 4}), f({7}));
    refuse_both(mm, S::shape_mismatch, {"mul_mat", "dimension 2", "3 and 2"}, f({2, 4, 2}), f({2, 3, 3}));
    refuse_both(mm, S::shape_mismatch, {"mul_mat", "dimension 3"}, f({2, 4, 2, 0}), f({2, 3, 2, 1}));
    refuse_both(mm, S::type_mismatch, {"mul_mat", "i32"}, f({2, 4}, tl::Type::i32), f({2, 3}));
    refuse_both(mm, S::type_mismatch, {"mul_mat", "i32"}, f({2, 4}, tl::Type::i32), f({2, 3}));
    refuse_both(mm, S::type_mismatch, {"mul_mat", "f64"}, f({2, 4}), f({2, 3}, tl::Type::f64));
    const auto exact_mm = [](const tl::Tensor &a, const tl::Tensor &b) { mul_mat_exact(a, b); };
    refuse_both(exact_mm, S::shape_mismatch, {"mul_mat", "[2, 4] f32", "[7] f32", "2 and 7"}, f({2, 4}), f({7}));
    refuse_both(exact_mm, S::type_mismatch, {"mul_mat", "i32"}, f({2, 4}, tl::Type::i32), f({2, 3}));
    for (const std::int64_t value : {2, -1}) {
        support::expect_error(S::invalid_argument, {"mul_mat", "exact is " + std::to_string(value), "0 or 1"},
                              [&] { ctx.op("mul_mat", {f({2, 4}), f({2, 3})}, {{"exact", {value}, {}}}); });
    }
}

TEST_F(OpDefs, refusals_of_products_by_number) {
    using S = tl::Status;
    const auto by_number = [&](S code, std::vector<std::string> words, tl::Tensor a, tl::Tensor b, tl::Tensor ids) {
        words.insert(words.end(), {"mul_mat_id", "a is", "b is", "ids is"});
        support::expect_error(code, words, [&] { mul_mat_id(a, b, ids); });
    };
    const auto number = [&](const tl::Shape &shape) { return f(shape, tl::Type::i32); };
    by_number(S::shape_mismatch, {"[2, 4, 3] f32", "[7] f32", "2 and 7"}, f({2, 4, 3}), f({7}), number({1}));
    by_number(S::shape_mismatch, {"tokens", "5 and 6"}, f({2, 4, 3}), f({2, 1, 5}), number({2, 6}));
    by_number(S::shape_mismatch, {"divide", "2 and 3"}, f({2, 4, 3}), f({2, 2, 5}), number({3, 5}));
    by_number(S::shape_mismatch, {"{k, m, experts}"}, f({2, 4, 3, 2}), f({2, 2, 5}), number({2, 5}));
    by_number(S::shape_mismatch, {"{used, tokens}"}, f({2, 4, 3}), f({2, 2, 5}), number({2, 5, 2}));
    by_number(S::type_mismatch, {"i32 or i64"}, f({2, 4, 3}), f({2, 2, 5}), f({2, 5}));
    by_number(S::type_mismatch, {"a must be"}, number({2, 4, 3}), f({2, 2, 5}), number({2, 5}));
    by_number(S::type_mismatch, {"b must be"}, f({2, 4, 3}), f({2, 2, 5}, tl::Type::f64), number({2, 5}));
    by_number(S::type_mismatch, {"a must be"}, f({256, 4, 3}, tl::Type::q8_K), f({256, 2, 5}), number({2, 5}));
    support::expect_error(S::invalid_argument, {"mul_mat_id", "exact is 2", "0 or 1"},
                          [&] { ctx.op("mul_mat_id", {f({2, 4}), f({2}), number({1})}, {{"exact", {2}, {}}}); });
}

TEST_F(OpDefs, refusals_of_sums_and_copies) {
    using S = tl::Status;
    const auto plus = [](const tl::Tensor &a, const tl::Tensor &b) { add(a, b); };
    const auto copy = [](const tl::Tensor &a, const tl::Tensor &b) { cpy(a, b); };
    refuse_both(plus, S::shape_mismatch, {"add", "[4]", "[3]", "divide"}, f({4}), f({3}));
    refuse_both(plus, S::shape_mismatch, {"add"}, f({4}), f({0}));
    refuse_both(plus, S::type_mismatch, {"add", "i8"}, f({4}), f({4}, tl::Type::i8));
    refuse_both(copy, S::shape_mismatch, {"cpy", "4 and 6"}, f({4}), f({6}));
    const auto constant = f({4});
    constant.set_constant();
    refuse_both(copy, S::invalid_argument, {"cpy", "constant"}, f({4}), constant);
    refuse_both(copy, S::invalid_argument, {"cpy", "constant"}, f({2}), constant.view({2}));
}

TEST_F(OpDefs, refusals_of_views_and_shapes) {
    using S = tl::Status;
    support::expect_error(S::shape_mismatch, {"reshape", "24", "25"}, [&] { f({24}).reshape({5, 5}); });
    support::expect_error(S::invalid_argument, {"reshape", "cont"}, [&] { f({4, 6}).transpose().reshape({24}); });
    support::expect_error(S::invalid_argument, {"permute", "0, 0, 1, 2"}, [&] { f({4}).permute({0, 0, 1, 2}); });
    support::expect_error(S::invalid_argument, {"permute"}, [&] { f({4}).permute({0, 1, 2, 4}); });
    support::expect_error(S::invalid_argument, {"view", "16 bytes"}, [&] { f({4}).view({5}); });
    support::expect_error(S::invalid_argument, {"view", "offset"}, [&] { f({4}).view({1}, {}, 2); });
    support::expect_error(S::invalid_argument, {"view"}, [&] { f({4}).view({1}, {}, 16); });
    const std::vector<std::size_t> odd{6}, wide{std::size_t{1} << 62}, two{8, 8};
    support::expect_error(S::invalid_argument, {"view", "nb[1]", "6"}, [&] { f({4}).view({1, 2}, odd); });
    support::expect_error(S::invalid_argument, {"view"}, [&] { f({4}).view({1, 5}, wide); });
    support::expect_error(S::invalid_argument, {"view", "2 strides"}, [&] { f({4}).view({1, 2}, two); });
    support::expect_error(S::invalid_argument, {"cast", "ne[0] is 4", "256"}, [&] { f({4}).cast(tl::Type::q4_K); });
    support::expect_error(S::invalid_argument, {"tensor", "ne[1]", "-1"}, [&] { f({4, -1}); });
    support::expect_error(S::invalid_argument, {"tensor", "5 dimensions"}, [&] { f({1, 1, 1, 1, 1}); });
    // Products that overflow, also after a zero.
    support::expect_error(S::invalid_argument, {"tensor", "more bytes"}, [&] { f({std::int64_t{1} << 40, std::int64_t{1} << 40}); });
    support::expect_error(S::invalid_argument, {"more bytes"}, [&] { f({0, std::int64_t{1} << 40, std::int64_t{1} << 40}); });
}

TEST_F(OpDefs, the_smallest_views) {
    EXPECT_EQ(f({4}).view({0}, {}, 16).nbytes(), 0u);  // empty, at the very end
    EXPECT_EQ(f({0, 3}).reshape({5, 0}).n_elements(), 0);
    EXPECT_EQ(f({4}).view({4}).nbytes(), 16u);
}

TEST_F(OpDefs, by_name) {
    const auto a = f({2, 3});
    EXPECT_EQ(ctx.op("permute", {a}, {{"axes", {1, 0, 2, 3}, ""}}).shape()[0], 3);
    EXPECT_EQ(ctx.op("cast", {a}, {{"to", {}, "F16"}}).type(), tl::Type::f16);
    EXPECT_EQ(ctx.op("view", {a}, {{"ne", {1}, ""}, {"offset", {}, "", 4.0}}).nbytes(), 4u);
    EXPECT_EQ(ctx.op("transpose", {a}).shape(), transpose(a).shape());
    EXPECT_EQ(ctx.cont(ctx.transpose(a)).shape(), dup(a.transpose()).shape());
    using S = tl::Status;
    support::expect_error(S::invalid_argument, {"no operation 'rows_get'", "nearest", " get_rows,"}, [&] { ctx.op("rows_get", {a}); });
    support::expect_error(S::invalid_argument, {"xxx...'", "the nearest of"}, [&] { ctx.op(std::string(1000, 'x'), {a}); });
    support::expect_error(S::invalid_argument, {"add", "b is left out", "no operand that may be"},
                          [&] { ctx.op("add", {a, std::nullopt}); });
    support::expect_error(S::invalid_argument, {"null"}, [&] { ctx.op("add", {a, tl::Tensor()}); });
    support::expect_error(S::invalid_argument, {"add", "1 operands", "2"}, [&] { ctx.op("add", {a}); });
    support::expect_error(S::invalid_argument, {"add", "no attribute", "axes"}, [&] { ctx.op("add", {a, a}, {{"axes", {1}, ""}}); });
    support::expect_error(S::invalid_argument, {"permute", "axes", "missing"}, [&] { ctx.op("permute", {a}); });
    support::expect_error(S::invalid_argument, {"permute", "axes", "3 values"}, [&] { ctx.op("permute", {a}, {{"axes", {0, 1, 2}, ""}}); });
    support::expect_error(S::invalid_argument, {"permute", "axes", "integers"}, [&] { ctx.op("permute", {a}, {{"axes", {}, "x"}}); });
    support::expect_error(S::invalid_argument, {"reshape", "twice"}, [&] { ctx.op("reshape", {a}, {{"ne", {6}, ""}, {"ne", {6}, ""}}); });
    support::expect_error(S::invalid_argument, {"cast", "no type"}, [&] { ctx.op("cast", {a}, {{"to", {}, "f99"}}); });
}

TEST_F(OpDefs, integral_numbers_stand_for_integers) {
    const Attr number = Attr::of_number("offset", 4);
    const std::int64_t ne[] = {1};
    const auto a = Context::create({});
    Tensor *leaf = a->new_leaf(contiguous_layout("test", DType::f32, std::vector<std::int64_t>{4}));
    const Attr attrs[] = {Attr::of_ints("ne", ne), number};
    Tensor *src[] = {leaf};
    EXPECT_EQ(build_node(*a, Op::view, src, attrs)->root_offset, 4u);
    const Attr half[] = {Attr::of_ints("ne", ne), Attr::of_number("offset", 4.5)};
    support::expect_error(tl::Status::invalid_argument, {"view", "offset", "a number", "integers"},
                          [&] { build_node(*a, Op::view, src, half); });
}

// What descriptions may say of attributes, and operations do not all need: a definition of the test's own.
class AttrDefs : public testing::Test {
protected:
    static constexpr const char *ways[] = {"forth", "back"};
    static constexpr AttrDef attrs[] = {
        {.name = "n", .kind = AttrKind::ints, .required = true, .least = 1, .most = 8},
        {.name = "eps", .kind = AttrKind::number, .required = false, .least = 1e-9, .most = 1},
        {.name = "value", .kind = AttrKind::number, .required = false, .nan = true},
        {.name = "way", .kind = AttrKind::text, .required = false, .values = ways},
        {.name = "sections", .kind = AttrKind::ints, .required = false, .min_ints = 4, .max_ints = 4, .least = 0},
        {.name = "stride", .kind = AttrKind::ints, .required = false, .least = 1},
    };
    static constexpr OpDef def{{.op = Op::add, .name = "trial", .attrs = attrs}, {}};

    Attrs checked(std::vector<Attr> given) {
        given.push_back(Attr::of_int("n", 3));
        return checked_attrs(def, given, room);
    }
    void refused(std::vector<std::string> words, const Attr &given) {
        words.push_back("trial: attribute");
        support::expect_error(tl::Status::invalid_argument, words, [&] { checked({given}); });
    }
    std::array<Attr, Attrs::most> room;
};

TEST_F(AttrDefs, values_arrive_in_the_kind_that_is_asked_for) {
    const Attrs given = checked({Attr::of_int("eps", 1), Attr::of_text("way", "back"), Attr::of_number("stride", 2)});
    EXPECT_EQ(given.integer("n", 0), 3);
    EXPECT_EQ(given.number("eps", 0.5), 1.0);
    EXPECT_EQ(given.integer("way", 0), 1);
    EXPECT_EQ(given.integer("stride", 7), 2);
    EXPECT_EQ(checked({Attr::of_int("way", 1)}).integer("way", 0), 1);
    EXPECT_TRUE(std::isnan(checked({Attr::of_number("value", std::nan(""))}).number("value", 0)));
}

TEST_F(AttrDefs, zero_stands_for_the_default_where_an_attribute_may_be_left_out) {
    const std::array<std::int64_t, 4> zeros{}, some{0, 1, 0, 0};
    const Attrs given = checked({Attr::of_number("eps", 0), Attr::of_text("way", "forth"), Attr::of_int("stride", 0),
                                 Attr::of_ints("sections", zeros), Attr::of_number("value", 0)});
    EXPECT_EQ(given.number("eps", 1e-5), 1e-5);
    EXPECT_EQ(given.integer("stride", 7), 7);
    for (const char *name : {"eps", "way", "stride", "sections", "value"}) EXPECT_EQ(given.find(name), nullptr) << name;
    EXPECT_EQ(checked({Attr::of_ints("sections", some)}).list("sections").n, 4);
    // Where negative numbers are valid, -0 is one; elsewhere it is 0.
    EXPECT_TRUE(std::signbit(checked({Attr::of_number("value", -0.0)}).number("value", 1)));
    EXPECT_EQ(checked({Attr::of_number("eps", -0.0)}).number("eps", 1e-5), 1e-5);
}

TEST_F(AttrDefs, refusals_name_the_value_and_what_is_valid) {
    refused({"eps is 2:", "to 1 is valid"}, Attr::of_number("eps", 2));
    refused({"eps is -1:"}, Attr::of_int("eps", -1));
    refused({"eps is NaN", "a number is valid"}, Attr::of_number("eps", std::nan("")));
    refused({"eps is inf"}, Attr::of_number("eps", INFINITY));
    refused({"eps is text", "a number"}, Attr::of_text("eps", "2"));
    refused({"stride is -1", "at least 1 is valid"}, Attr::of_int("stride", -1));
    refused({"stride is a number", "integers"}, Attr::of_number("stride", 1.5));
    refused({"sections is 0, -1, 0, 0", "at least 0"}, Attr::of_ints("sections", std::array<std::int64_t, 4>{0, -1, 0, 0}));
    refused({"sections has 1 values"}, Attr::of_int("sections", 1));
    refused({"way is 'up'", "one of forth, back is valid"}, Attr::of_text("way", "up"));
    refused({"way is 2", "forth, back"}, Attr::of_int("way", 2));
    refused({"way is -1"}, Attr::of_int("way", -1));
    refused({"way is 0.5"}, Attr::of_number("way", 0.5));
    refused({"n is given twice"}, Attr::of_int("n", 3));
    for (const std::int64_t n : {0, 9}) {
        const Attr wrong = Attr::of_int("n", n);
        support::expect_error(tl::Status::invalid_argument, {"trial", "n is " + std::to_string(n), "1 to 8 is valid"},
                              [&] { checked_attrs(def, {&wrong, 1}, room); });
    }
    support::expect_error(tl::Status::invalid_argument, {"n is missing"}, [&] { checked_attrs(def, {}, room); });
}

TEST_F(OpDefs, copies_that_overlap_are_refused_exactly) {
    const auto t = f({8, 8});
    const std::vector<std::size_t> every_second{64};
    const auto even = t.view({8, 4}, every_second, 0), odd = t.view({8, 4}, every_second, 32);
    EXPECT_NO_THROW(cpy(even, odd));
    EXPECT_NO_THROW(cpy(t, t.view({8, 8})));
    support::expect_error(tl::Status::invalid_argument, {"cpy", "overlap"}, [&] { cpy(t, t.transpose()); });
    support::expect_error(tl::Status::invalid_argument, {"cpy", "overlap"}, [&] { cpy(t.view({32}), t.view({32}, {}, 4)); });
    EXPECT_NO_THROW(cpy(t.view({32}), t.view({32}, {}, 128)));
}

TEST_F(OpDefs, targets_that_overlap_themselves_are_refused) {
    using S = tl::Status;
    const std::vector<std::size_t> none{0}, half{16};
    const auto memory = f({8, 8}), values = f({8, 4}), rows = f({2}, tl::Type::i32);
    for (const auto &target : {memory.view({8, 4}, none), memory.view({8, 4}, half)}) {
        support::expect_error(S::invalid_argument, {"cpy", "dst", "strides", "overlap"}, [&] { cpy(values, target); });
        support::expect_error(S::invalid_argument, {"set_rows", "a is", "strides", "overlap"}, [&] { set_rows(target, f({8, 2}), rows); });
    }
    // What is read may repeat.
    EXPECT_NO_THROW(cpy(memory.view({8, 4}, none), values));
    EXPECT_NO_THROW(set_rows(f({8, 4}), memory.view({8, 2}, none), rows));
}

// Deciding it took 24 bytes an element, outside of every limit.
TEST_F(OpDefs, large_copies_that_overlap_cost_nothing_to_refuse) {
    const auto t = f({4});
    const std::vector<std::size_t> none{0};
    const auto many = t.view({1, std::int64_t{1} << 50}, none), others = t.view({1, std::int64_t{1} << 50}, none, 4);
    support::expect_error(tl::Status::invalid_argument, {"cpy", "overlap"}, [&] { cpy(many, others); });
}

TEST_F(OpDefs, set_rows_from_its_target_is_refused_exactly) {
    const auto t = f({8, 8});
    const std::vector<std::size_t> every_second{64};
    const auto even = t.view({8, 4}, every_second, 0), odd = t.view({8, 4}, every_second, 32);
    const auto rows = f({4}, tl::Type::i32);
    EXPECT_NO_THROW(set_rows(even, odd, rows));
    support::expect_error(tl::Status::invalid_argument, {"set_rows", "b is", "overlap", "dup"}, [&] { set_rows(even, even, rows); });
}

TEST_F(OpDefs, slices_count_in_elements) {
    using S = tl::Status;
    const auto t = support::leaf(ctx, {6, 5, 2}, 1);
    const auto all = t.read<float>();
    const auto at = [&](std::size_t i0, std::size_t i1, std::size_t i2) { return all[i0 + 6 * (i1 + 5 * i2)]; };
    EXPECT_EQ(t.narrow(1, 2, 3).shape(), (std::array<std::int64_t, 4>{6, 3, 2, 1}));
    EXPECT_EQ(t.narrow(1, 2, 3).read<float>()[0], at(0, 2, 0));
    EXPECT_EQ(t.narrow(0, 4, 2).read<float>()[3], at(5, 1, 0));
    EXPECT_EQ(t.narrow(2, 1, 1).read<float>()[7], at(1, 1, 1));
    const auto slice = t.slice({1, 2, 1}, {4, 2, 1});
    EXPECT_EQ(slice.read<float>()[5], at(2, 3, 1));
    EXPECT_EQ(slice.strides(), t.strides());
    // A view works, whatever its strides.
    EXPECT_EQ(t.transpose().narrow(0, 1, 2).read<float>()[1], at(0, 2, 0));
    EXPECT_EQ(slice.narrow(0, 3, 1).read<float>()[1], at(4, 3, 1));
    EXPECT_EQ(t.narrow(1, 5, 0).n_elements(), 0);
    EXPECT_EQ(f({4}).narrow(3, 0, 1).n_dims(), 4);
    const auto blocks = f({64, 2}, tl::Type::q4_0);
    EXPECT_EQ(blocks.narrow(0, 32, 32).nbytes(), 36u);
    support::expect_error(S::invalid_argument, {"view", "block size 32"}, [&] { blocks.narrow(0, 16, 32); });
    support::expect_error(S::invalid_argument, {"view", "3 elements from 3", "dimension 1", "0 to 5"}, [&] { t.narrow(1, 3, 3); });
    support::expect_error(S::invalid_argument, {"view", "from -1"}, [&] { t.narrow(1, -1, 2); });
    support::expect_error(S::invalid_argument, {"view", "-2 elements"}, [&] { t.narrow(1, 1, -2); });
    support::expect_error(S::invalid_argument, {"view"}, [&] { t.narrow(1, INT64_MAX, 1); });
    support::expect_error(S::invalid_argument, {"narrow", "dim is 4", "0 to 3"}, [&] { t.narrow(4, 0, 1); });
    support::expect_error(S::invalid_argument, {"narrow", "dim is -1"}, [&] { t.narrow(-1, 0, 1); });
    support::expect_error(S::invalid_argument, {"view", "2 values", "3 dimensions"}, [&] { t.slice({0, 0}, {1, 1}); });
    support::expect_error(S::invalid_argument, {"view", "start has 2"}, [&] { t.slice({0, 0}, {1, 1, 1}); });
    support::expect_error(S::invalid_argument, {"view", "start", "offset"},
                          [&] { ctx.op("view", {t}, {{"ne", {1, 1, 1}, ""}, {"start", {0, 0, 0}, ""}, {"offset", {4}, ""}}); });
}

TEST_F(OpDefs, one_extent_of_reshape_may_be_left_open) {
    using S = tl::Status;
    const auto t = f({6, 4});
    EXPECT_EQ(t.reshape({-1}).shape()[0], 24);
    EXPECT_EQ(t.reshape({3, -1, 2}).shape(), (std::array<std::int64_t, 4>{3, 4, 2, 1}));
    EXPECT_EQ(f({0, 3}).reshape({5, -1}).shape()[1], 0);
    support::expect_error(S::shape_mismatch, {"reshape", "24 elements", "-1"}, [&] { t.reshape({5, -1}); });
    support::expect_error(S::shape_mismatch, {"reshape", "one -1"}, [&] { t.reshape({-1, -1}); });
    support::expect_error(S::shape_mismatch, {"reshape", "-1"}, [&] { t.reshape({0, -1}); });
    support::expect_error(S::shape_mismatch, {"reshape", "-1"}, [&] { t.reshape({INT64_MAX, INT64_MAX, -1}); });
    support::expect_error(S::invalid_argument, {"reshape", "-2"}, [&] { t.reshape({-2, 12}); });
}

}  // namespace
