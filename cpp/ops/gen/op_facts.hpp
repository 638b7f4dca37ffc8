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
};

inline constexpr Operand sub_operands[] = {{.name = "a", .role = Role::read}, {.name = "b", .role = Role::read}};
inline constexpr OpFacts sub{
    .op = Op::sub,
    .name = "sub",
    .operands = sub_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand mul_operands[] = {{.name = "a", .role = Role::read}, {.name = "b", .role = Role::read}};
inline constexpr OpFacts mul{
    .op = Op::mul,
    .name = "mul",
    .operands = mul_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand div_operands[] = {{.name = "a", .role = Role::read}, {.name = "b", .role = Role::read}};
inline constexpr OpFacts div{
    .op = Op::div,
    .name = "div",
    .operands = div_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand maximum_operands[] = {{.name = "a", .role = Role::read}, {.name = "b", .role = Role::read}};
inline constexpr OpFacts maximum{
    .op = Op::maximum,
    .name = "maximum",
    .operands = maximum_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand minimum_operands[] = {{.name = "a", .role = Role::read}, {.name = "b", .role = Role::read}};
inline constexpr OpFacts minimum{
    .op = Op::minimum,
    .name = "minimum",
    .operands = minimum_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand pow_operands[] = {{.name = "a", .role = Role::read}, {.name = "b", .role = Role::read}};
inline constexpr OpFacts pow{
    .op = Op::pow,
    .name = "pow",
    .operands = pow_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand eq_operands[] = {{.name = "a", .role = Role::read, .no_gradient = "the result is piecewise constant"},
                                          {.name = "b", .role = Role::read, .no_gradient = "the result is piecewise constant"}};
inline constexpr OpFacts eq{
    .op = Op::eq,
    .name = "eq",
    .operands = eq_operands,
};

inline constexpr Operand ne_operands[] = {{.name = "a", .role = Role::read, .no_gradient = "the result is piecewise constant"},
                                          {.name = "b", .role = Role::read, .no_gradient = "the result is piecewise constant"}};
inline constexpr OpFacts ne{
    .op = Op::ne,
    .name = "ne",
    .operands = ne_operands,
};

inline constexpr Operand lt_operands[] = {{.name = "a", .role = Role::read, .no_gradient = "the result is piecewise constant"},
                                          {.name = "b", .role = Role::read, .no_gradient = "the result is piecewise constant"}};
inline constexpr OpFacts lt{
    .op = Op::lt,
    .name = "lt",
    .operands = lt_operands,
};

inline constexpr Operand le_operands[] = {{.name = "a", .role = Role::read, .no_gradient = "the result is piecewise constant"},
                                          {.name = "b", .role = Role::read, .no_gradient = "the result is piecewise constant"}};
inline constexpr OpFacts le{
    .op = Op::le,
    .name = "le",
    .operands = le_operands,
};

inline constexpr Operand gt_operands[] = {{.name = "a", .role = Role::read, .no_gradient = "the result is piecewise constant"},
                                          {.name = "b", .role = Role::read, .no_gradient = "the result is piecewise constant"}};
inline constexpr OpFacts gt{
    .op = Op::gt,
    .name = "gt",
    .operands = gt_operands,
};

inline constexpr Operand ge_operands[] = {{.name = "a", .role = Role::read, .no_gradient = "the result is piecewise constant"},
                                          {.name = "b", .role = Role::read, .no_gradient = "the result is piecewise constant"}};
inline constexpr OpFacts ge{
    .op = Op::ge,
    .name = "ge",
    .operands = ge_operands,
};

inline constexpr Operand add1_operands[] = {{.name = "a", .role = Role::read}, {.name = "b", .role = Role::read}};
inline constexpr OpFacts add1{
    .op = Op::add1,
    .name = "add1",
    .operands = add1_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand where_operands[] = {{.name = "condition", .role = Role::read, .no_gradient = "it only selects elements"},
                                             {.name = "a", .role = Role::read},
                                             {.name = "b", .role = Role::read}};
inline constexpr OpFacts where{
    .op = Op::where,
    .name = "where",
    .operands = where_operands,
};

inline constexpr Operand scale_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef scale_attrs[] = {
    {.name = "scale", .kind = AttrKind::number, .required = true},
    {.name = "bias", .kind = AttrKind::number, .required = false},
};
inline constexpr OpFacts scale{
    .op = Op::scale,
    .name = "scale",
    .operands = scale_operands,
    .attrs = scale_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand clamp_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef clamp_attrs[] = {
    {.name = "min", .kind = AttrKind::number, .required = true},
    {.name = "max", .kind = AttrKind::number, .required = true},
};
inline constexpr OpFacts clamp{
    .op = Op::clamp,
    .name = "clamp",
    .operands = clamp_operands,
    .attrs = clamp_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand fill_operands[] = {
    {.name = "a", .role = Role::read, .no_gradient = "the result does not depend on the elements of a"}};
inline constexpr AttrDef fill_attrs[] = {
    {.name = "value", .kind = AttrKind::number, .required = true, .nan = true},
};
inline constexpr OpFacts fill{
    .op = Op::fill,
    .name = "fill",
    .operands = fill_operands,
    .attrs = fill_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand masked_fill_operands[] = {{.name = "a", .role = Role::read},
                                                   {.name = "mask", .role = Role::read, .no_gradient = "it only selects elements"}};
inline constexpr AttrDef masked_fill_attrs[] = {
    {.name = "value", .kind = AttrKind::number, .required = true, .nan = true},
};
inline constexpr OpFacts masked_fill{
    .op = Op::masked_fill,
    .name = "masked_fill",
    .operands = masked_fill_operands,
    .attrs = masked_fill_attrs,
    .result = ResultType::of_first,
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
};

inline constexpr Operand mul_mat_id_operands[] = {{.name = "a", .role = Role::read},
                                                  {.name = "b", .role = Role::read},
                                                  {.name = "ids", .role = Role::indices, .no_gradient = "expert indices"}};
inline constexpr AttrDef mul_mat_id_attrs[] = {
    {.name = "exact", .kind = AttrKind::ints, .required = false},
};
inline constexpr OpFacts mul_mat_id{
    .op = Op::mul_mat_id,
    .name = "mul_mat_id",
    .operands = mul_mat_id_operands,
    .attrs = mul_mat_id_attrs,
    .result = ResultType::f32,
};

inline constexpr Operand out_prod_operands[] = {{.name = "a", .role = Role::read}, {.name = "b", .role = Role::read}};
inline constexpr OpFacts out_prod{
    .op = Op::out_prod,
    .name = "out_prod",
    .operands = out_prod_operands,
    .result = ResultType::f32,
};

inline constexpr Operand out_prod_id_operands[] = {{.name = "a", .role = Role::read},
                                                   {.name = "b", .role = Role::read},
                                                   {.name = "ids", .role = Role::indices, .no_gradient = "expert indices"}};
inline constexpr AttrDef out_prod_id_attrs[] = {
    {.name = "experts", .kind = AttrKind::ints, .required = true, .least = 0, .most = 2147483647},
};
inline constexpr OpFacts out_prod_id{
    .op = Op::out_prod_id,
    .name = "out_prod_id",
    .operands = out_prod_id_operands,
    .attrs = out_prod_id_attrs,
    .result = ResultType::f32,
};

inline constexpr Operand einsum_operands[] = {{.name = "tensor", .role = Role::read}};
inline constexpr AttrDef einsum_attrs[] = {
    {.name = "equation", .kind = AttrKind::text, .required = true},
};
inline constexpr OpFacts einsum{
    .op = Op::einsum,
    .name = "einsum",
    .operands = einsum_operands,
    .repeats_last = true,
    .attrs = einsum_attrs,
    .result = ResultType::f32,
};

inline constexpr Operand solve_tri_operands[] = {{.name = "a", .role = Role::read}, {.name = "b", .role = Role::read}};
inline constexpr AttrDef solve_tri_attrs[] = {
    {.name = "left", .kind = AttrKind::ints, .required = true},
    {.name = "lower", .kind = AttrKind::ints, .required = true},
    {.name = "unit", .kind = AttrKind::ints, .required = true},
};
inline constexpr OpFacts solve_tri{
    .op = Op::solve_tri,
    .name = "solve_tri",
    .operands = solve_tri_operands,
    .attrs = solve_tri_attrs,
    .result = ResultType::f32,
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
};

inline constexpr Operand transpose_operands[] = {{.name = "a", .role = Role::viewed}};
inline constexpr OpFacts transpose{
    .op = Op::transpose,
    .name = "transpose",
    .operands = transpose_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand stop_gradient_operands[] = {{.name = "a", .role = Role::viewed, .no_gradient = "gradients stop here"}};
inline constexpr OpFacts stop_gradient{
    .op = Op::stop_gradient,
    .name = "stop_gradient",
    .operands = stop_gradient_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand expand_operands[] = {{.name = "a", .role = Role::viewed}};
inline constexpr AttrDef expand_attrs[] = {
    {.name = "ne", .kind = AttrKind::ints, .required = true, .min_ints = 1, .max_ints = 4, .least = 0},
};
inline constexpr OpFacts expand{
    .op = Op::expand,
    .name = "expand",
    .operands = expand_operands,
    .attrs = expand_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand unsqueeze_operands[] = {{.name = "a", .role = Role::viewed}};
inline constexpr AttrDef unsqueeze_attrs[] = {
    {.name = "dim", .kind = AttrKind::ints, .required = true, .least = 0, .most = 3},
};
inline constexpr OpFacts unsqueeze{
    .op = Op::unsqueeze,
    .name = "unsqueeze",
    .operands = unsqueeze_operands,
    .attrs = unsqueeze_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand squeeze_operands[] = {{.name = "a", .role = Role::viewed}};
inline constexpr AttrDef squeeze_attrs[] = {
    {.name = "dim", .kind = AttrKind::ints, .required = true, .least = 0, .most = 3},
};
inline constexpr OpFacts squeeze{
    .op = Op::squeeze,
    .name = "squeeze",
    .operands = squeeze_operands,
    .attrs = squeeze_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand flatten_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef flatten_attrs[] = {
    {.name = "first", .kind = AttrKind::ints, .required = true, .least = 0, .most = 3},
    {.name = "last", .kind = AttrKind::ints, .required = true, .least = 0, .most = 3},
};
inline constexpr OpFacts flatten{
    .op = Op::flatten,
    .name = "flatten",
    .operands = flatten_operands,
    .attrs = flatten_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand select_operands[] = {{.name = "a", .role = Role::viewed}};
inline constexpr AttrDef select_attrs[] = {
    {.name = "dim", .kind = AttrKind::ints, .required = true, .least = 0, .most = 3},
    {.name = "index", .kind = AttrKind::ints, .required = true},
};
inline constexpr OpFacts select{
    .op = Op::select,
    .name = "select",
    .operands = select_operands,
    .attrs = select_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand result_operands[] = {
    {.name = "a", .role = Role::viewed, .no_gradient = "operations with several results have no gradients"}};
inline constexpr AttrDef result_attrs[] = {
    {.name = "number", .kind = AttrKind::ints, .required = true, .least = 0, .most = 9},
};
inline constexpr OpFacts result{
    .op = Op::result,
    .name = "result",
    .operands = result_operands,
    .attrs = result_attrs,
    .result = ResultType::of_first,
};

// ---- copies

inline constexpr Operand cont_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr OpFacts cont{
    .op = Op::cont,
    .name = "cont",
    .operands = cont_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand cpy_operands[] = {{.name = "src", .role = Role::read},
                                           {.name = "dst", .role = Role::written, .no_gradient = "overwritten by the operation"}};
inline constexpr OpFacts cpy{
    .op = Op::cpy,
    .name = "cpy",
    .operands = cpy_operands,
};

inline constexpr Operand dup_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr OpFacts dup{
    .op = Op::dup,
    .name = "dup",
    .operands = dup_operands,
    .result = ResultType::of_first,
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
};

// ---- rows

inline constexpr Operand get_rows_operands[] = {{.name = "a", .role = Role::read},
                                                {.name = "rows", .role = Role::indices, .no_gradient = "row indices"}};
inline constexpr OpFacts get_rows{
    .op = Op::get_rows,
    .name = "get_rows",
    .operands = get_rows_operands,
};

inline constexpr Operand set_rows_operands[] = {{.name = "a", .role = Role::written, .no_gradient = "overwritten by the operation"},
                                                {.name = "b", .role = Role::read},
                                                {.name = "rows", .role = Role::indices, .no_gradient = "row indices"}};
inline constexpr OpFacts set_rows{
    .op = Op::set_rows,
    .name = "set_rows",
    .operands = set_rows_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand index_select_operands[] = {{.name = "a", .role = Role::read},
                                                    {.name = "indices", .role = Role::indices, .no_gradient = "element indices"}};
inline constexpr AttrDef index_select_attrs[] = {
    {.name = "dim", .kind = AttrKind::ints, .required = true, .least = 0, .most = 3},
};
inline constexpr OpFacts index_select{
    .op = Op::index_select,
    .name = "index_select",
    .operands = index_select_operands,
    .attrs = index_select_attrs,
};

// ---- unary

inline constexpr Operand abs_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr OpFacts abs{
    .op = Op::abs,
    .name = "abs",
    .operands = abs_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand neg_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr OpFacts neg{
    .op = Op::neg,
    .name = "neg",
    .operands = neg_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand sqr_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr OpFacts sqr{
    .op = Op::sqr,
    .name = "sqr",
    .operands = sqr_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand sqrt_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr OpFacts sqrt{
    .op = Op::sqrt,
    .name = "sqrt",
    .operands = sqrt_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand log_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr OpFacts log{
    .op = Op::log,
    .name = "log",
    .operands = log_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand exp_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr OpFacts exp{
    .op = Op::exp,
    .name = "exp",
    .operands = exp_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand expm1_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr OpFacts expm1{
    .op = Op::expm1,
    .name = "expm1",
    .operands = expm1_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand sin_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr OpFacts sin{
    .op = Op::sin,
    .name = "sin",
    .operands = sin_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand cos_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr OpFacts cos{
    .op = Op::cos,
    .name = "cos",
    .operands = cos_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand sgn_operands[] = {{.name = "a", .role = Role::read, .no_gradient = "the result is piecewise constant"}};
inline constexpr OpFacts sgn{
    .op = Op::sgn,
    .name = "sgn",
    .operands = sgn_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand step_operands[] = {{.name = "a", .role = Role::read, .no_gradient = "the result is piecewise constant"}};
inline constexpr OpFacts step{
    .op = Op::step,
    .name = "step",
    .operands = step_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand floor_operands[] = {{.name = "a", .role = Role::read, .no_gradient = "the result is piecewise constant"}};
inline constexpr OpFacts floor{
    .op = Op::floor,
    .name = "floor",
    .operands = floor_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand ceil_operands[] = {{.name = "a", .role = Role::read, .no_gradient = "the result is piecewise constant"}};
inline constexpr OpFacts ceil{
    .op = Op::ceil,
    .name = "ceil",
    .operands = ceil_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand round_operands[] = {{.name = "a", .role = Role::read, .no_gradient = "the result is piecewise constant"}};
inline constexpr OpFacts round{
    .op = Op::round,
    .name = "round",
    .operands = round_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand trunc_operands[] = {{.name = "a", .role = Role::read, .no_gradient = "the result is piecewise constant"}};
inline constexpr OpFacts trunc{
    .op = Op::trunc,
    .name = "trunc",
    .operands = trunc_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand erf_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr OpFacts erf{
    .op = Op::erf,
    .name = "erf",
    .operands = erf_operands,
    .result = ResultType::of_first,
};

// ---- activations

inline constexpr Operand relu_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr OpFacts relu{
    .op = Op::relu,
    .name = "relu",
    .operands = relu_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand sigmoid_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr OpFacts sigmoid{
    .op = Op::sigmoid,
    .name = "sigmoid",
    .operands = sigmoid_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand tanh_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr OpFacts tanh{
    .op = Op::tanh,
    .name = "tanh",
    .operands = tanh_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand elu_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr OpFacts elu{
    .op = Op::elu,
    .name = "elu",
    .operands = elu_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand softplus_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr OpFacts softplus{
    .op = Op::softplus,
    .name = "softplus",
    .operands = softplus_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand silu_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr OpFacts silu{
    .op = Op::silu,
    .name = "silu",
    .operands = silu_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand gelu_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr OpFacts gelu{
    .op = Op::gelu,
    .name = "gelu",
    .operands = gelu_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand gelu_erf_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr OpFacts gelu_erf{
    .op = Op::gelu_erf,
    .name = "gelu_erf",
    .operands = gelu_erf_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand gelu_quick_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr OpFacts gelu_quick{
    .op = Op::gelu_quick,
    .name = "gelu_quick",
    .operands = gelu_quick_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand hardswish_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr OpFacts hardswish{
    .op = Op::hardswish,
    .name = "hardswish",
    .operands = hardswish_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand hardsigmoid_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr OpFacts hardsigmoid{
    .op = Op::hardsigmoid,
    .name = "hardsigmoid",
    .operands = hardsigmoid_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand leaky_relu_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef leaky_relu_attrs[] = {
    {.name = "slope", .kind = AttrKind::number, .required = true},
};
inline constexpr OpFacts leaky_relu{
    .op = Op::leaky_relu,
    .name = "leaky_relu",
    .operands = leaky_relu_operands,
    .attrs = leaky_relu_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand xielu_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef xielu_attrs[] = {
    {.name = "alpha_n", .kind = AttrKind::number, .required = true},
    {.name = "alpha_p", .kind = AttrKind::number, .required = true},
    {.name = "beta", .kind = AttrKind::number, .required = true},
    {.name = "eps", .kind = AttrKind::number, .required = true},
};
inline constexpr OpFacts xielu{
    .op = Op::xielu,
    .name = "xielu",
    .operands = xielu_operands,
    .attrs = xielu_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand glu_operands[] = {{.name = "a", .role = Role::read}, {.name = "b", .role = Role::read, .optional = true}};
inline constexpr const char *glu_op_values[] = {"reglu", "geglu", "swiglu", "geglu_erf", "geglu_quick", "swiglu_oai"};
inline constexpr AttrDef glu_attrs[] = {
    {.name = "op", .kind = AttrKind::text, .required = true, .values = glu_op_values},
    {.name = "split", .kind = AttrKind::ints, .required = false},
    {.name = "swapped", .kind = AttrKind::ints, .required = false},
    {.name = "alpha", .kind = AttrKind::number, .required = false},
    {.name = "limit", .kind = AttrKind::number, .required = false, .least = 1e-6, .most = 1e38},
};
inline constexpr OpFacts glu{
    .op = Op::glu,
    .name = "glu",
    .operands = glu_operands,
    .attrs = glu_attrs,
    .result = ResultType::of_first,
};

// ---- norms

inline constexpr Operand norm_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef norm_attrs[] = {
    {.name = "eps", .kind = AttrKind::number, .required = true, .least = 0.0, .most = 1e38},
};
inline constexpr OpFacts norm{
    .op = Op::norm,
    .name = "norm",
    .operands = norm_operands,
    .attrs = norm_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand rms_norm_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef rms_norm_attrs[] = {
    {.name = "eps", .kind = AttrKind::number, .required = true, .least = 0.0, .most = 1e38},
};
inline constexpr OpFacts rms_norm{
    .op = Op::rms_norm,
    .name = "rms_norm",
    .operands = rms_norm_operands,
    .attrs = rms_norm_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand l2_norm_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef l2_norm_attrs[] = {
    {.name = "eps", .kind = AttrKind::number, .required = true, .least = 0.0, .most = 1e38},
};
inline constexpr OpFacts l2_norm{
    .op = Op::l2_norm,
    .name = "l2_norm",
    .operands = l2_norm_operands,
    .attrs = l2_norm_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand group_norm_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef group_norm_attrs[] = {
    {.name = "groups", .kind = AttrKind::ints, .required = true, .least = 1, .most = 9007199254740992},
    {.name = "eps", .kind = AttrKind::number, .required = true, .least = 0.0, .most = 1e38},
};
inline constexpr OpFacts group_norm{
    .op = Op::group_norm,
    .name = "group_norm",
    .operands = group_norm_operands,
    .attrs = group_norm_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand soft_max_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr OpFacts soft_max{
    .op = Op::soft_max,
    .name = "soft_max",
    .operands = soft_max_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand soft_max_ext_operands[] = {{.name = "a", .role = Role::read},
                                                    {.name = "mask", .role = Role::read, .optional = true},
                                                    {.name = "sinks", .role = Role::read, .optional = true}};
inline constexpr AttrDef soft_max_ext_attrs[] = {
    {.name = "scale", .kind = AttrKind::number, .required = false},
    {.name = "max_bias", .kind = AttrKind::number, .required = false, .least = 0.0, .most = 10000.0},
};
inline constexpr OpFacts soft_max_ext{
    .op = Op::soft_max_ext,
    .name = "soft_max_ext",
    .operands = soft_max_ext_operands,
    .attrs = soft_max_ext_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand log_soft_max_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr OpFacts log_soft_max{
    .op = Op::log_soft_max,
    .name = "log_soft_max",
    .operands = log_soft_max_operands,
    .result = ResultType::of_first,
};

// ---- attention

inline constexpr Operand rope_operands[] = {
    {.name = "a", .role = Role::read},
    {.name = "positions", .role = Role::integers, .no_gradient = "integers"},
    {.name = "freq_factors", .role = Role::read, .optional = true, .no_gradient = "a constant of the model"}};
inline constexpr const char *rope_mode_values[] = {"normal", "neox", "mrope", "imrope", "vision"};
inline constexpr AttrDef rope_attrs[] = {
    {.name = "mode", .kind = AttrKind::text, .required = false, .values = rope_mode_values},
    {.name = "n_dims", .kind = AttrKind::ints, .required = false, .least = 0, .most = 1048576},
    {.name = "offset", .kind = AttrKind::ints, .required = false, .least = 0, .most = 1048576},
    {.name = "sections", .kind = AttrKind::ints, .required = false, .min_ints = 4, .max_ints = 4, .least = 0, .most = 1048576},
    {.name = "n_ctx_orig", .kind = AttrKind::ints, .required = false, .least = 0, .most = 9007199254740992},
    {.name = "freq_base", .kind = AttrKind::number, .required = false, .least = 0.001, .most = 1e38},
    {.name = "freq_scale", .kind = AttrKind::number, .required = false, .least = 1e-6, .most = 1000000.0},
    {.name = "ext_factor", .kind = AttrKind::number, .required = false, .least = 0.0, .most = 1000000.0},
    {.name = "attn_factor", .kind = AttrKind::number, .required = false, .least = 1e-6, .most = 1000000.0},
    {.name = "beta_fast", .kind = AttrKind::number, .required = false, .least = 1e-6, .most = 1000000000.0},
    {.name = "beta_slow", .kind = AttrKind::number, .required = false, .least = 1e-6, .most = 1000000000.0},
    {.name = "inverse", .kind = AttrKind::ints, .required = false},
};
inline constexpr OpFacts rope{
    .op = Op::rope,
    .name = "rope",
    .operands = rope_operands,
    .attrs = rope_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand flash_attn_ext_operands[] = {{.name = "q", .role = Role::read},
                                                      {.name = "k", .role = Role::read},
                                                      {.name = "v", .role = Role::read},
                                                      {.name = "mask", .role = Role::read, .optional = true},
                                                      {.name = "sinks", .role = Role::read, .optional = true}};
inline constexpr AttrDef flash_attn_ext_attrs[] = {
    {.name = "scale", .kind = AttrKind::number, .required = false},
    {.name = "max_bias", .kind = AttrKind::number, .required = false, .least = 0.0, .most = 10000.0},
    {.name = "logit_softcap", .kind = AttrKind::number, .required = false, .least = 0.0, .most = 1000000.0},
};
inline constexpr OpFacts flash_attn_ext{
    .op = Op::flash_attn_ext,
    .name = "flash_attn_ext",
    .operands = flash_attn_ext_operands,
    .attrs = flash_attn_ext_attrs,
    .result = ResultType::f32,
};

inline constexpr Operand paged_attention_operands[] = {
    {.name = "q", .role = Role::read, .no_gradient = "for generating texts"},
    {.name = "k", .role = Role::read, .no_gradient = "rows of a cache"},
    {.name = "v", .role = Role::read, .no_gradient = "rows of a cache"},
    {.name = "pages", .role = Role::integers, .no_gradient = "integers"},
    {.name = "positions", .role = Role::integers, .no_gradient = "integers"},
    {.name = "sequences", .role = Role::integers, .no_gradient = "integers"},
    {.name = "sinks", .role = Role::read, .optional = true, .no_gradient = "for generating texts"}};
inline constexpr AttrDef paged_attention_attrs[] = {
    {.name = "page", .kind = AttrKind::ints, .required = false, .least = 1, .most = 65536},
    {.name = "window", .kind = AttrKind::ints, .required = false, .least = 0, .most = 9007199254740992},
    {.name = "scale", .kind = AttrKind::number, .required = false},
    {.name = "logit_softcap", .kind = AttrKind::number, .required = false, .least = 0.0, .most = 1000000.0},
};
inline constexpr OpFacts paged_attention{
    .op = Op::paged_attention,
    .name = "paged_attention",
    .operands = paged_attention_operands,
    .attrs = paged_attention_attrs,
    .result = ResultType::f32,
};

// ---- reductions

inline constexpr Operand sum_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef sum_attrs[] = {
    {.name = "dims", .kind = AttrKind::ints, .required = false, .min_ints = 0, .max_ints = 4, .least = 0, .most = 3},
    {.name = "keep", .kind = AttrKind::ints, .required = false},
};
inline constexpr OpFacts sum{
    .op = Op::sum,
    .name = "sum",
    .operands = sum_operands,
    .attrs = sum_attrs,
};

inline constexpr Operand sum_rows_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr OpFacts sum_rows{
    .op = Op::sum_rows,
    .name = "sum_rows",
    .operands = sum_rows_operands,
};

inline constexpr Operand mean_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef mean_attrs[] = {
    {.name = "dims", .kind = AttrKind::ints, .required = false, .min_ints = 0, .max_ints = 4, .least = 0, .most = 3},
    {.name = "keep", .kind = AttrKind::ints, .required = false},
};
inline constexpr OpFacts mean{
    .op = Op::mean,
    .name = "mean",
    .operands = mean_operands,
    .attrs = mean_attrs,
};

inline constexpr Operand cumsum_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr OpFacts cumsum{
    .op = Op::cumsum,
    .name = "cumsum",
    .operands = cumsum_operands,
};

inline constexpr Operand argmax_operands[] = {{.name = "a", .role = Role::read, .no_gradient = "the result holds indices"}};
inline constexpr AttrDef argmax_attrs[] = {
    {.name = "dims", .kind = AttrKind::ints, .required = false, .min_ints = 0, .max_ints = 4, .least = 0, .most = 3},
    {.name = "keep", .kind = AttrKind::ints, .required = false},
};
inline constexpr OpFacts argmax{
    .op = Op::argmax,
    .name = "argmax",
    .operands = argmax_operands,
    .attrs = argmax_attrs,
    .result = ResultType::i32,
};

inline constexpr Operand argsort_operands[] = {{.name = "a", .role = Role::read, .no_gradient = "the result holds indices"}};
inline constexpr const char *argsort_order_values[] = {"asc", "desc"};
inline constexpr AttrDef argsort_attrs[] = {
    {.name = "order", .kind = AttrKind::text, .required = false, .values = argsort_order_values},
};
inline constexpr OpFacts argsort{
    .op = Op::argsort,
    .name = "argsort",
    .operands = argsort_operands,
    .attrs = argsort_attrs,
    .result = ResultType::i32,
};

inline constexpr Operand top_k_operands[] = {{.name = "a", .role = Role::read, .no_gradient = "the result holds indices"}};
inline constexpr AttrDef top_k_attrs[] = {
    {.name = "k", .kind = AttrKind::ints, .required = true, .least = 0, .most = 2147483647},
};
inline constexpr OpFacts top_k{
    .op = Op::top_k,
    .name = "top_k",
    .operands = top_k_operands,
    .attrs = top_k_attrs,
    .result = ResultType::i32,
};

inline constexpr Operand count_equal_operands[] = {{.name = "a", .role = Role::read, .no_gradient = "the result is a count"},
                                                   {.name = "b", .role = Role::read, .no_gradient = "the result is a count"}};
inline constexpr OpFacts count_equal{
    .op = Op::count_equal,
    .name = "count_equal",
    .operands = count_equal_operands,
    .result = ResultType::i64,
};

inline constexpr Operand cross_entropy_loss_operands[] = {{.name = "a", .role = Role::read}, {.name = "b", .role = Role::read}};
inline constexpr OpFacts cross_entropy_loss{
    .op = Op::cross_entropy_loss,
    .name = "cross_entropy_loss",
    .operands = cross_entropy_loss_operands,
    .result = ResultType::f32,
};

inline constexpr Operand max_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef max_attrs[] = {
    {.name = "dims", .kind = AttrKind::ints, .required = false, .min_ints = 0, .max_ints = 4, .least = 0, .most = 3},
    {.name = "keep", .kind = AttrKind::ints, .required = false},
};
inline constexpr OpFacts max{
    .op = Op::max,
    .name = "max",
    .operands = max_operands,
    .attrs = max_attrs,
};

inline constexpr Operand min_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef min_attrs[] = {
    {.name = "dims", .kind = AttrKind::ints, .required = false, .min_ints = 0, .max_ints = 4, .least = 0, .most = 3},
    {.name = "keep", .kind = AttrKind::ints, .required = false},
};
inline constexpr OpFacts min{
    .op = Op::min,
    .name = "min",
    .operands = min_operands,
    .attrs = min_attrs,
};

inline constexpr Operand argmin_operands[] = {{.name = "a", .role = Role::read, .no_gradient = "the result holds indices"}};
inline constexpr AttrDef argmin_attrs[] = {
    {.name = "dims", .kind = AttrKind::ints, .required = false, .min_ints = 0, .max_ints = 4, .least = 0, .most = 3},
    {.name = "keep", .kind = AttrKind::ints, .required = false},
};
inline constexpr OpFacts argmin{
    .op = Op::argmin,
    .name = "argmin",
    .operands = argmin_operands,
    .attrs = argmin_attrs,
    .result = ResultType::i32,
};

inline constexpr Operand var_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef var_attrs[] = {
    {.name = "correction", .kind = AttrKind::ints, .required = true, .least = 0, .most = 2147483647},
    {.name = "dims", .kind = AttrKind::ints, .required = false, .min_ints = 0, .max_ints = 4, .least = 0, .most = 3},
    {.name = "keep", .kind = AttrKind::ints, .required = false},
};
inline constexpr OpFacts var{
    .op = Op::var,
    .name = "var",
    .operands = var_operands,
    .attrs = var_attrs,
};

inline constexpr Operand std_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef std_attrs[] = {
    {.name = "correction", .kind = AttrKind::ints, .required = true, .least = 0, .most = 2147483647},
    {.name = "dims", .kind = AttrKind::ints, .required = false, .min_ints = 0, .max_ints = 4, .least = 0, .most = 3},
    {.name = "keep", .kind = AttrKind::ints, .required = false},
};
inline constexpr OpFacts std{
    .op = Op::std,
    .name = "std",
    .operands = std_operands,
    .attrs = std_attrs,
};

inline constexpr Operand prod_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef prod_attrs[] = {
    {.name = "dims", .kind = AttrKind::ints, .required = false, .min_ints = 0, .max_ints = 4, .least = 0, .most = 3},
    {.name = "keep", .kind = AttrKind::ints, .required = false},
};
inline constexpr OpFacts prod{
    .op = Op::prod,
    .name = "prod",
    .operands = prod_operands,
    .attrs = prod_attrs,
};

inline constexpr Operand any_operands[] = {{.name = "a", .role = Role::read, .no_gradient = "the result is piecewise constant"}};
inline constexpr AttrDef any_attrs[] = {
    {.name = "dims", .kind = AttrKind::ints, .required = false, .min_ints = 0, .max_ints = 4, .least = 0, .most = 3},
    {.name = "keep", .kind = AttrKind::ints, .required = false},
};
inline constexpr OpFacts any{
    .op = Op::any,
    .name = "any",
    .operands = any_operands,
    .attrs = any_attrs,
};

inline constexpr Operand all_operands[] = {{.name = "a", .role = Role::read, .no_gradient = "the result is piecewise constant"}};
inline constexpr AttrDef all_attrs[] = {
    {.name = "dims", .kind = AttrKind::ints, .required = false, .min_ints = 0, .max_ints = 4, .least = 0, .most = 3},
    {.name = "keep", .kind = AttrKind::ints, .required = false},
};
inline constexpr OpFacts all{
    .op = Op::all,
    .name = "all",
    .operands = all_operands,
    .attrs = all_attrs,
};

inline constexpr Operand log_sum_exp_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef log_sum_exp_attrs[] = {
    {.name = "dims", .kind = AttrKind::ints, .required = false, .min_ints = 0, .max_ints = 4, .least = 0, .most = 3},
    {.name = "keep", .kind = AttrKind::ints, .required = false},
};
inline constexpr OpFacts log_sum_exp{
    .op = Op::log_sum_exp,
    .name = "log_sum_exp",
    .operands = log_sum_exp_operands,
    .attrs = log_sum_exp_attrs,
};

// ---- layout

inline constexpr Operand repeat_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef repeat_attrs[] = {
    {.name = "ne", .kind = AttrKind::ints, .required = true, .min_ints = 1, .max_ints = 4, .least = 0},
};
inline constexpr OpFacts repeat{
    .op = Op::repeat,
    .name = "repeat",
    .operands = repeat_operands,
    .attrs = repeat_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand concat_operands[] = {{.name = "a", .role = Role::read}, {.name = "b", .role = Role::read}};
inline constexpr AttrDef concat_attrs[] = {
    {.name = "dim", .kind = AttrKind::ints, .required = true, .least = 0, .most = 3},
};
inline constexpr OpFacts concat{
    .op = Op::concat,
    .name = "concat",
    .operands = concat_operands,
    .repeats_last = true,
    .attrs = concat_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand pad_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef pad_attrs[] = {
    {.name = "p", .kind = AttrKind::ints, .required = true, .min_ints = 4, .max_ints = 4, .least = 0},
    {.name = "lp", .kind = AttrKind::ints, .required = false, .min_ints = 4, .max_ints = 4, .least = 0},
    {.name = "circular", .kind = AttrKind::ints, .required = false},
};
inline constexpr OpFacts pad{
    .op = Op::pad,
    .name = "pad",
    .operands = pad_operands,
    .attrs = pad_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand pad_reflect_1d_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef pad_reflect_1d_attrs[] = {
    {.name = "p0", .kind = AttrKind::ints, .required = true, .least = 0},
    {.name = "p1", .kind = AttrKind::ints, .required = true, .least = 0},
};
inline constexpr OpFacts pad_reflect_1d{
    .op = Op::pad_reflect_1d,
    .name = "pad_reflect_1d",
    .operands = pad_reflect_1d_operands,
    .attrs = pad_reflect_1d_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand roll_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef roll_attrs[] = {
    {.name = "shift", .kind = AttrKind::ints, .required = true, .min_ints = 4, .max_ints = 4},
};
inline constexpr OpFacts roll{
    .op = Op::roll,
    .name = "roll",
    .operands = roll_operands,
    .attrs = roll_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand diag_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr OpFacts diag{
    .op = Op::diag,
    .name = "diag",
    .operands = diag_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand tri_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr const char *tri_type_values[] = {"lower", "lower_diag", "upper", "upper_diag"};
inline constexpr AttrDef tri_attrs[] = {
    {.name = "type", .kind = AttrKind::text, .required = true, .values = tri_type_values},
};
inline constexpr OpFacts tri{
    .op = Op::tri,
    .name = "tri",
    .operands = tri_operands,
    .attrs = tri_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand diag_mask_inf_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef diag_mask_inf_attrs[] = {
    {.name = "n_past", .kind = AttrKind::ints, .required = true, .least = 0},
};
inline constexpr OpFacts diag_mask_inf{
    .op = Op::diag_mask_inf,
    .name = "diag_mask_inf",
    .operands = diag_mask_inf_operands,
    .attrs = diag_mask_inf_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand diag_mask_zero_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef diag_mask_zero_attrs[] = {
    {.name = "n_past", .kind = AttrKind::ints, .required = true, .least = 0},
};
inline constexpr OpFacts diag_mask_zero{
    .op = Op::diag_mask_zero,
    .name = "diag_mask_zero",
    .operands = diag_mask_zero_operands,
    .attrs = diag_mask_zero_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand acc_operands[] = {{.name = "a", .role = Role::read}, {.name = "b", .role = Role::read}};
inline constexpr AttrDef acc_attrs[] = {
    {.name = "nb1", .kind = AttrKind::ints, .required = false, .least = 0},
    {.name = "nb2", .kind = AttrKind::ints, .required = false, .least = 0},
    {.name = "nb3", .kind = AttrKind::ints, .required = false, .least = 0},
    {.name = "offset", .kind = AttrKind::ints, .required = false, .least = 0},
};
inline constexpr OpFacts acc{
    .op = Op::acc,
    .name = "acc",
    .operands = acc_operands,
    .attrs = acc_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand set_operands[] = {{.name = "a", .role = Role::read}, {.name = "b", .role = Role::read}};
inline constexpr AttrDef set_attrs[] = {
    {.name = "nb1", .kind = AttrKind::ints, .required = false, .least = 0},
    {.name = "nb2", .kind = AttrKind::ints, .required = false, .least = 0},
    {.name = "nb3", .kind = AttrKind::ints, .required = false, .least = 0},
    {.name = "offset", .kind = AttrKind::ints, .required = false, .least = 0},
};
inline constexpr OpFacts set{
    .op = Op::set,
    .name = "set",
    .operands = set_operands,
    .attrs = set_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand gather_operands[] = {{.name = "a", .role = Role::read},
                                              {.name = "indices", .role = Role::indices, .no_gradient = "element indices"}};
inline constexpr AttrDef gather_attrs[] = {
    {.name = "dim", .kind = AttrKind::ints, .required = true, .least = 0, .most = 3},
};
inline constexpr OpFacts gather{
    .op = Op::gather,
    .name = "gather",
    .operands = gather_operands,
    .attrs = gather_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand add_id_operands[] = {{.name = "a", .role = Role::read},
                                              {.name = "b", .role = Role::read},
                                              {.name = "ids", .role = Role::indices, .no_gradient = "row indices"}};
inline constexpr OpFacts add_id{
    .op = Op::add_id,
    .name = "add_id",
    .operands = add_id_operands,
    .result = ResultType::of_first,
};

inline constexpr AttrDef arange_attrs[] = {
    {.name = "start", .kind = AttrKind::number, .required = true},
    {.name = "stop", .kind = AttrKind::number, .required = true},
    {.name = "step", .kind = AttrKind::number, .required = true},
};
inline constexpr OpFacts arange{
    .op = Op::arange,
    .name = "arange",
    .attrs = arange_attrs,
    .result = ResultType::f32,
};

inline constexpr Operand scatter_add_operands[] = {{.name = "a", .role = Role::read},
                                                   {.name = "b", .role = Role::read},
                                                   {.name = "indices", .role = Role::indices, .no_gradient = "element indices"}};
inline constexpr AttrDef scatter_add_attrs[] = {
    {.name = "dim", .kind = AttrKind::ints, .required = true, .least = 0, .most = 3},
};
inline constexpr OpFacts scatter_add{
    .op = Op::scatter_add,
    .name = "scatter_add",
    .operands = scatter_add_operands,
    .attrs = scatter_add_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand flip_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef flip_attrs[] = {
    {.name = "dim", .kind = AttrKind::ints, .required = true, .least = 0, .most = 3},
};
inline constexpr OpFacts flip{
    .op = Op::flip,
    .name = "flip",
    .operands = flip_operands,
    .attrs = flip_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand one_hot_operands[] = {
    {.name = "indices", .role = Role::integers, .no_gradient = "the result is piecewise constant"}};
inline constexpr AttrDef one_hot_attrs[] = {
    {.name = "classes", .kind = AttrKind::ints, .required = true, .least = 0, .most = 16777216},
};
inline constexpr OpFacts one_hot{
    .op = Op::one_hot,
    .name = "one_hot",
    .operands = one_hot_operands,
    .attrs = one_hot_attrs,
    .result = ResultType::f32,
};

inline constexpr AttrDef eye_attrs[] = {
    {.name = "n", .kind = AttrKind::ints, .required = true, .least = 0, .most = 16777216},
};
inline constexpr OpFacts eye{
    .op = Op::eye,
    .name = "eye",
    .attrs = eye_attrs,
    .result = ResultType::f32,
};

inline constexpr AttrDef linspace_attrs[] = {
    {.name = "start", .kind = AttrKind::number, .required = true},
    {.name = "stop", .kind = AttrKind::number, .required = true},
    {.name = "n", .kind = AttrKind::ints, .required = true, .least = 0, .most = 9007199254740991},
};
inline constexpr OpFacts linspace{
    .op = Op::linspace,
    .name = "linspace",
    .attrs = linspace_attrs,
    .result = ResultType::f32,
};

inline constexpr Operand cat_operands[] = {{.name = "tensor", .role = Role::read}};
inline constexpr AttrDef cat_attrs[] = {
    {.name = "dim", .kind = AttrKind::ints, .required = true, .least = 0, .most = 3},
};
inline constexpr OpFacts cat{
    .op = Op::cat,
    .name = "cat",
    .operands = cat_operands,
    .repeats_last = true,
    .attrs = cat_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand stack_operands[] = {{.name = "tensor", .role = Role::read}};
inline constexpr AttrDef stack_attrs[] = {
    {.name = "dim", .kind = AttrKind::ints, .required = true, .least = 0, .most = 3},
};
inline constexpr OpFacts stack{
    .op = Op::stack,
    .name = "stack",
    .operands = stack_operands,
    .repeats_last = true,
    .attrs = stack_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand timestep_embedding_operands[] = {{.name = "timesteps", .role = Role::read}};
inline constexpr AttrDef timestep_embedding_attrs[] = {
    {.name = "dim", .kind = AttrKind::ints, .required = true, .least = 1, .most = 1048576},
    {.name = "max_period", .kind = AttrKind::ints, .required = true, .least = 1, .most = 9007199254740991},
};
inline constexpr OpFacts timestep_embedding{
    .op = Op::timestep_embedding,
    .name = "timestep_embedding",
    .operands = timestep_embedding_operands,
    .attrs = timestep_embedding_attrs,
    .result = ResultType::f32,
};

// ---- convolution

inline constexpr Operand upscale_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr const char *upscale_mode_values[] = {"nearest", "bilinear", "bicubic"};
inline constexpr AttrDef upscale_attrs[] = {
    {.name = "factor", .kind = AttrKind::ints, .required = false, .least = 0},
    {.name = "mode", .kind = AttrKind::text, .required = false, .values = upscale_mode_values},
    {.name = "ne", .kind = AttrKind::ints, .required = false, .min_ints = 4, .max_ints = 4, .least = 0},
    {.name = "align_corners", .kind = AttrKind::ints, .required = false},
    {.name = "antialias", .kind = AttrKind::ints, .required = false},
};
inline constexpr OpFacts upscale{
    .op = Op::upscale,
    .name = "upscale",
    .operands = upscale_operands,
    .attrs = upscale_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand pool_1d_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr const char *pool_op_values[] = {"max", "avg"};
inline constexpr AttrDef pool_1d_attrs[] = {
    {.name = "op", .kind = AttrKind::text, .required = true, .values = pool_op_values},
    {.name = "k", .kind = AttrKind::ints, .required = true, .least = 1},
    {.name = "s", .kind = AttrKind::ints, .required = false, .least = 0},
    {.name = "p", .kind = AttrKind::ints, .required = false, .least = 0},
    {.name = "count_padding", .kind = AttrKind::ints, .required = false},
};
inline constexpr OpFacts pool_1d{
    .op = Op::pool_1d,
    .name = "pool_1d",
    .operands = pool_1d_operands,
    .attrs = pool_1d_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand pool_2d_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef pool_2d_attrs[] = {
    {.name = "op", .kind = AttrKind::text, .required = true, .values = pool_op_values},
    {.name = "k0", .kind = AttrKind::ints, .required = true, .least = 1},
    {.name = "k1", .kind = AttrKind::ints, .required = true, .least = 1},
    {.name = "s0", .kind = AttrKind::ints, .required = false, .least = 0},
    {.name = "s1", .kind = AttrKind::ints, .required = false, .least = 0},
    {.name = "p0", .kind = AttrKind::ints, .required = false, .least = 0},
    {.name = "p1", .kind = AttrKind::ints, .required = false, .least = 0},
    {.name = "skip_padding", .kind = AttrKind::ints, .required = false},
};
inline constexpr OpFacts pool_2d{
    .op = Op::pool_2d,
    .name = "pool_2d",
    .operands = pool_2d_operands,
    .attrs = pool_2d_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand im2col_operands[] = {{.name = "a", .role = Role::read, .no_gradient = "only its shape is used"},
                                              {.name = "b", .role = Role::read}};
inline constexpr const char *im2col_to_values[] = {"f32", "f16", "bf16"};
inline constexpr AttrDef im2col_attrs[] = {
    {.name = "s0", .kind = AttrKind::ints, .required = false, .least = 1},
    {.name = "s1", .kind = AttrKind::ints, .required = false, .least = 1},
    {.name = "p0", .kind = AttrKind::ints, .required = false, .least = 0},
    {.name = "p1", .kind = AttrKind::ints, .required = false, .least = 0},
    {.name = "d0", .kind = AttrKind::ints, .required = false, .least = 1},
    {.name = "d1", .kind = AttrKind::ints, .required = false, .least = 1},
    {.name = "is_2D", .kind = AttrKind::ints, .required = false},
    {.name = "to", .kind = AttrKind::text, .required = false, .values = im2col_to_values},
};
inline constexpr OpFacts im2col{
    .op = Op::im2col,
    .name = "im2col",
    .operands = im2col_operands,
    .attrs = im2col_attrs,
};

inline constexpr Operand conv_1d_operands[] = {{.name = "a", .role = Role::read}, {.name = "b", .role = Role::read}};
inline constexpr AttrDef conv_1d_attrs[] = {
    {.name = "s", .kind = AttrKind::ints, .required = false, .least = 1},
    {.name = "p", .kind = AttrKind::ints, .required = false, .least = 0},
    {.name = "d", .kind = AttrKind::ints, .required = false, .least = 1},
};
inline constexpr OpFacts conv_1d{
    .op = Op::conv_1d,
    .name = "conv_1d",
    .operands = conv_1d_operands,
    .attrs = conv_1d_attrs,
    .result = ResultType::f32,
};

inline constexpr Operand conv_2d_operands[] = {{.name = "a", .role = Role::read}, {.name = "b", .role = Role::read}};
inline constexpr AttrDef conv_2d_attrs[] = {
    {.name = "s0", .kind = AttrKind::ints, .required = false, .least = 1},
    {.name = "s1", .kind = AttrKind::ints, .required = false, .least = 1},
    {.name = "p0", .kind = AttrKind::ints, .required = false, .least = 0},
    {.name = "p1", .kind = AttrKind::ints, .required = false, .least = 0},
    {.name = "d0", .kind = AttrKind::ints, .required = false, .least = 1},
    {.name = "d1", .kind = AttrKind::ints, .required = false, .least = 1},
};
inline constexpr OpFacts conv_2d{
    .op = Op::conv_2d,
    .name = "conv_2d",
    .operands = conv_2d_operands,
    .attrs = conv_2d_attrs,
    .result = ResultType::f32,
};

inline constexpr Operand conv_1d_dw_operands[] = {{.name = "a", .role = Role::read}, {.name = "b", .role = Role::read}};
inline constexpr AttrDef conv_1d_dw_attrs[] = {
    {.name = "s", .kind = AttrKind::ints, .required = false, .least = 1},
    {.name = "p", .kind = AttrKind::ints, .required = false, .least = 0},
    {.name = "d", .kind = AttrKind::ints, .required = false, .least = 1},
};
inline constexpr OpFacts conv_1d_dw{
    .op = Op::conv_1d_dw,
    .name = "conv_1d_dw",
    .operands = conv_1d_dw_operands,
    .attrs = conv_1d_dw_attrs,
    .result = ResultType::f32,
};

inline constexpr Operand conv_2d_dw_operands[] = {{.name = "a", .role = Role::read}, {.name = "b", .role = Role::read}};
inline constexpr AttrDef conv_2d_dw_attrs[] = {
    {.name = "s0", .kind = AttrKind::ints, .required = false, .least = 1},
    {.name = "s1", .kind = AttrKind::ints, .required = false, .least = 1},
    {.name = "p0", .kind = AttrKind::ints, .required = false, .least = 0},
    {.name = "p1", .kind = AttrKind::ints, .required = false, .least = 0},
    {.name = "d0", .kind = AttrKind::ints, .required = false, .least = 1},
    {.name = "d1", .kind = AttrKind::ints, .required = false, .least = 1},
};
inline constexpr OpFacts conv_2d_dw{
    .op = Op::conv_2d_dw,
    .name = "conv_2d_dw",
    .operands = conv_2d_dw_operands,
    .attrs = conv_2d_dw_attrs,
    .result = ResultType::f32,
};

inline constexpr Operand conv_transpose_1d_operands[] = {{.name = "a", .role = Role::read}, {.name = "b", .role = Role::read}};
inline constexpr AttrDef conv_transpose_1d_attrs[] = {
    {.name = "s", .kind = AttrKind::ints, .required = false, .least = 1},
    {.name = "p", .kind = AttrKind::ints, .required = false, .least = 0},
    {.name = "d", .kind = AttrKind::ints, .required = false, .least = 1},
};
inline constexpr OpFacts conv_transpose_1d{
    .op = Op::conv_transpose_1d,
    .name = "conv_transpose_1d",
    .operands = conv_transpose_1d_operands,
    .attrs = conv_transpose_1d_attrs,
    .result = ResultType::f32,
};

inline constexpr Operand conv_transpose_2d_operands[] = {{.name = "a", .role = Role::read}, {.name = "b", .role = Role::read}};
inline constexpr AttrDef conv_transpose_2d_attrs[] = {
    {.name = "stride", .kind = AttrKind::ints, .required = false, .least = 1},
    {.name = "p0", .kind = AttrKind::ints, .required = false, .least = 0},
    {.name = "p1", .kind = AttrKind::ints, .required = false, .least = 0},
    {.name = "d0", .kind = AttrKind::ints, .required = false, .least = 1},
    {.name = "d1", .kind = AttrKind::ints, .required = false, .least = 1},
};
inline constexpr OpFacts conv_transpose_2d{
    .op = Op::conv_transpose_2d,
    .name = "conv_transpose_2d",
    .operands = conv_transpose_2d_operands,
    .attrs = conv_transpose_2d_attrs,
    .result = ResultType::f32,
};

inline constexpr Operand im2col_3d_operands[] = {{.name = "a", .role = Role::read, .no_gradient = "only its shape is used"},
                                                 {.name = "b", .role = Role::read}};
inline constexpr const char *im2col_3d_to_values[] = {"f32", "f16", "bf16"};
inline constexpr AttrDef im2col_3d_attrs[] = {
    {.name = "channels", .kind = AttrKind::ints, .required = true, .least = 1},
    {.name = "s0", .kind = AttrKind::ints, .required = false, .least = 1},
    {.name = "s1", .kind = AttrKind::ints, .required = false, .least = 1},
    {.name = "s2", .kind = AttrKind::ints, .required = false, .least = 1},
    {.name = "p0", .kind = AttrKind::ints, .required = false, .least = 0},
    {.name = "p1", .kind = AttrKind::ints, .required = false, .least = 0},
    {.name = "p2", .kind = AttrKind::ints, .required = false, .least = 0},
    {.name = "d0", .kind = AttrKind::ints, .required = false, .least = 1},
    {.name = "d1", .kind = AttrKind::ints, .required = false, .least = 1},
    {.name = "d2", .kind = AttrKind::ints, .required = false, .least = 1},
    {.name = "to", .kind = AttrKind::text, .required = false, .values = im2col_3d_to_values},
};
inline constexpr OpFacts im2col_3d{
    .op = Op::im2col_3d,
    .name = "im2col_3d",
    .operands = im2col_3d_operands,
    .attrs = im2col_3d_attrs,
};

inline constexpr Operand conv_3d_operands[] = {{.name = "a", .role = Role::read}, {.name = "b", .role = Role::read}};
inline constexpr AttrDef conv_3d_attrs[] = {
    {.name = "channels", .kind = AttrKind::ints, .required = true, .least = 1},
    {.name = "s0", .kind = AttrKind::ints, .required = false, .least = 1},
    {.name = "s1", .kind = AttrKind::ints, .required = false, .least = 1},
    {.name = "s2", .kind = AttrKind::ints, .required = false, .least = 1},
    {.name = "p0", .kind = AttrKind::ints, .required = false, .least = 0},
    {.name = "p1", .kind = AttrKind::ints, .required = false, .least = 0},
    {.name = "p2", .kind = AttrKind::ints, .required = false, .least = 0},
    {.name = "d0", .kind = AttrKind::ints, .required = false, .least = 1},
    {.name = "d1", .kind = AttrKind::ints, .required = false, .least = 1},
    {.name = "d2", .kind = AttrKind::ints, .required = false, .least = 1},
};
inline constexpr OpFacts conv_3d{
    .op = Op::conv_3d,
    .name = "conv_3d",
    .operands = conv_3d_operands,
    .attrs = conv_3d_attrs,
    .result = ResultType::f32,
};

inline constexpr Operand col2im_1d_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef col2im_1d_attrs[] = {
    {.name = "stride", .kind = AttrKind::ints, .required = true, .least = 1},
    {.name = "padding", .kind = AttrKind::ints, .required = true, .least = 0},
    {.name = "channels", .kind = AttrKind::ints, .required = true, .least = 1},
};
inline constexpr OpFacts col2im_1d{
    .op = Op::col2im_1d,
    .name = "col2im_1d",
    .operands = col2im_1d_operands,
    .attrs = col2im_1d_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand ssm_conv_operands[] = {{.name = "a", .role = Role::read},
                                                {.name = "kernel", .role = Role::read},
                                                {.name = "state", .role = Role::read, .optional = true},
                                                {.name = "bias", .role = Role::read, .optional = true}};
inline constexpr AttrDef ssm_conv_attrs[] = {
    {.name = "silu", .kind = AttrKind::ints, .required = false},
};
inline constexpr OpFacts ssm_conv{
    .op = Op::ssm_conv,
    .name = "ssm_conv",
    .operands = ssm_conv_operands,
    .attrs = ssm_conv_attrs,
    .result = ResultType::f32,
};

// ---- random

inline constexpr Operand random_uniform_operands[] = {{.name = "state", .role = Role::integers, .no_gradient = "a seed and a counter"}};
inline constexpr AttrDef random_uniform_attrs[] = {
    {.name = "ne", .kind = AttrKind::ints, .required = true, .min_ints = 1, .max_ints = 4, .least = 0},
    {.name = "low", .kind = AttrKind::number, .required = true},
    {.name = "high", .kind = AttrKind::number, .required = true},
    {.name = "stream", .kind = AttrKind::ints, .required = true, .least = 0, .most = 2147483647},
};
inline constexpr OpFacts random_uniform{
    .op = Op::random_uniform,
    .name = "random_uniform",
    .operands = random_uniform_operands,
    .attrs = random_uniform_attrs,
    .result = ResultType::f32,
};

inline constexpr Operand random_normal_operands[] = {{.name = "state", .role = Role::integers, .no_gradient = "a seed and a counter"}};
inline constexpr AttrDef random_normal_attrs[] = {
    {.name = "ne", .kind = AttrKind::ints, .required = true, .min_ints = 1, .max_ints = 4, .least = 0},
    {.name = "mean", .kind = AttrKind::number, .required = true},
    {.name = "deviation", .kind = AttrKind::number, .required = true, .least = 0.0},
    {.name = "stream", .kind = AttrKind::ints, .required = true, .least = 0, .most = 2147483647},
};
inline constexpr OpFacts random_normal{
    .op = Op::random_normal,
    .name = "random_normal",
    .operands = random_normal_operands,
    .attrs = random_normal_attrs,
    .result = ResultType::f32,
};

inline constexpr Operand dropout_operands[] = {{.name = "a", .role = Role::read},
                                               {.name = "state", .role = Role::integers, .no_gradient = "a seed and a counter"}};
inline constexpr AttrDef dropout_attrs[] = {
    {.name = "p", .kind = AttrKind::number, .required = true},
    {.name = "stream", .kind = AttrKind::ints, .required = true, .least = 0, .most = 2147483647},
};
inline constexpr OpFacts dropout{
    .op = Op::dropout,
    .name = "dropout",
    .operands = dropout_operands,
    .attrs = dropout_attrs,
    .result = ResultType::of_first,
};

// ---- optimisers

inline constexpr Operand opt_step_sgd_operands[] = {
    {.name = "a", .role = Role::written, .no_gradient = "overwritten by the operation"},
    {.name = "grad", .role = Role::read, .no_gradient = "optimiser steps are not differentiated"},
    {.name = "settings", .role = Role::read, .no_gradient = "optimiser steps are not differentiated"}};
inline constexpr OpFacts opt_step_sgd{
    .op = Op::opt_step_sgd,
    .name = "opt_step_sgd",
    .operands = opt_step_sgd_operands,
    .result = ResultType::f32,
};

inline constexpr Operand opt_step_momentum_operands[] = {
    {.name = "a", .role = Role::written, .no_gradient = "overwritten by the operation"},
    {.name = "grad", .role = Role::read, .no_gradient = "optimiser steps are not differentiated"},
    {.name = "velocity", .role = Role::written, .no_gradient = "overwritten by the operation"},
    {.name = "settings", .role = Role::read, .no_gradient = "optimiser steps are not differentiated"}};
inline constexpr AttrDef opt_step_momentum_attrs[] = {
    {.name = "nesterov", .kind = AttrKind::ints, .required = false},
};
inline constexpr OpFacts opt_step_momentum{
    .op = Op::opt_step_momentum,
    .name = "opt_step_momentum",
    .operands = opt_step_momentum_operands,
    .attrs = opt_step_momentum_attrs,
    .result = ResultType::f32,
};

inline constexpr Operand opt_step_adamw_operands[] = {
    {.name = "a", .role = Role::written, .no_gradient = "overwritten by the operation"},
    {.name = "grad", .role = Role::read, .no_gradient = "optimiser steps are not differentiated"},
    {.name = "m", .role = Role::written, .no_gradient = "overwritten by the operation"},
    {.name = "v", .role = Role::written, .no_gradient = "overwritten by the operation"},
    {.name = "settings", .role = Role::read, .no_gradient = "optimiser steps are not differentiated"}};
inline constexpr OpFacts opt_step_adamw{
    .op = Op::opt_step_adamw,
    .name = "opt_step_adamw",
    .operands = opt_step_adamw_operands,
    .result = ResultType::f32,
};

inline constexpr Operand opt_step_lion_operands[] = {
    {.name = "a", .role = Role::written, .no_gradient = "overwritten by the operation"},
    {.name = "grad", .role = Role::read, .no_gradient = "optimiser steps are not differentiated"},
    {.name = "m", .role = Role::written, .no_gradient = "overwritten by the operation"},
    {.name = "settings", .role = Role::read, .no_gradient = "optimiser steps are not differentiated"}};
inline constexpr OpFacts opt_step_lion{
    .op = Op::opt_step_lion,
    .name = "opt_step_lion",
    .operands = opt_step_lion_operands,
    .result = ResultType::f32,
};

// ---- sparse

inline constexpr Operand mul_mat_sparse_operands[] = {
    {.name = "a", .role = Role::read},
    {.name = "b", .role = Role::read},
    {.name = "scores", .role = Role::read, .optional = true, .no_gradient = "which neurons are active is treated as constant"},
    {.name = "rows", .role = Role::indices, .optional = true, .no_gradient = "neuron indices"}};
inline constexpr const char *sparse_by_values[] = {"score", "magnitude", "positive"};
inline constexpr AttrDef mul_mat_sparse_attrs[] = {
    {.name = "by", .kind = AttrKind::text, .required = false, .values = sparse_by_values},
    {.name = "threshold", .kind = AttrKind::number, .required = false},
    {.name = "n", .kind = AttrKind::ints, .required = false, .least = 0, .most = 9007199254740991},
    {.name = "exact", .kind = AttrKind::ints, .required = false},
};
inline constexpr OpFacts mul_mat_sparse{
    .op = Op::mul_mat_sparse,
    .name = "mul_mat_sparse",
    .operands = mul_mat_sparse_operands,
    .attrs = mul_mat_sparse_attrs,
    .result = ResultType::f32,
};

inline constexpr Operand axpy_operands[] = {
    {.name = "a_t", .role = Role::read},
    {.name = "h", .role = Role::read},
    {.name = "scores", .role = Role::read, .optional = true, .no_gradient = "which neurons are active is treated as constant"},
    {.name = "rows", .role = Role::indices, .optional = true, .no_gradient = "neuron indices"}};
inline constexpr AttrDef axpy_attrs[] = {
    {.name = "by", .kind = AttrKind::text, .required = false, .values = sparse_by_values},
    {.name = "threshold", .kind = AttrKind::number, .required = false},
};
inline constexpr OpFacts axpy{
    .op = Op::axpy,
    .name = "axpy",
    .operands = axpy_operands,
    .attrs = axpy_attrs,
    .result = ResultType::f32,
};

inline constexpr Operand sparse_ffn_operands[] = {
    {.name = "x", .role = Role::read},
    {.name = "gate", .role = Role::read},
    {.name = "up", .role = Role::read},
    {.name = "down_t", .role = Role::read},
    {.name = "scores", .role = Role::read, .optional = true, .no_gradient = "which neurons are active is treated as constant"},
    {.name = "rows", .role = Role::indices, .optional = true, .no_gradient = "neuron indices"}};
inline constexpr const char *sparse_ffn_activation_values[] = {"relu", "silu", "gelu"};
inline constexpr const char *sparse_ffn_first_values[] = {"gate", "up"};
inline constexpr AttrDef sparse_ffn_attrs[] = {
    {.name = "activation", .kind = AttrKind::text, .required = false, .values = sparse_ffn_activation_values},
    {.name = "by", .kind = AttrKind::text, .required = false, .values = sparse_by_values},
    {.name = "threshold", .kind = AttrKind::number, .required = false},
    {.name = "first", .kind = AttrKind::text, .required = false, .values = sparse_ffn_first_values},
};
inline constexpr OpFacts sparse_ffn{
    .op = Op::sparse_ffn,
    .name = "sparse_ffn",
    .operands = sparse_ffn_operands,
    .attrs = sparse_ffn_attrs,
    .result = ResultType::f32,
};

// ---- bits

inline constexpr Operand bitwise_and_operands[] = {{.name = "a", .role = Role::integers, .no_gradient = "the elements are integers"},
                                                   {.name = "b", .role = Role::integers, .no_gradient = "the elements are integers"}};
inline constexpr OpFacts bitwise_and{
    .op = Op::bitwise_and,
    .name = "bitwise_and",
    .operands = bitwise_and_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand bitwise_or_operands[] = {{.name = "a", .role = Role::integers, .no_gradient = "the elements are integers"},
                                                  {.name = "b", .role = Role::integers, .no_gradient = "the elements are integers"}};
inline constexpr OpFacts bitwise_or{
    .op = Op::bitwise_or,
    .name = "bitwise_or",
    .operands = bitwise_or_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand bitwise_xor_operands[] = {{.name = "a", .role = Role::integers, .no_gradient = "the elements are integers"},
                                                   {.name = "b", .role = Role::integers, .no_gradient = "the elements are integers"}};
inline constexpr OpFacts bitwise_xor{
    .op = Op::bitwise_xor,
    .name = "bitwise_xor",
    .operands = bitwise_xor_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand bitwise_not_operands[] = {{.name = "a", .role = Role::integers, .no_gradient = "the elements are integers"}};
inline constexpr OpFacts bitwise_not{
    .op = Op::bitwise_not,
    .name = "bitwise_not",
    .operands = bitwise_not_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand shift_left_operands[] = {{.name = "a", .role = Role::integers, .no_gradient = "the elements are integers"},
                                                  {.name = "b", .role = Role::integers, .no_gradient = "the elements are integers"}};
inline constexpr OpFacts shift_left{
    .op = Op::shift_left,
    .name = "shift_left",
    .operands = shift_left_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand shift_right_operands[] = {{.name = "a", .role = Role::integers, .no_gradient = "the elements are integers"},
                                                   {.name = "b", .role = Role::integers, .no_gradient = "the elements are integers"}};
inline constexpr OpFacts shift_right{
    .op = Op::shift_right,
    .name = "shift_right",
    .operands = shift_right_operands,
    .result = ResultType::of_first,
};

inline constexpr Operand logical_and_operands[] = {{.name = "a", .role = Role::read, .no_gradient = "the result is piecewise constant"},
                                                   {.name = "b", .role = Role::read, .no_gradient = "the result is piecewise constant"}};
inline constexpr OpFacts logical_and{
    .op = Op::logical_and,
    .name = "logical_and",
    .operands = logical_and_operands,
};

inline constexpr Operand logical_or_operands[] = {{.name = "a", .role = Role::read, .no_gradient = "the result is piecewise constant"},
                                                  {.name = "b", .role = Role::read, .no_gradient = "the result is piecewise constant"}};
inline constexpr OpFacts logical_or{
    .op = Op::logical_or,
    .name = "logical_or",
    .operands = logical_or_operands,
};

inline constexpr Operand logical_xor_operands[] = {{.name = "a", .role = Role::read, .no_gradient = "the result is piecewise constant"},
                                                   {.name = "b", .role = Role::read, .no_gradient = "the result is piecewise constant"}};
inline constexpr OpFacts logical_xor{
    .op = Op::logical_xor,
    .name = "logical_xor",
    .operands = logical_xor_operands,
};

inline constexpr Operand logical_not_operands[] = {{.name = "a", .role = Role::read, .no_gradient = "the result is piecewise constant"}};
inline constexpr OpFacts logical_not{
    .op = Op::logical_not,
    .name = "logical_not",
    .operands = logical_not_operands,
};

// ---- custom

inline constexpr Operand custom_operands[] = {{.name = "operand", .role = Role::read}};
inline constexpr AttrDef custom_attrs[] = {
    {.name = "function", .kind = AttrKind::ints, .required = true, .least = 1, .most = 9007199254740992},
};
inline constexpr OpFacts custom{
    .op = Op::custom,
    .name = "custom",
    .operands = custom_operands,
    .repeats_last = true,
    .attrs = custom_attrs,
};

// ---- windows

inline constexpr Operand win_part_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef win_part_attrs[] = {
    {.name = "w", .kind = AttrKind::ints, .required = true, .least = 1, .most = 1048576},
};
inline constexpr OpFacts win_part{
    .op = Op::win_part,
    .name = "win_part",
    .operands = win_part_operands,
    .attrs = win_part_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand win_unpart_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef win_unpart_attrs[] = {
    {.name = "w0", .kind = AttrKind::ints, .required = true, .least = 1, .most = 16777216},
    {.name = "h0", .kind = AttrKind::ints, .required = true, .least = 1, .most = 16777216},
    {.name = "w", .kind = AttrKind::ints, .required = true, .least = 1, .most = 1048576},
};
inline constexpr OpFacts win_unpart{
    .op = Op::win_unpart,
    .name = "win_unpart",
    .operands = win_unpart_operands,
    .attrs = win_unpart_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand get_rel_pos_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef get_rel_pos_attrs[] = {
    {.name = "qh", .kind = AttrKind::ints, .required = true, .least = 1, .most = 1048576},
    {.name = "kh", .kind = AttrKind::ints, .required = true, .least = 1, .most = 1048576},
};
inline constexpr OpFacts get_rel_pos{
    .op = Op::get_rel_pos,
    .name = "get_rel_pos",
    .operands = get_rel_pos_operands,
    .attrs = get_rel_pos_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand add_rel_pos_operands[] = {
    {.name = "a", .role = Role::read}, {.name = "pw", .role = Role::read}, {.name = "ph", .role = Role::read}};
inline constexpr OpFacts add_rel_pos{
    .op = Op::add_rel_pos,
    .name = "add_rel_pos",
    .operands = add_rel_pos_operands,
    .result = ResultType::of_first,
};

// ---- recurrent

inline constexpr Operand gated_delta_net_operands[] = {
    {.name = "q", .role = Role::read, .no_gradient = "it is for generating texts, token after token"},
    {.name = "k", .role = Role::read, .no_gradient = "it is for generating texts, token after token"},
    {.name = "v", .role = Role::read, .no_gradient = "it is for generating texts, token after token"},
    {.name = "g", .role = Role::read, .no_gradient = "it is for generating texts, token after token"},
    {.name = "beta", .role = Role::read, .no_gradient = "it is for generating texts, token after token"},
    {.name = "state", .role = Role::read, .no_gradient = "it is for generating texts, token after token"}};
inline constexpr AttrDef gated_delta_net_attrs[] = {
    {.name = "n_states", .kind = AttrKind::ints, .required = false, .least = 1, .most = 1048576},
};
inline constexpr OpFacts gated_delta_net{
    .op = Op::gated_delta_net,
    .name = "gated_delta_net",
    .operands = gated_delta_net_operands,
    .attrs = gated_delta_net_attrs,
    .n_results = 2,
    .result = ResultType::f32,
};

inline constexpr Operand ssm_scan_operands[] = {
    {.name = "state", .role = Role::read, .no_gradient = "it is for generating texts, token after token"},
    {.name = "x", .role = Role::read, .no_gradient = "it is for generating texts, token after token"},
    {.name = "dt", .role = Role::read, .no_gradient = "it is for generating texts, token after token"},
    {.name = "a", .role = Role::read, .no_gradient = "it is for generating texts, token after token"},
    {.name = "b", .role = Role::read, .no_gradient = "it is for generating texts, token after token"},
    {.name = "c", .role = Role::read, .no_gradient = "it is for generating texts, token after token"},
    {.name = "ids", .role = Role::indices, .no_gradient = "numbers of states"}};
inline constexpr AttrDef ssm_scan_attrs[] = {
    {.name = "n_states", .kind = AttrKind::ints, .required = false, .least = 1, .most = 1048576},
};
inline constexpr OpFacts ssm_scan{
    .op = Op::ssm_scan,
    .name = "ssm_scan",
    .operands = ssm_scan_operands,
    .attrs = ssm_scan_attrs,
    .n_results = 2,
    .result = ResultType::f32,
};

inline constexpr Operand rwkv_wkv6_operands[] = {
    {.name = "k", .role = Role::read, .no_gradient = "it is for generating texts, token after token"},
    {.name = "v", .role = Role::read, .no_gradient = "it is for generating texts, token after token"},
    {.name = "r", .role = Role::read, .no_gradient = "it is for generating texts, token after token"},
    {.name = "tf", .role = Role::read, .no_gradient = "it is for generating texts, token after token"},
    {.name = "td", .role = Role::read, .no_gradient = "it is for generating texts, token after token"},
    {.name = "state", .role = Role::read, .no_gradient = "it is for generating texts, token after token"}};
inline constexpr OpFacts rwkv_wkv6{
    .op = Op::rwkv_wkv6,
    .name = "rwkv_wkv6",
    .operands = rwkv_wkv6_operands,
    .n_results = 2,
    .result = ResultType::f32,
};

inline constexpr Operand rwkv_wkv7_operands[] = {
    {.name = "r", .role = Role::read, .no_gradient = "it is for generating texts, token after token"},
    {.name = "w", .role = Role::read, .no_gradient = "it is for generating texts, token after token"},
    {.name = "k", .role = Role::read, .no_gradient = "it is for generating texts, token after token"},
    {.name = "v", .role = Role::read, .no_gradient = "it is for generating texts, token after token"},
    {.name = "a", .role = Role::read, .no_gradient = "it is for generating texts, token after token"},
    {.name = "b", .role = Role::read, .no_gradient = "it is for generating texts, token after token"},
    {.name = "state", .role = Role::read, .no_gradient = "it is for generating texts, token after token"}};
inline constexpr OpFacts rwkv_wkv7{
    .op = Op::rwkv_wkv7,
    .name = "rwkv_wkv7",
    .operands = rwkv_wkv7_operands,
    .n_results = 2,
    .result = ResultType::f32,
};

inline constexpr Operand gated_linear_attn_operands[] = {
    {.name = "k", .role = Role::read, .no_gradient = "it is for generating texts, token after token"},
    {.name = "v", .role = Role::read, .no_gradient = "it is for generating texts, token after token"},
    {.name = "q", .role = Role::read, .no_gradient = "it is for generating texts, token after token"},
    {.name = "g", .role = Role::read, .no_gradient = "it is for generating texts, token after token"},
    {.name = "state", .role = Role::read, .no_gradient = "it is for generating texts, token after token"}};
inline constexpr AttrDef gated_linear_attn_attrs[] = {
    {.name = "scale", .kind = AttrKind::number, .required = true},
};
inline constexpr OpFacts gated_linear_attn{
    .op = Op::gated_linear_attn,
    .name = "gated_linear_attn",
    .operands = gated_linear_attn_operands,
    .attrs = gated_linear_attn_attrs,
    .n_results = 2,
    .result = ResultType::f32,
};

// ---- collectives

inline constexpr Operand all_sum_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef all_sum_attrs[] = {
    {.name = "group", .kind = AttrKind::ints, .required = true, .least = 1, .most = 9007199254740992},
};
inline constexpr OpFacts all_sum{
    .op = Op::all_sum,
    .name = "all_sum",
    .operands = all_sum_operands,
    .attrs = all_sum_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand all_max_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef all_max_attrs[] = {
    {.name = "group", .kind = AttrKind::ints, .required = true, .least = 1, .most = 9007199254740992},
};
inline constexpr OpFacts all_max{
    .op = Op::all_max,
    .name = "all_max",
    .operands = all_max_operands,
    .attrs = all_max_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand all_gather_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef all_gather_attrs[] = {
    {.name = "dim", .kind = AttrKind::ints, .required = true, .least = 0, .most = 3},
    {.name = "group", .kind = AttrKind::ints, .required = true, .least = 1, .most = 9007199254740992},
};
inline constexpr OpFacts all_gather{
    .op = Op::all_gather,
    .name = "all_gather",
    .operands = all_gather_operands,
    .attrs = all_gather_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand sum_scatter_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef sum_scatter_attrs[] = {
    {.name = "dim", .kind = AttrKind::ints, .required = true, .least = 0, .most = 3},
    {.name = "group", .kind = AttrKind::ints, .required = true, .least = 1, .most = 9007199254740992},
};
inline constexpr OpFacts sum_scatter{
    .op = Op::sum_scatter,
    .name = "sum_scatter",
    .operands = sum_scatter_operands,
    .attrs = sum_scatter_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand broadcast_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef broadcast_attrs[] = {
    {.name = "root", .kind = AttrKind::ints, .required = true, .least = 0, .most = 2147483647},
    {.name = "group", .kind = AttrKind::ints, .required = true, .least = 1, .most = 9007199254740992},
};
inline constexpr OpFacts broadcast{
    .op = Op::broadcast,
    .name = "broadcast",
    .operands = broadcast_operands,
    .attrs = broadcast_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand all_to_all_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef all_to_all_attrs[] = {
    {.name = "dim", .kind = AttrKind::ints, .required = true, .least = 0, .most = 3},
    {.name = "group", .kind = AttrKind::ints, .required = true, .least = 1, .most = 9007199254740992},
};
inline constexpr OpFacts all_to_all{
    .op = Op::all_to_all,
    .name = "all_to_all",
    .operands = all_to_all_operands,
    .attrs = all_to_all_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand send_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef send_attrs[] = {
    {.name = "to", .kind = AttrKind::ints, .required = true, .least = 0, .most = 2147483647},
    {.name = "group", .kind = AttrKind::ints, .required = true, .least = 1, .most = 9007199254740992},
};
inline constexpr OpFacts send{
    .op = Op::send,
    .name = "send",
    .operands = send_operands,
    .attrs = send_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand receive_operands[] = {{.name = "a", .role = Role::read}};
inline constexpr AttrDef receive_attrs[] = {
    {.name = "from", .kind = AttrKind::ints, .required = true, .least = 0, .most = 2147483647},
    {.name = "group", .kind = AttrKind::ints, .required = true, .least = 1, .most = 9007199254740992},
};
inline constexpr OpFacts receive{
    .op = Op::receive,
    .name = "receive",
    .operands = receive_operands,
    .attrs = receive_attrs,
    .result = ResultType::of_first,
};

inline constexpr Operand copy_to_group_operands[] = {{.name = "a", .role = Role::viewed}};
inline constexpr AttrDef copy_to_group_attrs[] = {
    {.name = "group", .kind = AttrKind::ints, .required = true, .least = 1, .most = 9007199254740992},
};
inline constexpr OpFacts copy_to_group{
    .op = Op::copy_to_group,
    .name = "copy_to_group",
    .operands = copy_to_group_operands,
    .attrs = copy_to_group_attrs,
    .result = ResultType::of_first,
};

}  // namespace facts

// Attributes, in structs that nodes keep: attrs_of() reads a node's.

struct ScaleAttrs {
    static constexpr Op operation = Op::scale;

    double scale;
    double bias;

    explicit ScaleAttrs(const Attrs &given) : scale(given.number("scale", 0.0)), bias(given.number("bias", 0.0)) {}
};

struct ClampAttrs {
    static constexpr Op operation = Op::clamp;

    double min;
    double max;

    explicit ClampAttrs(const Attrs &given) : min(given.number("min", 0.0)), max(given.number("max", 0.0)) {}
};

struct FillAttrs {
    static constexpr Op operation = Op::fill;

    double value;

    explicit FillAttrs(const Attrs &given) : value(given.number("value", 0.0)) {}
};

struct MaskedFillAttrs {
    static constexpr Op operation = Op::masked_fill;

    double value;

    explicit MaskedFillAttrs(const Attrs &given) : value(given.number("value", 0.0)) {}
};

struct MulMatAttrs {
    static constexpr Op operation = Op::mul_mat;

    bool exact;

    explicit MulMatAttrs(const Attrs &given) : exact(given.flag("mul_mat", "exact")) {}
};

struct MulMatIdAttrs {
    static constexpr Op operation = Op::mul_mat_id;

    bool exact;

    explicit MulMatIdAttrs(const Attrs &given) : exact(given.flag("mul_mat_id", "exact")) {}
};

struct OutProdIdAttrs {
    static constexpr Op operation = Op::out_prod_id;

    std::int64_t experts;

    explicit OutProdIdAttrs(const Attrs &given) : experts(given.integer("experts", 0)) {}
};

struct EinsumAttrs {
    static constexpr Op operation = Op::einsum;

    std::string_view equation;

    explicit EinsumAttrs(const Attrs &given) : equation(given.text("equation")) {}
};

struct SolveTriAttrs {
    static constexpr Op operation = Op::solve_tri;

    bool left;
    bool lower;
    bool unit;

    explicit SolveTriAttrs(const Attrs &given)
        : left(given.flag("solve_tri", "left")), lower(given.flag("solve_tri", "lower")), unit(given.flag("solve_tri", "unit")) {}
};

struct ViewAttrs {
    static constexpr Op operation = Op::view;

    IntList ne;
    IntList nb;
    std::int64_t offset;
    IntList start;

    explicit ViewAttrs(const Attrs &given)
        : ne(given.list("ne")), nb(given.list("nb")), offset(given.integer("offset", 0)), start(given.list("start")) {}
};

struct ReshapeAttrs {
    static constexpr Op operation = Op::reshape;

    IntList ne;

    explicit ReshapeAttrs(const Attrs &given) : ne(given.list("ne")) {}
};

struct PermuteAttrs {
    static constexpr Op operation = Op::permute;

    IntList axes;

    explicit PermuteAttrs(const Attrs &given) : axes(given.list("axes")) {}
};

struct ExpandAttrs {
    static constexpr Op operation = Op::expand;

    IntList ne;

    explicit ExpandAttrs(const Attrs &given) : ne(given.list("ne")) {}
};

struct UnsqueezeAttrs {
    static constexpr Op operation = Op::unsqueeze;

    std::int64_t dim;

    explicit UnsqueezeAttrs(const Attrs &given) : dim(given.integer("dim", 0)) {}
};

struct SqueezeAttrs {
    static constexpr Op operation = Op::squeeze;

    std::int64_t dim;

    explicit SqueezeAttrs(const Attrs &given) : dim(given.integer("dim", 0)) {}
};

struct FlattenAttrs {
    static constexpr Op operation = Op::flatten;

    std::int64_t first;
    std::int64_t last;

    explicit FlattenAttrs(const Attrs &given) : first(given.integer("first", 0)), last(given.integer("last", 0)) {}
};

struct SelectAttrs {
    static constexpr Op operation = Op::select;

    std::int64_t dim;
    std::int64_t index;

    explicit SelectAttrs(const Attrs &given) : dim(given.integer("dim", 0)), index(given.integer("index", 0)) {}
};

struct ResultAttrs {
    static constexpr Op operation = Op::result;

    std::int64_t number;

    explicit ResultAttrs(const Attrs &given) : number(given.integer("number", 0)) {}
};

struct CastAttrs {
    static constexpr Op operation = Op::cast;

    DType to;

    explicit CastAttrs(const Attrs &given) : to(given.type("cast", "to")) {}
};

struct IndexSelectAttrs {
    static constexpr Op operation = Op::index_select;

    std::int64_t dim;

    explicit IndexSelectAttrs(const Attrs &given) : dim(given.integer("dim", 0)) {}
};

struct LeakyReluAttrs {
    static constexpr Op operation = Op::leaky_relu;

    double slope;

    explicit LeakyReluAttrs(const Attrs &given) : slope(given.number("slope", 0.0)) {}
};

struct XieluAttrs {
    static constexpr Op operation = Op::xielu;

    double alpha_n;
    double alpha_p;
    double beta;
    double eps;

    explicit XieluAttrs(const Attrs &given)
        : alpha_n(given.number("alpha_n", 0.0)),
          alpha_p(given.number("alpha_p", 0.0)),
          beta(given.number("beta", 0.0)),
          eps(given.number("eps", 0.0)) {}
};

enum class GluOp : std::int32_t { reglu, geglu, swiglu, geglu_erf, geglu_quick, swiglu_oai };

struct GluAttrs {
    static constexpr Op operation = Op::glu;

    GluOp op;
    bool split;
    bool swapped;
    double alpha;
    double limit;

    explicit GluAttrs(const Attrs &given)
        : op(static_cast<GluOp>(given.integer("op", 0))),
          split(given.flag("glu", "split")),
          swapped(given.flag("glu", "swapped")),
          alpha(given.number("alpha", 1.702)),
          limit(given.number("limit", 7.0)) {}
};

struct NormAttrs {
    static constexpr Op operation = Op::norm;

    double eps;

    explicit NormAttrs(const Attrs &given) : eps(given.number("eps", 0.0)) {}
};

struct RmsNormAttrs {
    static constexpr Op operation = Op::rms_norm;

    double eps;

    explicit RmsNormAttrs(const Attrs &given) : eps(given.number("eps", 0.0)) {}
};

struct L2NormAttrs {
    static constexpr Op operation = Op::l2_norm;

    double eps;

    explicit L2NormAttrs(const Attrs &given) : eps(given.number("eps", 0.0)) {}
};

struct GroupNormAttrs {
    static constexpr Op operation = Op::group_norm;

    std::int64_t groups;
    double eps;

    explicit GroupNormAttrs(const Attrs &given) : groups(given.integer("groups", 0)), eps(given.number("eps", 0.0)) {}
};

struct SoftMaxExtAttrs {
    static constexpr Op operation = Op::soft_max_ext;

    double scale;
    double max_bias;

    explicit SoftMaxExtAttrs(const Attrs &given) : scale(given.number("scale", 1.0)), max_bias(given.number("max_bias", 0.0)) {}
};

enum class RopeMode : std::int32_t { normal, neox, mrope, imrope, vision };

struct RopeAttrs {
    static constexpr Op operation = Op::rope;

    RopeMode mode;
    std::int64_t n_dims;
    std::int64_t offset;
    IntList sections;
    std::int64_t n_ctx_orig;
    double freq_base;
    double freq_scale;
    double ext_factor;
    double attn_factor;
    double beta_fast;
    double beta_slow;
    bool inverse;

    explicit RopeAttrs(const Attrs &given)
        : mode(static_cast<RopeMode>(given.integer("mode", 0))),
          n_dims(given.integer("n_dims", 0)),
          offset(given.integer("offset", 0)),
          sections(given.list("sections")),
          n_ctx_orig(given.integer("n_ctx_orig", 0)),
          freq_base(given.number("freq_base", 10000.0)),
          freq_scale(given.number("freq_scale", 1.0)),
          ext_factor(given.number("ext_factor", 0.0)),
          attn_factor(given.number("attn_factor", 1.0)),
          beta_fast(given.number("beta_fast", 32.0)),
          beta_slow(given.number("beta_slow", 1.0)),
          inverse(given.flag("rope", "inverse")) {}
};

struct FlashAttnExtAttrs {
    static constexpr Op operation = Op::flash_attn_ext;

    double scale;
    double max_bias;
    double logit_softcap;

    explicit FlashAttnExtAttrs(const Attrs &given)
        : scale(given.number("scale", 0.0)), max_bias(given.number("max_bias", 0.0)), logit_softcap(given.number("logit_softcap", 0.0)) {}
};

struct PagedAttentionAttrs {
    static constexpr Op operation = Op::paged_attention;

    std::int64_t page;
    std::int64_t window;
    double scale;
    double logit_softcap;

    explicit PagedAttentionAttrs(const Attrs &given)
        : page(given.integer("page", 64)),
          window(given.integer("window", 0)),
          scale(given.number("scale", 0.0)),
          logit_softcap(given.number("logit_softcap", 0.0)) {}
};

struct SumAttrs {
    static constexpr Op operation = Op::sum;

    IntList dims;
    bool keep;

    explicit SumAttrs(const Attrs &given) : dims(given.list("dims")), keep(given.flag("sum", "keep")) {}
};

struct MeanAttrs {
    static constexpr Op operation = Op::mean;

    IntList dims;
    bool keep;

    explicit MeanAttrs(const Attrs &given) : dims(given.list("dims")), keep(given.flag("mean", "keep")) {}
};

struct ArgmaxAttrs {
    static constexpr Op operation = Op::argmax;

    IntList dims;
    bool keep;

    explicit ArgmaxAttrs(const Attrs &given) : dims(given.list("dims")), keep(given.flag("argmax", "keep")) {}
};

enum class ArgsortOrder : std::int32_t { asc, desc };

struct ArgsortAttrs {
    static constexpr Op operation = Op::argsort;

    ArgsortOrder order;

    explicit ArgsortAttrs(const Attrs &given) : order(static_cast<ArgsortOrder>(given.integer("order", 0))) {}
};

struct TopKAttrs {
    static constexpr Op operation = Op::top_k;

    std::int64_t k;

    explicit TopKAttrs(const Attrs &given) : k(given.integer("k", 0)) {}
};

struct MaxAttrs {
    static constexpr Op operation = Op::max;

    IntList dims;
    bool keep;

    explicit MaxAttrs(const Attrs &given) : dims(given.list("dims")), keep(given.flag("max", "keep")) {}
};

struct MinAttrs {
    static constexpr Op operation = Op::min;

    IntList dims;
    bool keep;

    explicit MinAttrs(const Attrs &given) : dims(given.list("dims")), keep(given.flag("min", "keep")) {}
};

struct ArgminAttrs {
    static constexpr Op operation = Op::argmin;

    IntList dims;
    bool keep;

    explicit ArgminAttrs(const Attrs &given) : dims(given.list("dims")), keep(given.flag("argmin", "keep")) {}
};

struct VarAttrs {
    static constexpr Op operation = Op::var;

    std::int64_t correction;
    IntList dims;
    bool keep;

    explicit VarAttrs(const Attrs &given)
        : correction(given.integer("correction", 0)), dims(given.list("dims")), keep(given.flag("var", "keep")) {}
};

struct StdAttrs {
    static constexpr Op operation = Op::std;

    std::int64_t correction;
    IntList dims;
    bool keep;

    explicit StdAttrs(const Attrs &given)
        : correction(given.integer("correction", 0)), dims(given.list("dims")), keep(given.flag("std", "keep")) {}
};

struct ProdAttrs {
    static constexpr Op operation = Op::prod;

    IntList dims;
    bool keep;

    explicit ProdAttrs(const Attrs &given) : dims(given.list("dims")), keep(given.flag("prod", "keep")) {}
};

struct AnyAttrs {
    static constexpr Op operation = Op::any;

    IntList dims;
    bool keep;

    explicit AnyAttrs(const Attrs &given) : dims(given.list("dims")), keep(given.flag("any", "keep")) {}
};

struct AllAttrs {
    static constexpr Op operation = Op::all;

    IntList dims;
    bool keep;

    explicit AllAttrs(const Attrs &given) : dims(given.list("dims")), keep(given.flag("all", "keep")) {}
};

struct LogSumExpAttrs {
    static constexpr Op operation = Op::log_sum_exp;

    IntList dims;
    bool keep;

    explicit LogSumExpAttrs(const Attrs &given) : dims(given.list("dims")), keep(given.flag("log_sum_exp", "keep")) {}
};

struct RepeatAttrs {
    static constexpr Op operation = Op::repeat;

    IntList ne;

    explicit RepeatAttrs(const Attrs &given) : ne(given.list("ne")) {}
};

struct ConcatAttrs {
    static constexpr Op operation = Op::concat;

    std::int64_t dim;

    explicit ConcatAttrs(const Attrs &given) : dim(given.integer("dim", 0)) {}
};

struct PadAttrs {
    static constexpr Op operation = Op::pad;

    IntList p;
    IntList lp;
    bool circular;

    explicit PadAttrs(const Attrs &given) : p(given.list("p")), lp(given.list("lp")), circular(given.flag("pad", "circular")) {}
};

struct PadReflect1dAttrs {
    static constexpr Op operation = Op::pad_reflect_1d;

    std::int64_t p0;
    std::int64_t p1;

    explicit PadReflect1dAttrs(const Attrs &given) : p0(given.integer("p0", 0)), p1(given.integer("p1", 0)) {}
};

struct RollAttrs {
    static constexpr Op operation = Op::roll;

    IntList shift;

    explicit RollAttrs(const Attrs &given) : shift(given.list("shift")) {}
};

enum class TriType : std::int32_t { lower, lower_diag, upper, upper_diag };

struct TriAttrs {
    static constexpr Op operation = Op::tri;

    TriType type;

    explicit TriAttrs(const Attrs &given) : type(static_cast<TriType>(given.integer("type", 0))) {}
};

struct DiagMaskInfAttrs {
    static constexpr Op operation = Op::diag_mask_inf;

    std::int64_t n_past;

    explicit DiagMaskInfAttrs(const Attrs &given) : n_past(given.integer("n_past", 0)) {}
};

struct DiagMaskZeroAttrs {
    static constexpr Op operation = Op::diag_mask_zero;

    std::int64_t n_past;

    explicit DiagMaskZeroAttrs(const Attrs &given) : n_past(given.integer("n_past", 0)) {}
};

struct AccAttrs {
    static constexpr Op operation = Op::acc;

    std::int64_t nb1;
    std::int64_t nb2;
    std::int64_t nb3;
    std::int64_t offset;

    explicit AccAttrs(const Attrs &given)
        : nb1(given.integer("nb1", 0)), nb2(given.integer("nb2", 0)), nb3(given.integer("nb3", 0)), offset(given.integer("offset", 0)) {}
};

struct SetAttrs {
    static constexpr Op operation = Op::set;

    std::int64_t nb1;
    std::int64_t nb2;
    std::int64_t nb3;
    std::int64_t offset;

    explicit SetAttrs(const Attrs &given)
        : nb1(given.integer("nb1", 0)), nb2(given.integer("nb2", 0)), nb3(given.integer("nb3", 0)), offset(given.integer("offset", 0)) {}
};

struct GatherAttrs {
    static constexpr Op operation = Op::gather;

    std::int64_t dim;

    explicit GatherAttrs(const Attrs &given) : dim(given.integer("dim", 0)) {}
};

struct ArangeAttrs {
    static constexpr Op operation = Op::arange;

    double start;
    double stop;
    double step;

    explicit ArangeAttrs(const Attrs &given)
        : start(given.number("start", 0.0)), stop(given.number("stop", 0.0)), step(given.number("step", 0.0)) {}
};

struct ScatterAddAttrs {
    static constexpr Op operation = Op::scatter_add;

    std::int64_t dim;

    explicit ScatterAddAttrs(const Attrs &given) : dim(given.integer("dim", 0)) {}
};

struct FlipAttrs {
    static constexpr Op operation = Op::flip;

    std::int64_t dim;

    explicit FlipAttrs(const Attrs &given) : dim(given.integer("dim", 0)) {}
};

struct OneHotAttrs {
    static constexpr Op operation = Op::one_hot;

    std::int64_t classes;

    explicit OneHotAttrs(const Attrs &given) : classes(given.integer("classes", 0)) {}
};

struct EyeAttrs {
    static constexpr Op operation = Op::eye;

    std::int64_t n;

    explicit EyeAttrs(const Attrs &given) : n(given.integer("n", 0)) {}
};

struct LinspaceAttrs {
    static constexpr Op operation = Op::linspace;

    double start;
    double stop;
    std::int64_t n;

    explicit LinspaceAttrs(const Attrs &given)
        : start(given.number("start", 0.0)), stop(given.number("stop", 0.0)), n(given.integer("n", 0)) {}
};

struct CatAttrs {
    static constexpr Op operation = Op::cat;

    std::int64_t dim;

    explicit CatAttrs(const Attrs &given) : dim(given.integer("dim", 0)) {}
};

struct StackAttrs {
    static constexpr Op operation = Op::stack;

    std::int64_t dim;

    explicit StackAttrs(const Attrs &given) : dim(given.integer("dim", 0)) {}
};

struct TimestepEmbeddingAttrs {
    static constexpr Op operation = Op::timestep_embedding;

    std::int64_t dim;
    std::int64_t max_period;

    explicit TimestepEmbeddingAttrs(const Attrs &given) : dim(given.integer("dim", 0)), max_period(given.integer("max_period", 0)) {}
};

enum class UpscaleMode : std::int32_t { nearest, bilinear, bicubic };

struct UpscaleAttrs {
    static constexpr Op operation = Op::upscale;

    std::int64_t factor;
    UpscaleMode mode;
    IntList ne;
    bool align_corners;
    bool antialias;

    explicit UpscaleAttrs(const Attrs &given)
        : factor(given.integer("factor", 0)),
          mode(static_cast<UpscaleMode>(given.integer("mode", 0))),
          ne(given.list("ne")),
          align_corners(given.flag("upscale", "align_corners")),
          antialias(given.flag("upscale", "antialias")) {}
};

enum class PoolOp : std::int32_t { max, avg };

struct Pool1dAttrs {
    static constexpr Op operation = Op::pool_1d;

    PoolOp op;
    std::int64_t k;
    std::int64_t s;
    std::int64_t p;
    bool count_padding;

    explicit Pool1dAttrs(const Attrs &given)
        : op(static_cast<PoolOp>(given.integer("op", 0))),
          k(given.integer("k", 0)),
          s(given.integer("s", 0)),
          p(given.integer("p", 0)),
          count_padding(given.flag("pool_1d", "count_padding")) {}
};

struct Pool2dAttrs {
    static constexpr Op operation = Op::pool_2d;

    PoolOp op;
    std::int64_t k0;
    std::int64_t k1;
    std::int64_t s0;
    std::int64_t s1;
    std::int64_t p0;
    std::int64_t p1;
    bool skip_padding;

    explicit Pool2dAttrs(const Attrs &given)
        : op(static_cast<PoolOp>(given.integer("op", 0))),
          k0(given.integer("k0", 0)),
          k1(given.integer("k1", 0)),
          s0(given.integer("s0", 0)),
          s1(given.integer("s1", 0)),
          p0(given.integer("p0", 0)),
          p1(given.integer("p1", 0)),
          skip_padding(given.flag("pool_2d", "skip_padding")) {}
};

enum class Im2colTo : std::int32_t { f32, f16, bf16 };

struct Im2colAttrs {
    static constexpr Op operation = Op::im2col;

    std::int64_t s0;
    std::int64_t s1;
    std::int64_t p0;
    std::int64_t p1;
    std::int64_t d0;
    std::int64_t d1;
    bool is_2D;
    Im2colTo to;

    explicit Im2colAttrs(const Attrs &given)
        : s0(given.integer("s0", 1)),
          s1(given.integer("s1", 1)),
          p0(given.integer("p0", 0)),
          p1(given.integer("p1", 0)),
          d0(given.integer("d0", 1)),
          d1(given.integer("d1", 1)),
          is_2D(given.flag("im2col", "is_2D")),
          to(static_cast<Im2colTo>(given.integer("to", 0))) {}
};

struct Conv1dAttrs {
    static constexpr Op operation = Op::conv_1d;

    std::int64_t s;
    std::int64_t p;
    std::int64_t d;

    explicit Conv1dAttrs(const Attrs &given) : s(given.integer("s", 1)), p(given.integer("p", 0)), d(given.integer("d", 1)) {}
};

struct Conv2dAttrs {
    static constexpr Op operation = Op::conv_2d;

    std::int64_t s0;
    std::int64_t s1;
    std::int64_t p0;
    std::int64_t p1;
    std::int64_t d0;
    std::int64_t d1;

    explicit Conv2dAttrs(const Attrs &given)
        : s0(given.integer("s0", 1)),
          s1(given.integer("s1", 1)),
          p0(given.integer("p0", 0)),
          p1(given.integer("p1", 0)),
          d0(given.integer("d0", 1)),
          d1(given.integer("d1", 1)) {}
};

struct Conv1dDwAttrs {
    static constexpr Op operation = Op::conv_1d_dw;

    std::int64_t s;
    std::int64_t p;
    std::int64_t d;

    explicit Conv1dDwAttrs(const Attrs &given) : s(given.integer("s", 1)), p(given.integer("p", 0)), d(given.integer("d", 1)) {}
};

struct Conv2dDwAttrs {
    static constexpr Op operation = Op::conv_2d_dw;

    std::int64_t s0;
    std::int64_t s1;
    std::int64_t p0;
    std::int64_t p1;
    std::int64_t d0;
    std::int64_t d1;

    explicit Conv2dDwAttrs(const Attrs &given)
        : s0(given.integer("s0", 1)),
          s1(given.integer("s1", 1)),
          p0(given.integer("p0", 0)),
          p1(given.integer("p1", 0)),
          d0(given.integer("d0", 1)),
          d1(given.integer("d1", 1)) {}
};

struct ConvTranspose1dAttrs {
    static constexpr Op operation = Op::conv_transpose_1d;

    std::int64_t s;
    std::int64_t p;
    std::int64_t d;

    explicit ConvTranspose1dAttrs(const Attrs &given) : s(given.integer("s", 1)), p(given.integer("p", 0)), d(given.integer("d", 1)) {}
};

struct ConvTranspose2dAttrs {
    static constexpr Op operation = Op::conv_transpose_2d;

    std::int64_t stride;
    std::int64_t p0;
    std::int64_t p1;
    std::int64_t d0;
    std::int64_t d1;

    explicit ConvTranspose2dAttrs(const Attrs &given)
        : stride(given.integer("stride", 1)),
          p0(given.integer("p0", 0)),
          p1(given.integer("p1", 0)),
          d0(given.integer("d0", 1)),
          d1(given.integer("d1", 1)) {}
};

enum class Im2col3dTo : std::int32_t { f32, f16, bf16 };

struct Im2col3dAttrs {
    static constexpr Op operation = Op::im2col_3d;

    std::int64_t channels;
    std::int64_t s0;
    std::int64_t s1;
    std::int64_t s2;
    std::int64_t p0;
    std::int64_t p1;
    std::int64_t p2;
    std::int64_t d0;
    std::int64_t d1;
    std::int64_t d2;
    Im2col3dTo to;

    explicit Im2col3dAttrs(const Attrs &given)
        : channels(given.integer("channels", 0)),
          s0(given.integer("s0", 1)),
          s1(given.integer("s1", 1)),
          s2(given.integer("s2", 1)),
          p0(given.integer("p0", 0)),
          p1(given.integer("p1", 0)),
          p2(given.integer("p2", 0)),
          d0(given.integer("d0", 1)),
          d1(given.integer("d1", 1)),
          d2(given.integer("d2", 1)),
          to(static_cast<Im2col3dTo>(given.integer("to", 0))) {}
};

struct Conv3dAttrs {
    static constexpr Op operation = Op::conv_3d;

    std::int64_t channels;
    std::int64_t s0;
    std::int64_t s1;
    std::int64_t s2;
    std::int64_t p0;
    std::int64_t p1;
    std::int64_t p2;
    std::int64_t d0;
    std::int64_t d1;
    std::int64_t d2;

    explicit Conv3dAttrs(const Attrs &given)
        : channels(given.integer("channels", 0)),
          s0(given.integer("s0", 1)),
          s1(given.integer("s1", 1)),
          s2(given.integer("s2", 1)),
          p0(given.integer("p0", 0)),
          p1(given.integer("p1", 0)),
          p2(given.integer("p2", 0)),
          d0(given.integer("d0", 1)),
          d1(given.integer("d1", 1)),
          d2(given.integer("d2", 1)) {}
};

struct Col2im1dAttrs {
    static constexpr Op operation = Op::col2im_1d;

    std::int64_t stride;
    std::int64_t padding;
    std::int64_t channels;

    explicit Col2im1dAttrs(const Attrs &given)
        : stride(given.integer("stride", 0)), padding(given.integer("padding", 0)), channels(given.integer("channels", 0)) {}
};

struct SsmConvAttrs {
    static constexpr Op operation = Op::ssm_conv;

    bool silu;

    explicit SsmConvAttrs(const Attrs &given) : silu(given.flag("ssm_conv", "silu")) {}
};

struct RandomUniformAttrs {
    static constexpr Op operation = Op::random_uniform;

    IntList ne;
    double low;
    double high;
    std::int64_t stream;

    explicit RandomUniformAttrs(const Attrs &given)
        : ne(given.list("ne")), low(given.number("low", 0.0)), high(given.number("high", 0.0)), stream(given.integer("stream", 0)) {}
};

struct RandomNormalAttrs {
    static constexpr Op operation = Op::random_normal;

    IntList ne;
    double mean;
    double deviation;
    std::int64_t stream;

    explicit RandomNormalAttrs(const Attrs &given)
        : ne(given.list("ne")),
          mean(given.number("mean", 0.0)),
          deviation(given.number("deviation", 0.0)),
          stream(given.integer("stream", 0)) {}
};

struct DropoutAttrs {
    static constexpr Op operation = Op::dropout;

    double p;
    std::int64_t stream;

    explicit DropoutAttrs(const Attrs &given) : p(given.number("p", 0.0)), stream(given.integer("stream", 0)) {}
};

struct OptStepMomentumAttrs {
    static constexpr Op operation = Op::opt_step_momentum;

    bool nesterov;

    explicit OptStepMomentumAttrs(const Attrs &given) : nesterov(given.flag("opt_step_momentum", "nesterov")) {}
};

enum class SparseBy : std::int32_t { score, magnitude, positive };

struct MulMatSparseAttrs {
    static constexpr Op operation = Op::mul_mat_sparse;

    SparseBy by;
    double threshold;
    std::int64_t n;
    bool exact;

    explicit MulMatSparseAttrs(const Attrs &given)
        : by(static_cast<SparseBy>(given.integer("by", 0))),
          threshold(given.number("threshold", 0.0)),
          n(given.integer("n", 0)),
          exact(given.flag("mul_mat_sparse", "exact")) {}
};

struct AxpyAttrs {
    static constexpr Op operation = Op::axpy;

    SparseBy by;
    double threshold;

    explicit AxpyAttrs(const Attrs &given) : by(static_cast<SparseBy>(given.integer("by", 0))), threshold(given.number("threshold", 0.0)) {}
};

enum class SparseFfnActivation : std::int32_t { relu, silu, gelu };

enum class SparseFfnFirst : std::int32_t { gate, up };

struct SparseFfnAttrs {
    static constexpr Op operation = Op::sparse_ffn;

    SparseFfnActivation activation;
    SparseBy by;
    double threshold;
    SparseFfnFirst first;

    explicit SparseFfnAttrs(const Attrs &given)
        : activation(static_cast<SparseFfnActivation>(given.integer("activation", 0))),
          by(static_cast<SparseBy>(given.integer("by", 0))),
          threshold(given.number("threshold", 0.0)),
          first(static_cast<SparseFfnFirst>(given.integer("first", 0))) {}
};

struct CustomAttrs {
    static constexpr Op operation = Op::custom;

    std::int64_t function;

    explicit CustomAttrs(const Attrs &given) : function(given.integer("function", 0)) {}
};

struct WinPartAttrs {
    static constexpr Op operation = Op::win_part;

    std::int64_t w;

    explicit WinPartAttrs(const Attrs &given) : w(given.integer("w", 0)) {}
};

struct WinUnpartAttrs {
    static constexpr Op operation = Op::win_unpart;

    std::int64_t w0;
    std::int64_t h0;
    std::int64_t w;

    explicit WinUnpartAttrs(const Attrs &given) : w0(given.integer("w0", 0)), h0(given.integer("h0", 0)), w(given.integer("w", 0)) {}
};

struct GetRelPosAttrs {
    static constexpr Op operation = Op::get_rel_pos;

    std::int64_t qh;
    std::int64_t kh;

    explicit GetRelPosAttrs(const Attrs &given) : qh(given.integer("qh", 0)), kh(given.integer("kh", 0)) {}
};

struct GatedDeltaNetAttrs {
    static constexpr Op operation = Op::gated_delta_net;

    std::int64_t n_states;

    explicit GatedDeltaNetAttrs(const Attrs &given) : n_states(given.integer("n_states", 1)) {}
};

struct SsmScanAttrs {
    static constexpr Op operation = Op::ssm_scan;

    std::int64_t n_states;

    explicit SsmScanAttrs(const Attrs &given) : n_states(given.integer("n_states", 1)) {}
};

struct GatedLinearAttnAttrs {
    static constexpr Op operation = Op::gated_linear_attn;

    double scale;

    explicit GatedLinearAttnAttrs(const Attrs &given) : scale(given.number("scale", 0.0)) {}
};

struct AllSumAttrs {
    static constexpr Op operation = Op::all_sum;

    std::int64_t group;

    explicit AllSumAttrs(const Attrs &given) : group(given.integer("group", 0)) {}
};

struct AllMaxAttrs {
    static constexpr Op operation = Op::all_max;

    std::int64_t group;

    explicit AllMaxAttrs(const Attrs &given) : group(given.integer("group", 0)) {}
};

struct AllGatherAttrs {
    static constexpr Op operation = Op::all_gather;

    std::int64_t dim;
    std::int64_t group;

    explicit AllGatherAttrs(const Attrs &given) : dim(given.integer("dim", 0)), group(given.integer("group", 0)) {}
};

struct SumScatterAttrs {
    static constexpr Op operation = Op::sum_scatter;

    std::int64_t dim;
    std::int64_t group;

    explicit SumScatterAttrs(const Attrs &given) : dim(given.integer("dim", 0)), group(given.integer("group", 0)) {}
};

struct BroadcastAttrs {
    static constexpr Op operation = Op::broadcast;

    std::int64_t root;
    std::int64_t group;

    explicit BroadcastAttrs(const Attrs &given) : root(given.integer("root", 0)), group(given.integer("group", 0)) {}
};

struct AllToAllAttrs {
    static constexpr Op operation = Op::all_to_all;

    std::int64_t dim;
    std::int64_t group;

    explicit AllToAllAttrs(const Attrs &given) : dim(given.integer("dim", 0)), group(given.integer("group", 0)) {}
};

struct SendAttrs {
    static constexpr Op operation = Op::send;

    std::int64_t to;
    std::int64_t group;

    explicit SendAttrs(const Attrs &given) : to(given.integer("to", 0)), group(given.integer("group", 0)) {}
};

struct ReceiveAttrs {
    static constexpr Op operation = Op::receive;

    std::int64_t from;
    std::int64_t group;

    explicit ReceiveAttrs(const Attrs &given) : from(given.integer("from", 0)), group(given.integer("group", 0)) {}
};

struct CopyToGroupAttrs {
    static constexpr Op operation = Op::copy_to_group;

    std::int64_t group;

    explicit CopyToGroupAttrs(const Attrs &given) : group(given.integer("group", 0)) {}
};

}  // namespace tensorlib::core::ops
