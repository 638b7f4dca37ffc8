//! Checks that take too long for every change: ThreadSanitizer, valgrind, long runs, the simulated GPU in other orders.

use crate::build_cache;
use crate::builds;
use crate::counts::Style;
use crate::isas;
use crate::python;
use crate::suite::Run;
use crate::system;

pub fn tsan(run: &mut Run) -> Result<(), String> {
    let build = builds::thread_sanitized(run)?;
    let envs = [
        ("TSAN_OPTIONS", "halt_on_error=1:second_deadlock_stack=1:allocator_may_return_null=1"),
        ("TENSORLIB_TEST_THREADS", "4"),
    ];
    super::c::programs(run, &build, &envs)?;
    super::cpp::all_programs(run, &build, &envs)
}

pub fn valgrind(run: &mut Run) -> Result<(), String> {
    let valgrind = system::tool("valgrind", "valgrind")?;
    let build = builds::tests(run)?;
    let ws = run.ws;
    let under = |program: &str| {
        let checks = ["--error-exitcode=99", "--leak-check=full", "--show-leak-kinds=definite,indirect,possible"];
        let kinds = "--errors-for-leak-kinds=definite,indirect,possible";
        ws.cmd(&valgrind).args(checks).arg(kinds).arg("--quiet").arg(build.join(program))
    };
    run.tests("bad input", Style::Line, under("tests/capi/tl_c_bad_input"))?;
    run.tests("quickstart", Style::Status, under("tests/capi/tl_c_quickstart"))?;
    run.tests("cases", Style::Cases, under("tests/capi/tl_c_cases").arg(ws.root.join("tests/cases")))?;
    super::examples::encoder_under(run, "C", &under("examples/c/tl_c_encoder"), &[])?;
    // valgrind does not support AVX-512 and hides it from CPUID, so the library uses the best remaining ISA.
    let seen = under("tests/capi/tl_c_isas").capture()?;
    isas::for_each(run, |run, isa| {
        if !seen.lines().any(|line| line == isa) {
            run.skip(isa, "valgrind does not have these instructions");
        }
        Ok(())
    })
}

pub fn cases(run: &mut Run) -> Result<(), String> {
    run.check("the cases are what their generator writes", crate::cases::check(run.ws));
    Ok(())
}

pub fn site(run: &mut Run) -> Result<(), String> {
    run.check("site", crate::site::build(run.ws));
    Ok(())
}

pub fn long(run: &mut Run) -> Result<(), String> {
    let build = builds::tests(run)?;
    super::cpp::all_programs(run, &build, &[("TENSORLIB_DEEP", "1")])?;
    let ws = run.ws;
    let tests = build_cache::cargo(ws).args(["test", "--release", "--package", "tensorlib"]).env("TENSORLIB_DEEP", "1");
    run.tests("Rust", Style::Cargo, tests)
}

/// The seed determines the order of blocks, warps, lanes and streams; every fourth seed also runs work early.
pub fn seeds(run: &mut Run) -> Result<(), String> {
    let build = builds::simt(run)?;
    let seeds: Vec<_> = (2..=16u64).map(|seed| seed.to_string()).collect();
    let device = ("TENSORLIB_DEVICE", super::simt::DEVICE);
    let envs: Vec<_> = seeds.iter().map(|seed| vec![device, ("TENSORLIB_SIMT_SEED", seed.as_str())]).collect();
    super::cpp::some_programs(run, &build.join("tests/cpp"), |name| name.starts_with("cuda_"), &envs)?;
    envs.iter().try_for_each(|envs| super::c::cases(run, &build, envs))
}

/// Runs each fuzz target for a while, starting from its corpus; findings stay in target/xtask/fuzz.
pub fn fuzz(run: &mut Run) -> Result<(), String> {
    let build = builds::fuzz(run)?;
    let seconds = super::fuzz_seconds(60)?;
    let limit = seconds + 120;
    let ws = run.ws;
    let (found, seeds) = (ws.out.join("fuzz/gguf"), ws.root.join("tests/fuzz/corpus/gguf"));
    crate::workspace::make_dir(&found)?;
    let cmd = ws.cmd(build.join("tests/fuzz/gguf_fuzz")).arg(format!("-max_total_time={seconds}")).limit(limit);
    // No single allocation above 64 times the largest input, which trusting a count from a file would cause.
    let cmd = cmd.args(["-max_len=65536", "-malloc_limit_mb=4", "-rss_limit_mb=2048", "-print_final_stats=1"]);
    let cmd = cmd.arg(format!("-artifact_prefix={}/", found.display())).arg(&found).arg(&seeds);
    match run.step(cmd) {
        Ok(out) => {
            let units = out.text.lines().find_map(|l| l.strip_prefix("stat::number_of_executed_units:"));
            run.check(&format!("gguf_fuzz: {} inputs in {seconds} s", units.unwrap_or("?").trim()), Ok(()));
        }
        Err(why) => run.check("gguf_fuzz", Err(why)),
    }
    Ok(())
}

/// Our files read by the Python packages, and theirs by us; tensors shared with NumPy and JAX.
pub fn interop(run: &mut Run) -> Result<(), String> {
    let python = python::with_formats(run.ws)?;
    let ws = run.ws;
    let folder = ws.out.join("interop");
    crate::workspace::remove_dir(&folder)?;
    crate::workspace::make_dir(&folder)?;
    let script = ws.root.join("tests/interop/formats.py");
    let step = |what: &str| ws.cmd(&python).arg(&script).arg(what).arg(&folder);
    run.tests("Python writes", Style::Status, step("write"))?;
    let ours = ["test", "--release", "--package", "tensorlib", "--features", "safetensors", "--test", "interop"];
    run.tests(
        "ours reads and writes",
        Style::Cargo,
        build_cache::cargo(ws).args(ours).env("TENSORLIB_INTEROP", &folder),
    )?;
    run.tests("Python reads", Style::Status, step("read"))?;
    shared_tensors(run)?;
    real_model(run)
}

/// Tensors shared with NumPy and JAX, and the example of docs/tensors.md.
fn shared_tensors(run: &mut Run) -> Result<(), String> {
    let library = builds::library(run, true)?.join("capi/libtensorlib.so");
    let (ws, python) = (run.ws, python::with_dlpack(run.ws)?);
    let script = ws.cmd(python).arg(ws.root.join("tests/interop/dlpack.py")).arg(library);
    run.tests("NumPy and JAX", Style::Status, script)
}

/// Vectors of a published model compared with PyTorch's, on each ISA.
fn real_model(run: &mut Run) -> Result<(), String> {
    let (ws, python) = (run.ws, python::with_model(run.ws)?);
    run.step(build_cache::cargo(ws).args(["build", "--release", "--package", "tensorlib-cli"]))?;
    let check = ws.cmd(&python).arg(ws.root.join("tests/interop/minilm.py")).arg("check");
    let check = check.arg(ws.out.join("rust/release/tensorlib"));
    isas::for_each(run, |run, isa| {
        run.tests(&format!("all-MiniLM-L6-v2 {isa}"), Style::Status, check.clone().env("TENSORLIB_ISA", isa))
    })
}
