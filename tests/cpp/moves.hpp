// Shared by the tests of operations that move elements: random calls, each with an oracle that says which unit of which operand each unit
// of the result is. Units are compared byte by byte, so a NaN keeps its bits.
#pragma once

#include "dtype/bf16.hpp"
#include "dtype/f16.hpp"
#include "graph/tensor_data.hpp"
#include "ops/op_def.hpp"
#include "runtime/executor.hpp"
#include "support.hpp"

#include <array>
#include <cstring>
#include <functional>
#include <random>

namespace moves {

namespace core = tensorlib::core;
using core::Attr;
using core::DType;
using core::Op;
using core::Tensor;

using Ne = std::array<std::int64_t, 4>;
using Bytes = std::vector<std::byte>;
using Random = std::mt19937;

inline std::int64_t below(Random &random, std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); }
template <class Range>
const auto &one_of(Random &random, const Range &range) {
    return range[static_cast<std::size_t>(below(random, static_cast<std::int64_t>(std::size(range))))];
}
inline std::int64_t count_of(const Ne &ne) { return ne[0] * ne[1] * ne[2] * ne[3]; }

inline std::int64_t block_of(DType type) { return core::traits(type).block_size; }
// Shapes are counted in units: elements, or blocks.
inline Ne in_elements(DType type, Ne units) {
    units[0] *= block_of(type);
    return units;
}

// ---- Tensors

inline Bytes bytes_of(const Tensor *t) {
    Bytes bytes(t->layout.nbytes());
    core::read_bytes(*t, bytes.data(), 0, bytes.size());
    return bytes;
}

struct Builder {
    // large: with work for several threads.
    explicit Builder(core::Backend &backend, bool large = false)
        : context(core::Context::create({.memory = &backend.device().memory(), .keep_alive = &backend})), large_(large) {}

    core::Ref<core::Context> context;

    // Up to some thousands of units: short rows and long ones, 0 and 1.
    Ne shape(Random &random) const {
        constexpr std::int64_t rows[] = {1, 2, 3, 5, 8, 16, 17, 33, 100}, others[] = {1, 1, 2, 3, 4}, longest[] = {1024, 2050, 4099};
        if (large_) return {501 + below(random, 999), 31 + below(random, 30), 1 + below(random, 3), 1 + below(random, 2)};
        Ne ne{one_of(random, rows), one_of(random, others), one_of(random, others), one_of(random, others)};
        if (random() % 8 == 0) ne = {one_of(random, longest), one_of(random, others), 1, 1};
        if (random() % 16 == 0) ne[random() % 4] = 0;
        return ne;
    }

    Tensor *node(Op op, std::vector<Tensor *> src, std::vector<Attr> attrs = {}) { return core::build_node(*context, op, src, attrs); }

    // A leaf of random bytes.
    Tensor *leaf(DType type, const Ne &units, Random &random) {
        Tensor *t = context->new_leaf(core::contiguous_layout("leaf", type, in_elements(type, units)));
        std::vector<std::uint32_t> words(t->layout.nbytes() / sizeof(std::uint32_t) + 1);
        for (std::uint32_t &word : words) word = static_cast<std::uint32_t>(random());
        core::write_bytes(*t, words.data(), 0, t->layout.nbytes());
        return t;
    }

    // Indices below `end`, I32 or I64, as a leaf or permuted; and what they are, in the order of ne.
    std::pair<Tensor *, std::vector<std::int64_t>> numbers(const Ne &ne, std::int64_t end, Random &random) {
        const bool turned = random() % 2 == 0;
        const Ne from = turned ? Ne{ne[1], ne[0], ne[2], ne[3]} : ne;
        std::vector<std::int64_t> values(static_cast<std::size_t>(count_of(ne)));
        for (std::int64_t &value : values) value = below(random, end);
        std::vector<std::int64_t> stored(values.size());
        for (std::size_t i = 0; i < values.size(); i++) {
            const auto n0 = static_cast<std::size_t>(ne[0]), n1 = static_cast<std::size_t>(ne[1]), plane = i / (n0 * n1) * n0 * n1;
            const std::size_t i0 = i % n0, i1 = i / n0 % n1;
            stored[turned ? plane + i1 + n1 * i0 : i] = values[i];
        }
        const bool narrow = random() % 2 == 0;
        Tensor *t = context->new_leaf(core::contiguous_layout("leaf", narrow ? DType::i32 : DType::i64, from));
        const std::vector<std::int32_t> narrowed(stored.begin(), stored.end());
        if (narrow) {
            core::write_bytes(*t, narrowed.data(), 0, t->layout.nbytes());
        } else {
            core::write_bytes(*t, stored.data(), 0, t->layout.nbytes());
        }
        return {turned ? node(Op::transpose, {t}) : t, values};
    }

    // A leaf, a result that is only an intermediate, or a view: permuted, part of a larger one, repeating by a stride of 0.
    Tensor *operand(DType type, const Ne &units, Random &random) {
        switch (below(random, 5)) {
            case 0: {
                std::array<std::int64_t, 4> axes{0, 1, 2, 3};
                std::shuffle(axes.begin() + (block_of(type) > 1 ? 1 : 0), axes.end(), random);
                Ne from;
                for (std::size_t i = 0; i < 4; i++) from[i] = units[static_cast<std::size_t>(axes[i])];
                return node(Op::permute, {leaf(type, from, random)}, {Attr::of_ints("axes", axes)});
            }
            case 1: {
                Ne whole, start;
                for (std::size_t d = 0; d < 4; d++) start[d] = below(random, 3), whole[d] = units[d] + start[d] + below(random, 2);
                return node(Op::view, {leaf(type, whole, random)},
                            {Attr::of_ints("ne", in_elements(type, units)), Attr::of_ints("start", in_elements(type, start))});
            }
            case 2: {
                const auto d = static_cast<std::size_t>(1 + below(random, 3));
                if (count_of(units) == 0) break;
                Ne from = units;
                from[d] = 1;
                Tensor *t = leaf(type, from, random);
                std::array<std::int64_t, 3> nb;
                for (std::size_t i = 0; i < 3; i++) nb[i] = i + 1 == d ? 0 : static_cast<std::int64_t>(t->layout.nb[i + 1]);
                return node(Op::view, {t}, {Attr::of_ints("ne", in_elements(type, units)), Attr::of_ints("nb", nb)});
            }
            case 3: return node(Op::dup, {leaf(type, units, random)});
            default: break;
        }
        return leaf(type, units, random);
    }

private:
    bool large_;
};

inline constexpr DType plain_types[] = {DType::f32, DType::f32, DType::f16, DType::i8, DType::f64};
inline constexpr DType float_types[] = {DType::f32, DType::f16, DType::bf16};
inline constexpr DType any_types[] = {DType::f32, DType::f32, DType::bf16, DType::i8, DType::i64, DType::q8_0, DType::q6_K};

// ---- The operations, and where each unit of their results comes from

// A unit of an operand; of none where it is `otherwise`.
struct Origin {
    int operand = -1;
    Ne index{};
};

struct Drawn {
    std::vector<Tensor *> src{};
    std::vector<Attr> attrs{};
    Ne units{};  // of the result
    std::function<Origin(const Ne &)> origin{};
    Bytes otherwise{};  // zeros where it is empty
};

inline Drawn draw_repeat(Builder &build, Random &random) {
    const DType type = one_of(random, any_types);
    const bool far = random() % 8 == 0 && block_of(type) == 1;
    const Ne a = far ? Ne{1 + below(random, 5), 1 + below(random, 3), 1, 1} : build.shape(random);
    Ne units = a;
    for (std::int64_t &n : units) n *= random() % 16 == 0 ? 0 : 1 + below(random, count_of(units) < 100000 ? 3 : 1);
    if (far) units[0] = a[0] * 2500;
    return {{build.operand(type, a, random)}, {Attr::of_ints("ne", in_elements(type, units))}, units, [a](Ne i) {
                for (std::size_t d = 0; d < 4; d++) i[d] %= a[d];
                return Origin{0, i};
            }};
}

// Joins 2 tensors, and sometimes up to 10.
inline Drawn draw_concat(Builder &build, Random &random) {
    const DType type = one_of(random, any_types);
    const Ne a = build.shape(random);
    const std::size_t dim = random() % 4;
    Ne units = a;
    std::vector<Tensor *> parts{build.operand(type, a, random)};
    std::vector<std::int64_t> sizes{a[dim]};
    const std::size_t n = random() % 3 != 0 ? 2 : 3 + random() % 8;
    while (parts.size() < n) {
        Ne b = a;
        b[dim] = dim == 0 ? one_of(random, std::array<std::int64_t, 6>{0, 1, 2, 3, 17, 64}) : below(random, 4);
        units[dim] += b[dim];
        sizes.push_back(b[dim]);
        parts.push_back(build.operand(type, b, random));
    }
    return {parts, {Attr::of_int("dim", static_cast<std::int64_t>(dim))}, units, [sizes, dim](Ne i) {
                std::size_t part = 0;
                while (i[dim] >= sizes[part]) i[dim] -= sizes[part++];
                return Origin{static_cast<int>(part), i};
            }};
}

inline Drawn draw_flip(Builder &build, Random &random) {
    const std::size_t dim = random() % 4;
    const DType type = dim == 0 ? one_of(random, plain_types) : one_of(random, any_types);
    const Ne a = build.shape(random);
    return {{build.operand(type, a, random)}, {Attr::of_int("dim", static_cast<std::int64_t>(dim))}, a, [a, dim](Ne i) {
                i[dim] = a[dim] - 1 - i[dim];
                return Origin{0, i};
            }};
}

inline Drawn draw_pad(Builder &build, Random &random) {
    const DType type = one_of(random, any_types);
    const Ne a = build.shape(random);
    const bool circular = random() % 3 == 0;
    Ne p{}, lp{}, units = a;
    for (std::size_t d = 0; d < 4; d++) {
        if (circular && a[d] == 0) continue;
        if (random() % 2 == 0) p[d] = below(random, d == 0 ? 70 : 4);
        if (random() % 3 == 0) lp[d] = below(random, d == 0 ? 70 : 4);
        units[d] += p[d] + lp[d];
    }
    std::vector<Attr> attrs{Attr::of_ints("p", in_elements(type, p)), Attr::of_int("circular", circular ? 1 : 0)};
    if (lp != Ne{}) attrs.push_back(Attr::of_ints("lp", in_elements(type, lp)));
    return {{build.operand(type, a, random)}, attrs, units, [a, lp, circular](const Ne &i) {
                Ne at = i;
                for (std::size_t d = 0; d < 4; d++) {
                    at[d] -= lp[d];
                    if (circular) at[d] = (at[d] % a[d] + a[d]) % a[d];
                    if (at[d] < 0 || at[d] >= a[d]) return Origin{};
                }
                return Origin{0, at};
            }};
}

inline Drawn draw_pad_reflect_1d(Builder &build, Random &random) {
    Ne a = build.shape(random);
    a[0] = std::max<std::int64_t>(1, a[0]);
    const std::int64_t n = a[0], p0 = below(random, n), p1 = below(random, n);
    Ne units = a;
    units[0] += p0 + p1;
    return {
        {build.operand(one_of(random, plain_types), a, random)}, {Attr::of_int("p0", p0), Attr::of_int("p1", p1)}, units, [n, p0](Ne i) {
            i[0] -= p0;
            if (i[0] < 0) i[0] = -i[0];
            if (i[0] >= n) i[0] = 2 * (n - 1) - i[0];
            return Origin{0, i};
        }};
}

inline Drawn draw_roll(Builder &build, Random &random) {
    const DType type = one_of(random, any_types);
    const Ne a = build.shape(random);
    Ne shift{};
    for (std::int64_t &s : shift) {
        if (random() % 2 == 0) s = below(random, 201) - 100;
    }
    return {{build.operand(type, a, random)}, {Attr::of_ints("shift", in_elements(type, shift))}, a, [a, shift](Ne i) {
                for (std::size_t d = 0; d < 4; d++) i[d] = ((i[d] - shift[d]) % a[d] + a[d]) % a[d];
                return Origin{0, i};
            }};
}

inline Drawn draw_diag(Builder &build, Random &random) {
    Ne a = build.shape(random);
    a[0] = std::min<std::int64_t>(a[0], 100), a[1] = 1;
    return {{build.operand(one_of(random, plain_types), a, random)}, {}, {a[0], a[0], a[2], a[3]}, [](const Ne &i) {
                return i[0] == i[1] ? Origin{0, {i[0], 0, i[2], i[3]}} : Origin{};
            }};
}

// Matrices, about as long as wide now and then.
inline Ne some_matrices(const Builder &build, Random &random) {
    Ne ne = build.shape(random);
    if (random() % 2 == 0) ne = {1 + below(random, 40), 1 + below(random, 40), ne[2], 1};
    return ne;
}

inline Drawn draw_tri(Builder &build, Random &random) {
    const Ne a = some_matrices(build, random);
    constexpr const char *kinds[] = {"lower", "lower_diag", "upper", "upper_diag"};
    const std::size_t kind = random() % 4;
    return {{build.operand(one_of(random, plain_types), a, random)}, {Attr::of_text("type", kinds[kind])}, a, [kind](const Ne &i) {
                const bool kept[] = {i[0]<i[1], i[0] <= i[1], i[0]> i[1], i[0] >= i[1]};
                return kept[kind] ? Origin{0, i} : Origin{};
            }};
}

inline Drawn draw_mask(Builder &build, Random &random, bool infinite) {
    const Ne a = some_matrices(build, random);
    const DType type = one_of(random, float_types);
    const std::int64_t n_past = below(random, 20);
    // -infinity's bytes, the lowest first.
    const std::vector<unsigned> infinity = type == DType::f32   ? std::vector{0u, 0u, 0x80u, 0xffu}
                                           : type == DType::f16 ? std::vector{0u, 0xfcu}
                                                                : std::vector{0x80u, 0xffu};
    Drawn drawn{{build.operand(type, a, random)}, {Attr::of_int("n_past", n_past)}, a, [n_past](const Ne &i) {
                    return i[0] > n_past + i[1] ? Origin{} : Origin{0, i};
                }};
    for (const unsigned byte : infinity) drawn.otherwise.push_back(static_cast<std::byte>(infinite ? byte : 0));
    return drawn;
}
inline Drawn draw_diag_mask_inf(Builder &build, Random &random) { return draw_mask(build, random, true); }
inline Drawn draw_diag_mask_zero(Builder &build, Random &random) { return draw_mask(build, random, false); }

// Where b's elements go in acc and set: in each dimension some after each other or every second one.
struct DrawnWindow {
    Ne a, b, start{}, step{1, 1, 1, 1};
    std::vector<Attr> attrs;

    DrawnWindow(const Builder &build, DType type, Random &random) : a(build.shape(random)) {
        std::int64_t nb = static_cast<std::int64_t>(core::traits(type).size), offset = 0;
        const char *const names[] = {"", "nb1", "nb2", "nb3"};
        for (std::size_t d = 0; d < 4; d++) {
            if (d > 0 && random() % 3 == 0) step[d] = 2;
            start[d] = count_of(a) > 0 ? below(random, a[d]) : 0;
            const std::int64_t most = count_of(a) > 0 ? (a[d] - start[d] - 1) / step[d] + 1 : 0;
            b[d] = random() % 16 == 0 ? 0 : std::min(most, 1 + below(random, most + 1));
            // One that is the result's own may be left out.
            if (d > 0 && (step[d] > 1 || random() % 2 == 0)) attrs.push_back(Attr::of_int(names[d], step[d] * nb));
            offset += start[d] * nb;
            nb *= a[d];
        }
        attrs.push_back(Attr::of_int("offset", offset));
    }
    // The element of b at index i of the result; false where there is none.
    bool find(const Ne &i, Ne &at) const {
        for (std::size_t d = 0; d < 4; d++) {
            at[d] = (i[d] - start[d]) / step[d];
            if (i[d] < start[d] || (i[d] - start[d]) % step[d] != 0 || at[d] >= b[d]) return false;
        }
        return true;
    }
};

inline Drawn draw_set(Builder &build, Random &random) {
    const DType type = one_of(random, any_types);
    const DrawnWindow window(build, type, random);
    return {{build.operand(type, window.a, random), build.operand(type, window.b, random)}, window.attrs, window.a, [window](const Ne &i) {
                Ne at;
                return window.find(i, at) ? Origin{1, at} : Origin{0, i};
            }};
}

inline Drawn draw_gather(Builder &build, Random &random) {
    const Ne a = build.shape(random);
    const std::size_t dim = random() % 4;
    Ne units = a;
    for (std::size_t d = 0; d < 4; d++) units[d] -= random() % 4 == 0 ? below(random, a[d] + 1) : 0;
    units[dim] = a[dim] == 0 ? 0 : below(random, 7);
    const auto [indices, numbers] = build.numbers(units, a[dim], random);
    return {{build.operand(one_of(random, plain_types), a, random), indices},
            {Attr::of_int("dim", static_cast<std::int64_t>(dim))},
            units,
            [units, dim, numbers](Ne i) {
                i[dim] = numbers[static_cast<std::size_t>(i[0] + units[0] * (i[1] + units[1] * (i[2] + units[2] * i[3])))];
                return Origin{0, i};
            }};
}

// ---- Against the oracle

// The first unit of a result that is not what it should be, or -1.
template <class OriginOf>
std::int64_t first_wrong(const Tensor *result, const std::vector<Tensor *> &src, const Ne &units, const OriginOf &origin,
                         const Bytes &otherwise = {}) {
    const std::size_t unit = core::traits(result->layout.type).size;
    std::vector<Bytes> operands;
    // An intermediate is a copy of its source.
    for (const Tensor *source : src) operands.push_back(bytes_of(source->op == Op::dup ? source->src[0] : source));
    const Bytes zeros(unit), got = bytes_of(result);
    if (got.size() != static_cast<std::size_t>(count_of(units)) * unit) return 0;
    std::int64_t at = 0;
    for (std::int64_t i3 = 0; i3 < units[3]; i3++) {
        for (std::int64_t i2 = 0; i2 < units[2]; i2++) {
            for (std::int64_t i1 = 0; i1 < units[1]; i1++) {
                for (std::int64_t i0 = 0; i0 < units[0]; i0++, at++) {
                    const Origin from = origin(Ne{i0, i1, i2, i3});
                    const std::byte *want = otherwise.empty() ? zeros.data() : otherwise.data();
                    if (from.operand >= 0) {
                        const core::Layout &l = src[static_cast<std::size_t>(from.operand)]->layout;
                        const Ne &i = from.index;
                        const std::int64_t place = i[0] + l.ne[0] / block_of(l.type) * (i[1] + l.ne[1] * (i[2] + l.ne[2] * i[3]));
                        want = operands[static_cast<std::size_t>(from.operand)].data() + static_cast<std::size_t>(place) * unit;
                    }
                    if (std::memcmp(got.data() + static_cast<std::size_t>(at) * unit, want, unit) != 0) return at;
                }
            }
        }
    }
    return -1;
}

// ---- Running them

struct Move {
    Op op;
    Drawn (*draw)(Builder &, Random &);
};
inline void PrintTo(const Move &move, std::ostream *out) { *out << core::op_name(move.op); }

inline constexpr Move all_moves[] = {
    {Op::repeat, draw_repeat},
    {Op::concat, draw_concat},
    {Op::pad, draw_pad},
    {Op::pad_reflect_1d, draw_pad_reflect_1d},
    {Op::roll, draw_roll},
    {Op::flip, draw_flip},
    {Op::diag, draw_diag},
    {Op::tri, draw_tri},
    {Op::diag_mask_inf, draw_diag_mask_inf},
    {Op::diag_mask_zero, draw_diag_mask_zero},
    {Op::set, draw_set},
    {Op::gather, draw_gather},
};

// Each draw on the next backend.
inline void expect_right(const Move &move, std::span<const core::Ref<core::Backend>> backends, int draws, bool large = false) {
    Random random(7);
    for (int draw = 0; draw < draws; draw++) {
        const auto &backend = backends[static_cast<std::size_t>(draw) % backends.size()];
        Builder build(*backend, large);
        const Drawn drawn = move.draw(build, random);
        Tensor *result = build.node(move.op, drawn.src, drawn.attrs);
        const DType type = drawn.src[0]->layout.type;
        ASSERT_EQ(result->layout.type, type);
        ASSERT_EQ(result->layout.ne, in_elements(type, drawn.units));
        ASSERT_TRUE(result->layout.contiguous());
        core::compute(*core::Graph::create(*build.context, {&result, 1}), *backend);
        const std::int64_t wrong = first_wrong(result, drawn.src, drawn.units, drawn.origin, drawn.otherwise);
        std::string given;
        for (const Tensor *source : drawn.src) given += core::strided_text(*source) + "; ";
        ASSERT_EQ(wrong, -1) << "draw " << draw << ", ISA " << backend->isa() << ", of " << given << " into " << core::tensor_text(*result);
    }
}

// ---- acc and add_id, which add

template <class Format>
float stored_in(float x) {
    typename Format::Block block;
    Format::encode(&x, block);
    Format::decode(block, &x);
    return x;
}
inline float stored(DType type, float x) {
    return type == DType::f16 ? stored_in<core::F16>(x) : type == DType::bf16 ? stored_in<core::BF16>(x) : x;
}

inline std::vector<float> values_of(const Tensor *t) {
    const Tensor *from = t->op == Op::dup ? t->src[0] : t;
    std::vector<float> values(static_cast<std::size_t>(from->layout.n_elements()));
    core::read_f32(*from, values.data(), values.size());
    return values;
}

inline Drawn draw_acc(Builder &build, Random &random) {
    const DType type = one_of(random, float_types);
    const DrawnWindow window(build, type, random);
    return {{build.operand(type, window.a, random), build.operand(one_of(random, float_types), window.b, random)},
            window.attrs,
            window.a,
            [window](const Ne &i) {
                Ne at;
                return window.find(i, at) ? Origin{1, at} : Origin{};
            }};
}

inline Drawn draw_add_id(Builder &build, Random &random) {
    Ne a = build.shape(random);
    a[3] = 1;
    const Ne b{a[0], 1 + below(random, 9), 1, 1};
    const auto [ids, numbers] = build.numbers({a[1], a[2], 1, 1}, b[1], random);
    return {{build.operand(one_of(random, float_types), a, random), build.operand(one_of(random, float_types), b, random), ids},
            {},
            a,
            [a, numbers](const Ne &i) { return Origin{1, {i[0], numbers[static_cast<std::size_t>(i[1] + a[1] * i[2])]}}; }};
}

inline constexpr Move all_sums[] = {{Op::acc, draw_acc}, {Op::add_id, draw_add_id}};

// Each element of the result is a's, and the one of b added that the draw says.
inline void expect_sums(const Move &move, std::span<const core::Ref<core::Backend>> backends, int draws, bool large = false) {
    Random random(7);
    for (int draw = 0; draw < draws; draw++) {
        const auto &backend = backends[static_cast<std::size_t>(draw) % backends.size()];
        Builder build(*backend, large);
        const Drawn drawn = move.draw(build, random);
        Tensor *a = drawn.src[0], *b = drawn.src[1], *result = build.node(move.op, drawn.src, drawn.attrs);
        const DType type = a->layout.type;
        ASSERT_EQ(result->layout.type, type);
        ASSERT_EQ(result->layout.ne, drawn.units);
        core::compute(*core::Graph::create(*build.context, {&result, 1}), *backend);
        const std::vector<float> x = values_of(a), y = values_of(b), got = values_of(result);
        ASSERT_EQ(got.size(), x.size());
        for (std::size_t flat = 0; flat < got.size(); flat++) {
            Ne i;
            auto rest = static_cast<std::int64_t>(flat);
            for (std::size_t d = 0; d < 4; d++) i[d] = rest % drawn.units[d], rest /= drawn.units[d];
            const Origin from = drawn.origin(i);
            const core::Extents &n = b->layout.ne;
            const std::int64_t place = from.index[0] + n[0] * (from.index[1] + n[1] * (from.index[2] + n[2] * from.index[3]));
            const double sum = double{x[flat]} + (from.operand < 0 ? 0 : double{y[static_cast<std::size_t>(place)]});
            const float want = from.operand < 0 ? x[flat] : stored(type, static_cast<float>(sum));
            ASSERT_TRUE(got[flat] == want || (std::isnan(got[flat]) && std::isnan(want)))
                << "draw " << draw << ", ISA " << backend->isa() << ", element " << flat << " of " << core::strided_text(*a) << " and "
                << core::strided_text(*b) << " is " << got[flat] << ", not " << want;
        }
    }
}

}  // namespace moves
