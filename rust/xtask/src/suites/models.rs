//! The crate of models: logits, vectors and tokens compared with plain double precision, on each ISA; its
//! documentation.

use super::examples::Tests;
use super::expect;
use super::rust::{against, example};
use crate::build_cache;
use crate::builds;
use crate::counts::Style;
use crate::isas;
use crate::process::Cmd;
use crate::suite::Run;
use crate::tools;

const PACKAGE: [&str; 2] = ["--package", "tensorlib-models"];

/// The crates of models, of the program and of the server, always together and with the same features: cargo would
/// compile them and what they use once more for each other selection.
const TOGETHER: [&str; 8] = [
    "--package",
    "tensorlib-models",
    "--package",
    "tensorlib-cli",
    "--package",
    "tensorlib-server",
    "--features",
    "tensorlib-models/grammar,tensorlib-cli/hub",
];

/// Tests whose results do not depend on how tokens are grouped.
const EXACT: [&str; 6] = ["sessions::", "sequences::", "batch::", "recurrent::", "prefix_files::", "speculation::"];

/// Tests of the crates of models, of the program and of the server: of the programs that the caller names. Optimised,
/// because double precision, texts and quantising would take minutes otherwise.
pub fn tests(run: &Run) -> Cmd {
    build_cache::cargo(run.ws).args(["test", "--release", "--no-fail-fast"]).args(TOGETHER)
}

pub fn run(run: &mut Run) -> Result<(), String> {
    tools::native(run.ws)?;
    let programs = ["--lib", "--test", "models", "--test", "virtual_devices", "--test", "tokenizer"];
    let of_best_isa = tests(run).args(programs);
    run.tests("tests, with units of the server", Style::Cargo, of_best_isa)?;
    let examples = tests(run).arg("--doc");
    run.tests("doc tests", Style::Cargo, examples)?;
    let bare = build_cache::cargo(run.ws).args(["check", "--release", "--tests"]).args(PACKAGE);
    let bare = run.step(bare).map(drop);
    run.check("no features", bare);
    let best = isas::all(run)?.first().cloned();
    isas::for_each(run, |run, isa| match Some(isa) == best.as_deref() {
        true => Ok(()),
        false => on_other(run, tests(run), &EXACT, &[("TENSORLIB_ISA", isa)]),
    })?;
    let doc = build_cache::cargo(run.ws)
        .args(["doc", "--no-deps"])
        .args(PACKAGE)
        .args(["--features", "grammar"])
        .env("RUSTDOCFLAGS", "-D warnings");
    let made = run.step(doc).map(drop);
    run.check("rustdoc", made);
    Ok(())
}

/// `models-simt`: on the simulated GPU, which takes minutes for a second of CPU time. Not in every run, because the
/// crates that read vocabularies are built once more for it.
pub fn simulated(run: &mut Run) -> Result<(), String> {
    let build = builds::simt(run)?;
    let prefix = builds::installed(run, "prefix-simt", &build)?;
    let cargo = against(run.ws, &prefix)?;
    let system = ["--features", "system"];
    let envs = [("TENSORLIB_DEVICE", super::simt::DEVICE)];
    let tests = cargo.clone().args(["test", "--release", "--no-fail-fast"]).args(PACKAGE).args(system);
    on_other(run, tests, &EXACT[..4], &envs)?;
    let devices = format!("cpu+{}", super::simt::DEVICE);
    let tests = Tests::of("sparse_transformer").with(&example(cargo, &system, "sparse_transformer"));
    tests.envs(&[("TENSORLIB_EXAMPLE_DEVICE", &devices)]).run(run, &format!("sparse_transformer {devices}"))
}

/// What may differ on another ISA or device: results against double precision, and tests that are [`EXACT`], with these
/// variables set.
fn on_other(run: &mut Run, tests: Cmd, exact: &[&str], envs: &[(&str, &str)]) -> Result<(), String> {
    let tests = tests.args(["--test", "models", "--test", "virtual_devices", "--", "double_precision"]).args(exact);
    run.tests(&format!("models {}", expect::title_of(envs)), Style::Cargo, tests.envs(envs))
}
