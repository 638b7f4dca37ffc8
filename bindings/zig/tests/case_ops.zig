//! The operations of the cases by their methods. Written by `cargo xtask ops` from cpp/ops/*.toml: change it there.

const std = @import("std");
const tl = @import("tensorlib");
const case_file = @import("case_file.zig");

const Name = enum {
    add,
    transpose,
    cont,
    cpy,
    dup,
    get_rows,
    set_rows,
};

/// null where it is none of these.
pub fn make(ctx: tl.Context, op: case_file.Op, src: []const ?tl.Tensor) !?tl.Tensor {
    const name = std.meta.stringToEnum(Name, op.name) orelse return null;
    const n_src: usize = switch (name) {
        .add => 2,
        .transpose => 1,
        .cont => 1,
        .cpy => 2,
        .dup => 1,
        .get_rows => 2,
        .set_rows => 3,
    };
    if (src.len != n_src) return error.WrongNumberOfOperands;
    switch (name) {
        .add => return try ctx.add(src[0].?, src[1].?),
        .transpose => return try ctx.transpose(src[0].?),
        .cont => return try ctx.cont(src[0].?),
        .cpy => return try ctx.cpy(src[0].?, src[1].?),
        .dup => return try ctx.dup(src[0].?),
        .get_rows => return try ctx.getRows(src[0].?, src[1].?),
        .set_rows => return try ctx.setRows(src[0].?, src[1].?, src[2].?),
    }
}
