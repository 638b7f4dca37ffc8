// Operations that move elements, on every level and at several thread counts.
#include "moves.hpp"

#include "api/devices.hpp"

using namespace moves;

namespace {

core::Ref<core::Backend> opened(const std::string &isa, int threads) {
    const support::Environment level("TENSORLIB_ISA", isa.c_str());
    return core::open_backend("cpu", {.n_threads = threads});
}

class Moves : public testing::TestWithParam<Move> {};
INSTANTIATE_TEST_SUITE_P(operations, Moves, testing::ValuesIn(all_moves), [](const auto &info) { return core::op_name(info.param.op); });

TEST_P(Moves, put_every_unit_where_it_belongs) {
    std::vector<core::Ref<core::Backend>> backends;
    for (const std::string &isa : support::isa_levels()) {
        for (const int threads : {1, 2, 3, 8}) backends.push_back(opened(isa, threads));
    }
    expect_right(GetParam(), backends, support::repeats(300, 20000));
}

// More than goes past the caches, for several threads: rows that are one, shorter than a line, and longer than what is streamed.
class LargeMoves : public testing::Test {
protected:
    template <class OriginOf>
    void expect(Op op, const std::vector<Ne> &shapes, const Attr &attr, const Ne &units, const OriginOf &origin) {
        Random random(3);
        for (const std::string &isa : support::isa_levels()) {
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
