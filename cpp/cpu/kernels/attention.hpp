// What the kernels of flash_attn_ext share; some of it also serves paged_attention.
//
// The query heads that share a head of keys and values form a group, and so do their queries. Column c of a group is
// token c / heads of the group, head c % heads. A few adjacent columns therefore cover few tokens, and mostly the same
// keys are masked for them.
#pragma once

#include "base/checked.hpp"
#include "cpu/cpu_kernel.hpp"

#include <algorithm>

namespace tensorlib::core::attention {

// Sizes and attributes of a node or a step.
struct Shape {
    std::int64_t n, m, tokens, keys, heads, kv_heads, batches, kv_batches;
    float scale, cap;
    double max_bias;

    explicit Shape(const Tensor &node) noexcept;

    std::int64_t groups() const noexcept { return kv_heads * batches; }
    std::int64_t heads_of_group() const noexcept { return kv_heads == 0 ? 0 : heads / kv_heads; }
    std::int64_t columns() const noexcept { return tokens * heads_of_group(); }
    // The factor of q before the products. With a soft cap, it includes the division by the cap.
    float query_factor() const noexcept { return cap > 0 ? scale / cap : scale; }
};

// Group number g of a step, and the addresses of its operands.
struct Group {
    std::int64_t first_head, batch;
    const std::byte *k, *v;  // rows of key 0

    Group(const Shape &shape, const Step &step, std::int64_t g) noexcept;
};

struct Column {
    std::int64_t token, head;
};
inline Column column_of(const Shape &shape, const Group &group, std::int64_t c) noexcept {
    const std::int64_t of_group = shape.heads_of_group();
    return {c / of_group, group.first_head + c % of_group};
}

// Loads a column's query as floats, times query_factor().
void load_query(const Shape &shape, const Step &step, const Group &group, const Column &column, float *to,
                const simd::SimdTable &simd) noexcept;

// A column's row of the mask, and the slope that it is multiplied by; null without a mask.
const std::byte *mask_row(const Step &step, const Group &group, const Column &column) noexcept;
float mask_slope(const Shape &shape, const Step &step, const Column &column) noexcept;
// The range from the first to the last key of [from, to) that a row does not mask; begin == end if it masks all.
Range unmasked(const TensorRef &mask, const std::byte *row, Range keys) noexcept;
// Whether a row's mask is zero for all of these keys.
bool all_zero(const TensorRef &mask, const std::byte *row, Range keys) noexcept;

// A column's row of the result.
inline float *result_row(const Step &step, const Group &group, const Column &column) noexcept {
    return reinterpret_cast<float *>(row_address(step.dst, {column.head, column.token, group.batch}));
}

// Stores a head's result: m floats of y, divided by `sum` after adding the head's sink, relative to the largest logit.
// sinks.data is null if there are none.
void store_result(std::int64_t m, const TensorRef &sinks, std::int64_t head, const float *y, double largest, double sum, float *to,
                  const simd::SimdTable &simd) noexcept;

// Consecutive rows of k or v, starting with `row`, as floats: in place if they are floats, or decoded into `to`.
void decode_rows(const TensorRef &t, const std::byte *row, std::int64_t n, float *to, const simd::SimdTable &simd) noexcept;

// flash_attn_ext's kernels, in attention_packed.cpp and attention_rows.cpp.
const char *plan_packed(const Problem &problem, KernelPlan &plan) noexcept;
void run_packed(const Step &step, const Slice &slice) noexcept;
void plan_rows(const Problem &problem, KernelPlan &plan) noexcept;
void run_rows(const Step &step, const Slice &slice) noexcept;
// paged_attention's, in attention_paged_packed.cpp and attention_paged.cpp.
const char *plan_paged_packed(const Problem &problem, KernelPlan &plan) noexcept;
void run_paged_packed(const Step &step, const Slice &slice) noexcept;
void plan_paged(const Problem &problem, KernelPlan &plan) noexcept;
void run_paged(const Step &step, const Slice &slice) noexcept;

}  // namespace tensorlib::core::attention
