#include "cpu/programs.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

TensorRef one_row(const TensorRef &t) noexcept {
    const std::size_t size = traits(t.type).size;
    const std::int64_t n = t.ne[0] * t.ne[1] * t.ne[2] * t.ne[3];
    const std::size_t bytes = static_cast<std::size_t>(n) * size;
    return {t.type, {n, 1, 1, 1}, {size, bytes, bytes, bytes}, t.data};
}

}  // namespace

ProgramRun::ProgramRun(const Program &program, const TensorRef &dst, const leaf::LeafTable &leaf, How how) noexcept
    : leaf_(leaf),
      instructions_(program.instructions),
      n_inputs_(program.inputs.size()),
      stream_(how.stream),
      dst_(how.flat ? one_row(dst) : dst) {
    for (std::size_t i = 0; i < n_inputs_; i++) inputs_[i] = how.flat ? one_row(program.inputs[i]) : program.inputs[i];
}

// n elements of an input from element i0 of the result's row on, as floats: where they lie, one that stands for all, or in `buffer`.
ProgramRun::Source ProgramRun::read(const TensorRef &input, const std::byte *row, std::int64_t i0, std::int64_t n,
                                    float *buffer) const noexcept {
    const std::int64_t period = input.ne[0];
    const bool floats = is_row_of_floats(input);
    if (period == 1 && dst_.ne[0] != 1) {
        if (floats) return {reinterpret_cast<const float *>(row), true};
        load_row(input, row, 0, 1, buffer, leaf_);
        return {buffer, true};
    }
    std::int64_t at = i0 % period;
    if (floats && at + n <= period) return {reinterpret_cast<const float *>(row) + at, false};
    for (std::int64_t done = 0, count; done < n; done += count, at = 0) {
        count = std::min(n - done, period - at);
        load_row(input, row, at, count, buffer + done, leaf_);
    }
    return {buffer, false};
}

void ProgramRun::tile(const std::byte *const *rows, std::byte *to, std::int64_t i0, std::int64_t n) noexcept {
    Source inputs[max_program_inputs];
    for (std::size_t i = 0; i < n_inputs_; i++) inputs[i] = read(inputs_[i], rows[i], i0, n, buffers_[i]);
    const bool floats = is_row_of_floats(dst_), in_place = floats && !stream_;
    for (const Instruction &instruction : instructions_) {
        const bool last = &instruction == &instructions_.back();
        float *result = last && in_place ? reinterpret_cast<float *>(to) + i0 : registers_[instruction.to];
        leaf::TileArgs args{n, {}, 0, result, instruction.parameters.data()};
        const int operands = traits(instruction.op).operands;
        for (int k = 0; k < operands; k++) {
            const std::uint8_t from = instruction.from[static_cast<std::size_t>(k)];
            if (from >= max_program_inputs) {
                args.src[k] = registers_[from - max_program_inputs];
            } else {
                args.src[k] = inputs[from].values;
                args.repeated |= static_cast<unsigned>(inputs[from].repeated) << k;
            }
        }
        leaf_.tiles.loops[static_cast<std::size_t>(instruction.op)](args);
        if (instruction.type != DType::f32 && (!last || in_place)) {
            // As the node's own memory would have rounded it: two bytes an element. (The last one goes to floats where it is a head's.)
            std::uint16_t rounded[tile_floats];
            const auto &format = leaf_.formats[dtype_index(instruction.type)];
            format.encode(result, nullptr, rounded, n);
            format.decode(rounded, result, n);
        }
        if (!last || in_place) continue;
        if (floats && static_cast<std::size_t>(n) * sizeof(float) >= shortest_stream) {
            leaf_.copies.stream(n * static_cast<std::int64_t>(sizeof(float)), result, to + static_cast<std::size_t>(i0) * sizeof(float));
        } else {
            store_row(dst_, to, i0, n, result, leaf_);
        }
    }
}

void ProgramRun::row(const RowIndex &at, std::int64_t i0, std::int64_t n) noexcept {
    const std::byte *rows[max_program_inputs];
    for (std::size_t i = 0; i < n_inputs_; i++) {
        const TensorRef &t = inputs_[i];
        rows[i] = row_address(t, {at.i1 % t.ne[1], at.i2 % t.ne[2], at.i3 % t.ne[3]});
    }
    std::byte *to = row_address(dst_, at);
    for (const std::int64_t end = i0 + n; i0 < end; i0 += tile_floats) tile(rows, to, i0, std::min(tile_floats, end - i0));
}

void finish_tile(const Step &step, const leaf::LeafTable &leaf, std::int64_t batch, std::int64_t row, std::int64_t rows,
                 std::int64_t column, std::int64_t columns) noexcept {
    if (step.program.empty()) return;
    ProgramRun run(step.program, step.dst, leaf, {});
    const TensorRef &c = step.dst;
    for (std::int64_t j = column; j < column + columns; j++) run.row({j, batch % c.ne[2], batch / c.ne[2]}, row, rows);
}

}  // namespace tensorlib::core
