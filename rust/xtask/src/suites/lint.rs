//! Formatting, lints and the tree's own rules (`crate::lint`); only Rust code is built.

use crate::build_cache;
use crate::suite::Run;
use crate::{cases, format, header, lint, ops};

pub fn run(run: &mut Run) -> Result<(), String> {
    let ws = run.ws;
    run.check("the C header is what tensorlib-sys says", header::check(&ws.root));
    run.check("the tables of operations are what their descriptions say", ops::check(ws));
    run.check("an operation is named by hand in at most 10 files", lint::by_hand::check(ws));
    run.check("the cases are those of their generator", cases::check_digest(ws));
    run.check("clang-format", format::c(ws, true));
    run.check("rustfmt", format::rust(ws, true));
    run.check("gofmt", format::go(ws, true));
    run.check("zig fmt", format::zig(ws, true));
    for (title, rule) in lint::RULES {
        run.check(title, rule(ws));
    }
    // Not --all-features, because `system` and the bundled build exclude each other; the rust suite builds `system`.
    for features in [&[][..], &["--features", "dlpack,ndarray,safetensors,hub"]] {
        let clippy = build_cache::cargo(ws).args(["clippy", "--workspace", "--all-targets"]).args(features);
        let outcome = run.step(clippy.args(["--", "-D", "warnings"])).map(drop);
        run.check(&format!("clippy {}", features.join(" ")), outcome);
    }
    // The folder in which cargo built this program, and with it the dependencies of the tests.
    let program = std::env::current_exe().map_err(|e| format!("the path of xtask itself: {e}"))?;
    let target = program.ancestors().nth(2).unwrap_or(&ws.out);
    let tests = build_cache::cargo(ws)
        .args(["test", "--quiet", "--package", "xtask", "--package", "tensorlib-codegen"])
        .env("CARGO_TARGET_DIR", target);
    run.tests("xtask's own tests", crate::counts::Style::Cargo, tests)
}
