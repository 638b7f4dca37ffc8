// scatter_add with random shapes, indices and views, against additions one after the other in float: the bits must be equal.
#pragma once

#include "moves.hpp"

namespace moves {

struct Scattered {
    Ne a, b, indices;
    std::size_t dim;

    Scattered(const Builder &build, Random &random) : a(build.shape(random)), b(a), indices{1, 1, 1, 1}, dim(random() % 4) {
        for (std::size_t d = 0; d < 4; d++) {
            if (a[d] > 0 && random() % 4 == 0) b[d] = 1 + below(random, a[d]);
        }
        b[dim] = a[dim] == 0 ? 0 : below(random, 3 * a[dim] + 2);
        for (std::size_t d = 0; d < 4; d++) {
            const bool halves = b[d] % 2 == 0 && b[d] > 0 && random() % 3 == 0;
            if (d == dim || random() % 2 == 0) indices[d] = halves ? b[d] / 2 : b[d];
        }
    }

    static std::size_t place(const Ne &i, const Ne &ne) {
        return static_cast<std::size_t>(i[0] % ne[0] + ne[0] * (i[1] % ne[1] + ne[1] * (i[2] % ne[2] + ne[2] * (i[3] % ne[3]))));
    }
    std::vector<float> sums(std::vector<float> c, const std::vector<float> &added, const std::vector<std::int64_t> &numbers) const {
        for (std::size_t flat = 0; flat < added.size(); flat++) {
            Ne i;
            auto rest = static_cast<std::int64_t>(flat);
            for (std::size_t d = 0; d < 4; d++) i[d] = rest % b[d], rest /= b[d];
            const std::int64_t number = numbers[place(i, indices)];
            i[dim] = number;
            c[place(i, a)] += added[flat];
        }
        return c;
    }
};

// Each draw on the next backend.
inline void expect_scattered(std::span<const core::Ref<core::Backend>> backends, int draws, bool large = false) {
    Random random(11);
    for (int draw = 0; draw < draws; draw++) {
        const auto &backend = backends[static_cast<std::size_t>(draw) % backends.size()];
        Builder build(*backend, large);
        const Scattered drawn(build, random);
        const auto [indices, numbers] = build.numbers(drawn.indices, std::max<std::int64_t>(1, drawn.a[drawn.dim]), random);
        Tensor *a = build.operand(DType::f32, drawn.a, random), *b = build.operand(one_of(random, float_types), drawn.b, random);
        Tensor *result = build.node(Op::scatter_add, {a, b, indices}, {Attr::of_int("dim", static_cast<std::int64_t>(drawn.dim))});
        ASSERT_EQ(result->layout.ne, drawn.a);
        core::compute(*core::Graph::create(*build.context, {&result, 1}), *backend);
        const std::vector<float> got = values_of(result), want = drawn.sums(values_of(a), values_of(b), numbers);
        ASSERT_EQ(got.size(), want.size());
        for (std::size_t i = 0; i < got.size(); i++) {
            ASSERT_TRUE(got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i])))
                << "draw " << draw << ", ISA " << backend->isa() << ", element " << i << " of " << core::strided_text(*a) << " and "
                << core::strided_text(*b) << " in dimension " << drawn.dim << " is " << got[i] << ", not " << want[i];
        }
    }
}

}  // namespace moves
