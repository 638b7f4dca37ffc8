//! The C programs of tests/capi and examples/c.

use std::path::Path;

use crate::builds::Builds;
use crate::counts::Style;
use crate::suite::Run;

/// What the quickstart of every language prints.
pub const QUICKSTART: &str = "60 55 50 110\n90 54 54 126\n42 29 28 64\n";
/// The exact right answer of the digits example, in every language.
pub const ACCURACY: &str = "accuracy 96.24 % (767 of 797)";

pub fn run(run: &mut Run) -> Result<(), String> {
    let build = Builds::tests(run)?;
    run.for_each_isa(|run, isa| programs(run, &build, &[("TENSORLIB_ISA", isa)]))?;
    digits(run, "C digits", &build.join("examples/c/tl_c_digits"))?;
    let (good, dir) = (run.ws.root.join("examples/data/digits.csv"), run.ws.out.join("digits"));
    let text = std::fs::read_to_string(good).map_err(|e| e.to_string())?;
    bad_files(run, "C digits", &build.join("examples/c/tl_c_digits"), &text, &dir)
}

/// bad_input, quickstart and cases, with these variables set.
pub fn programs(run: &mut Run, build: &Path, envs: &[(&str, &str)]) -> Result<(), String> {
    let ws = run.ws;
    let title = level_of(envs);
    let cmd = |name: &str| {
        envs.iter()
            .fold(ws.cmd(build.join("tests/capi").join(name)), |cmd, (name, value)| cmd.env(name, value))
    };
    run.tests(&format!("bad input {title}"), Style::Line, cmd("tl_c_bad_input"))?;
    run.tests(&format!("cases {title}"), Style::Cases, cmd("tl_c_cases").arg(ws.root.join("tests/cases")))?;
    let printed = run.step(cmd("tl_c_quickstart")).and_then(|out| expect(&out.text, QUICKSTART));
    run.check(&format!("quickstart {title}"), printed);
    Ok(())
}

/// The instruction-set level that these variables ask for, for titles.
pub fn level_of<'a>(envs: &[(&str, &'a str)]) -> &'a str {
    envs.iter().find(|(name, _)| *name == "TENSORLIB_ISA").map_or("", |(_, level)| level)
}

/// The digits example of some language, which is to print the known answer.
pub fn digits(run: &mut Run, title: &str, program: &Path) -> Result<(), String> {
    let file = run.ws.root.join("examples/data/digits.csv");
    let cmd = run.ws.cmd(program).arg("--threads").arg("2").arg("--file").arg(file);
    let printed = run.step(cmd).and_then(|out| expect(&out.text, ACCURACY));
    run.check(title, printed);
    Ok(())
}

/// A malformed and a short file are errors naming the line. The first line of the data is line 2.
pub fn bad_files(run: &mut Run, title: &str, program: &Path, good: &str, dir: &Path) -> Result<(), String> {
    crate::workspace::make_dir(dir)?;
    let short: String = good.lines().take(1500).map(|l| format!("{l}\n")).collect();
    for (what, text, line) in [
        ("a pixel that is a word", good.replacen("\n0,0,5,", "\n0,zero,5,", 1), ":2"),
        ("a pixel of 17", good.replacen("\n0,0,0,12,", "\n0,0,17,12,", 1), ":3"),
        ("a column less", good.replacen("\n0,0,5,13,", "\n0,5,13,", 1), ":2"),
        ("too few rows", short, ":1500"),
        ("an empty file", String::new(), ":"),
    ] {
        let path = dir.join("bad.csv");
        std::fs::write(&path, text).map_err(|e| e.to_string())?;
        let outcome = match run.ws.cmd(program).arg("--file").arg(&path).capture() {
            Ok(printed) => Err(format!("was accepted: {printed}")),
            Err(message) => expect(&message, line).and_then(|()| expect(&message, "bad.csv")),
        };
        run.check(&format!("{title}: {what}"), outcome);
    }
    Ok(())
}

/// Fails where `text` does not contain `want`.
pub fn expect(text: &str, want: &str) -> Result<(), String> {
    if text.contains(want) {
        return Ok(());
    }
    Err(format!("{want:?} is not in its output:\n{text}"))
}
