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
    let tests = tests_of(run).args(["--", "--skip", "clients::"]).env("TENSORLIB_FUZZ_SECONDS", &seconds);
    run.tests(&format!("tests, a fuzzer for {seconds} s"), Style::Cargo, tests)?;
    let python = python::with_clients(run.ws)?;
    let (curl, chromium) = (system::tool("curl", "curl")?, system::tool("chromium", "chromium")?);
    let clients = tests_of(run).args(["clients", "--", "--ignored", "--nocapture"]);
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
    let soak = tests_of(run).args(["soak", "--", "--nocapture"]).env("TENSORLIB_SOAK_SECONDS", "600");
    run.tests("sixteen clients for 600 s", Style::Cargo, soak)?;
    let seconds = super::fuzz_seconds(600)?.to_string();
    let fuzz = tests_of(run).args(["hostile", "--", "--nocapture"]);
    let fuzz = fuzz.env("TENSORLIB_FUZZ_SECONDS", &seconds).env("TENSORLIB_FUZZ_SEED", "2");
    run.tests(&format!("a fuzzer for {seconds} s"), Style::Cargo, fuzz)
}

/// Its program of tests; its units run with those of the models.
fn tests_of(run: &Run) -> Cmd {
    super::models::tests(run).args(["--test", "server"])
}
