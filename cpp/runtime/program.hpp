// Programs: elementwise operations of one shape, joined so that a tile of the result passes through all of them before the next is read.
//
// A chain of any length then costs one pass over memory, as does what follows a producer (a product, a norm): the program is its epilogue,
// run on a tile while that is in the cache. An operation that takes a row at a time has the rows of its first operand made by one, its
// prologue, just before it reads them. Results have the bits of separate steps: what an operation gives is rounded to its node's type
// before the next one takes it.
#pragma once

#include "graph/graph.hpp"
#include "graph/tensor_set.hpp"
#include "math/tile_op.hpp"
#include "runtime/kernel.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tensorlib::core {

// "mul + add + silu", for messages and the plan's text.
std::string program_text(const Program &program);
// A step's, with its prologue and what follows: "add + rms_norm + mul", "tiles: mul + add".
std::string step_text(const Step &step);

// Why a program's inputs and result are not all one long row, or nullptr.
const char *refuse_unless_one_row(const Problem &problem) noexcept;

// Which nodes run together: for each node the index of the one at whose place it runs, its own where it runs by itself; empty where all
// do. A group is an
// elementwise node and what it takes, directly or not, that nobody else reads: elementwise nodes, and one producer at most. A group of
// elementwise nodes alone that only a row operation reads, as its first operand, is that one's prologue, and runs where that one does.
struct Fusions {
    std::vector<std::uint32_t> runs_in;
    std::vector<bool> in_prologue;  // of each node; empty where no operation has a prologue

    bool is_fused(std::size_t i) const noexcept { return !runs_in.empty() && runs_in[i] != i; }
    bool is_in_prologue(std::size_t i) const noexcept { return !in_prologue.empty() && in_prologue[i]; }
};

// What the kernel of a node does beside its own operation, and the part that it is of: only nodes of one part run together.
struct Fusing {
    bool takes_epilogue, takes_prologue;
    std::uint32_t part;
};

// places: of the graph's nodes and leafs. fusing: of each node.
Fusions find_fusions(const Graph &graph, const TensorSet &places, std::span<const Fusing> fusing);

// The program of a group as nodes and tensors; `members` in the order in which they run, the last one gives the result.
struct ProgramPlan {
    std::vector<Instruction> instructions;
    struct Input {
        const Tensor *tensor;  // the producer for its tile
        std::int64_t first;    // element of dimension 0
        std::int64_t n0;       // so many of them
    };
    std::vector<Input> inputs;
};
// places: of the graph's nodes and leafs. `producer`: which of the members is one, whose result is an input; or null.
ProgramPlan make_program(const Graph &graph, const TensorSet &places, std::span<Tensor *const> members, const Tensor *producer);

}  // namespace tensorlib::core
