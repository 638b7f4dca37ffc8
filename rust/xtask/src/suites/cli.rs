//! The command-line tool: its tests, its man pages, and its installation by `cargo install`.

use std::path::Path;

use crate::build_cache;
use crate::counts::Style;
use crate::suite::Run;
use crate::tools;
use crate::workspace::{make_dir, remove_dir};

const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

pub fn run(run: &mut Run) -> Result<(), String> {
    let ws = run.ws;
    tools::native(ws)?;
    let tests = super::models::tests(run).args(["--bins", "--test", "cli", "--test", "hub"]);
    run.tests("tests, with downloads from a server in the test", Style::Cargo, tests)?;
    let root = ws.out.join("cli");
    remove_dir(&root)?;
    make_dir(&root)?;
    let program = ws.out.join("rust/release/tensorlib");
    describes_itself(run, &program, &root)
}

/// `--deep`: without the feature `hub`, as `cargo install` makes it. Cargo compiles the crates that the program uses
/// once more for it.
pub fn installed(run: &mut Run) -> Result<(), String> {
    let ws = run.ws;
    tools::native(ws)?;
    let tests = build_cache::cargo(ws).args(["test", "--release", "--no-fail-fast", "--package", "tensorlib-cli"]);
    run.tests("tests", Style::Cargo, tests)?;
    let root = ws.out.join("cli-installed");
    remove_dir(&root)?;
    make_dir(&root)?;
    let install = build_cache::cargo(ws)
        .args(["install", "--locked", "--quiet", "--path", "rust/tensorlib-cli", "--root"])
        .arg(&root);
    let installed = run.step(install).map(drop);
    run.check("cargo install", installed.clone());
    installed?;
    describes_itself(run, &root.join("bin/tensorlib"), &root)
}

/// Its man pages and completions.
fn describes_itself(run: &mut Run, program: &Path, root: &Path) -> Result<(), String> {
    let ws = run.ws;
    let pages = run.step(ws.cmd(program).args(["man", "--dir"]).arg(root.join("man1"))).map(drop);
    run.check("man pages", pages);
    for shell in SHELLS {
        let script = ws.cmd(program).args(["completions", shell]).capture();
        let file = root.join(shell);
        let written =
            script.and_then(|text| std::fs::write(&file, text).map_err(|e| format!("{}: {e}", file.display())));
        match crate::process::on_path(shell) {
            Some(_) => {
                let read = written.and_then(|()| run.step(ws.cmd(shell).arg("-n").arg(&file)).map(drop));
                run.check(&format!("{shell} reads its completions"), read);
            }
            None => run.skip(&format!("completions of {shell}"), &format!("there is no {shell} here")),
        }
    }
    Ok(())
}
