//! The command-line tool: its tests, its installation by `cargo install`, and its man pages.

use crate::build_cache;
use crate::suite::Run;
use crate::tools;
use crate::workspace::{make_dir, remove_dir};

const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

pub fn run(run: &mut Run) -> Result<(), String> {
    let ws = run.ws;
    tools::native(ws)?;
    // Optimised, because the tests quantise, which takes minutes in a debug build.
    let tests = build_cache::cargo(ws).args(["test", "--release", "--no-fail-fast", "--package", "tensorlib-cli"]);
    run.tests("tests", crate::counts::Style::Cargo, tests)?;
    // The names of a hub's models with and without downloads, from a server in the test.
    let with_hub = ["--features", "hub", "--test", "hub"];
    let tests = build_cache::cargo(ws).args(["test", "--release", "--no-fail-fast", "--package", "tensorlib-cli"]);
    run.tests("tests with downloads", crate::counts::Style::Cargo, tests.args(with_hub))?;
    let root = ws.out.join("cli");
    remove_dir(&root)?;
    make_dir(&root)?;
    let install = build_cache::cargo(ws)
        .args(["install", "--locked", "--quiet", "--path", "rust/tensorlib-cli", "--root"])
        .arg(&root);
    let installed = run.step(install).map(drop);
    run.check("cargo install", installed.clone());
    installed?;
    let program = root.join("bin/tensorlib");
    let pages = run.step(ws.cmd(&program).args(["man", "--dir"]).arg(root.join("man1"))).map(drop);
    run.check("man pages", pages);
    for shell in SHELLS {
        let script = ws.cmd(&program).args(["completions", shell]).capture();
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
