//! The package `tensorlib` has one module of that name. It needs the installed C library, found by
//! -Dprefix=PATH or otherwise by pkg-config (and its PKG_CONFIG_PATH).
//!
//!     zig build test     unit tests, the comparison with the C header, the quickstart
//!     zig build cases    the cases that all languages share (-Dcases=PATH; environment: tests/cases.zig)

const std = @import("std");

pub fn build(b: *std.Build) void {
    const target = b.standardTargetOptions(.{});
    const optimize = b.standardOptimizeOption(.{});
    const prefix = b.option([]const u8, "prefix", "where the C library is installed, absolute (default: pkg-config's answer)");
    const cases = b.option([]const u8, "cases", "folder of *.cases files") orelse "../../tests/cases";
    const library = Library.find(b, prefix);

    const module = b.addModule("tensorlib", .{
        .root_source_file = b.path("src/tensorlib.zig"),
        .target = target,
        .optimize = optimize,
        .link_libc = true,
    });
    module.addLibraryPath(.{ .cwd_relative = library.lib });
    module.addRPath(.{ .cwd_relative = library.lib });
    // The shared library contains its own C++ runtime; Zig's would be a second one.
    module.linkSystemLibrary("tensorlib", .{ .use_pkg_config = .no, .preferred_link_mode = .dynamic });

    const context: Tests = .{ .b = b, .module = module, .target = target, .optimize = optimize };
    const test_step = b.step("test", "Run the tests");
    test_step.dependOn(context.run("unit", module));
    for ([_][]const u8{ "errors", "custom", "data", "gguf", "graph", "group", "introspection", "joined", "ops", "quantize", "shapes" }) |name|
        test_step.dependOn(context.run(name, context.root(b.fmt("tests/{s}.zig", .{name}))));
    test_step.dependOn(context.headerTest(library));
    test_step.dependOn(context.quickstart());
    const cases_exe = b.addExecutable(.{ .name = "cases", .root_module = context.root("tests/cases.zig") });
    const run_cases = b.addRunArtifact(cases_exe);
    b.installArtifact(cases_exe); // for a machine without Zig: cargo xtask gpu
    run_cases.addArg(b.pathFromRoot(cases));
    run_cases.stdio = .inherit; // shows its line of counts
    run_cases.has_side_effects = true;
    b.step("cases", "Run the cases that all languages share").dependOn(&run_cases.step);
}

const Library = struct {
    include: []const u8,
    lib: []const u8,

    fn find(b: *std.Build, prefix: ?[]const u8) Library {
        if (prefix) |path| {
            // The path goes into the program, which may be started anywhere.
            if (!std.fs.path.isAbsolute(path)) std.process.fatal("-Dprefix={s}: must be an absolute path", .{path});
            return .{ .include = b.pathJoin(&.{ path, "include" }), .lib = libraryFolder(b, path) };
        }
        return .{ .include = ask(b, "includedir"), .lib = ask(b, "libdir") };
    }

    /// Some systems put 64-bit libraries into lib64.
    fn libraryFolder(b: *std.Build, prefix: []const u8) []const u8 {
        const lib64 = b.pathJoin(&.{ prefix, "lib64" });
        const package = b.pathJoin(&.{ lib64, "pkgconfig", "tensorlib.pc" });
        std.Io.Dir.accessAbsolute(b.graph.io, package, .{}) catch return b.pathJoin(&.{ prefix, "lib" });
        return lib64;
    }

    fn ask(b: *std.Build, variable: []const u8) []const u8 {
        var code: u8 = 0;
        const command = [_][]const u8{ "pkg-config", "--variable", variable, "tensorlib" };
        const answer = b.runAllowFail(&command, &code, .ignore) catch "";
        const path = std.mem.trim(u8, answer, " \n");
        if (path.len == 0) std.process.fatal(
            "pkg-config knows no tensorlib: give -Dprefix=PATH, or set PKG_CONFIG_PATH to PATH/lib/pkgconfig",
            .{},
        );
        return path;
    }
};

const Tests = struct {
    b: *std.Build,
    module: *std.Build.Module,
    target: std.Build.ResolvedTarget,
    optimize: std.builtin.OptimizeMode,

    fn root(self: Tests, path: []const u8) *std.Build.Module {
        return self.b.createModule(.{
            .root_source_file = self.b.path(path),
            .target = self.target,
            .optimize = self.optimize,
            .imports = &.{.{ .name = "tensorlib", .module = self.module }},
        });
    }

    fn run(self: Tests, name: []const u8, root_module: *std.Build.Module) *std.Build.Step {
        const runner = self.b.addRunArtifact(self.b.addTest(.{ .name = name, .root_module = root_module }));
        // Otherwise Zig would answer from its cache, and not notice another library or another
        // TENSORLIB_ISA.
        runner.has_side_effects = true;
        return &runner.step;
    }

    /// Compares src/c.zig with a translation of the installed header.
    fn headerTest(self: Tests, library: Library) *std.Build.Step {
        const header = self.b.addTranslateC(.{
            .root_source_file = .{ .cwd_relative = self.b.pathJoin(&.{ library.include, "tensorlib", "tensorlib.h" }) },
            .target = self.target,
            .optimize = self.optimize,
        });
        const test_root = self.root("tests/abi.zig");
        test_root.addImport("header", header.createModule());
        return self.run("abi", test_root);
    }

    fn quickstart(self: Tests) *std.Build.Step {
        const exe = self.b.addExecutable(.{ .name = "quickstart", .root_module = self.root("quickstart.zig") });
        const runner = self.b.addRunArtifact(exe);
        runner.expectStdOutEqual("60 55 50 110\n90 54 54 126\n42 29 28 64\n");
        runner.has_side_effects = true;
        return &runner.step;
    }
};
