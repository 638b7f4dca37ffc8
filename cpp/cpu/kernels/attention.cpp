// flash_attn_ext and paged_attention: their kernels, and the code that they share.
#include "cpu/kernels/attention.hpp"

#include "math/alibi.hpp"
#include "ops/gen/op_facts.hpp"

#include <cmath>
#include <cstring>
#include <limits>

namespace tensorlib::core {

namespace attention {

Shape::Shape(const Tensor &node) noexcept {
    const auto &attrs = attrs_of<ops::FlashAttnExtAttrs>(node);
    const Extents &q = node.src[0]->layout.ne, &k = node.src[1]->layout.ne;
    n = q[0];
    m = node.src[2]->layout.ne[0];
    tokens = q[1];
    keys = k[1];
    heads = q[2];
    kv_heads = k[2];
    batches = q[3];
    kv_batches = k[3];
    scale = static_cast<float>(attrs.scale != 0 ? attrs.scale : 1 / std::sqrt(static_cast<double>(n)));
    cap = static_cast<float>(attrs.logit_softcap);
    max_bias = attrs.max_bias;
}

Group::Group(const Shape &shape, const Step &step, std::int64_t g) noexcept
    : first_head(g % shape.kv_heads * shape.heads_of_group()), batch(g / shape.kv_heads) {
    const RowIndex at{0, g % shape.kv_heads, batch / (shape.batches / shape.kv_batches)};
    k = row_address(step.src[1], at);
    v = row_address(step.src[2], at);
}

void load_query(const Shape &shape, const Step &step, const Group &group, const Column &column, float *to,
                const simd::SimdTable &simd) noexcept {
    const TensorRef &q = step.src[0];
    load_row(q, row_address(q, {column.token, column.head, group.batch}), 0, shape.n, to, simd);
    simd.norms.normalise(shape.n, to, 0, shape.query_factor(), to, false);
}

const std::byte *mask_row(const Step &step, const Group &group, const Column &column) noexcept {
    const TensorRef &mask = step.src[3];
    return mask.data ? row_address(mask, {column.token, column.head % mask.ne[2], group.batch % mask.ne[3]}) : nullptr;
}

float mask_slope(const Shape &shape, const Step &step, const Column &column) noexcept {
    return step.src[3].data ? alibi_slope(column.head, shape.heads, shape.max_bias) : 0;
}

namespace {

// Compares elements as bits, in groups that compilers vectorise.
constexpr std::int64_t some = 32;

template <class Bits>
Bits bits_at(const std::byte *row, std::int64_t i) noexcept {
    Bits bits;
    std::memcpy(&bits, row + i * static_cast<std::int64_t>(sizeof bits), sizeof bits);
    return bits;
}

// The first of n elements that differs from these bits.
template <class Bits>
Bits differences(Bits from, const std::byte *row, std::int64_t first, std::int64_t n) noexcept {
    Bits differ = 0;
    for (std::int64_t i = 0; i < n; i++) differ = static_cast<Bits>(differ | (bits_at<Bits>(row, first + i) ^ from));
    return differ;
}

template <class Bits>
Range other_than(Bits masked, const std::byte *row, Range keys) noexcept {
    while (keys.end - keys.begin >= some && differences(masked, row, keys.begin, some) == 0) keys.begin += some;
    while (keys.begin < keys.end && bits_at<Bits>(row, keys.begin) == masked) keys.begin++;
    while (keys.end - keys.begin >= some && differences(masked, row, keys.end - some, some) == 0) keys.end -= some;
    while (keys.begin < keys.end && bits_at<Bits>(row, keys.end - 1) == masked) keys.end--;
    return keys;
}

bool side_by_side(const TensorRef &mask) noexcept { return mask.nb[0] == traits(mask.type).size; }

}  // namespace

Range unmasked(const TensorRef &mask, const std::byte *row, Range keys) noexcept {
    // -infinity in each type. Rows with gaps are not searched.
    if (!side_by_side(mask)) return keys;
    switch (mask.type) {
        case DType::f32: return other_than<std::uint32_t>(0xff800000, row, keys);
        case DType::f16: return other_than<std::uint16_t>(0xfc00, row, keys);
        default: return other_than<std::uint16_t>(0xff80, row, keys);
    }
}

bool all_zero(const TensorRef &mask, const std::byte *row, Range keys) noexcept {
    if (!side_by_side(mask)) return false;
    const std::int64_t n = keys.end - keys.begin;
    if (mask.type == DType::f32) return differences<std::uint32_t>(0, row, keys.begin, n) == 0;
    return differences<std::uint16_t>(0, row, keys.begin, n) == 0;
}

void store_result(std::int64_t m, const TensorRef &sinks, std::int64_t head, const float *y, double largest, double sum, float *to,
                  const simd::SimdTable &simd) noexcept {
    double factor = 1;
    if (sinks.data) {
        float sink;
        std::memcpy(&sink, sinks.data + static_cast<std::size_t>(head) * sinks.nb[0], sizeof sink);
        const double most = std::max(largest, static_cast<double>(sink));
        // If all keys are masked, only the sink remains, if it is finite.
        factor = largest == -std::numeric_limits<double>::infinity() ? 0 : std::exp(largest - most);
        sum = (factor == 0 ? 0 : sum * factor) + std::exp(static_cast<double>(sink) - most);
    }
    simd.norms.normalise(m, y, 0, static_cast<float>(factor / sum), to, false);
}

void decode_rows(const TensorRef &t, const std::byte *row, std::int64_t n, float *to, const simd::SimdTable &simd) noexcept {
    for (std::int64_t i = 0; i < n; i++) load_row(t, row + static_cast<std::size_t>(i) * t.nb[1], 0, t.ne[0], to + i * t.ne[0], simd);
}

}  // namespace attention

namespace {

constexpr CpuKernel table[] = {
    {{.op = Op::flash_attn_ext, .name = "attention_packed", .plan = attention::plan_packed}, attention::run_packed},
    {{.op = Op::flash_attn_ext, .name = "attention_rows", .plan = plan_always<attention::plan_rows>}, attention::run_rows},
    {{.op = Op::paged_attention, .name = "attention_paged_packed", .plan = attention::plan_paged_packed}, attention::run_paged_packed},
    {{.op = Op::paged_attention, .name = "attention_paged", .plan = plan_always<attention::plan_paged>}, attention::run_paged},
};

}  // namespace

const std::span<const CpuKernel> kernels::attention = table;

}  // namespace tensorlib::core
