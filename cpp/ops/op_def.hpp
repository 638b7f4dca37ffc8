// The meaning of an operation: everything about it except kernels. Each family's file has one OpDef per operation,
// which joins its description (ops/*.toml) with the code that checks it and infers shape and cost.
#pragma once

#include "graph/context.hpp"
#include "math/tile_op.hpp"
#include "ops/attrs.hpp"

#include <array>
#include <cassert>
#include <cstdint>
#include <span>
#include <string>

namespace tensorlib::core {

// The work of one node. It determines the number of threads and the rates that are reported.
struct Cost {
    double flops = 0;
    double bytes = 0;
};

// What happens to an operand. read: its elements are read. written: the result is a view of it, and computing writes
// into it. viewed: the result is a view of it, and nothing is computed. indices: its elements are indices. integers:
// its elements are integers, and any value is valid.
enum class Role : std::uint8_t { read, written, viewed, indices, integers };

struct Operand {
    const char *name;  // for messages
    Role role;
    bool optional = false;              // may be left out; never the first operand
    const char *no_gradient = nullptr;  // why it has no gradient; null if it has one
};

// The result's type: an operand's, or a fixed one. by_hand: infer determines it from operands or attributes.
enum class ResultType : std::uint8_t { by_hand, of_first, f32, i32, i64 };

// No more operands than a step of a plan has room for.
struct Operands : std::span<const Operand> {
    constexpr Operands() = default;
    template <std::size_t N>
    constexpr Operands(const Operand (&all)[N]) : std::span<const Operand>(all) {
        static_assert(N <= max_sources);
    }
};

// More operands than anybody lists: a larger number is a mistake.
constexpr std::size_t most_listed = std::size_t{1} << 20;

// An operation's description (ops/gen/op_facts.hpp).
struct OpFacts {
    Op op;
    const char *name;
    Operands operands{};
    // Whether the last operand may be given several times: up to max_sources operands, or most_listed for a composed
    // operation.
    bool repeats_last = false;
    std::span<const AttrDef> attrs{};
    int n_results = 1;  // above 1: they lie one after the other in the node, which has one dimension (OpCode::part)
    ResultType result = ResultType::by_hand;
};

// What an elementwise operation computes for each element (math/tile_ops.inc): the formula and its parameters. For each
// operand of the formula it says which of the node's operands that is, and at which element of dimension 0 it starts: a
// gated operation may read two halves of one operand. Operands repeat along extents that are larger in the result.
struct Formula {
    TileOp op;
    std::array<float, 4> parameters{};
    struct Source {
        std::uint8_t operand = 0;
        std::int64_t first = 0;
    };
    std::array<Source, max_tile_operands> sources{};
};

class NodeBatch;

// A result of an operation with several: where it begins in its node, in bytes.
struct ResultPart {
    Layout layout;
    std::size_t offset;
};

// An operation's code.
struct OpCode {
    // The only validator and shape rule. Throws an Error whose message names the operation, the shapes and what would
    // be valid, or fills in the result. op and src are already set, and the operands' roles have set view_of and
    // written. There is a source for each operand, null if it is left out, and all are on one device.
    void (*infer)(std::span<Tensor *const> src, const Attrs &attrs, NodeSpec &result) = nullptr;

    Cost (*cost)(const Tensor &node) = nullptr;

    // For operations that reject some values of an operand, such as an index beyond the last row, or a NaN where
    // integers are required. checked_operands has a bit for each operand whose elements are checked while the node is
    // computed. valid_values says what is valid for one, for the message. Null for operations that take all values.
    unsigned (*checked_operands)(const Tensor &node) noexcept = nullptr;
    std::string (*valid_values)(const Tensor &node, int operand) = nullptr;

    // For an elementwise operation, whose result is contiguous; null for others. Such an operation has no kernels of
    // its own: programs are made of formulas (runtime/program.hpp).
    Formula (*formula)(const Tensor &node) noexcept = nullptr;

    // For an operation with several results: result i of a node, the first one at offset 0. Functions return a view of that.
    ResultPart (*part)(const Tensor &node, int i) = nullptr;

    // For a composed operation, which makes nodes of other operations and is in no graph itself: returns the last one.
    // Sources and attributes are those of infer, which is null.
    Tensor *(*compose)(NodeBatch &nodes, std::span<Tensor *const> src, const Attrs &attrs) = nullptr;
};

struct OpDef : OpFacts, OpCode {};

// What is said of an operand. Those that are given several times are described once.
inline const Operand &operand_at(const OpFacts &def, std::size_t i) noexcept {
    return def.operands[i < def.operands.size() ? i : def.operands.size() - 1];
}

// A node's attributes. A is its operation's struct (ops/gen/op_facts.hpp).
template <class A>
const A &attrs_of(const Tensor &node) noexcept {
    assert(node.op == A::operation);
    return *static_cast<const A *>(node.attrs);
}

const OpDef &op_def(Op op) noexcept;

// OpCode::checked_operands, or 0 if the operation has none.
inline unsigned checked_operands(const Tensor &node) noexcept {
    const OpDef &def = op_def(node.op);
    return def.checked_operands ? def.checked_operands(node) : 0;
}

// Finds an operation by name; nullptr if there is none (leaf is no operation).
const OpDef *find_op(std::string_view name) noexcept;
// As find_op(), but throws Error(invalid_argument) with the nearest names if there is none.
const OpDef &op_named(std::string_view name);

// All operations except leaf, in the list's order.
std::span<const OpDef *const> all_ops() noexcept;

// Throws Error(invalid_argument) if an operation does not take `count` operands. Optional ones at the end may be
// missing.
void check_operand_count(const OpDef &def, std::size_t count);

// Names the operands' layouts: "a is [2, 4] f32, b is [7] f32". null: the text for a null operand, which infer sees if
// an operand was left out.
std::string operands_text(const OpFacts &def, std::span<Tensor *const> src, const char *null = "left out");

// Throws Error(type_mismatch) if the first operand's type has blocks, which the operation would take apart.
void check_without_blocks(const OpFacts &def, std::span<Tensor *const> src);

// Converts a call's attributes to the kinds that the definition requires, without those that equal the default. The
// result is in `room`. Throws Error(invalid_argument), naming operation, attribute, value and what is valid.
Attrs checked_attrs(const OpDef &def, std::span<const Attr> attrs, std::span<Attr, Attrs::most> room);

// The only way to make a node: checks operands and attributes, infers, and appends to the context. left_out() stands
// for an optional operand that is left out.
// A composed operation leaves all its nodes in the batch, if there is one.
Tensor *build_node(Context &context, Op op, std::span<Tensor *const> src, std::span<const Attr> attrs = {}, NodeBatch *batch = nullptr);

// A view of `length` elements of a in dimension dim, starting at `start`.
Tensor *build_narrow(Context &context, Tensor *a, std::int32_t dim, std::int64_t start, std::int64_t length);

// The elements [begin, end) of a dimension, or element `begin`, without the dimension. Negative ones count from the end;
// an end of INT64_MAX is that of the dimension.
struct IndexRange {
    std::int64_t begin, end;
    bool drops;
};
// A view of a part of each dimension of a, dimension 0 first; of all of those that have no range.
Tensor *build_index(Context &context, Tensor *a, std::span<const IndexRange> ranges);

namespace ops {

// Each OpDef is defined in its family's file.
#define TL_OP(name, number) extern const OpDef name;
#include "graph/gen/op_list.inc"
#undef TL_OP

// Shared by the operations that write into an operand. Throws Error(invalid_argument) if `target` is constant, or if
// two of its elements share memory, because threads would race for it.
void check_target(const char *op, const char *name, const Tensor &target);
// Throws Error(invalid_argument) if an element of `from` shares memory with an element of `target`.
void check_apart(const char *op, const char *from_name, const Tensor &from, const char *name, const Tensor &target);
// may_refuse(): whether `to` cannot hold some values of `from`. values_of(): the values that a type holds, for
// messages.
bool may_refuse(DType from, DType to) noexcept;
std::string values_of(DType type);

// OpCode::infer of an operation with attributes, which the node keeps.
template <class A, void (*infer)(std::span<Tensor *const>, const A &, NodeSpec &)>
void with_attrs(std::span<Tensor *const> src, const Attrs &given, NodeSpec &result) {
    infer(src, result.make_attrs<A>(given), result);
}

// OpCode::compose of an operation with attributes.
template <class A, Tensor *(*compose)(NodeBatch &, std::span<Tensor *const>, const A &)>
Tensor *composed(NodeBatch &nodes, std::span<Tensor *const> src, const Attrs &given) {
    return compose(nodes, src, A(given));
}

// In the ids of mul_mat_id and out_prod_id: selects no expert. Its column of a product is zeros, and it contributes to
// no sum.
constexpr std::int64_t no_expert = -1;

// Whether kernels must not round the operands of this product: a mul_mat, mul_mat_id or mul_mat_sparse.
bool is_exact(const Tensor &product) noexcept;

// Reads the operands once and writes the result once.
Cost copy_cost(const Tensor &node);
// For operations that only describe memory.
Cost no_cost(const Tensor &node);

}  // namespace ops

}  // namespace tensorlib::core
