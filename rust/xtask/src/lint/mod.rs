//! The tree's own rules, which no formatter or compiler checks. tests/lint/README.md gives the reason for each.

pub mod by_hand;
mod names;
mod text;
mod words;

use crate::workspace::Workspace;

/// A rule's title and its check; an error lists the offenders.
pub type Rule = (&'static str, fn(&Workspace) -> Result<(), String>);

/// All rules.
pub const RULES: &[Rule] = &[
    ("no bare to-do marks", text::to_dos),
    ("no registry host names", text::registry_hosts),
    ("no paths of one machine", text::machine_paths),
    ("text files end in one newline, without trailing blanks", text::whitespace),
    ("portable code names no instruction set", names::instruction_sets),
    ("each folder has its README", names::readmes),
    ("prose keeps to the glossary", words::prose),
    ("the guides name files that exist", names::guides),
    ("links in Markdown lead somewhere", names::links),
];

/// An error that lists `offenders`, if there are any.
fn none_of(offenders: Vec<String>) -> Result<(), String> {
    if offenders.is_empty() {
        return Ok(());
    }
    Err(format!("\n     {}", offenders.join("\n     ")))
}
