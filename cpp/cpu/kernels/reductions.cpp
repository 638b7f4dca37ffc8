// Sums, products, extremes and their places, tests, deviations and exponentials over any dimensions. The elements that
// become one element of the result are a group (ops/reduction.hpp). A unit is a part of a group or of several, and has a
// state for each; states are joined in order, in F64 or I64, so the result depends on the shape alone. Elements are computed
// with as F32, I32, I64 or F64 (ops/reduction.hpp).
//
//   along    the first dimension is reduced: a unit is a segment of a group (kernels/lines.hpp)
//   across   the first dimension stays: a unit is some hundred rows of up to 4096 groups, which are read as they lie
//
//   compute  each unit; its states go to the workspace if groups have several units
//   combine  joins them
#include "cpu/kernels/lines.hpp"

#include "dtype/convert.hpp"
#include "ops/numbers.hpp"

namespace tensorlib::core {

namespace {

using ops::StateNumber, ops::StateOf;

// Writes an element of the result, which its type holds.
template <class V>
void store(const Step &step, const ops::ReducedResult &result, std::int64_t group, const ops::ReducedState<V> &state) noexcept {
    const V value = ops::result_of(result, state);
    const auto put = [&]<class T>(T) { reinterpret_cast<T *>(step.dst.data)[group] = static_cast<T>(value); };
    switch (step.dst.type) {
        case DType::i32: return put(std::int32_t{});
        case DType::i64: return put(std::int64_t{});
        case DType::f64: return put(double{});
        case DType::i16: return put(std::int16_t{});
        case DType::i8: return put(std::int8_t{});
        case DType::u8:
        case DType::boolean: return put(std::uint8_t{});
        default: return put(float{});
    }
}

// Calls f with a value of the type in which the node's elements are computed with.
template <class F>
void with_computed_type(const Tensor &node, F f) noexcept {
    ops::visit_number(ops::computed_type(ops::reduced_result(node), node.src[0]->layout.type), f);
}

Reduced kind_of(const Tensor &node) noexcept { return ops::reduced_result(node).kind; }

// `numbers` of all states; 0 if no groups have several units.
void plan_units(const Problem &p, KernelPlan &plan, std::int64_t units, std::int64_t numbers, std::int64_t groups) noexcept {
    const auto bytes = static_cast<std::int64_t>(p.node.src[0]->layout.nbytes());
    plan.chunks(Stage::compute) = chunks_for(units, bytes, p.n_threads);
    if (numbers == 0) return;
    plan.workspace = static_cast<std::size_t>(numbers) * sizeof(StateNumber<double>);
    plan.chunks(Stage::combine) = chunks_for(groups, static_cast<std::int64_t>(plan.workspace), p.n_threads);
}

// ---- Along.

const char *refuse_along(const Problem &p) noexcept {
    return ops::reduction_of(p.node).along() ? nullptr : "the first dimension with several elements is kept";
}

void plan_along(const Problem &p, KernelPlan &plan) noexcept {
    const Lines lines(ops::reduction_of(p.node));
    const std::int64_t numbers = lines.segments > 1 ? lines.units() * ops::reduced_numbers(kind_of(p.node)) : 0;
    plan_units(p, plan, lines.units(), numbers, lines.count);
}

template <class E>
void run_along_as(const Step &step, const Slice &slice) noexcept {
    using State = StateOf<E>;
    const ops::Reduction groups = ops::reduction_of(*step.node);
    const Lines lines(groups);
    const ops::ReducedResult result = ops::reduced_result(*step.node);
    const Reduced kind = result.kind;
    const auto numbers = static_cast<std::size_t>(ops::reduced_numbers(kind));
    auto *states = reinterpret_cast<StateNumber<E> *>(step.workspace);
    const auto state_at = [&](std::int64_t unit) { return states + static_cast<std::size_t>(unit) * numbers; };
    if (slice.stage == Stage::combine) {
        const Range part = part_of(lines.count, slice.chunk, step.plan.chunks(Stage::combine));
        for (std::int64_t line = part.begin; line < part.end; line++) {
            State state = ops::begun<E>(kind);
            for (std::int64_t s = 0; s < lines.segments; s++) {
                State later{};
                std::copy_n(state_at(line * lines.segments + s), numbers, later.numbers);
                ops::join(kind, state, later);
            }
            store(step, result, line, state);
        }
        return;
    }
    const ElementReader<E> reader(step, groups, slice.simd);
    const auto add = slice.simd.reductions_of<E>().along[static_cast<int>(kind)];
    const Range units = part_of(lines.units(), slice.chunk, step.plan.chunks(Stage::compute));
    for (std::int64_t unit = units.begin; unit < units.end; unit++) {
        const std::int64_t line = unit / lines.segments;
        const Range part = lines.part_of_unit(unit);
        State state = ops::begun<E>(kind);
        if (reader.in_place()) {
            add(part.end - part.begin, reader.read(line, part.begin, 0, nullptr), part.begin, state.numbers);
        } else {
            reader.for_each_block(line, part, [&](std::int64_t from, std::int64_t n, const E *x) { add(n, x, from, state.numbers); });
        }
        if (lines.segments > 1) {
            std::copy_n(state.numbers, numbers, state_at(unit));
        } else {
            store(step, result, line, state);
        }
    }
}

void run_along(const Step &step, const Slice &slice) noexcept {
    with_computed_type(*step.node, [&]<class E>(E) { run_along_as<E>(step, slice); });
}

// ---- Across.

// Columns that are decoded at a time.
constexpr std::int64_t decoded_columns = 256;

// A unit: `rows` rows of `columns` groups, which are consecutive in the result.
struct Bands {
    std::int64_t rows, outer, segments, columns, tiles;

    Bands(const ops::Reduction &groups, bool in_place) noexcept
        : rows(groups.segment()), outer(groups.kept.ne[0] == 0 ? 0 : groups.count / groups.kept.ne[0]), segments(groups.segments()) {
        // Whole rows are read fastest, but threads share a few bands badly.
        const std::int64_t most = !in_place ? decoded_columns : outer * segments < 16 ? simd::reduced_columns / 4 : simd::reduced_columns;
        columns = std::min(groups.kept.ne[0], most);
        tiles = columns == 0 ? 0 : ceil_div(groups.kept.ne[0], columns);
    }
    std::int64_t units() const noexcept { return outer * tiles * segments; }
};

template <class E>
bool reads_in_place(const Layout &a, const ops::Reduction &groups) noexcept {
    return a.type == element_type<E> && groups.kept.nb[0] == sizeof(E);
}

template <class E>
Bands bands_of(const Tensor &node, const ops::Reduction &groups) noexcept {
    return {groups, reads_in_place<E>(node.src[0]->layout, groups)};
}

// The groups of a unit, or of all units with other rows: the first one, and how many.
Range groups_of(const Bands &bands, const ops::Reduction &groups, std::int64_t band) noexcept {
    const std::int64_t width = groups.kept.ne[0], column = band % bands.tiles * bands.columns, first = band / bands.tiles * width + column;
    return {first, first + std::min(bands.columns, width - column)};
}

// A thread's memory in the workspace, after the states.
template <class E>
struct alignas(64) Scratch {
    StateNumber<E> states[most_reduced_numbers * simd::reduced_columns];
    E room[3 * simd::reduced_columns];
    E decoded[reduced_rows * decoded_columns];
};

template <class E>
void plan_across_as(const Problem &p, KernelPlan &plan) noexcept {
    const ops::Reduction groups = ops::reduction_of(p.node);
    const Bands bands = bands_of<E>(p.node, groups);
    const std::int64_t numbers = bands.segments > 1 ? groups.count * bands.segments * ops::reduced_numbers(kind_of(p.node)) : 0;
    plan_units(p, plan, bands.units(), numbers, bands.outer * bands.tiles);
    plan.workspace = round_up(plan.workspace, alignof(Scratch<E>)) + static_cast<std::size_t>(p.n_threads) * sizeof(Scratch<E>);
}

void plan_across(const Problem &p, KernelPlan &plan) noexcept {
    with_computed_type(p.node, [&]<class E>(E) { plan_across_as<E>(p, plan); });
}

// Up to 32 rows of some groups.
template <class E>
class RowsReader {
public:
    RowsReader(const Step &step, const ops::Reduction &groups, const simd::SimdTable &simd) noexcept
        : a_{step.src[0].type, std::to_array(groups.kept.ne), std::to_array(groups.kept.nb), step.src[0].data},
          groups_(groups),
          simd_(simd),
          in_place_(reads_in_place<E>(step.node->src[0]->layout, groups)) {}

    void read(std::int64_t group, std::int64_t n, std::int64_t first, std::int64_t count, const E **rows, E *room) const noexcept {
        const std::int64_t column = group % a_.ne[0];
        const std::byte *base = a_.data + groups_.kept.offset(group - column);
        for (std::int64_t r = 0; r < count; r++) {
            const std::byte *row = base + groups_.reduced.offset(first + r);
            if (in_place_) {
                rows[r] = reinterpret_cast<const E *>(row) + column;
            } else {
                load_elements(a_, row, column, n, room + r * decoded_columns, simd_);
                rows[r] = room + r * decoded_columns;
            }
        }
    }

private:
    TensorRef a_;
    ops::Reduction groups_;
    const simd::SimdTable &simd_;
    bool in_place_;
};

// States of groups: number i of group j is at [i n + j].
template <class E>
void begin_states(Reduced kind, std::int64_t n, StateNumber<E> *states) noexcept {
    const StateOf<E> first = ops::begun<E>(kind);
    for (std::int64_t i = 0; i < ops::reduced_numbers(kind); i++) std::fill_n(states + i * n, n, first.numbers[i]);
}

template <class V>
ops::ReducedState<V> state_of(Reduced kind, std::int64_t n, const V *states, std::int64_t j) noexcept {
    ops::ReducedState<V> state{};
    for (std::int64_t i = 0; i < ops::reduced_numbers(kind); i++) state.numbers[i] = states[i * n + j];
    return state;
}

// Joins the states of a band's segments, which lie one after the other.
template <class E>
void combine_band(const Step &step, const ops::Reduction &groups, const Bands &bands, std::int64_t band) noexcept {
    const ops::ReducedResult result = ops::reduced_result(*step.node);
    const Reduced kind = result.kind;
    const Range part = groups_of(bands, groups, band);
    const std::int64_t n = part.end - part.begin, size = n * ops::reduced_numbers(kind);
    const auto *states =
        reinterpret_cast<const StateNumber<E> *>(step.workspace) + part.begin * bands.segments * ops::reduced_numbers(kind);
    for (std::int64_t j = 0; j < n; j++) {
        StateOf<E> state = ops::begun<E>(kind);
        for (std::int64_t s = 0; s < bands.segments; s++) ops::join(kind, state, state_of(kind, n, states + s * size, j));
        store(step, result, part.begin + j, state);
    }
}

template <class E>
void run_across_as(const Step &step, const Slice &slice) noexcept {
    const ops::Reduction groups = ops::reduction_of(*step.node);
    const Bands bands = bands_of<E>(*step.node, groups);
    const ops::ReducedResult result = ops::reduced_result(*step.node);
    const Reduced kind = result.kind;
    if (slice.stage == Stage::combine) {
        const Range part = part_of(bands.outer * bands.tiles, slice.chunk, step.plan.chunks(Stage::combine));
        for (std::int64_t band = part.begin; band < part.end; band++) combine_band<E>(step, groups, bands, band);
        return;
    }
    const RowsReader<E> reader(step, groups, slice.simd);
    const auto add = slice.simd.reductions_of<E>().across[static_cast<int>(kind)];
    const std::int64_t numbers = bands.segments > 1 ? groups.count * bands.segments * ops::reduced_numbers(kind) : 0;
    auto *all_states = reinterpret_cast<StateNumber<E> *>(step.workspace);
    auto &scratch = reinterpret_cast<Scratch<E> *>(
        step.workspace + round_up(static_cast<std::size_t>(numbers) * sizeof(StateNumber<E>), alignof(Scratch<E>)))[slice.thread];
    const Range units = part_of(bands.units(), slice.chunk, step.plan.chunks(Stage::compute));
    for (std::int64_t unit = units.begin; unit < units.end; unit++) {
        const std::int64_t band = unit / bands.segments, segment = unit % bands.segments;
        const Range part = groups_of(bands, groups, band);
        const std::int64_t n = part.end - part.begin, end = std::min((segment + 1) * bands.rows, groups.length);
        StateNumber<E> *states = scratch.states;
        if (bands.segments > 1) states = all_states + (part.begin * bands.segments + n * segment) * ops::reduced_numbers(kind);
        begin_states<E>(kind, n, states);
        for (std::int64_t row = segment * bands.rows; row < end; row += reduced_rows) {
            const E *rows[reduced_rows];
            const std::int64_t count = std::min(reduced_rows, end - row);
            reader.read(part.begin, n, row, count, rows, scratch.decoded);
            add(n, count, rows, row, states, scratch.room);
        }
        if (bands.segments > 1) continue;
        for (std::int64_t j = 0; j < n; j++) store(step, result, part.begin + j, state_of(kind, n, states, j));
    }
}

void run_across(const Step &step, const Slice &slice) noexcept {
    with_computed_type(*step.node, [&]<class E>(E) { run_across_as<E>(step, slice); });
}

#define TL_REDUCTION(op_)                                                                                  \
    {{.op = Op::op_, .name = "reduce_along", .plan = plan_unless<refuse_along, plan_along>}, run_along}, { \
        {.op = Op::op_, .name = "reduce_across", .plan = plan_always<plan_across>}, run_across             \
    }

constexpr CpuKernel table[] = {
    TL_REDUCTION(sum),    TL_REDUCTION(sum_rows), TL_REDUCTION(mean),        TL_REDUCTION(max), TL_REDUCTION(min),
    TL_REDUCTION(argmax), TL_REDUCTION(argmin),   TL_REDUCTION(var),         TL_REDUCTION(std), TL_REDUCTION(prod),
    TL_REDUCTION(any),    TL_REDUCTION(all),      TL_REDUCTION(log_sum_exp),
};

#undef TL_REDUCTION

}  // namespace

template <class E>
void load_numbers(const TensorRef &t, const std::byte *first, std::int64_t from, std::int64_t n, E *to) noexcept {
    visit(element_type<E>, [&](auto target) {
        visit(t.type, [&](auto source) {
            using From = decltype(source);
            using To = decltype(target);
            if constexpr (std::is_same_v<typename To::Block, E> && From::block_size == 1) {
                const std::size_t stride = t.nb[0];
                const std::byte *at = first + static_cast<std::size_t>(from) * stride;
                if (stride == sizeof(typename From::Block)) {
                    const auto *x = reinterpret_cast<const typename From::Block *>(at);
                    for (std::int64_t i = 0; i < n; i++) convert_element<From, To>(x[i], to[i]);
                } else {
                    for (std::int64_t i = 0; i < n; i++, at += stride)
                        convert_element<From, To>(*reinterpret_cast<const typename From::Block *>(at), to[i]);
                }
            }
        });
    });
}

template void load_numbers(const TensorRef &, const std::byte *, std::int64_t, std::int64_t, std::int32_t *) noexcept;
template void load_numbers(const TensorRef &, const std::byte *, std::int64_t, std::int64_t, std::int64_t *) noexcept;
template void load_numbers(const TensorRef &, const std::byte *, std::int64_t, std::int64_t, double *) noexcept;

const std::span<const CpuKernel> kernels::reductions = table;

}  // namespace tensorlib::core
