// The C++ API, used as a program uses it.
#include "support.hpp"

namespace {

TEST(Api, quickstart) {
    tl::Backend cpu;
    tl::Context ctx;
    auto a = ctx.tensor<float>({2, 4}, {2, 8, 5, 1, 4, 2, 8, 6});
    auto b = ctx.tensor<float>({2, 3}, {10, 5, 9, 9, 5, 4});
    auto c = mul_mat(a, b);
    cpu.compute({c});
    EXPECT_EQ(c.read<float>(), (std::vector<float>{60, 55, 50, 110, 90, 54, 54, 126, 42, 29, 28, 64}));
}

TEST(Api, tensors_describe_themselves) {
    tl::Context ctx;
    const auto t = ctx.zeros(tl::Type::bf16, {4, 3, 2});
    EXPECT_EQ(t.type(), tl::Type::bf16);
    EXPECT_EQ(t.n_dims(), 3);
    EXPECT_EQ(t.n_elements(), 24);
    EXPECT_EQ(t.nbytes(), 48u);
    EXPECT_EQ(t.op(), "leaf");
    EXPECT_EQ(t.name(), "");
    t.set_name("weights");
    EXPECT_EQ(t.name(), "weights");
    EXPECT_EQ((t + t).op(), "add");
    support::expect_error(tl::Status::shape_mismatch, {"'weights' [4, 3, 2] bf16"}, [&] { add(t, ctx.zeros(tl::Type::f32, {7})); });
    EXPECT_STREQ(tl::type_name(tl::Type::f16), "f16");
    EXPECT_EQ(tl::type_from_name("I32"), tl::Type::i32);
    support::expect_error(tl::Status::invalid_argument, {"'q8'", "are q8_0, q8_1, q8_K"}, [] { tl::type_from_name("q8"); });
}

TEST(Api, operators) {
    const tl::Backend cpu("cpu", {1});
    tl::Context ctx;
    const auto a = ctx.tensor<float>({2, 2}, {1, 2, 3, 4}), b = ctx.tensor<float>({2}, {2, 4});
    const auto c = (a + b) * (a - b), d = -(c / b);
    cpu.compute({c, d});
    EXPECT_EQ(c.read<float>(), (std::vector<float>{-3, -12, 5, 0}));
    EXPECT_EQ(d.read<float>(), (std::vector<float>{1.5f, 3, -2.5f, -0.0f}));
    EXPECT_TRUE(std::signbit(d.read<float>()[3]));
    const std::pair<tl::Tensor, const char *> named[] = {{a - b, "sub"}, {a * b, "mul"}, {a / b, "div"}, {-a, "neg"}};
    for (const auto &[node, op] : named) EXPECT_EQ(node.op(), op);
    const auto other = ctx.tensor<float>({3}, {1, 2, 3}), row = ctx.tensor<float>({4}, {1, 2, 3, 4});
    for (const auto &refused : std::initializer_list<std::function<void()>>{[&] { a + other; }, [&] { other - a; }, [&] { a / other; }})
        support::expect_error(tl::Status::shape_mismatch, {"[3] f32", "[2, 2] f32", "do not broadcast"}, refused);
    for (const auto &refused :
         std::initializer_list<std::function<void()>>{[&] { row + b; }, [&] { row - b; }, [&] { row *b; }, [&] { row / b; }})
        support::expect_error(tl::Status::shape_mismatch, {"[4] f32", "[2] f32", "repeat 2 times", "repeat()", "\n  a  4\n  b  2\n     ^"},
                              refused);
    EXPECT_EQ(add(row, b).n_elements(), 4);
    support::expect_error(tl::Status::type_mismatch, {"neg", "i8"}, [&] { -ctx.zeros(tl::Type::i8, {2}); });
}

TEST(Api, operators_broadcast_both_sides) {
    const tl::Backend cpu("cpu", {1});
    tl::Context ctx;
    const auto one = ctx.tensor<float>({1}, {10}), row = ctx.tensor<float>({3}, {1, 2, 3}), column = ctx.tensor<float>({1, 2}, {10, 20});
    const auto difference = one - row, table = row + column, sides = column / row;
    cpu.compute({difference, table, sides});
    EXPECT_EQ(difference.read<float>(), (std::vector<float>{9, 8, 7}));
    EXPECT_EQ(table.read<float>(), (std::vector<float>{11, 12, 13, 21, 22, 23}));
    EXPECT_EQ(sides.read<float>(), (std::vector<float>{10, 5, 10.0f / 3, 20, 10, 20.0f / 3}));
    EXPECT_EQ(table.shape(), (std::array<std::int64_t, 4>{3, 2, 1, 1}));
    EXPECT_EQ(table.n_dims(), 2);
    EXPECT_EQ(sides.shape(), table.shape());
    try {
        (void)(row + ctx.zeros(tl::Type::f32, {4, 12}));
        FAIL();
    } catch (const tl::Error &error) {
        EXPECT_NE(std::string(error.what()).find("\n  a  3\n  b  4  12\n     ^"), std::string::npos) << error.what();
    }
}

TEST(Api, operators_take_integers_and_doubles) {
    const tl::Context ctx;
    const tl::Backend cpu;
    const tl::Tensor i = ctx.tensor({4}, std::vector<std::int32_t>{7, -7, INT32_MAX, 0});
    const auto ints = [&](const tl::Tensor &t) {
        cpu.compute({t});
        return t.read<std::int32_t>();
    };
    using Ints = std::vector<std::int32_t>;
    EXPECT_EQ(ints(i + 1), (Ints{8, -6, INT32_MIN, 1}));
    EXPECT_EQ(ints(1 - i), (Ints{-6, 8, 1 - INT32_MAX, 1}));
    EXPECT_EQ(ints(i * 3), (Ints{21, -21, INT32_MAX - 2, 0}));
    EXPECT_EQ(ints(i / 2), (Ints{3, -3, INT32_MAX / 2, 0}));
    EXPECT_EQ(ints(i * i - i), (Ints{42, 56, INT32_MIN + 2, 0}));
    support::expect_error(tl::Status::invalid_argument, {"scale is 0.5", "i32"}, [&] { return i * 0.5; });
    support::expect_error(tl::Status::invalid_argument, {"value is", "i32"}, [&] { return i / 1e10; });
    support::expect_error(tl::Status::invalid_argument, {"element 3 of b is 0"}, [&] { cpu.compute({7 / i}); });
    const tl::Tensor d = ctx.tensor({2}, std::vector<double>{0.1, 1}), quotient = 0.3 / d, sum = d + 1e-12;
    cpu.compute({quotient, sum});
    EXPECT_EQ(quotient.read<double>(), (std::vector<double>{0.3 / 0.1, 0.3}));
    EXPECT_EQ(sum.read<double>(), (std::vector<double>{0.1 + 1e-12, 1 + 1e-12}));
}

TEST(Api, operators_take_numbers) {
    const tl::Backend cpu("cpu", {1});
    tl::Context ctx;
    constexpr float inf = std::numeric_limits<float>::infinity();
    const std::vector<float> x{1, -2.5f, 0.0f, -0.0f, inf, 3e38f, 1e-45f, 7};
    const auto t = ctx.tensor<float>({8}, x);
    const auto bits = [](float v) { return std::isnan(v) ? ~0u : std::bit_cast<std::uint32_t>(v); };
    for (const double number : {3.0, -0.1, 1e-3, 1e30, 0.5}) {
        const auto n = static_cast<float>(number);
        using Formula = float (*)(float, float);
        const std::pair<tl::Tensor, Formula> all[] = {
            {t + number, [](float v, float s) { return v + s; }}, {number + t, [](float v, float s) { return s + v; }},
            {t - number, [](float v, float s) { return v - s; }}, {number - t, [](float v, float s) { return s - v; }},
            {t * number, [](float v, float s) { return v * s; }}, {number * t, [](float v, float s) { return s * v; }},
            {t / number, [](float v, float s) { return v / s; }}, {number / t, [](float v, float s) { return s / v; }},
        };
        for (const auto &[made, formula] : all) {
            cpu.compute({made});
            const auto found = made.read<float>();
            for (std::size_t i = 0; i < x.size(); i++)
                EXPECT_EQ(bits(found[i]), bits(formula(x[i], n))) << made.op() << number << " " << x[i];
        }
    }
    const auto nan = t * std::numeric_limits<double>::quiet_NaN();
    cpu.compute({nan});
    for (const float v : nan.read<float>()) EXPECT_TRUE(std::isnan(v));
    const auto half = t.cast(tl::Type::f16);
    for (const auto &made : {half + 1, 1 - half, half * 2, 2 / half, half / 3}) EXPECT_EQ(made.type(), tl::Type::f16);
    support::expect_error(tl::Status::type_mismatch, {"scale", "i8"}, [&] { ctx.zeros(tl::Type::i8, {2}) + 1; });
}

TEST(Api, devices) {
    const tl::Backend cpu("CPU", {3});
    EXPECT_EQ(cpu.device(), "cpu");
    EXPECT_EQ(cpu.n_threads(), 3);
    EXPECT_GE(tl::Backend().n_threads(), 1);
    support::expect_error(tl::Status::invalid_argument, {"gpu7", "cpu"}, [] { tl::Backend("gpu7"); });
    support::expect_error(tl::Status::unavailable, {"cuda:999", "cpu"}, [] { tl::Backend("cuda:999"); });
    const auto devices = tl::devices();
    EXPECT_EQ(devices.at(0).name, "cpu");
    EXPECT_FALSE(devices[0].description.empty());
    EXPECT_EQ(devices[0].capability, 0);
    EXPECT_FALSE(devices[0].simulated);
    support::expect_error(tl::Status::invalid_argument, {"n_threads", "-5"}, [] { tl::Backend("cpu", {-5}); });
}

TEST(Api, a_model_owns_its_context) {
    struct Model {
        tl::Context ctx;
        tl::Tensor weights = ctx.tensor<float>({2, 2}, {1, 2, 3, 4});
        tl::Tensor apply(const tl::Tensor &x) const { return mul_mat(weights, x); }
    };
    const tl::Backend cpu("cpu", {1});
    const auto output = [&] {
        const Model model;
        tl::Context token;
        return model.apply(token.tensor<float>({2}, {1, 1}));
    }();
    cpu.compute({output});
    EXPECT_EQ(output.read<float>(), (std::vector<float>{3, 7}));
}

TEST(Api, backend_may_go_before_its_context) {
    auto cpu = std::make_unique<tl::Backend>("cpu", tl::BackendOptions{2});
    const tl::Context ctx(*cpu);
    const auto t = ctx.tensor<double>({2}, {1.5, 2.5});
    cpu.reset();
    EXPECT_EQ(t.read<double>(), (std::vector<double>{1.5, 2.5}));
    const tl::Backend again("cpu", {1});
    const auto sum = t.view({1});
    again.compute({sum});
    EXPECT_EQ(sum.read_f32()[0], 1.5f);
}

}  // namespace
