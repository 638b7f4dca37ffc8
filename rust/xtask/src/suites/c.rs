//! The C programs of tests/capi and examples/c.

use std::path::Path;

use crate::builds;
use crate::counts::Style;
use crate::levels;
use crate::process::Cmd;
use crate::suite::Run;
use crate::suites::{encoder, training};

/// What the quickstart of every language prints.
pub const QUICKSTART: &str = "60 55 50 110\n90 54 54 126\n42 29 28 64\n";
/// The exact right answer of the digits example, in every language.
pub const ACCURACY: &str = "accuracy 96.24 % (767 of 797)";
pub const DIGITS: &str = "examples/data/digits.csv";

pub fn run(run: &mut Run) -> Result<(), String> {
    let build = builds::tests(run)?;
    levels::for_each(run, |run, isa| programs(run, &build, &[("TENSORLIB_ISA", isa)]))?;
    cases(run, &build, &super::JOINED_CPUS)?;
    digits(run, "C digits", &build.join("examples/c/tl_c_digits"))?;
    let ws = run.ws;
    training::everything(run, "C", |name| ws.cmd(build.join(format!("examples/c/tl_c_{name}"))))
}

/// bad_input, quickstart, cases and the encoder, with these variables set.
pub fn programs(run: &mut Run, build: &Path, envs: &[(&str, &str)]) -> Result<(), String> {
    let ws = run.ws;
    let title = title_of(envs);
    let cmd = |name: &str| ws.cmd(build.join("tests/capi").join(name)).limit(super::TEST_LIMIT).envs(envs);
    run.tests(&format!("bad input {title}"), Style::Line, cmd("tl_c_bad_input"))?;
    cases(run, build, envs)?;
    let printed = run.step(cmd("tl_c_quickstart")).and_then(|out| expect(&out.text, QUICKSTART));
    run.check(&format!("quickstart {title}"), printed);
    encoder::under(run, "C", &ws.cmd(build.join("examples/c/tl_c_encoder")), envs)
}

/// The cases alone.
pub fn cases(run: &mut Run, build: &Path, envs: &[(&str, &str)]) -> Result<(), String> {
    let program = run.ws.cmd(build.join("tests/capi/tl_c_cases")).arg(run.ws.root.join("tests/cases"));
    run.tests(&format!("C cases {}", title_of(envs)), Style::Cases, program.limit(super::TEST_LIMIT).envs(envs))
}

/// The device and the instruction-set level that these variables ask for, for titles.
pub fn title_of(envs: &[(&str, &str)]) -> String {
    let value = |wanted: &str| envs.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
    let words: Vec<_> = [value("TENSORLIB_DEVICE"), value("TENSORLIB_ISA")].into_iter().flatten().collect();
    words.join(" ")
}

/// The digits example of some language: the known answer from the good file, an error from a malformed or short one.
pub fn digits(run: &mut Run, title: &str, program: &Path) -> Result<(), String> {
    right_digits(run, title, "cpu", run.ws.cmd(program));
    bad_digits(run, title, &run.ws.cmd(program))
}

/// A program that reads digits names the file and the line of what is wrong in it, and gives an exit status of 1.
pub fn bad_digits(run: &mut Run, title: &str, program: &Cmd) -> Result<(), String> {
    let good = std::fs::read_to_string(run.ws.root.join(DIGITS)).map_err(|e| e.to_string())?;
    let short: String = good.lines().take(900).map(|l| format!("{l}\n")).collect();
    let bad = run.ws.out.join("bad.csv");
    // The first line of the data is line 2, behind a comment.
    for (what, text, line) in [
        ("a pixel that is a word", good.replacen("\n0,0,5,", "\n0,zero,5,", 1), "2"),
        ("a pixel of 17", good.replacen("\n0,0,0,12,", "\n0,0,17,12,", 1), "3"),
        ("a column less", good.replacen("\n0,0,5,13,", "\n0,5,13,", 1), "2"),
        ("too few rows", short, "900"),
        ("an empty file", String::new(), ""),
    ] {
        std::fs::write(&bad, text).map_err(|e| e.to_string())?;
        let outcome = match program.clone().arg("--file").arg(&bad).capture() {
            Ok(printed) => Err(format!("was accepted: {printed}")),
            Err(m) if !m.contains("exit status: 1") => Err(m),
            Err(m) if m.contains(&format!("line {line}")) => expect(&m, "bad.csv"),
            Err(m) => expect(&m, &format!("bad.csv:{line}")),
        };
        run.check(&format!("{title}: {what}"), outcome);
    }
    let missing = match program.clone().args(["--file", "no such file.csv"]).capture() {
        Ok(printed) => Err(format!("was accepted: {printed}")),
        Err(m) => expect(&m, "exit status: 1")
            .and_then(|()| expect(m.split_once('\n').unwrap_or_default().1, "no such file.csv")),
    };
    run.check(&format!("{title}: a file that is not there"), missing);
    Ok(())
}

/// The known answer of some language's example on a device.
pub fn right_digits(run: &mut Run, title: &str, device: &str, program: Cmd) {
    let cmd = program.args(["--device", device, "--threads", "2", "--file"]).arg(run.ws.root.join(DIGITS));
    let printed = run.step(cmd.limit(super::TEST_LIMIT)).and_then(|out| expect(&out.text, ACCURACY));
    run.check(title, printed);
}

/// Fails where `text` does not contain `want`.
pub fn expect(text: &str, want: &str) -> Result<(), String> {
    if text.contains(want) {
        return Ok(());
    }
    Err(format!("{want:?} is not in its output:\n{text}"))
}
