//! Both crates: tests, doc tests, features, documentation, cases, example.

use crate::builds::Builds;
use crate::counts::Style;
use crate::suite::Run;
use crate::tools;

const CRATES: [&str; 4] = ["--package", "tensorlib-sys", "--package", "tensorlib"];

pub fn run(run: &mut Run) -> Result<(), String> {
    let ws = run.ws;
    tools::native(ws)?;
    run.tests("tests and doc tests", Style::Cargo, ws.cargo().arg("test").args(CRATES))?;
    let with = ["test", "--package", "tensorlib", "--features"];
    run.tests("feature ndarray", Style::Cargo, ws.cargo().args(with).arg("ndarray"))?;
    let bare = ["test", "--package", "tensorlib", "--no-default-features"];
    run.tests("no default features", Style::Cargo, ws.cargo().args(bare))?;
    run.for_each_isa(|run, isa| {
        let cases = ["test", "--package", "tensorlib", "--test", "cases", "--", "--nocapture"];
        run.tests(&format!("cases {isa}"), Style::Cases, ws.cargo().args(cases).env("TENSORLIB_ISA", isa))
    })?;
    run.step(ws.cargo().args(["build", "--release", "--package", "tensorlib", "--example", "digits"]))?;
    super::c::digits(run, "digits", &ws.out.join("cargo/release/examples/digits"))?;
    let doc = ws.cargo().args(["doc", "--no-deps"]).args(CRATES).env("RUSTDOCFLAGS", "-D warnings");
    let documented = run.step(doc).map(drop);
    run.check("documentation without warnings", documented);
    // Against an installed library instead of the bundled build, in a target folder of its own: the two builds
    // of tensorlib-sys would evict each other.
    tools::system_tool("pkg-config", "pkg-config")?;
    let prefix = Builds::prefix(run)?;
    let system = ws.cargo().args(with).arg("system").env("CARGO_TARGET_DIR", ws.out.join("cargo-system"));
    let system = system.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")).env("LD_LIBRARY_PATH", prefix.join("lib"));
    run.tests("feature system", Style::Cargo, system)
}
