//! Limits the number of files that name an operation by hand, which is the cost of adding one.

use std::collections::HashSet;
use std::path::Path;

use tensorlib_codegen::description::{read, Op};
use tensorlib_codegen::names::Language;
use tensorlib_codegen::HEAD;

use crate::workspace::Workspace;

/// The description, its computation, its gradient's rule, a kernel on each of two devices, its oracle, its cases, those
/// of its gradient, its family's test, and one more.
const MOST: usize = 10;

/// Rules of gradients use operations, as programs do: all of them together count as one file, that of an operation's
/// own rule.
const RULES: &str = "cpp/gradients/";

/// The folders in which operations are added. Rust's models and training are not among them: they use operations as any
/// program does.
const FOLDERS: [&str; 6] =
    ["cpp", "capi", "rust/tensorlib-sys/src", "rust/tensorlib/src", "bindings", "tests/cases/generator"];
/// Layers and training of the Rust crate: programs that use operations.
const USERS: [&str; 2] = ["rust/tensorlib/src/nn/", "rust/tensorlib/src/train/"];
const ENDINGS: [&str; 10] = [".toml", ".cpp", ".hpp", ".inc", ".cu", ".cuh", ".rs", ".go", ".zig", ".py"];

/// Fails if an operation with generated functions is named by hand in too many files.
pub fn check(ws: &Workspace) -> Result<(), String> {
    let families = read(&ws.root)?;
    let mut files = Vec::new();
    for file in ws.files_of(&ENDINGS, &FOLDERS)? {
        // Tests of a language use any operation.
        let is_test = file.contains("/tests/") || file.ends_with("_test.go");
        let is_user = USERS.iter().any(|folder| file.starts_with(folder));
        if !is_test && !is_user {
            let text = ws.read(&file)?.ok_or(format!("{file} is not UTF-8"))?;
            files.push((file, words(&written_by_hand(&text))));
        }
    }
    let mut found = Vec::new();
    let mut counted = 0;
    for family in &families {
        for op in family.ops.iter().filter(|op| is_counted(op)) {
            counted += 1;
            let names = names_of(op);
            let mut naming: Vec<&str> =
                files.iter().filter(|(_, words)| has_any(words, &names)).map(|(file, _)| file.as_str()).collect();
            naming.dedup_by(|a, b| a.starts_with(RULES) && b.starts_with(RULES));
            let test = format!("tests/cpp/{}_test.cpp", family.name);
            if Path::new(&ws.root).join(&test).is_file() {
                naming.push(&test);
            }
            if naming.len() > MOST {
                found.push(format!("{}: {} files, {MOST} are valid: {}", op.name, naming.len(), naming.join(", ")));
            }
        }
    }
    match (counted, found.is_empty()) {
        (0, _) => Err("no operation was counted: this rule looks in the wrong place".into()),
        (_, true) => Ok(()),
        (_, false) => Err(format!("\n     {}", found.join("\n     "))),
    }
}

/// Single words such as `add` or `where` belong to the language, or occur in many files. Such operations are no worse
/// than others of their family.
fn is_counted(op: &Op) -> bool {
    !op.by_hand && op.name.contains('_')
}

fn names_of(op: &Op) -> Vec<String> {
    let mut names: Vec<String> = Language::ALL.iter().map(|(_, language)| op.function(*language)).collect();
    names.sort();
    names.dedup();
    names
}

/// The lines of a file that are not generated.
fn written_by_hand(text: &str) -> String {
    if text.lines().take(4).any(|line| line.contains(HEAD) || line.contains("Written by `cargo xtask ops`")) {
        return String::new();
    }
    let mut inside = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        inside |= line.contains("Written by `cargo xtask ops`");
        if !inside {
            lines.push(line);
        }
        inside &= !line.contains("End of what `cargo xtask ops` writes");
    }
    lines.join("\n")
}

/// The words of the code; comments do not count.
fn words(text: &str) -> HashSet<String> {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    let code = |line: &&str| !["//", "#", "*", "\"\"\""].iter().any(|mark| line.trim_start().starts_with(mark));
    text.lines().filter(code).flat_map(|line| line.split(move |c| !inside(c))).map(String::from).collect()
}

fn has_any(words: &HashSet<String>, names: &[String]) -> bool {
    names.iter().any(|name| words.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_generator_has_written_is_left_out() {
        assert_eq!(written_by_hand("// Written by `cargo xtask ops` from x.\nget_rows\n"), "");
        let region =
            "a\nb\nc\nd\ne\n// Written by `cargo xtask ops`\nget_rows\n// End of what `cargo xtask ops` writes.\nf";
        assert_eq!(written_by_hand(region), "a\nb\nc\nd\ne\nf");
    }

    #[test]
    fn names_are_words_of_the_code() {
        let names = ["get_rows".to_string(), "GetRows".into()];
        assert!(has_any(&words("x\nreturn c.GetRows(a)"), &names));
        assert!(!has_any(&words("// get_rows\n  /// GetRows\nget_rows_plain();"), &names));
    }
}
