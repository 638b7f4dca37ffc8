// How a backend describes its kernels: which nodes a kernel takes and what it needs for one. How it runs is the
// backend's own business, so each backend derives the row type of its table from this.
#pragma once

#include "graph/tensor.hpp"
#include "math/tile_op.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>

namespace tensorlib::core {

class Backend;

// An operand at its current location: shape, strides and address.
struct TensorRef {
    DType type;
    Extents ne;
    Strides nb;
    std::byte *data;
};

inline std::size_t row_place(const TensorRef &t, const RowIndex &r) noexcept { return row_place(t.nb, r); }
inline std::byte *row_address(const TensorRef &t, const RowIndex &r) noexcept { return t.data + row_place(t, r); }

// One operation of a program: a formula on tiles. `from`: the program's inputs, from 0, or the results of earlier
// instructions, as max_program_inputs plus their register. The result goes to register `to` (the last one is the
// program's result) and is rounded to the type.
constexpr int max_program_inputs = 10, max_program_registers = 6, max_program_instructions = 16;
struct Instruction {
    TileOp op;
    DType type;
    std::uint8_t to;
    std::array<std::uint8_t, max_tile_operands> from;
    std::array<float, 4> parameters;
};

// What is computed for each element (runtime/program.hpp). An input's extent is the result's, or divides it: then its
// elements repeat.
struct Program {
    std::span<const Instruction> instructions;
    std::span<const TensorRef> inputs;

    bool empty() const noexcept { return instructions.empty(); }
};

// A node to compute, and the backend that computes it. For an elementwise node and what is fused with it, the program,
// whose inputs have no addresses yet.
struct Problem {
    const Tensor &node;
    Backend &backend;
    int n_threads;
    Program program{};
    // The copies that the kernel plans (KernelPlan::copies, a bit each) for which the backend has no memory.
    unsigned missing_copies = 0;
    // Whether a column's bits must not depend on how many columns are computed with it (Graph::batch_invariant).
    bool batch_invariant = false;
};

// The stages of a step, in order. set_up runs once, before anything else, if the operands' values determine the rest.
// Then each round prepares (packs, rounds, decodes) what it reads, and computes. combine runs once, at the end.
enum class Stage : std::uint8_t { set_up, prepare, compute, combine };
constexpr std::size_t n_stages = 4;
constexpr const char *stage_names[n_stages] = {"set up", "prepare", "compute", "combine"};

// A constant operand in another layout, which the backend keeps as long as it and the operand's context exist. The
// operand alone determines whether a kernel uses a copy, and so the bits of its results. Without the copy, a kernel
// computes the same bits from the operand itself.
struct ConstantCopy {
    enum class State : std::uint8_t { none, planned, missing };

    State state = State::none;
    std::uint8_t form = 0;            // the backend's own code for the layout
    const char *text = "";            // what it is, or why the kernel uses none; static, for the plan's text
    const std::byte *data = nullptr;  // for a planned copy; set by Backend::make_copies()
    std::size_t bytes = 0;            // for a planned copy
    std::size_t source = 0;

    bool used() const noexcept { return state != State::none; }
    bool planned() const noexcept { return state == State::planned; }
    bool missing() const noexcept { return state == State::missing; }
};

// What a kernel needs for one node.
struct KernelPlan {
    // A stage consists of chunks, which may run at the same time. It begins when the previous stage has ended. 0
    // chunks: the stage does not exist.
    std::array<std::int64_t, n_stages> n_chunks{0, 0, 1, 0};
    std::int64_t n_rounds = 1;
    std::size_t workspace = 0;  // in bytes, for all threads together
    // The copies of constant operands that the kernel uses, in an order of its own. An entry without a text was not
    // requested.
    std::array<ConstantCopy, 3> copies{};
    // What the kernel rounds an operand to, for the plan's text; static, such as "b in 8 bits".
    const char *rounding = "";
    // Sources (a bit each) that the kernel does not read if their originals were dropped (graph/stand_in.hpp), because
    // it gets their values in another way. Their addresses are null then. Other dropped sources are rebuilt before the
    // step.
    unsigned unread = 0;
    // Operand slots (a bit each; the program's inputs for a step with a program) whose memory the result may take over
    // if the step is their last reader. The kernel promises that the slot's elements are at the result's positions, and
    // that a thread reads each of them before it writes the result there. It promises nothing for other slots: the
    // planner lets the result overwrite a slot only if no other slot reads the same memory.
    unsigned may_overwrite = 0;
    // The kernel's own decisions, such as block sizes, which plan() keeps and its steps read.
    alignas(std::int64_t) std::array<std::byte, 64> decisions{};

    // D is a struct of plain data, or one that begins with it.
    template <class D>
    void keep(const D &decided) noexcept {
        static_assert(std::is_trivially_copyable_v<D> && sizeof(D) <= sizeof decisions);
        std::memcpy(decisions.data(), &decided, sizeof decided);
    }
    template <class D>
    D kept() const noexcept {
        static_assert(std::is_trivially_copyable_v<D> && sizeof(D) <= sizeof decisions);
        D decided;
        std::memcpy(&decided, decisions.data(), sizeof decided);
        return decided;
    }

    std::int64_t &chunks(Stage stage) noexcept { return n_chunks[static_cast<std::size_t>(stage)]; }
    std::int64_t chunks(Stage stage) const noexcept { return n_chunks[static_cast<std::size_t>(stage)]; }
    // Calls f(stage, round) for each existing stage, in running order.
    template <class F>
    void for_each_stage(F f) const {
        const auto run = [&](Stage stage, std::int64_t round) {
            if (chunks(stage) > 0) f(stage, round);
        };
        run(Stage::set_up, 0);
        for (std::int64_t round = 0; round < n_rounds; round++) {
            run(Stage::prepare, round);
            run(Stage::compute, round);
        }
        run(Stage::combine, 0);
    }
};

struct Kernel {
    Op op;  // Op::leaf: any operation that has a formula
    const char *name;
    // Returns why this kernel does not take the problem, as a static text, or nullptr and what the kernel needs for it.
    // One function answers both, so that shared work is done once. It has no side effects: it lists the copies that it
    // wants and makes none.
    const char *(*plan)(const Problem &problem, KernelPlan &plan) noexcept;
    bool fuses = false;           // whether it runs the step's program on its result
    bool takes_prologue = false;  // whether it runs the step's prologue for its first operand
};

// A kernel's plan() composed of two functions: why it does not take a problem, and what it needs for one.
inline void plan_nothing(const Problem &, KernelPlan &) noexcept {}
template <const char *(*refuse)(const Problem &) noexcept, void (*plan)(const Problem &, KernelPlan &) noexcept = plan_nothing>
const char *plan_unless(const Problem &problem, KernelPlan &needs) noexcept {
    if (const char *reason = refuse(problem)) return reason;
    plan(problem, needs);
    return nullptr;
}
// plan() of a kernel that takes all problems.
template <void (*plan)(const Problem &, KernelPlan &) noexcept = plan_nothing>
const char *plan_always(const Problem &problem, KernelPlan &needs) noexcept {
    plan(problem, needs);
    return nullptr;
}

// A leaf without its original that a step reads. All of it is rebuilt before the step.
struct Rebuilt {
    const Tensor *root;
    std::byte *to;
};

// Bytes of a root that are copied from one part of a joined backend to another.
struct Copy {
    const Tensor *root;
    std::uint32_t from, to;  // parts
    std::byte *source, *target;
    std::size_t bytes;
    bool waits;  // whether the copy waits for the target's device, whose steps may still use the memory
};

// One node of a plan that is ready to run, or several that run together.
struct Step {
    const Kernel *kernel;
    Tensor *node;
    // For a joined backend: the part that runs the step (Backend::parts()), and the copies before and after it. The
    // steps of a round are in the order of their parts and do not depend on each other across parts. A round's copies
    // come before or after all of its steps.
    std::uint32_t part, round;
    std::span<const Copy> before, after;
    KernelPlan plan;
    // The node whose result dst is. It differs from `node` if a program is fused with it.
    const Tensor *result;
    TensorRef dst;
    std::span<const TensorRef> src;  // the node's; without an address if an operand is left out. Empty if the program
                                     // has everything
    // The program of an elementwise step, or the epilogue of another operation, whose own result is then one of the
    // inputs, at dst.
    Program program;
    // Computes the first operand row by row; src[0] then has no memory and no address. Its result has the whole shape
    // of src[0].
    Program prologue;
    // Whether several nodes run in this step.
    bool joins() const noexcept { return node != result || program.instructions.size() > 1 || !prologue.empty(); }
    std::span<const Rebuilt> rebuilt;
    std::byte *workspace;  // aligned as tensors are
    // Where kernels record the first element that the operation cannot take, on the device; null for operations that
    // take all values.
    std::uint64_t *fault;
};

// The elements that a run could not take: the smallest of these words wins. A kernel continues after a fault and skips
// or zeroes what depends on the element, so that it touches no other memory. The run fails at the end.
struct Fault {
    static constexpr std::uint64_t none = ~std::uint64_t{0};

    // The element's position in ne order, below 2^60, because an element takes at least half a byte; and the operand,
    // below 16.
    static constexpr int operand_bits = 4;
    TL_HOST_DEVICE static constexpr std::uint64_t word(int operand, std::int64_t position) noexcept {
        return static_cast<std::uint64_t>(position) << operand_bits | static_cast<unsigned>(operand);
    }
    static constexpr int operand(std::uint64_t word) noexcept { return static_cast<int>(word & ((1u << operand_bits) - 1)); }
    static constexpr std::int64_t position(std::uint64_t word) noexcept { return static_cast<std::int64_t>(word >> operand_bits); }
};

static_assert(max_sources <= 1 << Fault::operand_bits);

// A kernel for a problem and what it needs; null if there is none.
struct Choice {
    const Kernel *kernel = nullptr;
    KernelPlan plan;
};

// The kernels of an operation, in order of preference: a range of a family's table, in which the rows of one operation
// are adjacent.
template <class K>
std::span<const K> kernels_of(std::span<const K> family, Op op) noexcept {
    std::size_t begin = 0;
    while (begin < family.size() && family[begin].op != op) begin++;
    std::size_t end = begin;
    while (end < family.size() && family[end].op == op) end++;
    return family.subspan(begin, end - begin);
}

// All kernels of a backend, indexed by operation once.
template <class K>
class KernelTable {
public:
    KernelTable(std::initializer_list<std::span<const K>> families) noexcept {
        for (const auto &family : families) {
            for (const K &kernel : family) {
                auto &entry = by_op_[static_cast<std::size_t>(kernel.op)];
                if (entry.empty()) entry = kernels_of(family, kernel.op);
            }
        }
    }
    // Elementwise operations use the kernels of Op::leaf.
    std::span<const K> of(const Problem &problem) const noexcept {
        return by_op_[static_cast<std::size_t>(problem.program.empty() ? problem.node.op : Op::leaf)];
    }

    // The first kernel that takes the problem. This is the only place that answers "is it supported?", "how much
    // workspace?" and "which kernel runs?".
    Choice choose(const Problem &problem) const noexcept {
        for (const K &kernel : of(problem)) {
            Choice choice{&kernel, {}};
            if (!kernel.plan(problem, choice.plan)) return choice;
        }
        return {};
    }
    // What each kernel before `chosen` said (all kernels if it is null), for messages and for the plan's text.
    std::string refusals(const Problem &problem, const Kernel *chosen) const {
        std::string text;
        for (const K &kernel : of(problem)) {
            if (&kernel == chosen) break;
            KernelPlan unused;
            const char *reason = kernel.plan(problem, unused);
            text += (text.empty() ? "" : "; ") + std::string(kernel.name) + ": " + (reason ? reason : "it takes it");
        }
        return text;
    }

private:
    std::array<std::span<const K>, op_end> by_op_{};
};

}  // namespace tensorlib::core
