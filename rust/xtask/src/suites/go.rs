//! bindings/go against the installed prefix.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::Path;

use super::c::{expect, ACCURACY};
use crate::builds::Builds;
use crate::counts::Style;
use crate::process::Cmd;
use crate::suite::Run;
use crate::tools;

pub fn run(run: &mut Run) -> Result<(), String> {
    let ws = run.ws;
    let go = tools::go(ws)?;
    tools::system_tool("pkg-config", "pkg-config")?;
    let prefix = Builds::prefix(run)?;
    let cache = ws.out.join(format!("go-cache-{:016x}", fingerprint(&prefix)?));
    let in_dir = |dir: &str| -> Cmd {
        ws.cmd(&go)
            .dir(&ws.root.join(dir))
            .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"))
            .env("LD_LIBRARY_PATH", prefix.join("lib"))
            .env("GOCACHE", &cache)
    };
    let vetted = run.step(in_dir("bindings/go").args(["vet", "./..."])).map(drop);
    run.check("vet", vetted);
    run.tests("tests with the race detector", Style::Go, in_dir("bindings/go").args(["test", "-race", "-v", "./..."]))?;
    run.for_each_isa(|run, isa| {
        let cases = in_dir("bindings/go").args(["test", "-count=1", "-v", "-run", "^TestCases$", "."]);
        run.tests(&format!("cases {isa}"), Style::Cases, cases.env("TENSORLIB_ISA", isa))
    })?;
    let example = "examples/go/digits";
    run.tests("digits' tests", Style::Go, in_dir(example).args(["test", "-v", "./..."]))?;
    let file = ws.root.join("examples/data/digits.csv");
    let printed = run.step(in_dir(example).args(["run", ".", "--threads", "2", "--file"]).arg(file));
    run.check("digits", printed.and_then(|out| expect(&out.text, ACCURACY)));
    Ok(())
}

/// Go's cache knows nothing of headers outside the module: another header is another cache.
fn fingerprint(prefix: &Path) -> Result<u64, String> {
    let mut hasher = DefaultHasher::new();
    for file in ["include/tensorlib/tensorlib.h", "lib/pkgconfig/tensorlib.pc"] {
        std::fs::read(prefix.join(file)).map_err(|e| format!("{file}: {e}"))?.hash(&mut hasher);
    }
    Ok(hasher.finish())
}
