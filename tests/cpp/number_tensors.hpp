// Tensors of integers and of F64 with any values, for tests that compare every bit.
#pragma once

#include "random_tensors.hpp"

#include "cpu/cpu_backend.hpp"

#include <bit>

namespace support {

template <class T>
constexpr core::DType type_of = core::DType::f64;
template <>
inline constexpr core::DType type_of<std::int8_t> = core::DType::i8;
template <>
inline constexpr core::DType type_of<std::int16_t> = core::DType::i16;
template <>
inline constexpr core::DType type_of<std::int32_t> = core::DType::i32;
template <>
inline constexpr core::DType type_of<std::int64_t> = core::DType::i64;
template <>
inline constexpr core::DType type_of<std::uint8_t> = core::DType::u8;

// A type of elements, for typed tests.
template <class T, core::DType dtype = type_of<T>>
struct Elements {
    using Type = T;
    static constexpr core::DType type = dtype;
};
using NumberTypes = testing::Types<Elements<std::int8_t>, Elements<std::int16_t>, Elements<std::int32_t>, Elements<std::int64_t>,
                                   Elements<std::uint8_t>, Elements<std::uint8_t, core::DType::boolean>, Elements<double>>;

// Any bits, small numbers, and the ends of the range.
template <class T>
T drawn(Random &random) {
    constexpr T ends[] = {std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max(), 0, 1, static_cast<T>(-1), 2};
    const int how = static_cast<int>(random() % 4);
    if constexpr (std::is_same_v<T, double>) {
        constexpr double special[] = {INFINITY, -INFINITY, NAN, 0.0, -0.0, 5e-324, -1e308, 1e308, 0.5, -2.5, 4503599627370497.5};
        if (how == 0) return special[random() % std::size(special)];
        return (static_cast<double>(random()) - 2147483648.0) / (how == 1 ? 1 : 1 << 20);
    } else {
        if (how == 0) return ends[random() % std::size(ends)];
        if (how == 1) return static_cast<T>(static_cast<std::int64_t>(random() % 41) - 20);
        return static_cast<T>(static_cast<std::uint64_t>(random()) << 32 ^ random());
    }
}

template <class T>
std::vector<T> elements_of(const core::Tensor &t) {
    std::vector<T> values(static_cast<std::size_t>(t.layout.n_elements()));
    core::read_bytes(t, values.data(), 0, values.size() * sizeof(T));
    return values;
}

inline bool same(double a, double b) {
    return (std::isnan(a) && std::isnan(b)) || std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}
template <class T>
    requires(!std::is_same_v<T, double>)
bool same(T a, T b) {
    return a == b;
}

// Random tensors whose elements are T, and what backends make of them.
template <class T>
class NumberTensors {
protected:
    explicit NumberTensors(core::DType of = type_of<T>) : type(of) {}

    // A tensor of this shape with any values: a leaf, or a view with strides of its own.
    core::Tensor *operand(const Ne &ne, bool no_zeros = false, bool none_below_0 = false) {
        Ne axes{0, 1, 2, 3}, from = ne;
        const int how = static_cast<int>(random() % 3);
        if (how == 1) std::ranges::shuffle(axes, random);
        for (std::size_t i = 0; i < 4; i++) from[i] = ne[static_cast<std::size_t>(axes[i])];
        if (how == 2) from[0] += 3;
        core::Tensor *leaf = build.leaf(from, type);
        std::vector<T> values(static_cast<std::size_t>(count_of(from)));
        for (T &value : values) {
            value = type == core::DType::boolean ? static_cast<T>(random() % 2) : drawn<T>(random);
            if (no_zeros && value == 0) value = 7;
            if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
                if (none_below_0 && value < 0) value = static_cast<T>(-(value + 1));
            }
        }
        core::write_bytes(*leaf, values.data(), 0, values.size() * sizeof(T));
        if (how == 1) return build.node(core::Op::permute, {leaf}, {core::Attr::of_ints("axes", axes)});
        if (how == 2)
            return build.node(core::Op::view, {leaf}, {core::Attr::of_ints("ne", ne), core::Attr::of_ints("start", Ne{2, 0, 0, 0})});
        return leaf;
    }
    // Computed by every backend, with the same bits.
    template <class R>
    std::vector<R> computed(core::Tensor *node) {
        std::vector<R> first;
        for (const std::string &isa : isas()) {
            for (const int threads : {1, 2, 3, 8}) {
                const Environment chosen("TENSORLIB_ISA", isa.c_str());
                core::Ref<core::Graph> graph = core::Graph::create(*build.context, {&node, 1});
                core::compute(*graph, *core::cpu_device().open({threads, false}));
                const std::vector<R> got = elements_of<R>(*node);
                if (first.empty()) first = got;
                EXPECT_TRUE(std::ranges::equal(got, first, [](R a, R b) { return same(a, b) || (a != a && b != b); }))
                    << isa << ", " << threads;
            }
        }
        return first;
    }

    core::DType type;
    Random random{11};
    Builder build;
};

}  // namespace support
