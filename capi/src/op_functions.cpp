// A C function for each operation. Written by `cargo xtask ops` from cpp/ops/*.toml: change it there.
#include "nodes.hpp"

using namespace tensorlib;
using capi::build;
using core::Op;

tl_tensor *tl_add(tl_context *ctx, tl_tensor *a, tl_tensor *b) { return build<2>(ctx, Op::add, {a, b}); }

tl_tensor *tl_transpose(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::transpose, {a}); }

tl_tensor *tl_cont(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::cont, {a}); }

tl_tensor *tl_cpy(tl_context *ctx, tl_tensor *src, tl_tensor *dst) { return build<2>(ctx, Op::cpy, {src, dst}); }

tl_tensor *tl_dup(tl_context *ctx, tl_tensor *a) { return build<1>(ctx, Op::dup, {a}); }

tl_tensor *tl_get_rows(tl_context *ctx, tl_tensor *a, tl_tensor *rows) { return build<2>(ctx, Op::get_rows, {a, rows}); }

tl_tensor *tl_set_rows(tl_context *ctx, tl_tensor *a, tl_tensor *b, tl_tensor *rows) { return build<3>(ctx, Op::set_rows, {a, b, rows}); }
