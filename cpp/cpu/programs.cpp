#include "cpu/programs.hpp"

#include <algorithm>
#include <cstring>

namespace tensorlib::core {

namespace {

TensorRef one_row(const TensorRef &t) noexcept {
    const std::size_t size = traits(t.type).size;
    const std::int64_t n = t.ne[0] * t.ne[1] * t.ne[2] * t.ne[3];
    const std::size_t bytes = static_cast<std::size_t>(n) * size;
    return {t.type, {n, 1, 1, 1}, {size, bytes, bytes, bytes}, t.data};
}

// i mod n; mostly no division is needed.
std::int64_t wrapped(std::int64_t i, std::int64_t n) noexcept { return i < n ? i : n == 1 ? 0 : i % n; }

}  // namespace

ProgramRun::ProgramRun(const Program &program, const TensorRef &dst, const simd::SimdTable &simd, TileScratch &scratch, How how) noexcept
    : simd_(simd),
      instructions_(program.instructions),
      n_inputs_(program.inputs.size()),
      stream_(how.stream),
      dst_(how.flat ? one_row(dst) : dst),
      in_place_(is_row_of_floats(dst_) && !stream_),
      scratch_(scratch) {
    for (std::size_t i = 0; i < n_inputs_; i++) inputs_[i] = how.flat ? one_row(program.inputs[i]) : program.inputs[i];
    make_chains();
}

// The operand of an instruction that is the previous one's result, still in the processor's registers; -1 if there is
// none.
int ProgramRun::taken_over(std::size_t i) const noexcept {
    if (i == 0 || rounds(i - 1)) return -1;
    const Instruction &now = instructions_[i];
    const int operands = traits(now.op).operands, before = instructions_[i - 1].to + max_program_inputs;
    if (operands > 0 && now.from[0] == before) return 0;
    return operands == 2 && now.from[1] == before && simd_.tiles.second[static_cast<std::size_t>(now.op)].one ? 1 : -1;
}

// Whether instructions other than the next one read an instruction's result, or the next one reads it twice.
bool ProgramRun::is_kept(std::size_t i) const noexcept {
    const int place = instructions_[i].to + max_program_inputs;
    for (std::size_t j = i + 1; j < instructions_.size(); j++) {
        const Instruction &later = instructions_[j];
        for (int k = 0; k < traits(later.op).operands; k++) {
            if (later.from[static_cast<std::size_t>(k)] == place && !(j == i + 1 && k == taken_over(j))) return true;
        }
        if (later.to == instructions_[i].to) break;
    }
    return false;
}

void ProgramRun::make_chains() noexcept {
    const simd::SimdTable::Tiles &tiles = simd_.tiles;
    simd::Link *link = links_;
    const auto add = [&](const simd::LinkStep &step) -> simd::Link & {
        link->step = step;
        return *link++;
    };
    bool begins = true;
    for (std::size_t i = 0; i < instructions_.size(); i++) {
        const Instruction &instruction = instructions_[i];
        if (begins) chains_[n_chains_++] = {link, i};
        const int operands = traits(instruction.op).operands;
        int own = taken_over(i);
        if (own < 0 && operands > 0) {
            own = 0;
            add(tiles.load).from[0] = instruction.from[0];
        }
        const auto op = static_cast<std::size_t>(instruction.op);
        simd::Link &formula = add(own == 1 ? tiles.second[op] : tiles.first[op]);
        for (int k = 0, read = 0; k < operands; k++) {
            if (k != own) formula.from[read++] = instruction.from[static_cast<std::size_t>(k)];
        }
        std::ranges::copy(instruction.parameters, formula.parameters);
        const bool last = i + 1 == instructions_.size();
        begins = last || rounds(i);
        if (last) {
            last_store_ = &add(tiles.store);
            last_store_->to = result_slot;
        } else if (begins || is_kept(i)) {
            add(tiles.store).to = static_cast<std::uint8_t>(max_program_inputs + instruction.to);
        }
        if (!begins) continue;
        add(tiles.end);
        chains_[n_chains_ - 1].last = i;
    }
    for (std::size_t r = 0; r < max_program_registers; r++) {
        if (n_chains_ > 1) {
            slots_[max_program_inputs + r] = {scratch_.registers[r], -1, true};
        } else {
            slots_[max_program_inputs + r] = {scratch_.registers[0] + r * simd::max_block, 0, false};
        }
    }
}

// n elements of an input, starting with element i0 of the result's row, as floats: in place, as one value that stands
// for all, or in `buffer`.
ProgramRun::Source ProgramRun::read(const TensorRef &input, const std::byte *row, std::int64_t i0, std::int64_t n,
                                    float *buffer) const noexcept {
    const std::int64_t period = input.ne[0];
    const bool floats = is_row_of_floats(input);
    if (period == 1 && dst_.ne[0] != 1) {
        if (floats) return {reinterpret_cast<const float *>(row), true};
        load_row(input, row, 0, 1, buffer, simd_);
        return {buffer, true};
    }
    std::int64_t at = wrapped(i0, period);
    if (floats && at + n <= period) return {reinterpret_cast<const float *>(row) + at, false};
    for (std::int64_t done = 0, count; done < n; done += count, at = 0) {
        count = std::min(n - done, period - at);
        load_row(input, row, at, count, buffer + done, simd_);
    }
    return {buffer, false};
}

void ProgramRun::tile(const std::byte *const *rows, std::byte *to, std::int64_t i0, std::int64_t n) noexcept {
    for (std::size_t i = 0; i < n_inputs_; i++) place_input(i, read(inputs_[i], rows[i], i0, n, scratch_.buffers[i]));
    // The last link writes the result to memory directly if it can, otherwise by way of a tile.
    std::byte *const floats = to + static_cast<std::size_t>(i0) * sizeof(float);
    const bool long_enough = is_row_of_floats(dst_) && static_cast<std::size_t>(n) * sizeof(float) >= shortest_stream;
    const bool streams = stream_ && long_enough && reinterpret_cast<std::uintptr_t>(floats) % 64 == 0;
    float *const result = in_place_ || streams ? reinterpret_cast<float *>(floats) : scratch_.result;
    last_store_->step = streams ? simd_.tiles.stream : simd_.tiles.store;
    run_chains(result, n);
    if (result != scratch_.result) return;
    if (stream_ && long_enough) {
        simd_.copies.stream(n * static_cast<std::int64_t>(sizeof(float)), result, floats);
    } else {
        store_row(dst_, to, i0, n, result, simd_);
    }
}

void ProgramRun::place_input(std::size_t i, Source source) noexcept {
    if (source.repeated) {
        std::ranges::fill(scratch_.blocks[i], *source.values);
        slots_[i] = {scratch_.blocks[i], 0, false};
    } else {
        // Not written.
        slots_[i] = {const_cast<float *>(source.values), -1, false};
    }
}

// Runs all instructions over n elements of the inputs, which are in their slots.
void ProgramRun::run_chains(float *result, std::int64_t n) noexcept {
    slots_[result_slot] = {result, -1, true};
    for (int c = 0; c < n_chains_; c++) {
        const Chain &chain = chains_[c];
        simd_.tiles.run(chain.first, slots_, n_slots, n);
        if (!rounds(chain.last)) continue;
        // Rounds as the node's own memory would: two bytes per element. A prologue's last result stays in floats.
        const Instruction &instruction = instructions_[chain.last];
        float *values = chain.last + 1 == instructions_.size() ? result : scratch_.registers[instruction.to];
        std::uint16_t rounded[tile_floats];
        const auto &format = simd_.formats[dtype_index(instruction.type)];
        format.encode(values, nullptr, rounded, n);
        format.decode(rounded, values, n);
    }
}

const std::byte *ProgramRun::input_row(const TensorRef &input, const RowIndex &at) const noexcept {
    return row_address(input, {wrapped(at.i1, input.ne[1]), wrapped(at.i2, input.ne[2]), wrapped(at.i3, input.ne[3])});
}

void ProgramRun::row(const RowIndex &at, std::int64_t i0, std::int64_t n) noexcept {
    const std::byte *rows[max_program_inputs];
    for (std::size_t i = 0; i < n_inputs_; i++) rows[i] = input_row(inputs_[i], at);
    std::byte *to = row_address(dst_, at);
    for (const std::int64_t end = i0 + n; i0 < end; i0 += tile_floats) tile(rows, to, i0, std::min(tile_floats, end - i0));
}

namespace {

// For a few vectors: calling the library's memcpy takes longer.
void copy_floats(const float *from, std::int64_t n, float *to) noexcept {
    std::int64_t i = 0;
    for (; i + 16 <= n; i += 16) std::memcpy(to + i, from + i, 16 * sizeof(float));
    for (; i < n; i++) to[i] = from[i];
}

}  // namespace

// As read(), for several rows one after the other in `buffer`.
ProgramRun::Source ProgramRun::gather(const TensorRef &input, const RowIndex &first, std::int64_t rows, std::int64_t i0, std::int64_t n,
                                      float *buffer) const noexcept {
    const bool same = input.ne[1] == 1;
    for (std::int64_t j = 0; j < rows; j++) {
        float *to = buffer + j * n;
        if (same && j > 0) {
            copy_floats(buffer, n, to);
            continue;
        }
        const Source source = read(input, input_row(input, {first.i1 + j, first.i2, first.i3}), i0, n, to);
        if (source.repeated && same) return source;
        if (source.repeated) {
            std::fill_n(to, n, *source.values);
        } else if (source.values != to) {
            copy_floats(source.values, n, to);
        }
    }
    return {buffer, false};
}

void ProgramRun::rows(const RowIndex &first, std::int64_t rows, std::int64_t i0, std::int64_t n) noexcept {
    constexpr std::int64_t few = 2 * simd::max_block;
    const std::int64_t most = tile_floats / std::max<std::int64_t>(n, 1);
    if (n > few || stream_) {
        for (std::int64_t j = 0; j < rows; j++) row({first.i1 + j, first.i2, first.i3}, i0, n);
        return;
    }
    for (std::int64_t j = 0; j < rows; j += most) {
        const std::int64_t count = std::min(most, rows - j);
        const RowIndex at{first.i1 + j, first.i2, first.i3};
        for (std::size_t i = 0; i < n_inputs_; i++) place_input(i, gather(inputs_[i], at, count, i0, n, scratch_.buffers[i]));
        run_chains(scratch_.result, count * n);
        for (std::int64_t k = 0; k < count; k++) {
            std::byte *to = row_address(dst_, {at.i1 + k, at.i2, at.i3});
            if (in_place_) {
                copy_floats(scratch_.result + k * n, n, reinterpret_cast<float *>(to) + i0);
            } else {
                store_row(dst_, to, i0, n, scratch_.result + k * n, simd_);
            }
        }
    }
}

namespace {

template <bool written>
void fetch(const TensorRef &t, const RowIndex &at, std::int64_t i0, std::int64_t n) noexcept {
    const std::size_t size = traits(t.type).size, end = static_cast<std::size_t>(n) * size;
    const std::byte *first = row_address(t, at) + static_cast<std::size_t>(i0) * size;
    for (std::size_t byte = 0; byte < end; byte += 64) __builtin_prefetch(first + byte, written, 3);
}

}  // namespace

void fetch_tile(const Step &step, std::int64_t batch, std::int64_t row, std::int64_t rows, std::int64_t column,
                std::int64_t columns) noexcept {
    const TensorRef &c = step.dst;
    for (std::int64_t j = column; j < column + columns; j++) {
        const RowIndex at{j, batch % c.ne[2], batch / c.ne[2]};
        fetch<true>(c, at, row, rows);
        for (const TensorRef &input : step.program.inputs) {
            // Inputs that repeat are already near.
            if (input.ne == c.ne && input.nb[0] == traits(input.type).size) fetch<false>(input, at, row, rows);
        }
    }
}

void finish_tile(const Step &step, const Slice &slice, std::int64_t batch, std::int64_t row, std::int64_t rows, std::int64_t column,
                 std::int64_t columns) noexcept {
    if (step.program.empty()) return;
    ProgramRun run(step.program, step.dst, slice.simd, slice.scratch.program, {});
    const TensorRef &c = step.dst;
    run.rows({column, batch % c.ne[2], batch / c.ne[2]}, columns, row, rows);
}

}  // namespace tensorlib::core
