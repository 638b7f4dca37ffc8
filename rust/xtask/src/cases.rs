//! `cargo xtask cases`: the language-neutral cases, written by tests/cases/generate.py.

use crate::python;
use crate::workspace::Workspace;

/// Writes tests/cases/*.cases.
pub fn write(ws: &Workspace) -> Result<(), String> {
    let python = python::system()?;
    print!("{}", ws.cmd(python).arg("tests/cases/generate.py").capture()?);
    Ok(())
}

/// Fails if the generator or one of the committed files has changed since they were written. Takes no time, unlike
/// [`check`].
pub fn check_digest(ws: &Workspace) -> Result<(), String> {
    compare(ws, "--check-digest")
}

/// Fails if the committed files differ from the generator's output. Takes two minutes of a processor.
pub fn check(ws: &Workspace) -> Result<(), String> {
    compare(ws, "--check")
}

fn compare(ws: &Workspace, how: &str) -> Result<(), String> {
    let python = python::system()?;
    ws.cmd(python).args(["tests/cases/generate.py", how]).capture().map(drop)
}

/// The number of cases in the committed files, which every runner has to account for.
pub fn count(ws: &Workspace) -> Result<u64, String> {
    let mut n = 0;
    for file in ws.files_of(&[".cases"], &["tests/cases"])? {
        let text = ws.read(&file)?.ok_or(format!("{file} is not UTF-8"))?;
        n += text.lines().filter(|l| l.starts_with("case ")).count() as u64;
    }
    Ok(n)
}
