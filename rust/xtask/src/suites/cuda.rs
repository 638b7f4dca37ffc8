//! The CUDA build: it needs only nvcc, no kernel spills, and on a machine without a driver the library works as before.
//! If the machine has a GPU, everything runs on it too.

use std::path::{Path, PathBuf};

use super::{c, cpp, devices, export, install, rust};
use crate::build_cache;
use crate::builds;
use crate::counts::Style;
use crate::suite::Run;
use crate::tools;
use crate::workspace::{make_dir, remove_dir, Workspace};

/// Machine code for everything that the engine runs on: ptxas has to report that no kernel spills on any of these
/// architectures. The shipped library has `-virtual` code for some, which only the driver compiles.
const ALL: &str = "75-real;80-real;86-real;89-real;90-real;100-real;103-real;120-real";

pub fn run(run: &mut Run) -> Result<(), String> {
    let ws = run.ws;
    let architectures = architectures(&ws.cmd("nvidia-smi").args(CARDS).capture().unwrap_or_default());
    let build = builds::cuda(run, "cuda", &architectures, &[])?;
    spills(run, &build)?;
    let library = build.join("capi/libtensorlib.so");
    // Older C libraries had these as separate files, and a static CUDA runtime asks for them.
    let needed = export::needed(ws, &library, &["libdl.so.", "librt.so.", "libpthread.so."]);
    run.check("needs no driver and no CUDA library", needed);
    let without = builds::library(run, true)?.join("capi/libtensorlib.so");
    let same = export::same(&export::exports(ws, &without)?, &export::exports(ws, &library)?, "the CUDA build");
    run.check("exports what it exports without CUDA", same);

    c::programs(run, &build, &[])?;
    cpp::all_programs(run, &build, &[])?;
    install::strangers(run, "shared with CUDA", &build)?;
    feature(run, &architectures)?;
    let gpus = devices::found(run, &build)?;
    if gpus.is_empty() {
        let why = says_why(run, &build);
        run.skip("all languages on a GPU", why.as_deref().unwrap_or("see the failure"));
        run.check("without a GPU the message says why", why.map(drop));
        return Ok(());
    }
    let prefix = builds::installed(run, "prefix-cuda", &build)?;
    gpus.iter().try_for_each(|gpu| devices::all_languages(run, &build, &prefix, gpu))
}

/// Every architecture, in a clean build; then the shipped ones, and the library's size; then a static library in
/// external programs. It reports no times, because a compiler cache skips most of the work.
pub fn all(run: &mut Run) -> Result<(), String> {
    let known = run.ws.cmd(tools::cuda()?).arg("--list-gpu-code").capture()?;
    let (here, missing) = split(ALL, &known);
    if !missing.is_empty() {
        run.skip(&missing, "this nvcc does not know them");
    }
    for (name, architectures) in [("cuda-all", Some(here.as_str())), ("cuda-shipped", None)] {
        remove_dir(&run.ws.out.join("build").join(name))?;
        let build = builds::cuda_library(run, name, architectures, true)?;
        let size = size_of(&build.join("capi/libtensorlib.so"))?;
        let list = architectures.unwrap_or("the shipped list");
        run.check(&format!("{list}: no spills, libtensorlib.so {size:.1} MiB"), Ok(()));
    }
    let build = builds::cuda_library(run, "cuda-static", Some("90-real"), false)?;
    install::strangers(run, "static with CUDA", &build)
}

/// Asks for the cards' compute capabilities: `9.0` on a line each.
const CARDS: [&str; 2] = ["--query-gpu=compute_cap", "--format=csv,noheader"];

/// sm_90, and the architectures of this machine's cards.
fn architectures(cards: &str) -> String {
    let mut list = vec!["90-real".to_string()];
    for card in cards.lines().map(|line| line.trim().replace('.', "")) {
        let name = format!("{card}-real");
        if !card.is_empty() && card.chars().all(|c| c.is_ascii_digit()) && !list.contains(&name) {
            list.push(name);
        }
    }
    list.join(";")
}

/// The architectures of a list that nvcc supports, and the others.
pub fn split(list: &str, known: &str) -> (String, String) {
    let has = |name: &&str| known.lines().any(|l| l.trim() == format!("sm_{}", name.trim_end_matches("-real")));
    let (here, missing): (Vec<_>, Vec<_>) = list.split(';').partition(has);
    (here.join(";"), missing.join(" "))
}

fn size_of(file: &Path) -> Result<f64, String> {
    let size = file.metadata().map_err(|e| format!("{}: {e}", file.display()))?.len();
    Ok(size as f64 / f64::from(1 << 20))
}

/// A successful build means that nothing spills, so its flags must reject a kernel that spills, and accept the same
/// kernel with a smaller tile.
fn spills(run: &mut Run, build: &Path) -> Result<(), String> {
    let dir = run.ws.out.join("spill");
    make_dir(&dir)?;
    let path = build.join("compile_commands.json");
    let commands = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let (command, source) = kernel_command(&commands).ok_or(format!("{} has no .cu file", path.display()))?;
    let compile = |values: u32| {
        let planted = dir.join(format!("tile_{values}.cu"));
        std::fs::write(&planted, SPILL.replace("VALUES", &values.to_string())).map_err(|e| e.to_string())?;
        let line = other_source(&command, &source, &planted);
        build_cache::shared(run.ws, run.ws.cmd("sh").arg("-c").arg(line).dir(build)).capture()
    };
    let small = compile(4).map(drop);
    let large = match compile(200) {
        Ok(_) => Err("a kernel with 200 live values in 32 registers was compiled: a spill would pass".into()),
        Err(message) if message.contains("spill") => Ok(()),
        Err(message) => Err(format!("refused, but not for spilling:\n{message}")),
    };
    run.check("a small tile compiles with the build's flags", small);
    run.check("a tile that spills does not", large);
    Ok(())
}

/// Values that are all live across a barrier, although 64 warps on a multiprocessor leave only 32 registers per thread.
const SPILL: &str = "
__global__ void __launch_bounds__(1024, 2) planted(float *x) {
    float v[VALUES];
#pragma unroll
    for (int i = 0; i < VALUES; i++) v[i] = x[i * 1024 + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < VALUES; i++) x[threadIdx.x * VALUES + i] = v[i] * v[(i + 1) % VALUES] + v[VALUES - 1 - i];
}
void launch_planted(float *x) { planted<<<1, 1024>>>(x); }
";

/// The command and the source of the first .cu file in a compile_commands.json as CMake writes it, a key per line.
fn kernel_command(commands: &str) -> Option<(String, String)> {
    let mut command = None;
    for line in commands.lines() {
        let value =
            |key: &str| Some(line.trim().strip_prefix(key)?.trim_end_matches(',').trim_matches('"').to_string());
        if let Some(text) = value("\"command\": ") {
            command = Some(text.replace("\\\"", "\"").replace("\\\\", "\\"));
        } else if let Some(file) = value("\"file\": ").filter(|f| f.ends_with(".cu")) {
            return Some((command?, file));
        }
    }
    None
}

/// The command for another source, with its object next to that source.
fn other_source(command: &str, source: &str, other: &Path) -> String {
    let other = other.display().to_string();
    let mut words: Vec<String> = command.split(' ').map(|w| w.replace(source, &other)).collect();
    if let Some(at) = words.iter().position(|w| w == "-o") {
        words[at + 1] = format!("{other}.o");
    }
    words.join(" ")
}

/// The crate with the feature `cuda`, in a separate target folder, and a test program that uses it.
fn feature(run: &mut Run, architectures: &str) -> Result<(), String> {
    let target: PathBuf = run.ws.out.join("rust-cuda");
    let cargo = with_nvcc(run.ws)?.env("CARGO_TARGET_DIR", target);
    let cargo = cargo.env("TENSORLIB_CUDA_ARCHITECTURES", architectures);
    let clippy = ["clippy", "--package", "tensorlib-sys", "--package", "tensorlib", "--features", "cuda"];
    let clean = run.step(cargo.clone().args(clippy).args(["--", "-D", "warnings"])).map(drop);
    run.check("clippy, feature cuda", clean);
    rust::cases(run, cargo.clone(), &["--features", "cuda"], &[])?;
    let unit = ["test", "--package", "tensorlib", "--features", "cuda", "--lib"];
    run.tests("Rust unit tests, feature cuda", Style::Cargo, cargo.args(unit))
}

fn with_nvcc(ws: &Workspace) -> Result<crate::process::Cmd, String> {
    Ok(build_cache::cargo(ws).env("CUDACXX", tools::cuda()?))
}

/// The message of opening `cuda:0` on a machine without it, which has to name the device and a reason.
fn says_why(run: &Run, build: &Path) -> Result<String, String> {
    let cases = run.ws.cmd(build.join("tests/capi/tl_c_cases")).arg(run.ws.root.join("tests/cases"));
    match cases.env("TENSORLIB_DEVICE", "cuda:0").capture() {
        Ok(_) => Err("cuda:0 is not in the list of devices, but it opens".into()),
        Err(message) => match message.lines().find_map(|l| l.strip_prefix("cuda:0: ")) {
            Some(why) if why.contains("driver") || why.contains("CUDA device") => Ok(why.to_string()),
            _ => Err(format!("neither a driver nor a CUDA device is in the message:\n{message}")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_of_this_machine() {
        assert_eq!(architectures(""), "90-real");
        assert_eq!(architectures("9.0\n9.0\n"), "90-real");
        assert_eq!(architectures("8.6\n12.0\n"), "90-real;86-real;120-real");
        assert_eq!(architectures("NVIDIA-SMI has failed\n"), "90-real");
        let (here, missing) = split("75-real;103-real", "sm_75\nsm_80\nsm_100\n");
        assert_eq!((here.as_str(), missing.as_str()), ("75-real", "103-real"));
    }

    #[test]
    fn the_command_of_a_kernel_for_another_source() {
        let json =
            "[\n{\n  \"directory\": \"/b\",\n  \"command\": \"c++ -c /s/a.cpp\",\n  \"file\": \"/s/a.cpp\"\n},\n{\n  \
                    \"directory\": \"/b\",\n  \"command\": \"nvcc \\\"--code=[sm_90]\\\" -c /s/k.cu -o k.cu.o\",\n  \
                    \"file\": \"/s/k.cu\",\n  \"output\": \"k.cu.o\"\n}\n]\n";
        let (command, source) = kernel_command(json).unwrap();
        assert_eq!(source, "/s/k.cu");
        assert_eq!(
            other_source(&command, &source, Path::new("/t/p.cu")),
            "nvcc \"--code=[sm_90]\" -c /t/p.cu -o /t/p.cu.o"
        );
        assert_eq!(kernel_command("[]"), None);
    }
}
