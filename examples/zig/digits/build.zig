//! zig build run [-Dprefix=PATH] [-- --device cpu --threads 0 --file digits.csv]; zig build test

const std = @import("std");

pub fn build(b: *std.Build) void {
    const target = b.standardTargetOptions(.{});
    const optimize = b.standardOptimizeOption(.{ .preferred_optimize_mode = .ReleaseSafe });
    const prefix = b.option([]const u8, "prefix", "where the C library is installed, absolute (default: pkg-config's answer)");
    const tensorlib = if (prefix) |path|
        b.dependency("tensorlib", .{ .target = target, .optimize = optimize, .prefix = path })
    else
        b.dependency("tensorlib", .{ .target = target, .optimize = optimize });

    const root = b.createModule(.{
        .root_source_file = b.path("src/main.zig"),
        .target = target,
        .optimize = optimize,
        .imports = &.{.{ .name = "tensorlib", .module = tensorlib.module("tensorlib") }},
    });
    const exe = b.addExecutable(.{ .name = "digits", .root_module = root });
    b.installArtifact(exe);
    const run = b.addRunArtifact(exe);
    run.setCwd(b.path(".")); // where the default --file is relative to
    if (b.args) |args| run.addArgs(args);
    b.step("run", "Read the digits").dependOn(&run.step);

    const run_tests = b.addRunArtifact(b.addTest(.{ .root_module = root }));
    run_tests.setCwd(b.path("."));
    run_tests.has_side_effects = true; // the library and TENSORLIB_ISA may change without Zig's seeing it
    b.step("test", "Run the tests").dependOn(&run_tests.step);
}
