//! Finds the tools that the suites need, and gets missing ones by the system's package manager or from the language's
//! own registry into the user's cache folder. Prints what it does; if it cannot, says what to install.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::cuda_toolkit;
use crate::process::{on_path, Cmd};
use crate::python;
use crate::system::{install, tool as system_tool};
use crate::workspace::{make_dir, Workspace};

const ZIG: &str = "0.16";
const ZIG_PACKAGE: &str = "ziglang==0.16.0";
const CLANG_FORMAT: &str = "18.1.8";
const CLANG_FORMAT_PACKAGE: &str = "clang-format==18.1.8";

/// Gets all tools now.
pub fn setup(ws: &Workspace) -> Result<(), String> {
    let mut missing = Vec::new();
    let mut note = |name: &str, found: Result<String, String>| match found {
        Ok(what) => println!("{name}: {what}"),
        Err(why) => missing.push(format!("{name}: {why}")),
    };
    note("compilers and cmake", native(ws).map(|()| "there".into()));
    note("python", python::system().map(|p| p.display().to_string()));
    note("GoogleTest", google_test(ws).map(|()| "there".into()));
    note("pkg-config", system_tool("pkg-config", "pkg-config").map(|p| p.display().to_string()));
    note("go", go(ws).map(|p| p.display().to_string()));
    note("zig", zig().map(|z| z.describe()));
    note("clang-format", clang_format().map(|c| c.describe()));
    note("CUDA toolkit", cuda().map(|p| p.display().to_string()));
    note("ccache", Ok(compiler_cache().map_or("not here, builds go without".into(), |p| p.display().to_string())));
    note("valgrind", system_tool("valgrind", "valgrind").map(|p| p.display().to_string()));
    if missing.is_empty() {
        return Ok(());
    }
    Err(missing.join("\n"))
}

/// mdBook, of a pinned version, installed from its sources into the user's cache folder when it is first needed.
pub fn mdbook(ws: &Workspace) -> Result<Cmd, String> {
    const VERSION: &str = "0.4.52";
    let root = python::cache_dir()?.join(format!("tensorlib/tools/mdbook-{VERSION}"));
    let program = root.join("bin/mdbook");
    if !program.is_file() {
        println!("xtask: mdbook {VERSION} is missing: cargo install mdbook, which takes some minutes");
        let install = ws.cmd("cargo").args(["install", "mdbook", "--version", VERSION, "--locked", "--quiet"]);
        install.args(["--no-default-features", "--features", "search", "--root"]).arg(&root).capture()?;
    }
    Ok(ws.cmd(program))
}

/// CMake and a compiler, which the user has to install.
pub fn native(ws: &Workspace) -> Result<(), String> {
    if on_path("cmake").is_none() {
        return Err("cmake is missing: install CMake 3.20 or later (apt-get install cmake)".into());
    }
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
    ws.cmd(&compiler)
        .arg("--version")
        .capture()
        .map(drop)
        .map_err(|e| format!("no C++ compiler: install g++ 11, clang 14 or later, or set CXX ({e})"))
}

/// ccache: a run builds the same sources a dozen times, in CMake's trees and in cargo's, and most objects are equal.
/// None if it cannot be installed: everything works without it, only slower.
pub fn compiler_cache() -> Option<PathBuf> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || system_tool("ccache", "ccache").map_err(|why| println!("xtask: going on without ccache: {why}")).ok();
    FOUND.get_or_init(find).clone()
}

/// clang's C and C++ compilers, of a version with libFuzzer.
pub fn clang_with_fuzzer() -> Result<(PathBuf, PathBuf), String> {
    let probe = std::env::temp_dir().join(format!("tensorlib-fuzzer-{}", std::process::id()));
    let source = "extern \"C\" int LLVMFuzzerTestOneInput(const unsigned char *, unsigned long) { return 0; }\n";
    std::fs::write(probe.with_extension("cpp"), source).map_err(|e| format!("{}: {e}", probe.display()))?;
    let suffixes = ["", "-20", "-19", "-18", "-17", "-16", "-15", "-14"];
    let find = || {
        suffixes.iter().find_map(|suffix| {
            let (c, cxx) = (on_path(&format!("clang{suffix}"))?, on_path(&format!("clang++{suffix}"))?);
            let compile = Cmd::new(&cxx).arg("-fsanitize=fuzzer,address").arg(probe.with_extension("cpp"));
            compile.arg("-o").arg(&probe).capture().ok().map(|_| (c, cxx))
        })
    };
    let found = find().or_else(|| {
        install(&["clang-14", "libclang-rt-14-dev"], "clang with libFuzzer").ok()?;
        find()
    });
    for file in [probe.with_extension("cpp"), probe] {
        let _ = std::fs::remove_file(file); // may not exist if nothing was compiled
    }
    found.ok_or("no clang with libFuzzer: install one (Debian: apt-get install clang-14 libclang-rt-14-dev)".into())
}

/// GoogleTest, so that CMake finds it.
pub fn google_test(ws: &Workspace) -> Result<(), String> {
    let probe = ws.out.join("probe-gtest");
    make_dir(&probe)?;
    let script = "cmake_minimum_required(VERSION 3.20)\nproject(probe CXX)\nfind_package(GTest REQUIRED)\n";
    std::fs::write(probe.join("CMakeLists.txt"), script).map_err(|e| e.to_string())?;
    let configure = ws.cmd("cmake").arg("-S").arg(&probe).arg("-B").arg(probe.join("build"));
    if configure.capture().is_ok() {
        return Ok(());
    }
    install(&["libgtest-dev"], "GoogleTest")?;
    configure.capture().map(drop)
}

/// Go, no older than bindings/go/go.mod asks for.
pub fn go(ws: &Workspace) -> Result<PathBuf, String> {
    let wanted = go_version_of_module(ws)?;
    let usual = Path::new("/usr/local/go/bin/go");
    let found = match on_path("go").or(usual.is_file().then(|| usual.to_path_buf())) {
        Some(go) => go,
        None => {
            install(&["golang-go"], "Go")?;
            on_path("go").ok_or("golang-go was installed, but go is not on the PATH")?
        }
    };
    let text = ws.cmd(&found).args(["env", "GOVERSION"]).env("GOTOOLCHAIN", "local").capture()?;
    let version = version_of(text.trim().trim_start_matches("go"));
    // From 1.21 on, Go itself gets the toolchain that a module needs.
    if version >= version_of(&wanted).min(vec![1, 21]) {
        return Ok(found);
    }
    newer_go(ws, &found, &wanted)
}

/// The gofmt of the same installation.
pub fn gofmt(ws: &Workspace) -> Result<PathBuf, String> {
    let root = ws.cmd(go(ws)?).args(["env", "GOROOT"]).dir(&ws.root.join("bindings/go")).capture()?;
    Ok(Path::new(root.trim()).join("bin/gofmt"))
}

fn go_version_of_module(ws: &Workspace) -> Result<String, String> {
    let module = ws.read("bindings/go/go.mod")?.unwrap_or_default();
    let line = module.lines().find_map(|l| l.strip_prefix("go ")).unwrap_or("1.21");
    Ok(line.trim().to_string())
}

/// An old Go downloads the new one as a module of the proxy.
fn newer_go(ws: &Workspace, old: &Path, wanted: &str) -> Result<PathBuf, String> {
    let full = if wanted.matches('.').count() == 1 { format!("{wanted}.0") } else { wanted.to_string() };
    let arch = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    println!("xtask: Go here is older than {full}: getting {full} through the Go module proxy");
    let module = format!("golang.org/toolchain@v0.0.1-go{full}.linux-{arch}");
    // Outside of any module, with the checksum database off for old versions that do not know toolchains.
    let json = ws
        .cmd(old)
        .args(["mod", "download", "-json", &module])
        .dir(&std::env::temp_dir())
        .env("GOFLAGS", "-mod=mod")
        .env("GONOSUMDB", "golang.org/toolchain")
        .capture()
        .map_err(|e| format!("install Go {wanted} or later and put it on the PATH ({e})"))?;
    let dir = json.lines().find_map(|l| l.trim().strip_prefix("\"Dir\": \"")?.split('"').next().map(PathBuf::from));
    let dir = dir.ok_or(format!("install Go {wanted} or later: no folder in {json}"))?;
    // The module cache strips execute bits.
    for tools in ["bin", "pkg/tool"] {
        ws.cmd("chmod").args(["-R", "u+rwx"]).arg(dir.join(tools)).capture()?;
    }
    Ok(dir.join("bin/go"))
}

/// Zig, in the version that the binding is written for.
pub fn zig() -> Result<Cmd, String> {
    let here = Cmd::new("zig");
    if here.clone().arg("version").capture().is_ok_and(|v| v.starts_with(&format!("{ZIG}."))) {
        return Ok(here);
    }
    let python = python::package(ZIG_PACKAGE, "ziglang")?;
    Ok(Cmd::new(python).args(["-m", "ziglang"]))
}

/// clang-format, in exactly the version whose output the tree follows.
pub fn clang_format() -> Result<Cmd, String> {
    let here = Cmd::new("clang-format");
    if here.clone().arg("--version").capture().is_ok_and(|v| v.contains(CLANG_FORMAT)) {
        return Ok(here);
    }
    let python = python::package(CLANG_FORMAT_PACKAGE, "clang_format")?;
    Ok(Cmd::new(python.with_file_name("clang-format")))
}

/// compute-sanitizer's folder in its Python package. Before 13.5, packages lacked the programs with which it starts others.
pub fn compute_sanitizer() -> Result<PathBuf, String> {
    let python = python::package("nvidia-cuda-sanitizer-api==13.5.25", "nvidia")?;
    let code = "import nvidia; print(list(nvidia.__path__)[0])";
    let found = Cmd::new(python).args(["-c", code]).capture()?;
    let root = Path::new(found.trim()).join("cu13/compute-sanitizer");
    for program in ["compute-sanitizer", "TreeLauncherSubreaper"] {
        if !root.join(program).is_file() {
            return Err(format!("nvidia-cuda-sanitizer-api left no {program} in {}", root.display()));
        }
    }
    Ok(root)
}

/// nvcc with the files that it needs for linking: the system's, or the pinned one of `cargo xtask cuda-toolkit`.
pub fn cuda() -> Result<PathBuf, String> {
    cuda_toolkit::get().map(|nvcc| nvcc.path)
}

fn version_of(text: &str) -> Vec<u32> {
    text.split('.')
        .map(|n| n.chars().take_while(char::is_ascii_digit).collect::<String>())
        .map_while(|n| n.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::version_of;

    #[test]
    fn versions_compare_by_number() {
        assert!(version_of("1.9") < version_of("1.21"));
        assert!(version_of("1.26rc1") >= version_of("1.26"));
        assert!(version_of("1.19.8") < vec![1, 21]);
    }
}
