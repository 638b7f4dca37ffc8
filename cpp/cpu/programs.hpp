// Running programs of elementwise operations on tiles: by themselves, on what products and norms have made before it leaves the cache, and
// on what norms are about to read.
#pragma once

#include "cpu/cpu_kernel.hpp"

namespace tensorlib::core {

// 4 KiB: the tiles of a program, two or three mostly, stay in the first-level cache beside what streams through it.
constexpr std::int64_t tile_floats = 1024;

// One thread's run of a program whose result goes to dst.
class ProgramRun {
public:
    // flat: all of the inputs and the result are taken as one long row each, which the elements of each lie in side by side. stream:
    // results go past the caches; end() puts them in order before what other threads see next.
    struct How {
        bool flat = false, stream = false;
    };
    ProgramRun(const Program &program, const TensorRef &dst, const leaf::LeafTable &leaf, How how) noexcept;

    // Inputs at this address are read from there instead.
    void read_instead(const std::byte *address, const TensorRef &there) noexcept {
        for (std::size_t i = 0; i < n_inputs_; i++) {
            if (inputs_[i].data == address) inputs_[i] = there;
        }
    }
    // Elements [i0, i0 + n) of a row of the result.
    void row(const RowIndex &at, std::int64_t i0, std::int64_t n) noexcept;
    void end() noexcept {
        if (stream_) leaf_.copies.stream_end();
    }

private:
    struct Source {
        const float *values;
        bool repeated;
    };
    Source read(const TensorRef &input, const std::byte *row, std::int64_t i0, std::int64_t n, float *buffer) const noexcept;
    void tile(const std::byte *const *rows, std::byte *to, std::int64_t i0, std::int64_t n) noexcept;

    const leaf::LeafTable &leaf_;
    const std::span<const Instruction> instructions_;
    const std::size_t n_inputs_;
    const bool stream_;
    TensorRef dst_, inputs_[max_program_inputs];
    alignas(64) float registers_[max_program_registers][tile_floats], buffers_[max_program_inputs][tile_floats];
};

// What follows a product: the step's program over a part of its result, rows [row, row + rows) of columns [column, column + columns) of a
// matrix. Nothing where there is none.
void finish_tile(const Step &step, const leaf::LeafTable &leaf, std::int64_t batch, std::int64_t row, std::int64_t rows,
                 std::int64_t column, std::int64_t columns) noexcept;

}  // namespace tensorlib::core
