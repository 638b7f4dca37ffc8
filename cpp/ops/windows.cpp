// Attention in windows of images, and positions relative to a query: operations that are made of others (windows.toml). They
// check their operands first, so that errors name them and not what they are made of.
#include "base/checked.hpp"
#include "base/fail.hpp"
#include "ops/composed.hpp"
#include "ops/elementwise.hpp"
#include "ops/gen/op_facts.hpp"
#include "ops/numbers.hpp"

namespace tensorlib::core::ops {

namespace {

Tensor *win_part_compose(NodeBatch &nodes, std::span<Tensor *const> src, const WinPartAttrs &attrs) {
    const Extents &a = src[0]->layout.ne;
    check_without_blocks(facts::win_part, src);
    const std::int64_t w = attrs.w, across = ceil_div(a[1], w), down = ceil_div(a[2], w);
    Tensor *image = src[0];
    if (across * w != a[1] || down * w != a[2])
        image = nodes.make(Op::pad, {image}, {Attr::of_ints("p", Extents{0, across * w - a[1], down * w - a[2], 0})});
    Tensor *rows = shaped(nodes, image, Extents{a[0] * w, across, w, down * a[3]});
    rows = permuted(nodes, rows, {0, 2, 1, 3});
    return shaped(nodes, nodes.make(Op::cont, {rows}), Extents{a[0], w, w, across * down * a[3]});
}

Tensor *win_unpart_compose(NodeBatch &nodes, std::span<Tensor *const> src, const WinUnpartAttrs &attrs) {
    const Extents &a = src[0]->layout.ne;
    check_without_blocks(facts::win_unpart, src);
    const std::int64_t w = attrs.w, across = ceil_div(attrs.w0, w), down = ceil_div(attrs.h0, w), windows = across * down;
    if (a[1] != w || a[2] != w || a[3] % windows != 0) {
        fail(Status::shape_mismatch, "win_unpart: a is %s: {n, %lld, %lld, %lld images} is valid, for w = %lld, w0 = %lld and h0 = %lld",
             tensor_text(*src[0]).c_str(), shown(w), shown(w), shown(windows), shown(w), shown(attrs.w0), shown(attrs.h0));
    }
    Tensor *rows = shaped(nodes, src[0], Extents{a[0] * w, w, across, down * (a[3] / windows)});
    Tensor *image = nodes.make(Op::cont, {permuted(nodes, rows, {0, 2, 1, 3})});
    image = shaped(nodes, image, Extents{a[0], across * w, down * w, a[3] / windows});
    const Extents ne{a[0], attrs.w0, attrs.h0, a[3] / windows};
    if (ne == image->layout.ne) return image;
    return nodes.make(Op::cont, {nodes.make(Op::view, {image}, {Attr::of_ints("ne", ne), Attr::of_ints("start", Extents{})})});
}

Tensor *get_rel_pos_compose(NodeBatch &nodes, std::span<Tensor *const> src, const GetRelPosAttrs &attrs) {
    const Extents &a = src[0]->layout.ne;
    const std::int64_t qh = attrs.qh, kh = attrs.kh;
    if (!is_float(src[0]->layout.type) && !is_number(src[0]->layout.type)) {
        fail(Status::type_mismatch, "get_rel_pos: a is %s: f32, f16 or bf16, or i32, i64 or f64 are valid", tensor_text(*src[0]).c_str());
    }
    if (a[1] != qh + kh - 1 || a[2] != 1 || a[3] != 1) {
        fail(Status::shape_mismatch, "get_rel_pos: a is %s: {n, %lld} is valid, for qh = %lld and kh = %lld", tensor_text(*src[0]).c_str(),
             shown(qh + kh - 1), shown(qh), shown(kh));
    }
    // F32 represents all indices.
    Tensor *queries = shaped(nodes, numbers(nodes, 0, 1, qh), Extents{1, qh, 1, 1}),
           *keys = numbers(nodes, static_cast<double>(kh - 1), -1, kh);
    Tensor *indices = nodes.make(Op::cast, {nodes.make(Op::add, {keys, queries})}, {Attr::of_text("to", "i32")});
    Tensor *rows = nodes.make(Op::index_select, {src[0], shaped(nodes, indices, Extents{qh * kh, 1, 1, 1})}, {Attr::of_int("dim", 1)});
    return shaped(nodes, rows, Extents{a[0], kh, qh, 1});
}

Tensor *add_rel_pos_compose(NodeBatch &nodes, std::span<Tensor *const> src, const Attrs &) {
    check_floats(facts::add_rel_pos, src);
    const Extents &a = src[0]->layout.ne, &pw = src[1]->layout.ne, &ph = src[2]->layout.ne;
    const bool fits = pw[1] == ph[1] && pw[2] == ph[2] && pw[3] == ph[3] && a[0] == pw[0] * ph[0] && a[1] == pw[1] * pw[2] && a[2] == pw[3];
    if (!fits || a[3] != 1) {
        fail(Status::shape_mismatch,
             "add_rel_pos: %s: a {kw kh, qw qh, batch}, pw {kw, qw, qh, batch} and ph {kh, qw, qh, batch} are valid",
             operands_text(facts::add_rel_pos, src).c_str());
    }
    Tensor *scores = shaped(nodes, src[0], Extents{pw[0], ph[0], a[1], a[2]});
    scores = nodes.make(Op::add, {scores, shaped(nodes, src[1], Extents{pw[0], 1, a[1], a[2]})});
    scores = nodes.make(Op::add, {scores, shaped(nodes, src[2], Extents{1, ph[0], a[1], a[2]})});
    return shaped(nodes, scores, a);
}

}  // namespace

constexpr OpDef win_part{facts::win_part, {.compose = composed<WinPartAttrs, win_part_compose>}};

constexpr OpDef win_unpart{facts::win_unpart, {.compose = composed<WinUnpartAttrs, win_unpart_compose>}};

constexpr OpDef get_rel_pos{facts::get_rel_pos, {.compose = composed<GetRelPosAttrs, get_rel_pos_compose>}};

constexpr OpDef add_rel_pos{facts::add_rel_pos, {.compose = add_rel_pos_compose}};

}  // namespace tensorlib::core::ops
