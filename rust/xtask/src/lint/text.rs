//! Rules about lines of text.

use super::none_of;
use crate::workspace::Workspace;

/// Files that tools write.
const LOCK_FILES: [&str; 2] = ["Cargo.lock", "go.sum"];

/// Lists `file:line: why` for each line of a tracked text file for which `wrong` gives a reason.
fn offending_lines(ws: &Workspace, wrong: impl Fn(&str) -> Option<String>) -> Result<(), String> {
    let mut found = Vec::new();
    for file in ws.files()? {
        if LOCK_FILES.iter().any(|lock| file.ends_with(lock)) {
            continue;
        }
        let Some(text) = ws.read(&file)? else { continue };
        for (number, line) in text.lines().enumerate() {
            if let Some(why) = wrong(line) {
                found.push(format!("{file}:{}: {why}", number + 1));
            }
        }
    }
    none_of(found)
}

/// A mark without a `(reason)` after it is forgotten forever.
pub fn to_dos(ws: &Workspace) -> Result<(), String> {
    offending_lines(ws, bare_to_do)
}

fn bare_to_do(line: &str) -> Option<String> {
    // Written in parts, as this file is searched too.
    for mark in [concat!("TO", "DO"), concat!("FIX", "ME")] {
        for (at, _) in line.match_indices(mark) {
            let reason = line[at + mark.len()..].trim_start();
            if !reason.starts_with('(') || reason.starts_with("()") {
                return Some(format!("{mark} without a reason in parentheses"));
            }
        }
    }
    None
}

/// Host names change and differ between mirrors; every tool has a setting for them.
pub fn registry_hosts(ws: &Workspace) -> Result<(), String> {
    let hosts = [
        concat!("crates", ".io"),
        concat!("pypi", ".org"),
        concat!("pythonhosted", ".org"),
        concat!("proxy.golang", ".org"),
        concat!("registry.npmjs", ".org"),
        concat!("deb.debian", ".org"),
        concat!("archive.ubuntu", ".com"),
    ];
    offending_lines(ws, |line| {
        hosts.iter().find(|host| line.contains(*host)).map(|host| format!("names the host {host}"))
    })
}

/// A path that exists on one machine only.
pub fn machine_paths(ws: &Workspace) -> Result<(), String> {
    let starts = [concat!("/ho", "me/"), concat!("/Us", "ers/"), concat!("/wo", "rk/"), concat!("/tm", "p/wt")];
    offending_lines(ws, |line| starts.iter().find(|s| line.contains(*s)).map(|s| format!("names {s}...")))
}

/// No trailing whitespace and the like, so that a diff shows real changes only.
pub fn whitespace(ws: &Workspace) -> Result<(), String> {
    let mut found = Vec::new();
    for file in ws.files()? {
        let Some(text) = ws.read(&file)? else { continue };
        if !text.is_empty() && (!text.ends_with('\n') || text.ends_with("\n\n")) {
            found.push(format!("{file}: must end in one newline"));
        }
        // Data files are kept as their source has them.
        let lines = text.lines().enumerate().filter(|_| !file.ends_with(".csv") && !file.starts_with("examples/data/"));
        for (number, _) in lines.filter(|(_, l)| l.ends_with([' ', '\t', '\r'])) {
            found.push(format!("{file}:{}: blanks at the end", number + 1));
        }
    }
    none_of(found)
}

#[cfg(test)]
mod tests {
    use super::bare_to_do;

    #[test]
    fn marks_need_reasons() {
        let mark = concat!("TO", "DO");
        assert!(bare_to_do(&format!("// {mark}: later")).is_some());
        assert!(bare_to_do(&format!("// {mark}() later")).is_some());
        assert!(bare_to_do(&format!("// {mark}(needs the CUDA backend): copy there")).is_none());
        assert!(bare_to_do("// done").is_none());
    }
}
