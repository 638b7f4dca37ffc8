//! The system's package manager: installs a missing program, or says what to install.

use std::path::PathBuf;

use crate::process::{on_path, Cmd};

/// A program of the system's package manager.
pub fn tool(program: &str, package: &str) -> Result<PathBuf, String> {
    if on_path(program).is_none() {
        install(&[package], program)?;
    }
    on_path(program).ok_or(format!("{package} was installed, but {program} is not on the PATH"))
}

/// Installs packages, if there is apt-get and the permission; messages name their purpose `what`.
pub fn install(packages: &[&str], what: &str) -> Result<(), String> {
    let by_hand = format!("{what} is missing: install it (Debian, Ubuntu: apt-get install {})", packages.join(" "));
    if on_path("apt-get").is_none() {
        return Err(by_hand);
    }
    let root = Cmd::new("id").arg("-u").capture().is_ok_and(|id| id.trim() == "0");
    if !root && Cmd::new("sudo").args(["-n", "true"]).capture().is_err() {
        return Err(by_hand);
    }
    let apt = |args: &[&str]| {
        let cmd = if root { Cmd::new("apt-get") } else { Cmd::new("sudo").args(["-n", "apt-get"]) };
        cmd.args(args).env("DEBIAN_FRONTEND", "noninteractive").capture()
    };
    println!("xtask: {what} is missing: apt-get install {}", packages.join(" "));
    let packages = [&["install", "-y", "--no-install-recommends"], packages].concat();
    if apt(&packages).is_ok() {
        return Ok(());
    }
    // A fresh container has no package lists.
    apt(&["update"]).and_then(|_| apt(&packages)).map(drop).map_err(|e| format!("{by_hand}\n{e}"))
}
