// What the kernels of paged_attention share: its operands, where tokens are, and what they see.
#pragma once

#include "cpu/kernels/attention_segment.hpp"

#include <algorithm>

namespace tensorlib::core::attention {

// The operands' positions.
enum PagedSource : int { q_at, k_at, v_at, pages_at, positions_at, sequences_at, sinks_at };

// Sizes and attributes of a node.
struct Paged {
    std::int64_t n, m, tokens, heads, kv_heads, heads_of_group, page, window, most_keys, n_pages, n_sequences;
    float scale, cap;

    explicit Paged(const Tensor &node) noexcept;

    // The factor of q before the products. With a soft cap, it includes the division by the cap.
    float query_factor() const noexcept { return cap > 0 ? scale / cap : scale; }
};

// A token's sequence and position.
struct Place {
    std::int64_t sequence, position;
};

// As the operands have it.
Place place_of(const Step &step, std::int64_t token) noexcept;
// The operand that says something that does not exist, or -1.
int wrong_source(const Paged &all, const Place &place) noexcept;
Range seen_from(const Paged &all, const Place &place) noexcept;
// Whether the sequence has all pages of these keys; records the first that does not exist.
bool has_pages(const Paged &all, const Step &step, std::int64_t sequence, Range keys) noexcept;

std::int64_t page_number(const Step &step, std::int64_t i, std::int64_t sequence) noexcept;

// Calls f(first key, run) for the pages that hold these keys of a head of k or v.
template <class F>
void for_pages(const Paged &all, const Step &step, const TensorRef &t, std::int64_t kv_head, std::int64_t sequence, Range keys,
               F f) noexcept {
    const std::byte *head = t.data + static_cast<std::size_t>(kv_head) * t.nb[1];
    for (std::int64_t key = keys.begin; key < keys.end;) {
        const std::int64_t number = page_number(step, key / all.page, sequence), in_page = key % all.page;
        const std::int64_t n = std::min(all.page - in_page, keys.end - key);
        f(key, RowRun{head + static_cast<std::size_t>(number * all.page + in_page) * t.nb[2], n});
        key += n;
    }
}

// Loads the query of a token's head as floats, times query_factor().
void load_paged_query(const Paged &all, const Step &step, std::int64_t token, std::int64_t head, float *to,
                      const simd::SimdTable &simd) noexcept;
inline float *paged_result(const Step &step, std::int64_t token, std::int64_t head) noexcept {
    return reinterpret_cast<float *>(row_address(step.dst, {head, token, 0}));
}

// The kernel of few queries. A unit is `heads_of_unit` heads of `tokens_of_unit` adjacent tokens, for a head of keys.
struct PagedUnits {
    SegmentParts parts;
    std::int64_t heads_of_unit, tokens_of_unit, head_units, token_units;
    std::size_t sums, result;

    PagedUnits(const Paged &all, bool batch_invariant) noexcept;

    std::int64_t count(const Paged &all) const noexcept { return all.kv_heads * head_units * token_units; }
};

// The range of a unit's tokens, and its heads.
struct PagedUnit {
    std::int64_t kv_head, first_head, heads;
    Range tokens;
};
PagedUnit unit_at(const Paged &all, const PagedUnits &units, std::int64_t number) noexcept;
// Computes a unit but for the tokens that `left_out` is true for, in a thread's part of the workspace.
using LeftOut = bool (*)(const Paged &all, const Step &step, std::int64_t token) noexcept;
void compute_unit(const Paged &all, const PagedUnits &units, const Step &step, const simd::SimdTable &simd, std::byte *workspace,
                  const PagedUnit &unit, LeftOut left_out) noexcept;

// The bytes that a node reads, as if each token saw as many keys as there are rows for each sequence.
std::int64_t bytes_read(const Paged &all, const Problem &problem, std::int64_t units) noexcept;

}  // namespace tensorlib::core::attention
