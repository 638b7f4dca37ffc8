//! Indexing, operations on lists of tensors, and functions that return lists. The caller frees a list with the context's
//! allocator (`Context.Options.allocator`).

const c = @import("c.zig");
const status = @import("status.zig");
const Context = @import("context.zig").Context;
const Tensor = @import("tensor.zig").Tensor;
const Error = status.Error;

/// What `Context.index` selects of a dimension. Negative numbers count from the end.
pub const Index = union(enum) {
    /// All elements.
    all,
    /// One element, whose dimension the result lacks.
    at: i64,
    /// The elements from the first number to before the second one.
    range: struct { i64, i64 },
    /// The elements from this one on.
    from: i64,
};

/// A part of each of a's dimensions, dimension 0 first, and all of the dimensions that have no index:
/// `ctx.index(a, &.{ .all, .{ .range = .{ 3, 5 } }, .{ .at = k } })`. A view.
pub fn index(self: Context, a: Tensor, indices: []const Index) Error!Tensor {
    if (indices.len > 4) return invalid(self, "index: {} indices: up to 4 are valid", .{indices.len});
    var begin: [4]i64 = undefined;
    var end: [4]i64 = undefined;
    var dropped: u32 = 0;
    for (indices, 0..) |selected, d| {
        const range: struct { i64, i64 } = switch (selected) {
            .all => .{ 0, c.TL_END },
            .at => |at| .{ at, at },
            .range => |range| .{ range[0], range[1] },
            .from => |first| .{ first, c.TL_END },
        };
        begin[d] = range[0];
        end[d] = range[1];
        if (selected == .at) dropped |= @as(u32, 1) << @intCast(d);
    }
    return self.construct(c.tl_index, .{ a.handle, @as(i32, @intCast(indices.len)), &begin, &end, dropped });
}

/// Concatenates tensors of one type along a dimension, with one shape in all others.
pub fn cat(self: Context, tensors: []const Tensor, dim: i64) Error!Tensor {
    const handles = try self.handlesOf(tensors);
    defer self.state.allocator.free(handles);
    return self.construct(c.tl_cat, .{ handles.ptr, handles.len, dim });
}

/// Stacks tensors of one type and shape along a new dimension, which is inserted as by `Context.unsqueeze`.
pub fn stack(self: Context, tensors: []const Tensor, dim: i64) Error!Tensor {
    const handles = try self.handlesOf(tensors);
    defer self.state.allocator.free(handles);
    return self.construct(c.tl_stack, .{ handles.ptr, handles.len, dim });
}

/// Sums products of tensors whose dimensions have names. The equation has a list of letters for each tensor, one for each
/// dimension and dimension 0 first, and one for the result: `"km,kn->mn"` is `Context.mulMat`. NumPy lists the same
/// dimensions in the opposite order. Letters that the result lacks are summed. Without `->`, the result has the letters
/// that occur once, in the order of the alphabet. A letter that a tensor has twice selects its diagonal. Tensors and
/// products of two have at most 4 dimensions.
pub fn einsum(self: Context, equation: [:0]const u8, tensors: []const Tensor) Error!Tensor {
    const handles = try self.handlesOf(tensors);
    defer self.state.allocator.free(handles);
    return self.construct(c.tl_einsum, .{ equation.ptr, handles.ptr, handles.len });
}

/// Parts of `size` elements of a dimension, as views. The last one may be smaller.
pub fn split(self: Context, a: Tensor, size: i64, dim: usize) Error![]Tensor {
    if (size < 1) return invalid(self, "split: size is {}: at least 1 is valid", .{size});
    const n = try extentOf(self, "split", a, dim);
    const parts = try listOf(self, @divFloor(n, size) + @intFromBool(@rem(n, size) != 0));
    errdefer self.state.allocator.free(parts);
    var first: i64 = 0;
    for (parts) |*part| {
        const length = @min(size, n - first);
        part.* = try self.narrow(a, @intCast(dim), first, length);
        first += length;
    }
    return parts;
}

/// Parts of these sizes of a dimension, as views. Their sum is the dimension's extent.
pub fn splitSizes(self: Context, a: Tensor, sizes: []const i64, dim: usize) Error![]Tensor {
    const n = try extentOf(self, "split", a, dim);
    var left = n;
    for (sizes) |size| {
        if (size < 0 or size > left) {
            left = -1;
            break;
        }
        left -= size;
    }
    const text = "split: sizes are {any}: a sum of {} is valid, the extent of dimension {}";
    if (left != 0) return invalid(self, text, .{ sizes, n, dim });
    const parts = try listOf(self, @intCast(sizes.len));
    errdefer self.state.allocator.free(parts);
    var first: i64 = 0;
    for (parts, sizes) |*part, size| {
        part.* = try self.narrow(a, @intCast(dim), first, size);
        first += size;
    }
    return parts;
}

/// At most n parts of a dimension, as views. All have the same size except the last one, which may be smaller; as in
/// PyTorch, there may be fewer parts.
pub fn chunk(self: Context, a: Tensor, n: i64, dim: usize) Error![]Tensor {
    if (n < 1) return invalid(self, "chunk: n is {}: at least 1 is valid", .{n});
    const all = try extentOf(self, "chunk", a, dim);
    return split(self, a, @max(@divFloor(all, n) + @intFromBool(@rem(all, n) != 0), 1), dim);
}

/// Each element of a dimension, without the dimension, as views.
pub fn unbind(self: Context, a: Tensor, dim: usize) Error![]Tensor {
    const parts = try listOf(self, try extentOf(self, "unbind", a, dim));
    errdefer self.state.allocator.free(parts);
    for (parts, 0..) |*part, i| part.* = try self.select(a, @intCast(dim), @intCast(i));
    return parts;
}

/// A grid of the points whose coordinates are the elements of 1 to 4 vectors. Result d has the shape of all lengths, and
/// element i of vector d where the index in dimension d is i: PyTorch's order "ij". Views.
pub fn meshgrid(self: Context, vectors: []const Tensor) Error![]Tensor {
    if (vectors.len < 1 or vectors.len > 4) return invalid(self, "meshgrid: {} vectors: 1 to 4 are valid", .{vectors.len});
    var ne: [4]i64 = @splat(1);
    for (ne[0..vectors.len], vectors) |*n, vector| {
        const shape = vector.shape();
        if (vector.nDims() != 1)
            return invalid(self, "meshgrid: a vector is {any}: one dimension is valid", .{shape[0..vector.nDims()]});
        n.* = shape[0];
    }
    const grid = try listOf(self, @intCast(vectors.len));
    errdefer self.state.allocator.free(grid);
    for (grid, vectors, 0..) |*coordinate, vector, d| {
        var shape: [4]i64 = @splat(1);
        shape[d] = ne[d];
        coordinate.* = try self.expand(try self.reshape(vector, shape[0..vectors.len]), ne[0..vectors.len]);
    }
    return grid;
}

fn listOf(self: Context, n: i64) Error![]Tensor {
    return self.state.allocator.alloc(Tensor, @intCast(n)) catch self.noMemory();
}

/// The elements of a dimension, 1 if the shape lacks it.
fn extentOf(self: Context, comptime function: []const u8, a: Tensor, dim: usize) Error!i64 {
    if (dim > 3) return invalid(self, function ++ ": dim is {}: 0 to 3 are valid", .{dim});
    return a.shape()[dim];
}

fn invalid(self: Context, comptime text: []const u8, args: anytype) Error {
    return status.fail(self.diagnostics, c.TL_STATUS_INVALID_ARGUMENT, text, args);
}
