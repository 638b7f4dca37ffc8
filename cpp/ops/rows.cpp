// Operations that select rows by index, described in rows.toml.
#include "base/fail.hpp"
#include "ops/gen/op_facts.hpp"

#include <array>

namespace tensorlib::core::ops {

namespace {

void check_indices(const char *op, const Tensor &rows) {
    const DType type = rows.layout.type;
    if (type == DType::i32 || type == DType::i64) return;
    fail(Status::type_mismatch, "%s: rows is %s: numbers of rows must be i32 or i64", op, tensor_text(rows).c_str());
}

std::string valid_rows(const Tensor &a) {
    const auto last = static_cast<long long>(a.layout.ne[1] - 1);
    return last < 0 ? "a has no rows" : format_text("rows 0 to %lld are there", last);
}

void get_rows_infer(std::span<Tensor *const> src, const Attrs &, NodeSpec &result) {
    const Tensor &a = *src[0], &rows = *src[1];
    const Extents &na = a.layout.ne, &nr = rows.layout.ne;
    check_indices("get_rows", rows);
    if (nr[1] != na[2] || nr[2] != na[3] || nr[3] != 1) {
        fail(Status::shape_mismatch, "get_rows: a is %s, rows is %s: rows {r, %lld, %lld} is valid, a slice of numbers for each of a's",
             tensor_text(a).c_str(), tensor_text(rows).c_str(), static_cast<long long>(na[2]), static_cast<long long>(na[3]));
    }
    const DType type = traits(a.layout.type).kind == Kind::integer ? a.layout.type : DType::f32;
    const std::array<std::int64_t, max_dims> ne{na[0], nr[0], na[2], na[3]};
    result.layout = contiguous_layout("get_rows", type, {ne.data(), static_cast<std::size_t>(std::max(2, a.layout.n_dims))});
}

unsigned get_rows_checked(const Tensor &) noexcept { return 1u << 1; }
std::string get_rows_valid(const Tensor &node, int) { return valid_rows(*node.src[0]); }

// Writes the result, and reads as many rows of a.
Cost get_rows_cost(const Tensor &node) {
    const double rows = static_cast<double>(node.layout.n_rows()), a_row = static_cast<double>(node.src[0]->layout.row_bytes());
    return {0, rows * a_row + static_cast<double>(node.layout.nbytes() + node.src[1]->layout.nbytes())};
}

void set_rows_infer(std::span<Tensor *const> src, const Attrs &, NodeSpec &result) {
    const Tensor &a = *src[0], &b = *src[1], &rows = *src[2];
    const Extents &na = a.layout.ne, &nb = b.layout.ne, &nr = rows.layout.ne;
    const auto all = [&] { return "a is " + tensor_text(a) + ", b is " + tensor_text(b) + ", rows is " + tensor_text(rows); };
    check_indices("set_rows", rows);
    if (nb[0] != na[0] || nb[2] != na[2] || nb[3] != na[3] || nb[1] != nr[0]) {
        fail(Status::shape_mismatch, "set_rows: %s: b {%lld, %lld, %lld, %lld} is valid, a row for each number", all().c_str(),
             static_cast<long long>(na[0]), static_cast<long long>(nr[0]), static_cast<long long>(na[2]), static_cast<long long>(na[3]));
    }
    const auto repeats = [](std::int64_t n, std::int64_t into) { return n == 0 ? into == 0 : into % n == 0; };
    if (!repeats(nr[1], na[2]) || !repeats(nr[2], na[3]) || nr[3] != 1) {
        fail(Status::shape_mismatch, "set_rows: %s: dimensions 1 and 2 of rows must divide a's dimensions 2 and 3, and 3 be 1",
             all().c_str());
    }
    check_target("set_rows", "a", a);
    check_apart("set_rows", "b", b, "a", a);
    check_apart("set_rows", "rows", rows, "a", a);
    result.layout = a.layout;
}

unsigned set_rows_checked(const Tensor &node) noexcept {
    return 1u << 2 | (may_refuse(node.src[1]->layout.type, node.layout.type) ? 1u << 1 : 0);
}
std::string set_rows_valid(const Tensor &node, int operand) {
    return operand == 2 ? valid_rows(*node.src[0]) : values_of(node.layout.type);
}

Cost set_rows_cost(const Tensor &node) {
    const double rows = static_cast<double>(node.src[1]->layout.n_rows()), a_row = static_cast<double>(node.layout.row_bytes());
    return {0, rows * a_row + static_cast<double>(node.src[1]->layout.nbytes() + node.src[2]->layout.nbytes())};
}

}  // namespace

constexpr OpDef get_rows{
    facts::get_rows,
    {.infer = get_rows_infer, .cost = get_rows_cost, .checked_operands = get_rows_checked, .valid_values = get_rows_valid}};

constexpr OpDef set_rows{
    facts::set_rows,
    {.infer = set_rows_infer, .cost = set_rows_cost, .checked_operands = set_rows_checked, .valid_values = set_rows_valid}};

}  // namespace tensorlib::core::ops
