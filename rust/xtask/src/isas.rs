//! The ISAs of this machine.

use std::path::PathBuf;

use crate::builds;
use crate::suite::Run;

/// All ISAs, best first.
pub fn all(run: &mut Run) -> Result<Vec<String>, String> {
    let program = program(run)?;
    Ok(run.ws.cmd(program).capture()?.lines().map(String::from).collect())
}

/// Calls `body` once for each ISA.
pub fn for_each(run: &mut Run, mut body: impl FnMut(&mut Run, &str) -> Result<(), String>) -> Result<(), String> {
    all(run)?.iter().try_for_each(|isa| body(run, isa))
}

/// The program that prints the ISAs: from the tests' build if a suite has made it, otherwise built alone, so that
/// `--only rust` needs no GoogleTest.
fn program(run: &mut Run) -> Result<PathBuf, String> {
    if let Some(Ok(build)) = run.made.get(builds::TESTS_NAME) {
        return Ok(build.join("tests/capi/tl_c_isas"));
    }
    let lib = builds::prefix(run)?.join("lib");
    run.once("isas", |run| {
        let program = run.ws.out.join("isas");
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
        let cc = run.ws.cmd(compiler).arg("-std=c11").arg(run.ws.root.join("tests/capi/isas.c"));
        let cc = cc.arg("-I").arg(lib.with_file_name("include")).arg("-L").arg(&lib).arg("-ltensorlib");
        run.step(cc.arg(format!("-Wl,-rpath,{}", lib.display())).arg("-o").arg(&program))?;
        Ok(program)
    })
}
