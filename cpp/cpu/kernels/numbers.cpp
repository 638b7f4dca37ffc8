// Elementwise operations on I32, I64 and F64, and on the bits of integers. A chunk is a range of the result's elements, regardless of rows.
// Operands that are not contiguous, or repeat, are first copied 512 elements at a time. Limited by memory.
#include "ops/numbers.hpp"
#include "cpu/kernels/convert.hpp"
#include "cpu/kernels/units.hpp"

#include "base/checked.hpp"

#include <algorithm>
#include <cstring>

namespace tensorlib::core {

namespace {

using ops::NumberNode;

constexpr std::int64_t piece = 512;

// Elements of an operand, of a row of the result.
struct Part {
    const std::byte *row;
    std::int64_t extent, stride;  // of dimension 0; the operand repeats
    std::int64_t first, n;
};

Part part_at(const TensorRef &t, const RowIndex &row, std::int64_t first, std::int64_t n) noexcept {
    const RowIndex own{row.i1 % t.ne[1], row.i2 % t.ne[2], row.i3 % t.ne[3]};
    return {row_address(t, own), t.ne[0], static_cast<std::int64_t>(t.nb[0]), first, n};
}

// The address of the elements, one after the other; in `room` if they are not.
template <class T>
const void *contiguous(const Part &part, T *room) noexcept {
    if (part.extent > 1 && part.stride == sizeof(T) && part.first % part.extent + part.n <= part.extent)
        return part.row + part.first % part.extent * part.stride;
    for (std::int64_t i = 0, at = part.first % part.extent; i < part.n; i++) {
        std::memcpy(room + i, part.row + at * part.stride, sizeof(T));
        if (++at == part.extent) at = 0;
    }
    return room;
}

// Whether each element is not 0, whatever its type: a float is 0 if it has no bits but the sign's.
void tests(DType type, const Part &part, std::uint8_t *room) noexcept {
    const DTypeTraits &t = traits(type);
    const bool floating = t.kind == Kind::floating;
    for (std::int64_t i = 0, at = part.first % part.extent; i < part.n; i++) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, part.row + at * part.stride, t.size);
        if (floating) bits <<= 65 - 8 * t.size;
        room[i] = bits != 0;
        if (++at == part.extent) at = 0;
    }
}

// Notes the first divisor of 0, or the first exponent below 0.
template <class T>
void check_operand(const Step &step, NumberOp op, const RowIndex &row, std::int64_t first, std::int64_t n, const T *given) noexcept {
    const TensorRef &b = step.src[1];
    const auto *bad = std::find_if(given, given + n, [op](T x) { return op == NumberOp::div ? x == 0 : x < 0; });
    if (bad == given + n) return;
    const std::int64_t i0 = (first + (bad - given)) % b.ne[0];
    note_fault(step, 1, i0 + b.ne[0] * (row.i1 % b.ne[1] + b.ne[1] * (row.i2 % b.ne[2] + b.ne[2] * (row.i3 % b.ne[3]))));
}

template <class T>
void run_pieces(const Step &step, const NumberNode &node, simd::SimdTable::NumberLoop loop, Range range) noexcept {
    const TensorRef &c = step.dst;
    const auto size = static_cast<std::int64_t>(traits(c.type).size);
    const int operands = operands_of(node.op);
    const bool checks = std::is_integral_v<T> && (node.op == NumberOp::div || node.op == NumberOp::pow);
    for (std::int64_t at = range.begin; at < range.end;) {
        const RowIndex row = row_index(c.ne, at / c.ne[0]);
        const std::int64_t i0 = at % c.ne[0], n = std::min({c.ne[0] - i0, range.end - at, piece});
        alignas(64) T room[2][piece];
        alignas(64) std::uint8_t condition[piece];
        const void *src[3] = {nullptr, nullptr, condition};
        for (int i = 0; i < operands; i++) {
            const TensorRef &operand = step.src[static_cast<std::size_t>(node.first + i)];
            src[i] = contiguous<T>(part_at(operand, row, i0, n), room[i]);
        }
        if (checks) check_operand(step, node.op, row, i0, n, static_cast<const T *>(src[1]));
        if (node.op == NumberOp::where) tests(step.src[0].type, part_at(step.src[0], row, i0, n), condition);
        loop(n, src, &node.parameters, c.data + at * size);
        at += n;
    }
}

void plan_numbers(const Problem &p, KernelPlan &plan) noexcept {
    const Layout &c = p.node.layout;
    const auto bytes = static_cast<std::int64_t>(c.nbytes()) * (1 + operands_of(ops::number_node(p.node).op));
    plan.chunks(Stage::compute) = chunks_for(c.n_elements(), bytes, p.n_threads);
}

void run_numbers(const Step &step, const Slice &slice) noexcept {
    const NumberNode node = ops::number_node(*step.node);
    const Range range = part_of(step.node->layout.n_elements(), slice.chunk, step.plan.chunks(Stage::compute));
    const auto &loops = slice.simd.numbers;
    const auto op = static_cast<std::size_t>(node.op);
    switch (node.type) {
        case DType::i8: return run_pieces<std::int8_t>(step, node, loops.i8[op], range);
        case DType::i16: return run_pieces<std::int16_t>(step, node, loops.i16[op], range);
        case DType::i32: return run_pieces<std::int32_t>(step, node, loops.i32[op], range);
        case DType::i64: return run_pieces<std::int64_t>(step, node, loops.i64[op], range);
        case DType::u8: return run_pieces<std::uint8_t>(step, node, loops.u8[op], range);
        default: return run_pieces<double>(step, node, loops.f64[op], range);
    }
}

constexpr CpuKernel table[] = {
#define TL_NUMBER_OP(name_, operands, types) {{.op = Op::name_, .name = "numbers", .plan = plan_always<plan_numbers>}, run_numbers},
#include "math/number_ops.inc"
#undef TL_NUMBER_OP
    {{.op = Op::add1, .name = "numbers", .plan = plan_always<plan_numbers>}, run_numbers},
};

}  // namespace

const std::span<const CpuKernel> kernels::numbers = table;

}  // namespace tensorlib::core
