// Runs programs of elementwise operations on tiles: by themselves, on tiles of products and norms before they leave the
// cache, and on what norms are about to read.
#pragma once

#include "cpu/cpu_kernel.hpp"

namespace tensorlib::core {

// One thread's run of a program whose result goes to dst.
class ProgramRun {
public:
    // flat: the inputs and the result are each taken as one long row of contiguous elements. stream: results bypass the
    // caches; end() orders them before what other threads see next.
    struct How {
        bool flat = false, stream = false;
    };
    // scratch: must not be used by others until the run ends.
    ProgramRun(const Program &program, const TensorRef &dst, const simd::SimdTable &simd, TileScratch &scratch, How how) noexcept;
    ProgramRun(const ProgramRun &) = delete;
    ProgramRun &operator=(const ProgramRun &) = delete;

    // Inputs at this address are read from `there` instead.
    void read_instead(const std::byte *address, const TensorRef &there) noexcept {
        for (std::size_t i = 0; i < n_inputs_; i++) {
            if (inputs_[i].data == address) inputs_[i] = there;
        }
    }
    // Computes elements [i0, i0 + n) of a row of the result.
    void row(const RowIndex &at, std::int64_t i0, std::int64_t n) noexcept;
    // Does so for `rows` consecutive rows along dimension 1, starting with `first`. A few elements of many rows are
    // gathered, because starting a run costs more than copying some vectors.
    void rows(const RowIndex &first, std::int64_t rows, std::int64_t i0, std::int64_t n) noexcept;
    void end() noexcept {
        if (stream_) simd_.copies.stream_end();
    }

private:
    struct Source {
        const float *values;
        bool repeated;
    };
    Source read(const TensorRef &input, const std::byte *row, std::int64_t i0, std::int64_t n, float *buffer) const noexcept;
    void tile(const std::byte *const *rows, std::byte *to, std::int64_t i0, std::int64_t n) noexcept;
    const std::byte *input_row(const TensorRef &input, const RowIndex &at) const noexcept;
    void place_input(std::size_t i, Source source) noexcept;
    Source gather(const TensorRef &input, const RowIndex &first, std::int64_t rows, std::int64_t i0, std::int64_t n,
                  float *buffer) const noexcept;
    void run_chains(float *result, std::int64_t n) noexcept;

    // The instructions as chains of links: one chain, or one up to each result that is rounded before the next
    // instruction reads it. The slots are those of the inputs, the registers and the result.
    static constexpr int result_slot = max_program_inputs + max_program_registers, n_slots = result_slot + 1;
    static_assert(n_slots <= simd::max_slots);
    void make_chains() noexcept;
    bool rounds(std::size_t i) const noexcept { return instructions_[i].type != DType::f32 && (i + 1 < instructions_.size() || in_place_); }
    int taken_over(std::size_t i) const noexcept;
    bool is_kept(std::size_t i) const noexcept;
    struct Chain {
        const simd::Link *first;
        std::size_t last;  // instruction
    };

    const simd::SimdTable &simd_;
    const std::span<const Instruction> instructions_;
    const std::size_t n_inputs_;
    const bool stream_;
    TensorRef dst_, inputs_[max_program_inputs];
    const bool in_place_;
    // An instruction has at most three links, including those for its operand and for storing its result, and a chain
    // two more.
    simd::Link links_[5 * max_program_instructions];
    simd::Link *last_store_ = nullptr;
    Chain chains_[max_program_instructions];
    int n_chains_ = 0;
    simd::ChainSlot slots_[n_slots] = {};
    TileScratch &scratch_;
};

// Prefetches the lines of such a part, and of what finish_tile() reads for it, while they are being computed. Columns
// lie apart, so the processor does not predict them.
void fetch_tile(const Step &step, std::int64_t batch, std::int64_t row, std::int64_t rows, std::int64_t column,
                std::int64_t columns) noexcept;

// Runs the step's epilogue over a part of its result: rows [row, row + rows) of columns [column, column + columns) of a
// matrix. Does nothing if there is no epilogue.
void finish_tile(const Step &step, const Slice &slice, std::int64_t batch, std::int64_t row, std::int64_t rows, std::int64_t column,
                 std::int64_t columns) noexcept;

}  // namespace tensorlib::core
