//! Both crates: tests, doc tests, features, documentation, cases, examples.

use std::path::Path;

use crate::build_cache;
use crate::builds;
use crate::counts::Style;
use crate::isas;
use crate::process::Cmd;
use crate::suite::Run;
use crate::suites::examples::{self, Tests};
use crate::suites::expect;
use crate::system;
use crate::tools;
use crate::workspace::Workspace;

const CRATES: [&str; 4] = ["--package", "tensorlib-sys", "--package", "tensorlib"];

/// Tests of layers, optimisers and training, whose results may differ by ISA.
const TRAINING: [&str; 5] = ["nn::", "optimisers::", "training::", "layers::", "networks_are_as_in_float64"];

pub fn run(run: &mut Run) -> Result<(), String> {
    let ws = run.ws;
    tools::native(ws)?;
    run.tests("tests and doc tests", Style::Cargo, build_cache::cargo(ws).arg("test").args(CRATES))?;
    let with = ["test", "--package", "tensorlib", "--features"];
    let both = build_cache::cargo(ws).args(with).arg("dlpack,ndarray,safetensors");
    run.tests("features dlpack, ndarray and safetensors", Style::Cargo, both)?;
    for feature in ["dlpack", "ndarray", "safetensors"] {
        let alone = build_cache::cargo(ws).args(["check", "--package", "tensorlib", "--features", feature]);
        let checked = run.step(alone).map(drop);
        run.check(&format!("feature {feature} alone compiles"), checked);
    }
    let bare = ["test", "--package", "tensorlib", "--no-default-features"];
    run.tests("no default features", Style::Cargo, build_cache::cargo(ws).args(bare))?;
    isas::for_each(run, |run, isa| {
        cases(run, build_cache::cargo(ws), &[], &[("TENSORLIB_ISA", isa)])?;
        let training = ["test", "--package", "tensorlib", "--test", "api", "--test", "training_values", "--"];
        run.tests(
            &format!("training {isa}"),
            Style::Cargo,
            build_cache::cargo(ws).args(training).args(TRAINING).env("TENSORLIB_ISA", isa),
        )
    })?;
    cases(run, build_cache::cargo(ws), &[], &super::JOINED_CPUS)?;
    let helpers = build_cache::cargo(ws).args(["test", "--release", "--package", "tensorlib-example-tests", "--lib"]);
    run.tests("helpers of the examples' tests", Style::Cargo, helpers)?;
    Tests::of("digits").run(run, "Rust digits")?;
    isas::for_each(run, |run, isa| {
        let tests = Tests::of("encoder").only(&["vectors"]).envs(&[("TENSORLIB_ISA", isa)]);
        tests.run(run, &format!("Rust encoder {isa}"))
    })?;
    Tests::of("encoder").only(&["refusal", "compared"]).run(run, "Rust encoder: bad input")?;
    examples::training_in_rust(run)?;
    serving(run);
    let doc = build_cache::cargo(ws).args(["doc", "--no-deps"]).args(CRATES).env("RUSTDOCFLAGS", "-D warnings");
    let documented = run.step(doc).map(drop);
    run.check("documentation without warnings", documented);
    let prefix = builds::prefix(run)?;
    let system = against(ws, &prefix)?.args(with).arg("system");
    run.tests("feature system", Style::Cargo, system)
}

/// The example that serves requests on two threads: the model does not grow.
fn serving(run: &mut Run) {
    let program =
        build_cache::cargo(run.ws).args(["run", "--release", "--package", "tensorlib", "--example", "serving"]);
    let outcome = run.step(program).and_then(|out| {
        let last = out.text.lines().find(|line| line.starts_with("40 requests by 2 threads")).unwrap_or_default();
        let sizes: Vec<&str> = last.split(' ').filter(|word| word.parse::<u64>().is_ok()).skip(2).collect();
        match sizes[..] {
            [before, after] if before == after => Ok(()),
            _ => Err(format!("the model's size before and after is not in its output:\n{}", out.text)),
        }
    });
    run.check("serving", outcome);
}

/// Cargo for the feature `system` against an installed prefix, with a separate target folder per prefix: builds of
/// tensorlib-sys with different libraries would evict each other.
pub fn against(ws: &Workspace, prefix: &Path) -> Result<Cmd, String> {
    system::tool("pkg-config", "pkg-config")?;
    let name = prefix.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let cargo = build_cache::cargo(ws).env("CARGO_TARGET_DIR", ws.out.join(format!("rust-system-{name}")));
    Ok(cargo.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")).env("LD_LIBRARY_PATH", prefix.join("lib")))
}

/// The cases by this cargo and these features, with these variables set.
pub fn cases(run: &mut Run, cargo: Cmd, features: &[&str], envs: &[(&str, &str)]) -> Result<(), String> {
    let cargo = cargo.args(["test", "--package", "tensorlib"]).args(features);
    let cargo = cargo.args(["--test", "cases", "--", "--nocapture"]);
    run.tests(&format!("Rust cases {}", expect::title_of(envs)), Style::Cases, cargo.envs(envs))
}

/// An example by this cargo and these features.
pub fn example(cargo: Cmd, features: &[&str], name: &str) -> Cmd {
    cargo.args(["run", "--release", "--package", "tensorlib", "--example", name]).args(features).arg("--")
}
