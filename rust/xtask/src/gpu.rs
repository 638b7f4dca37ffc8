//! `cargo xtask gpu`: packs a folder for a machine that has only a GPU: the programs that reach the device in each
//! language, the cases, and tests/gpu/run.sh, a single command that runs them all and writes results.md.
//!
//! The package must start on Debian 12 and Ubuntu 22.04: the C++ runtime is linked in, and programs that need a later C
//! library are refused. run.sh makes the programs of all languages load libtensorlib from the package.

use std::path::{Path, PathBuf};

use crate::builds::{self, LINK_FLAGS};
use crate::cases;
use crate::process::Cmd;
use crate::suite::{Made, Run};
use crate::suites::{cpp, cuda, export, go, rust, zig};
use crate::tools;
use crate::workspace::{make_dir, remove_dir, Workspace};

const USAGE: &str = "gpu takes --arch N (90), --also N, --out DIR, --with-sanitizer";
/// The version of Ubuntu 22.04.
const GLIBC: (u32, u32) = (2, 35);
/// The limit for a package: 64 MiB can be copied to a lent machine, and some of that is left for other files.
const LIMIT_MIB: f64 = 60.0;
/// The folders of the package that go into one compressed archive. Each C++ program contains the whole engine, for all
/// ISAs. The compressor sees farther back than such a program is long, so that the engine counts once.
const COMPRESSED: [&str; 3] = ["bin", "lib", "cases"];

/// The options of the command line.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    architectures: Vec<String>,
    out: Option<PathBuf>,
    sanitizer: bool,
}

impl Options {
    fn parse(words: &[&str]) -> Result<Self, String> {
        let (mut arch, mut also, mut out, mut sanitizer) = ("90".to_string(), None, None, false);
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().map(ToString::to_string).ok_or(format!("{word} needs a value: {USAGE}"));
            match *word {
                "--arch" => arch = value()?,
                "--also" => also = Some(value()?),
                "--out" => out = Some(PathBuf::from(value()?)),
                "--with-sanitizer" => sanitizer = true,
                other => return Err(format!("unknown option {other}: {USAGE}")),
            }
        }
        let mut architectures: Vec<String> = [Some(arch), also].into_iter().flatten().collect();
        architectures.dedup();
        match architectures.iter().find(|a| a.parse::<u32>().is_err()) {
            Some(wrong) => Err(format!("{wrong} is no architecture: a number like 90 is valid")),
            None => Ok(Self { architectures, out, sanitizer }),
        }
    }
}

/// The command.
pub fn run(ws: &Workspace, words: &[&str]) -> Result<(), String> {
    let options = Options::parse(words)?;
    let list: Vec<String> = options.architectures.iter().map(|a| format!("{a}-real")).collect();
    let list = list.join(";");
    let (_, missing) = cuda::split(&list, &ws.cmd(tools::cuda()?).arg("--list-gpu-code").capture()?);
    if !missing.is_empty() {
        return Err(format!("this nvcc does not know {missing}"));
    }
    let mut made = Made::default();
    let mut run = Run::new("gpu", ws, &mut made)?;
    let build = builds::cuda(&mut run, "gpu", &list, &LINK_FLAGS)?;
    let prefix = builds::installed(&mut run, "prefix-gpu", &build)?;
    let out = options.out.unwrap_or_else(|| ws.out.join("gpu-package"));
    let contents = Contents { what: &list, sanitizer: options.sanitizer, optimised: true };
    let size = pack(&run, &build, &prefix, &out, &contents)?;
    println!("{}: {size:.1} MiB for {list}; there: ./run.sh", out.display());
    Ok(())
}

/// The contents of a package.
pub struct Contents<'a> {
    /// What it was built for, in words.
    pub what: &'a str,
    /// Whether it includes compute-sanitizer.
    pub sanitizer: bool,
    /// Whether Zig's programs are optimised, which takes over a minute.
    pub optimised: bool,
}

/// Fills `out` from scratch, unless it contains something other than a package; returns its size in MiB. `build` was
/// made with [`LINK_FLAGS`] and installed to `prefix`.
pub fn pack(run: &Run, build: &Path, prefix: &Path, out: &Path, contents: &Contents) -> Result<f64, String> {
    if out.exists() && !out.join("run.sh").exists() && !is_empty(out) {
        return Err(format!("{} is there and is no package of ours: name another folder", out.display()));
    }
    remove_dir(out)?;
    for dir in COMPRESSED {
        make_dir(&out.join(dir))?;
    }
    let ws = run.ws;
    println!("   packing {}", out.display());
    // Copied first, because it marks a package: an interrupted one may be packed again.
    copy(&ws.root.join("tests/gpu/run.sh"), &out.join("run.sh"))?;
    copy(&prefix.join("lib/libtensorlib.so.1"), &out.join("lib/libtensorlib.so.1"))?;
    native_programs(build, &out.join("bin"))?;
    rust_programs(run, prefix, &out.join("bin"))?;
    go_programs(run, prefix, &out.join("bin"))?;
    zig_programs(run, prefix, &out.join("bin"), contents.optimised)?;
    let mut binaries = cpp::programs(&out.join("bin"))?;
    binaries.push(out.join("lib/libtensorlib.so.1"));
    for file in &binaries {
        run.step(ws.cmd("strip").arg(file))?;
        starts_elsewhere(ws, file)?;
    }
    for file in ws.files_of(&[".cases"], &["tests/cases"])? {
        copy(&ws.root.join(&file), &out.join("cases").join(Path::new(&file).file_name().unwrap_or_default()))?;
    }
    let archive = ws.cmd("tar").arg("-C").arg(out).args(["-I", "xz -T1 --lzma2=preset=1,dict=128MiB"]);
    run.step(archive.arg("-cf").arg(out.join("contents.tar.xz")).arg("--mode=a+rX").args(COMPRESSED))?;
    for dir in COMPRESSED {
        remove_dir(&out.join(dir))?;
    }
    copy(&ws.root.join("examples/data/digits.csv"), &out.join("digits.csv"))?;
    write(&out.join("about"), &about(ws, contents.what)?)?;
    if contents.sanitizer {
        pack_sanitizer(run, &out.join("sanitizer.tar.gz"))?;
    }
    let size = size_of(out)?;
    if size > LIMIT_MIB {
        return Err(format!(
            "{} has {size:.1} MiB, more than {LIMIT_MIB}: leave out --also or --with-sanitizer",
            out.display()
        ));
    }
    Ok(size)
}

/// The facts about the package for run.sh, a `key=value` per line.
fn about(ws: &Workspace, what: &str) -> Result<String, String> {
    let git = |args: &[&str]| ws.cmd("git").args(args).capture().map(|text| text.trim().to_string());
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|_| "unknown".into());
    let changed = git(&["status", "--porcelain"]).is_ok_and(|text| !text.is_empty());
    let changed = if changed { ", with changes" } else { "" };
    Ok(format!("commit={commit}{changed}\nbuilt_for={what}\ncases={}\n", cases::count(ws)?))
}

/// The C and C++ programs that reach a device; the engine's other tests need the source tree but no GPU.
fn native_programs(build: &Path, bin: &Path) -> Result<(), String> {
    for (from, to) in [
        ("tests/capi/tl_c_cases", "c_cases"),
        ("tests/capi/tl_c_bad_input", "c_bad_input"),
        ("tests/capi/tl_c_devices", "devices"),
        ("tests/cpp/cases_test", "cpp_cases"),
        ("examples/c/tl_c_digits", "c_digits"),
        ("examples/cpp/tl_cpp_digits", "cpp_digits"),
        ("benches/gpu/tl_bench_gpu", "bench"),
    ] {
        copy(&build.join(from), &bin.join(to))?;
    }
    for program in cpp::programs(&build.join("tests/cpp"))? {
        let name = program.file_name().unwrap_or_default();
        if name.to_string_lossy().starts_with("cuda_") {
            copy(&program, &bin.join(name))?;
        }
    }
    Ok(())
}

fn rust_programs(run: &Run, prefix: &Path, bin: &Path) -> Result<(), String> {
    let features = ["--release", "--package", "tensorlib", "--features", "system"];
    let cargo = || rust::against(run.ws, prefix).map(|cargo| cargo.env_remove("RUSTFLAGS"));
    let tests = cargo()?.args(["test", "--no-run", "--message-format=json"]).args(features).args(["--test", "cases"]);
    let example = cargo()?.args(["build", "--message-format=json"]).args(features).args(["--example", "digits"]);
    for (cmd, name) in [(tests, "rust_cases"), (example, "rust_digits")] {
        let built = executable(&cmd.capture()?).ok_or(format!("cargo names no program for {name}"))?;
        copy(&built, &bin.join(name))?;
    }
    Ok(())
}

/// The last program that cargo's messages name.
fn executable(messages: &str) -> Option<PathBuf> {
    messages.lines().rev().find_map(|l| l.split("\"executable\":\"").nth(1)?.split('"').next()).map(PathBuf::from)
}

fn go_programs(run: &Run, prefix: &Path, bin: &Path) -> Result<(), String> {
    let go = go::Go::new(run, prefix)?;
    run.step(go.at("bindings/go").args(["test", "-c", "-o"]).arg(bin.join("go_cases")).arg("."))?;
    run.step(go.at(go::EXAMPLE).args(["build", "-o"]).arg(bin.join("go_digits")).arg(".")).map(drop)
}

fn zig_programs(run: &Run, prefix: &Path, bin: &Path, optimised: bool) -> Result<(), String> {
    let zig = zig::Zig::new(run, prefix)?;
    // Zig would otherwise use this machine's processor and C library.
    let target = format!("-Dtarget={}-linux-gnu.{}.{}", std::env::consts::ARCH, GLIBC.0, GLIBC.1);
    for (dir, built, name) in [("bindings/zig", "cases", "zig_cases"), (zig::EXAMPLE, "digits", "zig_digits")] {
        let options = [target.as_str(), "-Dcpu=baseline", "--release=safe"];
        run.step(zig.build(dir, &options[..if optimised { 3 } else { 2 }]))?;
        copy(&zig.out().join("bin").join(built), &bin.join(name))?;
    }
    Ok(())
}

/// Fails for a program that needs a library, or a version of the C library, that the machine may lack.
fn starts_elsewhere(ws: &Workspace, file: &Path) -> Result<(), String> {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let common = ["libtensorlib.so.1", "libgcc_s.so.", "libdl.so.", "librt.so.", "libpthread.so.", "libresolv.so."];
    export::needed(ws, file, &common).map_err(|why| format!("{name}: {why}"))?;
    let versions = ws.cmd("readelf").args(["-V", "-W"]).arg(file).capture()?;
    match newest_glibc(&versions) {
        Some(newest) if newest > GLIBC => {
            Err(format!("{name} needs glibc {}.{}: pack on Debian 12 or Ubuntu 22.04", newest.0, newest.1))
        }
        _ => Ok(()),
    }
}

/// The newest of the versions in readelf's table: `Name: GLIBC_2.34`.
fn newest_glibc(table: &str) -> Option<(u32, u32)> {
    let versions = table.split("Name: GLIBC_").skip(1).filter_map(|rest| {
        let mut numbers = rest.split_whitespace().next()?.split('.').map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    });
    versions.max()
}

/// compute-sanitizer from its Python package, which run.sh unpacks: 12 MiB.
fn pack_sanitizer(run: &Run, to: &Path) -> Result<(), String> {
    let from = tools::compute_sanitizer()?;
    let tar = run.ws.cmd("tar").arg("-C").arg(from).args(["--exclude=./docs", "--exclude=./x86", "-czf"]);
    run.step(tar.arg(to).args(["--mode=a+rx", "--transform=s,^[.],sanitizer,", "."])).map(drop)
}

fn is_empty(dir: &Path) -> bool {
    std::fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none())
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    std::fs::copy(from, to).map(drop).map_err(|e| format!("{} to {}: {e}", from.display(), to.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}

/// The size of all files in a folder, in MiB.
fn size_of(dir: &Path) -> Result<f64, String> {
    let bytes = Cmd::new("du").args(["-s", "--apparent-size", "-k"]).arg(dir).capture()?;
    let kib = bytes.split_whitespace().next().and_then(|n| n.parse::<f64>().ok());
    kib.map(|kib| kib / 1024.0).ok_or(format!("du gave {bytes}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<(String, bool), String> {
        Options::parse(words).map(|o| (o.architectures.join(";"), o.sanitizer))
    }

    #[test]
    fn options() {
        assert_eq!(parsed(&[]), Ok(("90".into(), false)));
        assert_eq!(parsed(&["--arch", "86", "--with-sanitizer"]), Ok(("86".into(), true)));
        assert_eq!(parsed(&["--also", "80"]), Ok(("90;80".into(), false)));
        assert_eq!(parsed(&["--also", "90"]), Ok(("90".into(), false)));
        assert!(parsed(&["--arch"]).unwrap_err().contains("--arch needs a value"));
        assert!(parsed(&["--arch", "sm_90"]).unwrap_err().contains("a number like 90"));
        assert!(parsed(&["--fast"]).unwrap_err().contains("--with-sanitizer"));
    }

    #[test]
    fn versions_of_the_c_library() {
        let table = "0x0010: Name: GLIBC_2.34  Flags: none\n0x0020:   Name: GLIBC_2.4\n  Name: GLIBCXX_3.4.30\n";
        assert_eq!(newest_glibc(table), Some((2, 34)));
        assert_eq!(newest_glibc(""), None);
    }

    #[test]
    fn the_program_in_cargos_messages() {
        let messages =
            "{\"executable\":null}\n{\"a\":1,\"executable\":\"/t/cases-1f\",\"fresh\":true}\n{\"reason\":\"x\"}\n";
        assert_eq!(executable(messages), Some(PathBuf::from("/t/cases-1f")));
        assert_eq!(executable("{\"executable\":null}"), None);
    }
}
