//! Groups: ranks that compute together.

const std = @import("std");
const c = @import("c.zig");
const status = @import("status.zig");
const Diagnostics = status.Diagnostics;
const Error = status.Error;

/// A rank's handle of a group of ranks that compute together. `Context.allSum` and its relatives make nodes that exchange
/// tensors between the ranks. Each rank computes a graph of its own with the same nodes of the group, in the order in
/// which they were built. Before a graph's first run the ranks compare these nodes, and a difference is `error.Group` on
/// all of them.
///
/// A rank that fails, leaves, or misses the deadline is `error.Group` on the others, and the group fails with it.
/// A rank leaves when its handle was released, and the last context with nodes of it.
///
/// Any thread may use a handle, but only one graph that uses it is computed at a time: a second one gets `error.Busy`.
pub const Group = struct {
    handle: *c.tl_group,
    diagnostics: ?*Diagnostics,

    pub const Options = struct {
        /// How many milliseconds a rank waits for another one before the group fails; 0 = five minutes.
        timeout_ms: u64 = 0,
        /// Receives messages; must live as long as the group.
        diagnostics: ?*Diagnostics = null,
    };

    /// Makes a group, or joins the one to which the process belongs. "self" is one rank. "mpi" are all processes that a
    /// launcher such as mpirun has started, each a rank; they make their groups in the same order. "auto" is "mpi" if a
    /// launcher has started the process as one of several, otherwise "self".
    ///
    /// `error.InvalidArgument`: another name, or a timeout of more than a year. `error.Unavailable`: there is no usable MPI
    /// library. `error.Group`: the other processes have not made the group in time. `error.OutOfMemory`.
    pub fn init(name: [:0]const u8, options: Options) Error!Group {
        try status.checkAbi(options.diagnostics);
        var params: c.tl_group_params = undefined;
        c.tl_group_params_init(&params, @sizeOf(c.tl_group_params));
        params.timeout_ms = options.timeout_ms;
        var handle: ?*c.tl_group = null;
        try status.check(c.tl_group_create(name.ptr, &params, &handle, status.errorOf(options.diagnostics)));
        return .{ .handle = handle.?, .diagnostics = options.diagnostics };
    }

    /// Fills `ranks` with the handles of as many ranks, 1 to 1024, that are threads of this process.
    ///
    /// As `init`. On an error nothing has to be released.
    pub fn initLocal(ranks: []Group, options: Options) Error!void {
        var name: [32]u8 = undefined;
        const sized = std.fmt.bufPrintZ(&name, "local:{d}", .{ranks.len}) catch unreachable; // a number has 20 digits
        const first = try init(sized, options);
        errdefer first.deinit();
        ranks[0] = first;
        for (1..ranks.len) |i| {
            errdefer for (ranks[1..i]) |other| other.deinit();
            var handle: ?*c.tl_group = null;
            try status.check(c.tl_group_member(first.handle, @intCast(i), &handle, status.errorOf(options.diagnostics)));
            ranks[i] = .{ .handle = handle.?, .diagnostics = options.diagnostics };
        }
    }

    /// Releases the handle.
    pub fn deinit(self: Group) void {
        c.tl_group_free(self.handle);
    }

    /// Divides the group: ranks of one colour form a new one, in the order of their keys, and of their ranks where keys
    /// are equal. All ranks call it, and it waits for them. null for a negative colour. The caller releases the new group.
    ///
    /// `error.Group`: another rank fails, leaves, makes another call or misses the deadline. `error.Busy`.
    /// `error.OutOfMemory`.
    pub fn split(self: Group, colour: i32, key: i32) Error!?Group {
        var handle: ?*c.tl_group = null;
        try status.check(c.tl_group_split(self.handle, colour, key, &handle, status.errorOf(self.diagnostics)));
        return .{ .handle = handle orelse return null, .diagnostics = self.diagnostics };
    }

    /// The rank, from 0.
    pub fn rank(self: Group) usize {
        return @intCast(c.tl_group_rank(self.handle));
    }

    /// The number of ranks.
    pub fn size(self: Group) usize {
        return @intCast(c.tl_group_size(self.handle));
    }

    /// What connects the ranks, for display, as much as fits into `buffer`: the library and its version, and why "auto"
    /// chose one rank.
    pub fn text(self: Group, buffer: []u8) []const u8 {
        const length = c.tl_group_text(self.handle, buffer.ptr, buffer.len);
        return buffer[0..@min(length, buffer.len -| 1)];
    }
};

/// Some elements of a tensor that is divided over ranks.
pub const Shard = struct { first: i64, count: i64 };

/// Which elements a rank has of `n` elements that are divided over ranks, in whole blocks, such as those of a quantised type.
/// The shares follow each other in the order of ranks. They differ by at most one block, and the first ranks have more. If
/// there are fewer blocks than ranks, some have none. The last block may be partial. `diagnostics` may receive a message.
///
/// `error.InvalidArgument`: n is negative, block or ranks less than 1, or rank not 0 to ranks - 1.
pub fn shardRange(n: i64, block: i64, rank: i32, ranks: i32, diagnostics: ?*Diagnostics) Error!Shard {
    var shard: Shard = .{ .first = 0, .count = 0 };
    try status.check(c.tl_shard_range(n, block, rank, ranks, &shard.first, &shard.count, status.errorOf(diagnostics)));
    return shard;
}
