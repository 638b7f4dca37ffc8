//! The example that reads digits, in every language: its exact result, and its errors.

use std::path::Path;

use super::expect::expect;
use crate::process::Cmd;
use crate::suite::Run;

/// The exact result.
const ACCURACY: &str = "accuracy 96.24 % (767 of 797)";
pub const DATA: &str = "examples/data/digits.csv";

/// A language's example: the known result for the good file, an error for a malformed or short one.
pub fn everything(run: &mut Run, title: &str, program: &Path) -> Result<(), String> {
    right(run, title, "cpu", run.ws.cmd(program));
    bad(run, title, &run.ws.cmd(program))
}

/// A program that reads digits names the file and the line of an error in it, and exits with status 1.
pub fn bad(run: &mut Run, title: &str, program: &Cmd) -> Result<(), String> {
    let good = std::fs::read_to_string(run.ws.root.join(DATA)).map_err(|e| e.to_string())?;
    let short: String = good.lines().take(900).map(|l| format!("{l}\n")).collect();
    let bad = run.ws.out.join("bad.csv");
    // The first line of the data is line 2, after a comment.
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

/// Checks the known result of a language's example on a device.
pub fn right(run: &mut Run, title: &str, device: &str, program: Cmd) {
    let cmd = program.args(["--device", device, "--threads", "2", "--file"]).arg(run.ws.root.join(DATA));
    let printed = run.step(cmd.limit(super::TEST_LIMIT)).and_then(|out| expect(&out.text, ACCURACY));
    run.check(title, printed);
}
