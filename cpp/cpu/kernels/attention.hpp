// What the kernels of flash_attn_ext share.
//
// The query heads that share a head of keys and values are a group, and so are their queries: column c of a group is token c / heads of
// the group, its head number c % that. So a few columns side by side have few tokens, and mostly the same keys are masked for them.
#pragma once

#include "base/checked.hpp"
#include "cpu/cpu_kernel.hpp"

#include <algorithm>

namespace tensorlib::core::attention {

// Sizes and attributes, of a node or a step.
struct Shape {
    std::int64_t n, m, tokens, keys, heads, kv_heads, batches, kv_batches;
    float scale, cap;
    double max_bias;

    explicit Shape(const Tensor &node) noexcept;

    std::int64_t groups() const noexcept { return kv_heads * batches; }
    std::int64_t heads_of_group() const noexcept { return kv_heads == 0 ? 0 : heads / kv_heads; }
    std::int64_t columns() const noexcept { return tokens * heads_of_group(); }
    // What q is multiplied with before the products: with a cap they are divided by it on the way.
    float query_factor() const noexcept { return cap > 0 ? scale / cap : scale; }
};

// Group number g of a step, and where its operands are.
struct Group {
    std::int64_t first_head, batch;
    const std::byte *k, *v;  // key 0's rows

    Group(const Shape &shape, const Step &step, std::int64_t g) noexcept;
};

struct Column {
    std::int64_t token, head;
};
inline Column column_of(const Shape &shape, const Group &group, std::int64_t c) noexcept {
    const std::int64_t of_group = shape.heads_of_group();
    return {c / of_group, group.first_head + c % of_group};
}

// A column's query as floats, times the factor of products.
void load_query(const Shape &shape, const Step &step, const Group &group, const Column &column, float *to,
                const simd::SimdTable &simd) noexcept;

// A column's row of the mask, and what it is multiplied with; without an address where there is no mask.
const std::byte *mask_row(const Step &step, const Group &group, const Column &column) noexcept;
float mask_slope(const Shape &shape, const Step &step, const Column &column) noexcept;
// The keys of [from, to) from the first to the last that a row does not mask; begin == end where it masks all.
Range unmasked(const TensorRef &mask, const std::byte *row, Range keys) noexcept;
// Whether a row adds nothing to these keys.
bool all_zero(const TensorRef &mask, const std::byte *row, Range keys) noexcept;

// A column's result: y, n floats apart, divided by `sum` together with the sink, for the largest logit.
void store_result(const Shape &shape, const Step &step, const Group &group, const Column &column, const float *y, double largest,
                  double sum, const simd::SimdTable &simd) noexcept;

// Rows of k or v from `row` on, one after the other: where they lie so as floats, or decoded into `to`.
void decode_rows(const TensorRef &t, const std::byte *row, std::int64_t n, float *to, const simd::SimdTable &simd) noexcept;

// The table's rows, in attention_packed.cpp and attention_rows.cpp.
const char *plan_packed(const Problem &problem, KernelPlan &plan) noexcept;
void run_packed(const Step &step, const Slice &slice) noexcept;
void plan_rows(const Problem &problem, KernelPlan &plan) noexcept;
void run_rows(const Step &step, const Slice &slice) noexcept;

}  // namespace tensorlib::core::attention
