//! zig build run [-Dprefix=PATH]

const std = @import("std");

pub fn build(b: *std.Build) void {
    const target = b.standardTargetOptions(.{});
    const optimize = b.standardOptimizeOption(.{ .preferred_optimize_mode = .ReleaseSafe });
    const prefix = b.option([]const u8, "prefix", "where the C library is installed, absolute (default: pkg-config's answer)");
    const tensorlib = if (prefix) |path|
        b.dependency("tensorlib", .{ .target = target, .optimize = optimize, .prefix = path })
    else
        b.dependency("tensorlib", .{ .target = target, .optimize = optimize });

    const exe = b.addExecutable(.{ .name = "value_and_gradient", .root_module = b.createModule(.{
        .root_source_file = b.path("src/main.zig"),
        .target = target,
        .optimize = optimize,
        .imports = &.{.{ .name = "tensorlib", .module = tensorlib.module("tensorlib") }},
    }) });
    b.installArtifact(exe);
    const run = b.addRunArtifact(exe);
    if (b.args) |args| run.addArgs(args);
    b.step("run", "Print values and gradients").dependOn(&run.step);
}
