//! The C programs of tests/capi and examples/c.

use std::path::Path;

use crate::builds;
use crate::counts::Style;
use crate::isas;
use crate::suite::Run;
use crate::suites::{examples, expect};

pub fn run(run: &mut Run) -> Result<(), String> {
    let build = builds::tests(run)?;
    isas::for_each(run, |run, isa| programs(run, &build, &[("TENSORLIB_ISA", isa)]))?;
    cases(run, &build, &super::JOINED_CPUS)?;
    run.tests("UTF-8 paths", Style::Status, run.ws.cmd(build.join("tests/capi/tl_c_utf8_paths")).dir(&run.ws.out))?;
    let ws = run.ws;
    let program = |name: &str| ws.cmd(build.join(format!("examples/c/tl_c_{name}")));
    examples::digits(run, "C", &program("digits"))?;
    examples::training(run, "C", program)
}

/// bad_input, quickstart, cases and the encoder, with these variables set.
pub fn programs(run: &mut Run, build: &Path, envs: &[(&str, &str)]) -> Result<(), String> {
    let ws = run.ws;
    let title = expect::title_of(envs);
    let cmd = |name: &str| ws.cmd(build.join("tests/capi").join(name)).limit(super::TEST_LIMIT).envs(envs);
    run.tests(&format!("bad input {title}"), Style::Line, cmd("tl_c_bad_input"))?;
    cases(run, build, envs)?;
    let printed = run.step(cmd("tl_c_quickstart")).and_then(|out| expect::expect(&out.text, expect::QUICKSTART));
    run.check(&format!("quickstart {title}"), printed);
    examples::encoder_under(run, "C", &ws.cmd(build.join("examples/c/tl_c_encoder")), envs)
}

/// The cases alone.
pub fn cases(run: &mut Run, build: &Path, envs: &[(&str, &str)]) -> Result<(), String> {
    let program = run.ws.cmd(build.join("tests/capi/tl_c_cases")).arg(run.ws.root.join("tests/cases"));
    run.tests(&format!("C cases {}", expect::title_of(envs)), Style::Cases, program.limit(super::TEST_LIMIT).envs(envs))
}
