// Operations that move elements, on every ISA and at several thread counts.
#include "scatters.hpp"

#include "api/devices.hpp"

using namespace moves;

namespace {

core::Ref<core::Backend> opened(const std::string &isa, int threads) {
    const support::Environment chosen("TENSORLIB_ISA", isa.c_str());
    return core::open_backend("cpu", {.n_threads = threads});
}

std::vector<core::Ref<core::Backend>> all_backends() {
    std::vector<core::Ref<core::Backend>> all;
    for (const std::string &isa : support::isas()) {
        for (const int threads : {1, 2, 3, 8}) all.push_back(opened(isa, threads));
    }
    return all;
}

class Moves : public testing::TestWithParam<Move> {};
INSTANTIATE_TEST_SUITE_P(operations, Moves, testing::ValuesIn(all_moves), [](const auto &info) { return core::op_name(info.param.op); });

TEST_P(Moves, put_every_unit_where_it_belongs) { expect_right(GetParam(), all_backends(), support::repeats(300, 20000)); }

TEST_P(Moves, share_the_work_among_threads) { expect_right(GetParam(), all_backends(), support::repeats(12, 1000), true); }

class Sums : public testing::TestWithParam<Move> {};
INSTANTIATE_TEST_SUITE_P(operations, Sums, testing::ValuesIn(all_sums), [](const auto &info) { return core::op_name(info.param.op); });

TEST_P(Sums, are_where_they_belong) { expect_sums(GetParam(), all_backends(), support::repeats(300, 20000)); }

TEST_P(Sums, share_the_work_among_threads) { expect_sums(GetParam(), all_backends(), support::repeats(12, 1000), true); }

TEST(Scatter, adds_in_order) {
    expect_scattered(all_backends(), support::repeats(300, 20000));
    expect_scattered(all_backends(), support::repeats(12, 1000), true);
}

// Whoever finds which of them.
TEST(Gather, names_the_first_index_that_is_not_there) {
    const tl::Context ctx;
    std::vector<std::int32_t> numbers(200000);
    for (std::size_t i = 0; i < numbers.size(); i++) numbers[i] = static_cast<std::int32_t>(i % 7);
    numbers[150001] = -1, numbers[70000] = 7, numbers[199999] = 1 << 30;
    const auto indices = ctx.zeros(tl::Type::i32, {200, 1000});
    indices.write<std::int32_t>(numbers);
    const auto taken = gather(ctx.zeros(tl::Type::f32, {200, 7}), indices, 1);
    for (const std::string &isa : support::isas()) {
        for (const int threads : {1, 8}) {
            support::expect_error(tl::Status::invalid_argument, {"gather", "element 70000 of indices is 7", "0 to 6"},
                                  [&] { support::backend(isa, threads).compute({taken}); });
        }
    }
}

// In F64 and rounded once, by any number of threads; more than goes past the caches too.
TEST(Arange, is_rounded_once) {
    constexpr double start = -7.3, step = 1e-6;
    for (const std::int64_t n : {1000, 1000003, 17000001}) {
        const tl::Context ctx;
        const auto numbers = ctx.arange(start, start + (static_cast<double>(n) - 0.5) * step, step);
        ASSERT_EQ(numbers.n_elements(), n);
        for (const std::string &isa : support::isas()) {
            support::backend(isa, 3).compute({numbers});
            const auto got = numbers.read<float>();
            for (std::size_t i = 0; i < got.size(); i++) ASSERT_EQ(got[i], static_cast<float>(start + static_cast<double>(i) * step)) << i;
        }
    }
}

TEST(Tri, takes_four_words) {
    const tl::Context ctx;
    const auto a = ctx.zeros(tl::Type::f32, {3, 3});
    EXPECT_NO_THROW(ctx.op("tri", {a}, {{"type", {}, "upper_diag"}}));
    support::expect_error(tl::Status::invalid_argument, {"tri", "attribute type is 'left'", "lower, lower_diag, upper, upper_diag"},
                          [&] { ctx.op("tri", {a}, {{"type", {}, "left"}}); });
}

// More than goes past the caches, for several threads: rows that are one, shorter than a line, and longer than what is streamed.
class LargeMoves : public testing::Test {
protected:
    template <class OriginOf>
    void expect(Op op, const std::vector<Ne> &shapes, const Attr &attr, const Ne &units, const OriginOf &origin) {
        Random random(3);
        for (const std::string &isa : support::isas()) {
            const auto cpu = opened(isa, 3);
            Builder build(*cpu);
            std::vector<Tensor *> src;
            for (const Ne &shape : shapes) src.push_back(build.leaf(DType::f64, shape, random));
            Tensor *result = build.node(op, src, {attr});
            ASSERT_GE(result->layout.nbytes(), std::size_t{64} << 20);
            core::compute(*core::Graph::create(*build.context, {&result, 1}), *cpu);
            EXPECT_EQ(first_wrong(result, src, units, origin), -1) << isa;
        }
    }
};

TEST_F(LargeMoves, repeat_a_short_period) {
    const Ne units{17 * 500001, 1, 1, 1};
    expect(Op::repeat, {{17, 1, 1, 1}}, Attr::of_ints("ne", units), units, [](const Ne &i) { return Origin{0, {i[0] % 17}}; });
}

TEST_F(LargeMoves, repeat_a_long_period) {
    const Ne units{2100, 4200, 1, 1};
    expect(Op::repeat, {{700, 3, 1, 1}}, Attr::of_ints("ne", units), units, [](const Ne &i) { return Origin{0, {i[0] % 700, i[1] % 3}}; });
}

TEST_F(LargeMoves, concat_rows) {
    expect(Op::concat, {{2049, 3000, 1, 1}, {1023, 3000, 1, 1}}, Attr::of_int("dim", 0), {3072, 3000, 1, 1},
           [](const Ne &i) { return i[0] < 2049 ? Origin{0, i} : Origin{1, {i[0] - 2049, i[1]}}; });
}

TEST_F(LargeMoves, pad) {
    expect(Op::pad, {{1000, 500, 8, 1}}, Attr::of_ints("p", Ne{1100, 3, 1, 0}), {2100, 503, 9, 1},
           [](const Ne &i) { return i[0] < 1000 && i[1] < 500 && i[2] < 8 ? Origin{0, i} : Origin{}; });
}

TEST_F(LargeMoves, roll_one_row) {
    constexpr std::int64_t n = 8500001;
    expect(Op::roll, {{n, 1, 1, 1}}, Attr::of_ints("shift", Ne{-5000, 0, 0, 0}), {n, 1, 1, 1},
           [](const Ne &i) { return Origin{0, {(i[0] + 5000) % n}}; });
}

}  // namespace
