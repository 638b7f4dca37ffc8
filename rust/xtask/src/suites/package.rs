//! The crates as a user gets them: packed, stored in a registry on disk, added to an empty project in an empty folder
//! with a fresh cargo home, without network and without this source tree.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::expect::expect;
use crate::build_cache;
use crate::process::Cmd;
use crate::suite::Run;
use crate::tools;
use crate::workspace::{make_dir, remove_dir};

const PROGRAM: &str = "use tensorlib::{Backend, Context};

fn main() -> tensorlib::Result<()> {
    let cpu = Backend::cpu()?;
    let ctx = Context::new();
    let a = ctx.tensor([2, 4], &[2., 8., 5., 1., 4., 2., 8., 6.])?;
    let b = ctx.tensor([2, 3], &[10., 5., 9., 9., 5., 4.])?;
    let c = a.mul_mat(&b)?;
    cpu.compute(&[&c])?;
    println!(\"{:?}\", c.to_vec::<f32>()?);
    Ok(())
}
";
const PRINTED: &str = "[60.0, 55.0, 50.0, 110.0, 90.0, 54.0, 54.0, 126.0, 42.0, 29.0, 28.0, 64.0]";
const MODELS_PROGRAM: &str = "use tensorlib_models::{Decoder, DecoderOptions};

fn main() -> tensorlib::Result<()> {
    let opened = Decoder::open(\"none.gguf\", &tensorlib::Backend::cpu()?, &DecoderOptions::new());
    println!(\"{}\", opened.err().unwrap());
    Ok(())
}
";
const CRATES: [&str; 3] = ["tensorlib-sys", "tensorlib", "tensorlib-models"];

pub fn run(run: &mut Run) -> Result<(), String> {
    packages(run, true)
}

/// `--deep`: as on a user's machine, without a compiler cache, and with the crate of models, whose dependencies take
/// long.
pub fn uncached(run: &mut Run) -> Result<(), String> {
    packages(run, false)
}

fn packages(run: &mut Run, cache: bool) -> Result<(), String> {
    tools::native(run.ws)?;
    // Outside of the tree, so that cargo finds neither its workspace nor its configuration.
    let away = std::env::temp_dir().join(format!("tensorlib-package-{}", std::process::id()));
    remove_dir(&away)?;
    let outcome = stranger(run, &away, cache);
    remove_dir(&away)?;
    outcome
}

fn stranger(run: &mut Run, away: &Path, cache: bool) -> Result<(), String> {
    let (registry, home, project) = (away.join("registry"), away.join("home"), away.join("project"));
    for dir in [&registry, &home, &project.join("src")] {
        make_dir(dir)?;
    }
    let packed = fill_registry(run, &registry);
    run.check("cargo package, and a registry on disk", packed.clone());
    packed?;
    run.check("tensorlib-sys has every source of the engine", has_sources(run));
    let config = format!(
        "[source.crates-io]\nreplace-with = \"disk\"\n[source.disk]\ndirectory = {:?}\n",
        registry.display().to_string()
    );
    write(&home.join("config.toml"), &config)?;
    write(&project.join("Cargo.toml"), "[package]\nname = \"stranger\"\nversion = \"0.0.0\"\nedition = \"2021\"\n")?;
    write(&project.join("src/main.rs"), PROGRAM)?;

    let fresh = fresh_cargo(run, &home, &project);
    let cargo = |args: &[&str]| {
        let cargo = fresh.clone().args(args);
        if cache {
            cargo
        } else {
            build_cache::without_cache(cargo)
        }
    };
    let added = run.step(cargo(&["add", "--offline", "tensorlib"])).map(drop);
    let ran = added.clone().and_then(|()| run.step(cargo(&["run", "--offline"])));
    run.check("cargo add tensorlib", added);
    run.check("the first program runs", ran.and_then(|out| expect(&out.text, PRINTED)));
    if !cache {
        write(&project.join("src/main.rs"), MODELS_PROGRAM)?;
        let added = run.step(cargo(&["add", "--offline", "tensorlib-models"]));
        let ran = added.and_then(|_| run.step(cargo(&["run", "--offline"])));
        let said = ran.and_then(|out| expect(&out.text, "none.gguf: cannot be opened"));
        run.check("a program over tensorlib-models runs", said);
    }
    // The files of the build include CMake's cache and the list of each crate's sources.
    run.check("its build did not see this tree", super::names_no_tree(run, &project.join("target"), "-a"));
    Ok(())
}

/// Cargo with nothing from this machine except its toolchain and the compiler cache.
fn fresh_cargo(run: &Run, home: &Path, project: &Path) -> Cmd {
    let mut cargo = build_cache::cargo(run.ws).dir(project).env("CARGO_HOME", home).env_remove("CARGO_TARGET_DIR");
    cargo = cargo.env("CCACHE_BASEDIR", home.parent().unwrap_or(home));
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("CARGO_BUILD_")
            || name.starts_with("CARGO_REGISTRIES_")
            || name.starts_with("CARGO_SOURCE_")
        {
            cargo = cargo.env_remove(&name);
        }
    }
    cargo
}

/// All dependencies as `cargo vendor` stores them, and our crates as `cargo package` packs them.
fn fill_registry(run: &Run, registry: &Path) -> Result<(), String> {
    let vendor = build_cache::cargo(run.ws).args(["vendor", "--quiet", "--locked", "--versioned-dirs"]).arg(registry);
    run.step(vendor)?;
    let target = run.ws.out.join("package");
    // --no-verify, because the rest of this suite builds from the package.
    let mut package =
        build_cache::cargo(run.ws).args(["package", "--no-verify", "--allow-dirty", "--target-dir"]).arg(&target);
    for name in CRATES {
        package = package.args(["--package", name]);
    }
    remove_dir(&target.join("package"))?;
    run.step(package)?;
    for name in CRATES {
        let crate_file = packed_file(&target.join("package"), name)?;
        let size = crate_file.metadata().map_err(|e| e.to_string())?.len();
        println!(
            "   {}: {:.1} KiB",
            crate_file.file_name().unwrap_or_default().to_string_lossy(),
            size as f64 / 1024.0
        );
        run.step(run.ws.cmd("tar").arg("-xzf").arg(&crate_file).arg("-C").arg(registry))?;
        let sum = run.ws.cmd("sha256sum").arg(&crate_file).capture()?;
        let sum = sum.split_whitespace().next().unwrap_or("");
        let folder = registry.join(crate_file.file_stem().unwrap_or_default());
        write(&folder.join(".cargo-checksum.json"), &format!("{{\"files\":{{}},\"package\":\"{sum}\"}}"))?;
    }
    Ok(())
}

/// Fails if a file of the native part is missing in the crate; kernels for GPUs are built by a feature only.
fn has_sources(run: &Run) -> Result<(), String> {
    let folders = ["cpp", "capi", "cmake"];
    let crate_file = packed_file(&run.ws.out.join("package/package"), CRATES[0])?;
    let listed = run.ws.cmd("tar").arg("-tzf").arg(&crate_file).capture()?;
    let packed: BTreeSet<_> = listed.lines().filter_map(|l| l.split_once("/native/")).map(|(_, file)| file).collect();
    let files = run.ws.files_of(&[""], &folders)?;
    let missing: Vec<_> = files.iter().filter(|file| !packed.contains(file.as_str())).map(String::as_str).collect();
    match (missing.is_empty(), files.is_empty()) {
        (true, false) => Ok(()),
        _ => Err(format!("not in {}: {}", crate_file.display(), missing.join(", "))),
    }
}

/// `tensorlib-0.1.0.crate`: the name, then a digit, so that tensorlib-sys is not mistaken for tensorlib.
fn packed_file(dir: &Path, name: &str) -> Result<PathBuf, String> {
    for entry in std::fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))? {
        let path = entry.map_err(|e| e.to_string())?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let version = file.strip_prefix(name).and_then(|rest| rest.strip_prefix('-')).unwrap_or("");
        if version.starts_with(|c: char| c.is_ascii_digit()) && file.ends_with(".crate") {
            return Ok(path);
        }
    }
    Err(format!("cargo package left no {name}-*.crate in {}", dir.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}
