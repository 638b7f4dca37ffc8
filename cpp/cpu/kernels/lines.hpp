// Rows, and other groups of elements, that are read whole are cut into segments of fixed length. Segments are merged in
// order, so the result does not depend on the number of threads.
#pragma once

#include "base/checked.hpp"
#include "cpu/cpu_kernel.hpp"
#include "ops/reduction.hpp"

#include <algorithm>
#include <type_traits>

namespace tensorlib::core {

constexpr std::int64_t line_block = simd::sum_block;

inline ops::Reduction rows_of(const Layout &a) noexcept { return {a, 1}; }

// The groups of a reduction, whose elements are counted in order.
struct Lines {
    std::int64_t count, length, segment, segments;

    explicit Lines(const ops::Reduction &groups) noexcept
        : count(groups.count), length(groups.length), segment(groups.segment()), segments(groups.segments()) {}
    // Segment s of row r is unit s + segments * r.
    std::int64_t units() const noexcept { return count * segments; }
    Range part_of_unit(std::int64_t unit) const noexcept {
        const std::int64_t begin = unit % segments * segment;
        return {begin, std::min(begin + segment, length)};
    }
};

template <class E>
constexpr DType element_type = std::is_same_v<E, float>          ? DType::f32
                               : std::is_same_v<E, std::int32_t> ? DType::i32
                               : std::is_same_v<E, std::int64_t> ? DType::i64
                                                                 : DType::f64;

// Converts elements [from, from + n) of a row that starts at `first` to I32, I64 or F64, which holds the values of t's type.
template <class E>
void load_numbers(const TensorRef &t, const std::byte *first, std::int64_t from, std::int64_t n, E *to) noexcept;

template <class E>
void load_elements(const TensorRef &t, const std::byte *first, std::int64_t from, std::int64_t n, E *to,
                   const simd::SimdTable &simd) noexcept {
    if constexpr (std::is_same_v<E, float>) {
        load_row(t, first, from, n, to, simd);
    } else {
        load_numbers(t, first, from, n, to);
    }
}

// Reads their elements as E.
template <class E>
class ElementReader {
public:
    ElementReader(const Step &step, const ops::Reduction &groups, const simd::SimdTable &simd, std::size_t operand = 0) noexcept
        : line_{step.src[operand].type, std::to_array(groups.reduced.ne), std::to_array(groups.reduced.nb), step.src[operand].data},
          groups_(groups),
          simd_(simd),
          in_place_(line_.type == element_type<E> && groups.reduced.in_steps_of(sizeof(E))) {}

    // Whether read() returns a whole line in place.
    bool in_place() const noexcept { return in_place_; }

    // n elements of a line, starting with `from`; at most line_block unless they are in place. Returns them in
    // `buffer`, or in place.
    const E *read(std::int64_t line, std::int64_t from, std::int64_t n, E *buffer) const noexcept {
        const std::byte *first = line_.data + groups_.kept.offset(line);
        if (in_place_) return reinterpret_cast<const E *>(first) + from;
        if (groups_.reduced.n <= 1) {
            load_elements(line_, first, from, n, buffer, simd_);
            return buffer;
        }
        for (std::int64_t done = 0, count; done < n; done += count) {
            const std::int64_t at = (from + done) % line_.ne[0];
            count = std::min(n - done, line_.ne[0] - at);
            load_elements(line_, first + groups_.reduced.offset(from + done - at), at, count, buffer + done, simd_);
        }
        return buffer;
    }

    // Calls f(from, n, elements) for consecutive blocks of a part of a line.
    template <class F>
    void for_each_block(std::int64_t line, Range part, F f) const noexcept {
        alignas(64) E buffer[line_block];
        for (std::int64_t from = part.begin; from < part.end; from += line_block) {
            const std::int64_t n = std::min(line_block, part.end - from);
            f(from, n, read(line, from, n, buffer));
        }
    }

private:
    TensorRef line_;  // the shape and strides of a group
    ops::Reduction groups_;
    const simd::SimdTable &simd_;
    bool in_place_;
};
using LineReader = ElementReader<float>;

}  // namespace tensorlib::core
