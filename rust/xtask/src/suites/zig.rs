//! bindings/zig against the installed prefix.

use super::c::{expect, ACCURACY};
use crate::builds::Builds;
use crate::counts::Style;
use crate::process::Cmd;
use crate::suite::Run;
use crate::tools;

pub fn run(run: &mut Run) -> Result<(), String> {
    let ws = run.ws;
    let zig = tools::zig()?;
    let prefix = Builds::prefix(run)?;
    let out = ws.out.join("zig");
    let in_dir = |dir: &str, step: &[&str]| -> Cmd {
        zig.clone()
            .dir(&ws.root.join(dir))
            .arg("build")
            .args(step)
            .arg(format!("-Dprefix={}", prefix.display()))
            .arg("--cache-dir")
            .arg(out.join("cache"))
            .arg("--global-cache-dir")
            .arg(out.join("global"))
            .arg("--prefix")
            .arg(out.join("out"))
    };
    run.tests("tests", Style::Zig, in_dir("bindings/zig", &["test", "--summary", "all"]))?;
    run.for_each_isa(|run, isa| {
        let cases = in_dir("bindings/zig", &["cases"]).env("TENSORLIB_ISA", isa);
        run.tests(&format!("cases {isa}"), Style::Cases, cases)
    })?;
    let example = "examples/zig/digits";
    run.tests("digits' tests", Style::Zig, in_dir(example, &["test", "--summary", "all"]))?;
    let file = ws.root.join("examples/data/digits.csv");
    let digits = in_dir(example, &["run"]).args(["--", "--threads", "2", "--file"]).arg(file);
    let printed = run.step(digits).and_then(|out| expect(&out.text, ACCURACY));
    run.check("digits", printed);
    Ok(())
}
