// What a backend's kernel says of itself: which nodes it takes and what it needs for one. How it runs is the
// backend's own business, so each backend derives its table's row type from this.
#pragma once

#include "graph/tensor.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tensorlib::core {

class Backend;

// A node to be computed, and by whom.
struct Problem {
    const Tensor &node;
    Backend &backend;
    int n_threads;
};

// What a kernel needs for one node.
struct KernelPlan {
    // The work is cut into phases, each into chunks that may run at the same time; a phase begins when the one before
    // it has ended. Phases are of two kinds in turn (prepare, compute), each with its number of chunks; a kernel
    // without preparation has one phase.
    std::int64_t n_phases = 1;
    std::array<std::int64_t, 2> n_chunks{1, 1};
    // Chunks of a phase before these, number -1, that sets up what depends on the operands' values; 0 where there is none.
    std::int64_t setup_chunks = 0;
    std::size_t workspace = 0;  // bytes, all threads' parts included
    // What the backend keeps of a constant operand, as long as it and the operand's context are there: address and bytes. And what is to
    // be said of it in the plan's text; a static text.
    const std::byte *copy = nullptr;
    std::size_t copy_bytes = 0;
    const char *copy_text = "";
    // What the kernel rounds an operand to, for the plan's text: static, as "b in 8 bits".
    const char *rounding = "";
    // Sources (a bit each) that the kernel does not read where their originals were dropped (graph/stand_in.hpp): it has another way to
    // what it needs of them. Their addresses are null then. Others are rebuilt before the step.
    unsigned unread = 0;
    // The kernel's own decisions (tile and block sizes), as it likes.
    std::array<std::int64_t, 8> choice{};

    std::int64_t chunks(std::int64_t phase) const noexcept {
        return phase < 0 ? setup_chunks : n_chunks[static_cast<std::size_t>(phase & 1)];
    }
};

struct Kernel {
    Op op;
    const char *name;
    // Why this kernel does not take the problem, or nullptr where it does. A static text.
    const char *(*refuse)(const Problem &problem) noexcept;
    void (*plan)(const Problem &problem, KernelPlan &plan) noexcept;
    bool fuses = false;  // whether it applies epilogues (runtime/epilogue.hpp)
};

// An operand where it lies now: shape, strides and address.
struct TensorRef {
    DType type;
    Extents ne;
    Strides nb;
    std::byte *data;
};

inline std::size_t row_place(const TensorRef &t, const RowIndex &r) noexcept { return row_place(t.nb, r); }
inline std::byte *row_address(const TensorRef &t, const RowIndex &r) noexcept { return t.data + row_place(t, r); }

// A leaf without its original that a step reads: to be rebuilt before it, all of it.
struct Rebuilt {
    const Tensor *root;
    std::byte *to;
};

// One node of a plan, ready to run.
struct Step {
    const Kernel *kernel;
    Tensor *node;
    KernelPlan plan;
    TensorRef dst;
    std::array<TensorRef, max_sources> src;
    // Where another node was fused with this one: that node, whose result dst is, and its other operand.
    const Tensor *epilogue;
    TensorRef epilogue_operand;
    std::span<const Rebuilt> rebuilt;
    std::byte *workspace;  // aligned as tensors are
    // Where kernels note the first element that the operation cannot take, on the device; null for operations that
    // take all values.
    std::uint64_t *fault;
};

// The elements that a run could not take: the smallest of these words wins. Kernels go on behind it, leaving out or
// zeroing what it concerns, so that nothing outside is touched; the run fails in the end.
struct Fault {
    static constexpr std::uint64_t none = ~std::uint64_t{0};

    // The element's position in ne order, below 2^60, as an element has at least half a byte; and the operand, below 16.
    static constexpr int operand_bits = 4;
    TL_HOST_DEVICE static constexpr std::uint64_t word(int operand, std::int64_t position) noexcept {
        return static_cast<std::uint64_t>(position) << operand_bits | static_cast<unsigned>(operand);
    }
    static constexpr int operand(std::uint64_t word) noexcept { return static_cast<int>(word & ((1u << operand_bits) - 1)); }
    static constexpr std::int64_t position(std::uint64_t word) noexcept { return static_cast<std::int64_t>(word >> operand_bits); }
};

static_assert(max_sources <= 1 << Fault::operand_bits);

// The first kernel of the table that takes the problem; nullptr where none does. The one place that answers "is it
// supported?", "how much workspace?" and "which kernel runs?".
template <class K>
const K *find_kernel(std::span<const K> table, const Problem &problem) noexcept {
    for (const K &kernel : table) {
        if (kernel.op == problem.node.op && !kernel.refuse(problem)) return &kernel;
    }
    return nullptr;
}

}  // namespace tensorlib::core
