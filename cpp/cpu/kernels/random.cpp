// random_uniform, random_normal, dropout: each element uses its own word of Philox (math/random.hpp). A chunk is some
// pieces of the result, regardless of rows; a piece's words are made first. Limited by arithmetic.
#include "math/random.hpp"
#include "cpu/kernels/sink.hpp"
#include "ops/gen/op_facts.hpp"

#include "base/checked.hpp"

#include <algorithm>
#include <cstring>

namespace tensorlib::core {

namespace {

// Elements whose words are made at a time: whole blocks of 4.
constexpr std::int64_t piece = 1024;

std::int64_t pieces_of(const Layout &c) noexcept { return ceil_div(c.n_elements(), piece); }

// Bytes that memory moves in the time that an element takes.
constexpr std::int64_t uniform_bytes = 16, normal_bytes = 64;

template <std::int64_t bytes>
void plan_pieces(const Problem &p, KernelPlan &plan) noexcept {
    const Layout &c = p.node.layout;
    plan.chunks(Stage::compute) = chunks_for(pieces_of(c), bytes * c.n_elements(), p.n_threads);
}

void plan_dropout(const Problem &p, KernelPlan &plan) noexcept {
    const Layout &a = p.node.src[0]->layout, &c = p.node.layout;
    if (a.ne == c.ne && a.nb == c.nb) plan.may_overwrite = 1;
    plan_pieces<uniform_bytes>(p, plan);
}

RandomSource source_of(const TensorRef &state, std::int64_t stream) noexcept {
    std::int64_t seed, counter;
    std::memcpy(&seed, state.data, sizeof seed);
    std::memcpy(&counter, state.data + state.nb[0], sizeof counter);
    return math::random_source(seed, counter, stream);
}

// Calls f(at, n, words) for the chunk's pieces.
template <class F>
void for_each_piece(const Step &step, const Slice &slice, const RandomSource &source, F f) noexcept {
    alignas(64) std::uint32_t words[piece];
    const Layout &c = step.node->layout;
    const Range part = part_of(pieces_of(c), slice.chunk, step.plan.chunks(Stage::compute));
    for (std::int64_t p = part.begin; p < part.end; p++) {
        const std::int64_t at = p * piece, n = std::min(piece, c.n_elements() - at);
        slice.simd.random.words(ceil_div(n, 4), source, static_cast<std::uint32_t>(at / 4), words);
        f(at, n, words);
    }
}

// fill(n, words, to) makes a piece's numbers.
template <class F>
void write_pieces(const Step &step, const Slice &slice, const RandomSource &source, F fill) noexcept {
    constexpr auto size = static_cast<std::int64_t>(sizeof(float));
    static_assert(piece * size <= Sink::most);
    const std::int64_t first = part_of(pieces_of(step.node->layout), slice.chunk, step.plan.chunks(Stage::compute)).begin * piece;
    Sink sink(step.dst.data + first * size, slice.simd, streams(*step.node));
    for_each_piece(step, slice, source, [&](std::int64_t, std::int64_t n, const std::uint32_t *words) {
        fill(n, words, reinterpret_cast<float *>(sink.room(n * size)));
    });
}

void run_uniform(const Step &step, const Slice &slice) noexcept {
    const auto &attrs = attrs_of<ops::RandomUniformAttrs>(*step.node);
    const auto low = static_cast<float>(attrs.low), span = static_cast<float>(attrs.high) - low;
    write_pieces(step, slice, source_of(step.src[0], attrs.stream),
                 [&](std::int64_t n, const std::uint32_t *words, float *to) { slice.simd.random.uniform(n, words, low, span, to); });
}

void run_normal(const Step &step, const Slice &slice) noexcept {
    const auto &attrs = attrs_of<ops::RandomNormalAttrs>(*step.node);
    write_pieces(step, slice, source_of(step.src[0], attrs.stream), [&](std::int64_t n, const std::uint32_t *words, float *to) {
        slice.simd.random.normal(n, words, attrs.mean, attrs.deviation, to);
    });
}

void run_dropout(const Step &step, const Slice &slice) noexcept {
    const TensorRef &a = step.src[0], &c = step.dst;
    const auto &attrs = attrs_of<ops::DropoutAttrs>(*step.node);
    const math::DropoutThreshold threshold = math::dropout_threshold(attrs.p);
    const auto size = static_cast<std::int64_t>(traits(c.type).size);
    for_each_piece(step, slice, source_of(step.src[1], attrs.stream), [&](std::int64_t at, std::int64_t n, const std::uint32_t *words) {
        if (!threshold.any) {
            std::memset(c.data + at * size, 0, static_cast<std::size_t>(n * size));
            return;
        }
        for (std::int64_t done = 0, count; done < n; done += count) {
            const RowIndex row = row_index(c.ne, (at + done) / c.ne[0]);
            const std::int64_t i0 = (at + done) % c.ne[0];
            count = std::min(n - done, c.ne[0] - i0);
            alignas(64) float stage[piece];
            const float *x = floats_of(a, row_address(a, row), i0, count, stage, slice.simd);
            float *to = c.type == DType::f32 ? reinterpret_cast<float *>(c.data) + at + done : stage;
            slice.simd.random.drop(count, words + done, threshold.least, threshold.share, x, to);
            if (to == stage) store_row(c, row_address(c, row), i0, count, stage, slice.simd);
        }
    });
}

constexpr CpuKernel table[] = {
    {{.op = Op::random_uniform, .name = "random_uniform", .plan = plan_always<plan_pieces<uniform_bytes>>}, run_uniform},
    {{.op = Op::random_normal, .name = "random_normal", .plan = plan_always<plan_pieces<normal_bytes>>}, run_normal},
    {{.op = Op::dropout, .name = "dropout", .plan = plan_always<plan_dropout>}, run_dropout},
};

}  // namespace

const std::span<const CpuKernel> kernels::random = table;

}  // namespace tensorlib::core
