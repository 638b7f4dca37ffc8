// What the operations are. Written by `cargo xtask ops` from cpp/ops/*.toml: change it there.
#pragma once

#include "ops/op_def.hpp"

namespace tensorlib::core::ops {

namespace facts {

// ---- arithmetic

inline constexpr Operand add_operands[] = {{.name = "a", .role = Role::read}, {.name = "b", .role = Role::read}};
inline constexpr OpFacts add{
    .op = Op::add,
    .name = "add",
    .operands = add_operands,
    .result = ResultType::of_first,
    .gradient = "da = g; db = g summed over b's repetitions",
    .doc = "a + b, element by element; b repeats into a",
};

// ---- mul_mat

inline constexpr Operand mul_mat_operands[] = {{.name = "a", .role = Role::read}, {.name = "b", .role = Role::read}};
inline constexpr AttrDef mul_mat_attrs[] = {
    {.name = "exact", .kind = AttrKind::ints, .required = false},
};
inline constexpr OpFacts mul_mat{
    .op = Op::mul_mat,
    .name = "mul_mat",
    .operands = mul_mat_operands,
    .attrs = mul_mat_attrs,
    .result = ResultType::f32,
    .gradient = "da = sum over n of b g, and over the slices that share a; db = sum over m of a g",
    .doc = "Matrix product of a's rows and b's rows",
};

inline constexpr Operand mul_mat_id_operands[] = {
    {.name = "a", .role = Role::read},
    {.name = "b", .role = Role::read},
    {.name = "ids", .role = Role::indices, .never = "its elements are numbers of experts"},
};
inline constexpr AttrDef mul_mat_id_attrs[] = {
    {.name = "exact", .kind = AttrKind::ints, .required = false},
};
inline constexpr OpFacts mul_mat_id{
    .op = Op::mul_mat_id,
    .name = "mul_mat_id",
    .operands = mul_mat_id_operands,
    .attrs = mul_mat_id_attrs,
    .result = ResultType::f32,
    .gradient = "da = sum over an expert's columns of b g; db = sum over m and its experts of a g",
    .doc = "Products of b's rows and the rows of a's experts of these numbers",
};

// ---- views

inline constexpr Operand view_operands[] = {{.name = "a", .role = Role::viewed}};
inline constexpr AttrDef view_attrs[] = {
    {.name = "ne", .kind = AttrKind::ints, .required = true, .min_ints = 1, .max_ints = 4},
    {.name = "nb", .kind = AttrKind::ints, .required = false, .min_ints = 1, .max_ints = 3},
    {.name = "offset", .kind = AttrKind::ints, .required = false},
    {.name = "start", .kind = AttrKind::ints, .required = false, .min_ints = 1, .max_ints = 4},
};
inline constexpr OpFacts view{
    .op = Op::view,
    .name = "view",
    .operands = view_operands,
    .attrs = view_attrs,
    .result = ResultType::of_first,
    .gradient = "da = g added into the window, zero elsewhere",
    .doc = "A window into a's memory",
};

inline constexpr Operand reshape_operands[] = {{.name = "a", .role = Role::viewed}};
inline constexpr AttrDef reshape_attrs[] = {
    {.name = "ne", .kind = AttrKind::ints, .required = true, .min_ints = 1, .max_ints = 4},
};
inline constexpr OpFacts reshape{
    .op = Op::reshape,
    .name = "reshape",
    .operands = reshape_operands,
    .attrs = reshape_attrs,
    .result = ResultType::of_first,
    .gradient = "da = g in a's shape",
    .doc = "a's elements in another shape",
};

inline constexpr Operand permute_operands[] = {{.name = "a", .role = Role::viewed}};
inline constexpr AttrDef permute_attrs[] = {
    {.name = "axes", .kind = AttrKind::ints, .required = true, .min_ints = 4, .max_ints = 4},
};
inline constexpr OpFacts permute{
    .op = Op::permute,
    .name = "permute",
    .operands = permute_operands,
    .attrs = permute_attrs,
    .result = ResultType::of_first,
    .gradient = "da = g permuted back",
    .doc = "a's dimensions in another order",
};

inline constexpr Operand transpose_operands[] = {{.name = "a", .role = Role::viewed}};
inline constexpr OpFacts transpose{
    .op = Op::transpose,
    .name = "transpose",
    .operands = transpose_operands,
    .result = ResultType::of_first,
    .gradient = "da = g transposed",
    .doc = "a with dimensions 0 and 1 swapped",
};

// ---- copies

inline constexpr Operand cont_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr OpFacts cont{
    .op = Op::cont,
    .name = "cont",
    .operands = cont_operands,
    .result = ResultType::of_first,
    .gradient = "da = g",
    .doc = "A contiguous copy",
};

inline constexpr Operand cpy_operands[] = {
    {.name = "src", .role = Role::read},
    {.name = "dst", .role = Role::written, .never = "it is overwritten"},
};
inline constexpr OpFacts cpy{
    .op = Op::cpy,
    .name = "cpy",
    .operands = cpy_operands,
    .gradient = "dsrc = g in src's shape and type",
    .doc = "dst with src's elements copied into it",
};

inline constexpr Operand dup_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr OpFacts dup{
    .op = Op::dup,
    .name = "dup",
    .operands = dup_operands,
    .result = ResultType::of_first,
    .gradient = "da = g",
    .doc = "A copy",
};

inline constexpr Operand cast_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef cast_attrs[] = {
    {.name = "to", .kind = AttrKind::text, .required = true},
};
inline constexpr OpFacts cast{
    .op = Op::cast,
    .name = "cast",
    .operands = cast_operands,
    .attrs = cast_attrs,
    .gradient = "da = g in a's type",
    .doc = "a's elements in another type",
};

// ---- rows

inline constexpr Operand get_rows_operands[] = {
    {.name = "a", .role = Role::read},
    {.name = "rows", .role = Role::indices, .never = "its elements are numbers of rows"},
};
inline constexpr OpFacts get_rows{
    .op = Op::get_rows,
    .name = "get_rows",
    .operands = get_rows_operands,
    .gradient = "da = g added to the rows taken",
    .doc = "a's rows of these numbers",
};

inline constexpr Operand set_rows_operands[] = {
    {.name = "a", .role = Role::written, .never = "it is overwritten"},
    {.name = "b", .role = Role::read},
    {.name = "rows", .role = Role::indices, .never = "its elements are numbers of rows"},
};
inline constexpr OpFacts set_rows{
    .op = Op::set_rows,
    .name = "set_rows",
    .operands = set_rows_operands,
    .result = ResultType::of_first,
    .gradient = "db = g's rows of these numbers",
    .doc = "a with b's rows stored as its rows of these numbers",
};

}  // namespace facts

// Attributes, in structs that nodes keep: attrs_of() reads a node's.

struct MulMatAttrs {
    static constexpr Op op = Op::mul_mat;

    bool exact;

    explicit MulMatAttrs(const Attrs &given) : exact(given.flag("mul_mat", "exact")) {}
};

struct MulMatIdAttrs {
    static constexpr Op op = Op::mul_mat_id;

    bool exact;

    explicit MulMatIdAttrs(const Attrs &given) : exact(given.flag("mul_mat_id", "exact")) {}
};

struct ViewAttrs {
    static constexpr Op op = Op::view;

    IntList ne;
    IntList nb;
    std::int64_t offset;
    IntList start;

    explicit ViewAttrs(const Attrs &given)
        : ne(given.list("ne")), nb(given.list("nb")), offset(given.integer("offset", 0)), start(given.list("start")) {}
};

struct ReshapeAttrs {
    static constexpr Op op = Op::reshape;

    IntList ne;

    explicit ReshapeAttrs(const Attrs &given) : ne(given.list("ne")) {}
};

struct PermuteAttrs {
    static constexpr Op op = Op::permute;

    IntList axes;

    explicit PermuteAttrs(const Attrs &given) : axes(given.list("axes")) {}
};

struct CastAttrs {
    static constexpr Op op = Op::cast;

    DType to;

    explicit CastAttrs(const Attrs &given) : to(given.type("cast", "to")) {}
};

}  // namespace tensorlib::core::ops
