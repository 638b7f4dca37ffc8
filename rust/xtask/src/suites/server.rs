//! The server: its tests over HTTP, hostile requests, and real clients: curl, OpenAI's Python package, a browser.

use crate::build_cache;
use crate::counts::Style;
use crate::process::Cmd;
use crate::python;
use crate::suite::Run;
use crate::system;
use crate::tools;

const PACKAGE: [&str; 2] = ["--package", "tensorlib-server"];

pub fn run(run: &mut Run) -> Result<(), String> {
    tools::native(run.ws)?;
    let seconds = super::fuzz_seconds(60)?.to_string();
    // Those of real clients follow.
    let tests = tests(run).args(["--", "--skip", "clients::"]).env("TENSORLIB_FUZZ_SECONDS", &seconds);
    run.tests(&format!("tests, a fuzzer for {seconds} s"), Style::Cargo, tests)?;
    let python = python::with_clients(run.ws)?;
    let (curl, chromium) = (system::tool("curl", "curl")?, system::tool("chromium", "chromium")?);
    let clients = tests_of(run, "clients").args(["--ignored", "--nocapture"]);
    let clients = clients.env("TENSORLIB_PYTHON", &python).env("TENSORLIB_CHROMIUM", &chromium);
    run.tests(&format!("{}, OpenAI's package, the page in Chromium", curl.display()), Style::Cargo, clients)?;
    let doc = build_cache::cargo(run.ws).args(["doc", "--no-deps"]).args(PACKAGE).env("RUSTDOCFLAGS", "-D warnings");
    let made = run.step(doc).map(drop);
    run.check("rustdoc", made);
    Ok(())
}

/// `--deep`: sixteen clients for ten minutes, and ten minutes of a fuzzer with another seed.
pub fn soak(run: &mut Run) -> Result<(), String> {
    tools::native(run.ws)?;
    let soak = tests_of(run, "soak").arg("--nocapture").env("TENSORLIB_SOAK_SECONDS", "600");
    run.tests("sixteen clients for 600 s", Style::Cargo, soak)?;
    let seconds = super::fuzz_seconds(600)?.to_string();
    let fuzz = tests_of(run, "hostile").arg("--nocapture");
    let fuzz = fuzz.env("TENSORLIB_FUZZ_SECONDS", &seconds).env("TENSORLIB_FUZZ_SEED", "2");
    run.tests(&format!("a fuzzer for {seconds} s"), Style::Cargo, fuzz)
}

/// Optimised, because models generate texts in them.
fn tests(run: &Run) -> Cmd {
    build_cache::cargo(run.ws).args(["test", "--release", "--no-fail-fast"]).args(PACKAGE)
}

fn tests_of(run: &Run, filter: &str) -> Cmd {
    tests(run).args(["--test", "server", filter, "--"])
}
