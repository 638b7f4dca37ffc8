// Random tensors of the engine with any strides, and checks that tests of operations share.
#pragma once

#include "api/devices.hpp"
#include "graph/tensor_data.hpp"
#include "ops/op_def.hpp"
#include "runtime/executor.hpp"
#include "support.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace support {

namespace core = tensorlib::core;

using Ne = std::array<std::int64_t, 4>;
using Random = std::mt19937;

constexpr float inf = std::numeric_limits<float>::infinity();

inline std::int64_t below(Random &random, std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); }
template <class Range>
const auto &one_of(Random &random, const Range &range) {
    return range[static_cast<std::size_t>(below(random, static_cast<std::int64_t>(std::size(range))))];
}
inline std::int64_t count_of(const Ne &ne) { return ne[0] * ne[1] * ne[2] * ne[3]; }

constexpr core::DType float_types[] = {core::DType::f32, core::DType::f16, core::DType::bf16};

// Multiples of 1/512 in [-4, 4).
inline float any_value(Random &random) { return static_cast<float>(random() % 4096) / 512 - 4; }
// As any_value, but one in eight is a special value: 70000 is beyond F16; -100 has a tail below 2^-126; halves
// are rounded.
inline float any_or_special_value(Random &random) {
    constexpr float special[] = {0, -0.0f, inf, -inf, NAN, 0x1p-149f, -1e-40f, 70000, -100, 88, 0.5f, -2.5f, 1, -1, 3e38f, 0x1p-24f};
    return random() % 8 == 0 ? one_of(random, special) : any_value(random);
}

struct Builder {
    core::Ref<core::Context> context = core::Context::create({});
    float (*draw)(Random &) = any_or_special_value;  // a leaf's values

    core::Tensor *leaf(const Ne &ne, core::DType type = core::DType::f32) {
        return context->new_leaf(core::contiguous_layout("leaf", type, ne));
    }
    core::Tensor *leaf(const Ne &ne, core::DType type, Random &random) {
        std::vector<float> values(static_cast<std::size_t>(count_of(ne)));
        for (float &value : values) value = draw(random);
        return leaf(ne, type, values);
    }
    core::Tensor *leaf(const Ne &ne, core::DType type, const std::vector<float> &values) {
        core::Tensor *t = leaf(ne, type);
        core::write_f32(*t, values.data(), values.size());
        return t;
    }
    core::Tensor *node(core::Op op, std::vector<core::Tensor *> src, std::vector<core::Attr> attrs = {}) {
        return core::build_node(*context, op, src, attrs);
    }

    // A tensor of this shape: a leaf, or one permuted, part of a larger one, or repeating by a stride of 0.
    core::Tensor *operand(const Ne &ne, core::DType type, Random &random) {
        switch (below(random, 4)) {
            case 0: {
                Ne axes{0, 1, 2, 3};
                std::ranges::shuffle(axes, random);
                Ne from;
                for (std::size_t i = 0; i < 4; i++) from[i] = ne[static_cast<std::size_t>(axes[i])];
                return node(core::Op::permute, {leaf(from, type, random)}, {core::Attr::of_ints("axes", axes)});
            }
            case 1: {
                Ne whole, start;
                for (std::size_t d = 0; d < 4; d++) start[d] = below(random, 3), whole[d] = ne[d] + start[d] + below(random, 2);
                return node(core::Op::view, {leaf(whole, type, random)},
                            {core::Attr::of_ints("ne", ne), core::Attr::of_ints("start", start)});
            }
            case 2: {
                const std::size_t d = static_cast<std::size_t>(1 + below(random, 3));
                if (count_of(ne) == 0) break;
                Ne from = ne;
                from[d] = 1;
                core::Tensor *t = leaf(from, type, random);
                std::array<std::int64_t, 3> nb;
                for (std::size_t i = 0; i < 3; i++) nb[i] = i + 1 == d ? 0 : static_cast<std::int64_t>(t->layout.nb[i + 1]);
                return node(core::Op::view, {t}, {core::Attr::of_ints("ne", ne), core::Attr::of_ints("nb", nb)});
            }
            default: break;
        }
        return leaf(ne, type, random);
    }

    core::Ref<core::Graph> graph(std::vector<core::Tensor *> outputs) { return core::Graph::create(*context, outputs); }
};

inline std::vector<float> values_of(const core::Tensor *t) {
    std::vector<float> values(static_cast<std::size_t>(t->layout.n_elements()));
    core::read_f32(*t, values.data(), values.size());
    return values;
}

// Up to some thousands of elements: rows shorter and longer than a tile, 0 and 1.
inline Ne some_shape(Random &random) {
    constexpr std::int64_t rows[] = {1, 2, 3, 5, 8, 15, 16, 17, 33, 64, 100, 257}, others[] = {1, 1, 1, 2, 3, 4, 6},
                           longest[] = {1024, 2048, 2100, 4099};
    Ne ne{one_of(random, rows), one_of(random, others), one_of(random, others), one_of(random, others)};
    if (random() % 8 == 0) ne = {one_of(random, longest), ne[1], 1, 1};
    if (random() % 16 == 0) ne[random() % 4] = 0;
    return ne;
}

// Equal bits, except that any NaN equals any other: a compiler may keep either of two NaN that meet.
inline bool same_values(const std::vector<float> &a, const std::vector<float> &b) {
    return std::ranges::equal(a, b, [](float x, float y) {
        return (std::isnan(x) && std::isnan(y)) || std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
    });
}

constexpr int thread_counts[] = {1, 2, 3, 8};

// An ISA's backends, of these numbers of threads.
struct IsaBackends {
    std::string isa;
    std::vector<core::Ref<core::Backend>> all;
};
// Each ISA's; `fused` or every operation a step of its own.
inline std::vector<IsaBackends> make_backends(bool fused) {
    const Environment fuse("TENSORLIB_FUSE", fused ? "1" : "0");
    std::vector<IsaBackends> made;
    for (const std::string &isa : isas()) {
        const Environment chosen("TENSORLIB_ISA", isa.c_str());
        made.push_back({isa, {}});
        for (const int threads : thread_counts) made.back().all.push_back(core::open_backend("cpu", {.n_threads = threads}));
    }
    return made;
}
inline const std::vector<IsaBackends> &all_backends() {
    static const std::vector<IsaBackends> made = make_backends(true);
    return made;
}

// A result as each ISA has it, with the same bits at any number of threads.
inline std::vector<std::vector<float>> computed_on_isas(Builder &build, core::Tensor *result, const std::string &what) {
    const auto graph = build.graph({result});
    std::vector<std::vector<float>> isas;
    for (const IsaBackends &isa : all_backends()) {
        for (std::size_t i = 0; i < isa.all.size(); i++) {
            core::compute(*graph, *isa.all[i]);
            const std::vector<float> values = values_of(result);
            if (i == 0) isas.push_back(values);
            EXPECT_TRUE(same_values(values, isas.back()))
                << what << ": other bits on " << isa.isa << " with " << thread_counts[i] << " threads";
        }
    }
    return isas;
}

// A result that has the same bits on every ISA.
inline std::vector<float> computed(Builder &build, core::Tensor *result, const std::string &what) {
    const auto isas = computed_on_isas(build, result, what);
    for (std::size_t i = 1; i < isas.size(); i++)
        EXPECT_TRUE(same_values(isas[i], isas[0])) << what << ": other bits on " << all_backends()[i].isa;
    return isas[0];
}

}  // namespace support
