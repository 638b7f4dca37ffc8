// Programs: elementwise operations of one shape, fused so that a tile of the result passes through all of them before
// the next tile is read.
//
// A chain of any length therefore costs one pass over memory, and so does a chain after a producer (a product, a norm):
// the program is the producer's epilogue, which runs on a tile while it is in the cache. An operation that takes a row
// at a time may have a prologue, which computes the rows of its first operand just before they are read. Results have
// the bits of separate steps, because the result of each operation is rounded to its node's type before the next one
// reads it.
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
// A step's operations, with its prologue and epilogue: "add + rms_norm + mul", "tiles: mul + add".
std::string step_text(const Step &step);

// Why a program's inputs and result are not all one long row, or nullptr.
const char *refuse_unless_one_row(const Problem &problem) noexcept;

// Which nodes run together. runs_in has, for each node, the index of the node at whose position it runs, which is its
// own if it runs by itself; it is empty if all do. A group is an elementwise node together with what it reads, directly
// or not, and no other node reads: elementwise nodes, and one producer at most. A group of only elementwise nodes whose
// sole reader is a row operation, as its first operand, is the operation's prologue and runs where it runs.
struct Fusions {
    std::vector<std::uint32_t> runs_in;
    std::vector<bool> in_prologue;  // for each node; empty if no operation has a prologue

    bool is_fused(std::size_t i) const noexcept { return !runs_in.empty() && runs_in[i] != i; }
    bool is_in_prologue(std::size_t i) const noexcept { return !in_prologue.empty() && in_prologue[i]; }
};

// What a node's kernel does in addition to its own operation, and the node's part: only nodes of one part run together.
struct Fusing {
    bool takes_epilogue, takes_prologue;
    std::uint32_t part;
};

// places: the indices of the graph's nodes and leafs. fusing: for each node.
Fusions find_fusions(const Graph &graph, const TensorSet &places, std::span<const Fusing> fusing);

// The program of a group as nodes and tensors. `members` are in running order, and the last one gives the result.
struct ProgramPlan {
    std::vector<Instruction> instructions;
    struct Input {
        const Tensor *tensor;  // the producer for its tile
        std::int64_t first;    // first element of dimension 0
        std::int64_t n0;       // number of elements
    };
    std::vector<Input> inputs;
};
// places: the indices of the graph's nodes and leafs. `producer`: the member that is the producer, whose result is an
// input; or null.
ProgramPlan make_program(const Graph &graph, const TensorSet &places, std::span<Tensor *const> members, const Tensor *producer);

}  // namespace tensorlib::core
