// What a backend's kernel says of itself: which nodes it takes and what it needs for one. How it runs is the
// backend's own business, so each backend derives its table's row type from this.
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

// An operand where it lies now: shape, strides and address.
struct TensorRef {
    DType type;
    Extents ne;
    Strides nb;
    std::byte *data;
};

inline std::size_t row_place(const TensorRef &t, const RowIndex &r) noexcept { return row_place(t.nb, r); }
inline std::byte *row_address(const TensorRef &t, const RowIndex &r) noexcept { return t.data + row_place(t, r); }

// One operation of a program: a formula of tiles. `from`: the program's inputs, from 0 on, or the results of earlier instructions, from
// max_program_inputs on by their registers. The result goes to register `to` (or is the program's) and is rounded to the type.
constexpr int max_program_inputs = 10, max_program_registers = 6, max_program_instructions = 16;
struct Instruction {
    TileOp op;
    DType type;
    std::uint8_t to;
    std::array<std::uint8_t, max_tile_operands> from;
    std::array<float, 4> parameters;
};

// What is computed of each element (runtime/program.hpp). An input's extent is the result's or divides it: then its elements repeat.
struct Program {
    std::span<const Instruction> instructions;
    std::span<const TensorRef> inputs;

    bool empty() const noexcept { return instructions.empty(); }
};

// A node to be computed, and by whom. Of an elementwise one, and what is joined with it, the program, whose inputs have no addresses yet.
struct Problem {
    const Tensor &node;
    Backend &backend;
    int n_threads;
    Program program{};
    // Which of the copies that the kernel plans (KernelPlan::copies, a bit each) the backend has no memory for.
    unsigned missing_copies = 0;
};

// What a step does one after the other: set-up is done once, before anything else, where the operands' values decide how the rest goes;
// then come as many rounds as there are, each of which prepares (packs, rounds, decodes) what it computes with; combine is done once, at
// the end.
enum class Stage : std::uint8_t { set_up, prepare, compute, combine };
constexpr std::size_t n_stages = 4;
constexpr const char *stage_names[n_stages] = {"set up", "prepare", "compute", "combine"};

// A constant operand in another form, which the backend keeps as long as it and the operand's context exist. Whether a kernel uses one, and
// so the bits of its results, follows from the operand alone. A kernel whose copy is missing computes the same bits from the operand
// itself.
struct ConstantCopy {
    enum class State : std::uint8_t { none, planned, missing };

    State state = State::none;
    std::uint8_t form = 0;            // the backend's own word for it
    const char *text = "";            // what it is, or why the kernel uses none: static, for the plan's text
    const std::byte *data = nullptr;  // of a planned one, set by Backend::make_copies()
    std::size_t bytes = 0;            // of a planned one
    std::size_t source = 0;

    bool used() const noexcept { return state != State::none; }
    bool planned() const noexcept { return state == State::planned; }
    bool missing() const noexcept { return state == State::missing; }
};

// What a kernel needs for one node.
struct KernelPlan {
    // A stage is cut into chunks, which may run at the same time; it begins when the one before it has ended. 0: a stage that there is
    // none of.
    std::array<std::int64_t, n_stages> n_chunks{0, 0, 1, 0};
    std::int64_t n_rounds = 1;
    std::size_t workspace = 0;  // bytes, all threads' parts included
    // The copies of constant operands that the kernel uses, in its own order; an entry without a text was not asked for.
    std::array<ConstantCopy, 3> copies{};
    // What the kernel rounds an operand to, for the plan's text: static, as "b in 8 bits".
    const char *rounding = "";
    // Sources (a bit each) that the kernel does not read where their originals were dropped (graph/stand_in.hpp): it has another way to
    // what it needs of them. Their addresses are null then. Others are rebuilt before the step.
    unsigned unread = 0;
    // Operand slots (a bit each; of a step with a program, the program's inputs) whose memory the result may take over when the step is the
    // last to read it. The kernel promises that the slot's elements lie at the result's places, and that a thread reads each of them before
    // it writes the result there. It promises nothing for other slots: the planner lets the result overwrite a slot only if no other slot
    // reads the same memory.
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
    // f(stage, round) for each that there is, in the order in which they run.
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
    // Why this kernel does not take the problem, a static text; or nullptr, and what it needs for it. One function answers both, so that
    // what they share is computed once. It has no effects: it lists the copies that it wants, and makes none.
    const char *(*plan)(const Problem &problem, KernelPlan &plan) noexcept;
    bool fuses = false;           // whether it runs the step's program on its result
    bool takes_prologue = false;  // whether it runs the step's prologue for its first operand
};

// A kernel's plan() of two parts: why it does not take a problem, and what it needs for one.
inline void plan_nothing(const Problem &, KernelPlan &) noexcept {}
template <const char *(*refuse)(const Problem &) noexcept, void (*plan)(const Problem &, KernelPlan &) noexcept = plan_nothing>
const char *plan_unless(const Problem &problem, KernelPlan &needs) noexcept {
    if (const char *reason = refuse(problem)) return reason;
    plan(problem, needs);
    return nullptr;
}
// The same of a kernel that takes all problems.
template <void (*plan)(const Problem &, KernelPlan &) noexcept = plan_nothing>
const char *plan_always(const Problem &problem, KernelPlan &needs) noexcept {
    plan(problem, needs);
    return nullptr;
}

// A leaf without its original that a step reads: to be rebuilt before it, all of it.
struct Rebuilt {
    const Tensor *root;
    std::byte *to;
};

// Bytes of a root that go from one part of a joined backend to another.
struct Copy {
    const Tensor *root;
    std::uint32_t from, to;  // parts
    std::byte *source, *target;
    std::size_t bytes;
    bool waits;  // for the target's device, whose steps may still use the memory
};

// One node of a plan, ready to run, or several that run together.
struct Step {
    const Kernel *kernel;
    Tensor *node;
    // Of a joined backend: the part that runs it (Backend::parts()); what comes there before it, and what goes from there when it is done.
    // A round's steps are in the order of their parts, and need nothing of each other across parts: its copies come before all of them,
    // or behind.
    std::uint32_t part, round;
    std::span<const Copy> before, after;
    KernelPlan plan;
    // The node whose result dst is: another one than `node` where a program is joined with it.
    const Tensor *result;
    TensorRef dst;
    std::span<const TensorRef> src;  // the node's; without an address where an operand is left out. Empty where all is in the program
    // Of an elementwise step, or what follows another operation, whose own result is one of the inputs then, where dst is.
    Program program;
    // What the first operand is computed by, a row at a time, as it has no memory then: src[0] has no address. Of its shape, all of it.
    Program prologue;
    // Whether several nodes run in it.
    bool joins() const noexcept { return node != result || program.instructions.size() > 1 || !prologue.empty(); }
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

// A kernel for a problem, null where there is none, and what it needs.
struct Choice {
    const Kernel *kernel = nullptr;
    KernelPlan plan;
};

// The kernels of an operation, in order of preference: a part of a family's table, whose rows of one operation lie side by side.
template <class K>
std::span<const K> kernels_of(std::span<const K> family, Op op) noexcept {
    std::size_t begin = 0;
    while (begin < family.size() && family[begin].op != op) begin++;
    std::size_t end = begin;
    while (end < family.size() && family[end].op == op) end++;
    return family.subspan(begin, end - begin);
}

// All kernels of a backend by their operations, found once.
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
    // Those of elementwise operations are the ones of Op::leaf.
    std::span<const K> of(const Problem &problem) const noexcept {
        return by_op_[static_cast<std::size_t>(problem.program.empty() ? problem.node.op : Op::leaf)];
    }

    // The first kernel that takes the problem: the one place that answers "is it supported?", "how much workspace?" and "which kernel
    // runs?".
    Choice choose(const Problem &problem) const noexcept {
        for (const K &kernel : of(problem)) {
            Choice choice{&kernel, {}};
            if (!kernel.plan(problem, choice.plan)) return choice;
        }
        return {};
    }
    // What each of those before `chosen` said (all, where that is null), for messages and for the plan's text.
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
