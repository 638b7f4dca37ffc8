//! Rules about prose: Markdown, comments, and the descriptions of operations. docs/glossary.md defines the terms.

use std::collections::BTreeMap;

use super::none_of;
use crate::workspace::Workspace;

/// Words that read as translations, or that need their context. Written in parts, as this file is searched too.
const WORDS: [&str; 7] = [
    concat!("be", "side"),
    concat!("be", "hind"),
    concat!("a", "new"),
    concat!("so ", "many"),
    concat!("to be ", "had"),
    concat!("as it ", "lies"),
    concat!("from here ", "on"),
];

/// Paths whose prose may break the rules, with the reason: `path: reason` a line.
const EXCEPTIONS: &str = "tests/lint/prose_exceptions.txt";

/// Prose avoids these words, does not begin a comment in a way that hides its subject, and puts no whole sentence in
/// parentheses.
pub fn prose(ws: &Workspace) -> Result<(), String> {
    let exceptions = ws.read(EXCEPTIONS)?.ok_or(format!("{EXCEPTIONS} is not UTF-8"))?;
    let mut allowed: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for line in exceptions.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.split_once(": ") {
            Some((path, reason)) if !reason.trim().is_empty() => drop(allowed.insert(path, 0)),
            _ => found.push(format!("{EXCEPTIONS}: '{line}': a path, a colon and a reason are valid")),
        }
    }
    for file in ws.files()? {
        let Some(text) = ws.read(&file)? else { continue };
        let Some(style) = Style::of(&file) else { continue };
        let wrong = style.wrong(&text);
        if wrong.is_empty() {
            continue;
        }
        match allowed.iter_mut().find(|(path, _)| file == **path || file.starts_with(&format!("{path}/"))) {
            Some((_, n)) => *n += wrong.len(),
            None => found.extend(wrong.into_iter().map(|(line, why)| format!("{file}:{line}: {why}"))),
        }
    }
    found.extend(
        allowed
            .iter()
            .filter(|(_, n)| **n == 0)
            .map(|(path, _)| format!("{EXCEPTIONS}: {path} breaks no rule any more: take it out")),
    );
    none_of(found)
}

/// Where the prose of a kind of file is.
#[derive(Clone, Copy)]
enum Style {
    /// Everything outside code.
    Markdown,
    /// Lines after this mark.
    Lines(&'static str),
    /// Lines after this mark, and between `/*` and `*/`.
    Blocks,
    /// Everything: descriptions of operations.
    All,
}

impl Style {
    fn of(file: &str) -> Option<Self> {
        let generated = file.contains("/gen/") || file.contains("op_functions") || file.starts_with("examples/data/");
        if generated || file == "docs/ops.md" || file == "docs/glossary.md" || file == "CHANGELOG.md" {
            return None;
        }
        let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending);
        match ending {
            "md" => Some(Self::Markdown),
            "toml" if file.starts_with("cpp/ops/") => Some(Self::All),
            "rs" | "go" | "zig" | "cpp" | "hpp" | "cu" | "cuh" | "inc" => Some(Self::Lines("//")),
            "c" | "h" => Some(Self::Blocks),
            "py" | "sh" | "cmake" | "toml" | "yml" => Some(Self::Lines("#")),
            "txt" if file.ends_with("CMakeLists.txt") => Some(Self::Lines("#")),
            _ => None,
        }
    }

    /// The numbers of the lines that break a rule, with the rule.
    fn wrong(self, text: &str) -> Vec<(usize, String)> {
        let mut wrong = Vec::new();
        let (mut in_code, mut in_block, mut before) = (false, false, String::new());
        for (number, line) in text.lines().enumerate() {
            let prose = match self {
                Self::All => line,
                Self::Markdown => {
                    if line.trim_start().starts_with("```") {
                        in_code = !in_code;
                        ""
                    } else if in_code || line.starts_with("    ") {
                        ""
                    } else {
                        line
                    }
                }
                Self::Lines(mark) => comment(line, mark),
                Self::Blocks => match (in_block, line.find("/*")) {
                    (false, Some(at)) => {
                        in_block = !line[at..].contains("*/");
                        &line[at + 2..]
                    }
                    (true, _) => {
                        in_block = !line.contains("*/");
                        line
                    }
                    (false, None) => comment(line, "//"),
                },
            };
            let prose = prose.trim_start_matches(['/', '!', '*', ' ', '\t', '#']);
            let quiet = without_code(prose);
            if let Some(word) = WORDS.iter().find(|word| has_word(&quiet, word)) {
                wrong.push((number + 1, format!("'{word}' (docs/glossary.md)")));
            }
            let begins = before.is_empty() && !matches!(self, Self::Markdown | Self::All);
            if let Some(start) = ["Of ", "The same"].iter().find(|start| begins && quiet.starts_with(**start)) {
                wrong.push((number + 1, format!("a comment starts with '{}': name its subject", start.trim())));
            }
            if has_sentence_in_parentheses(&quiet) {
                wrong.push((number + 1, "a whole sentence in parentheses".into()));
            }
            before = prose.to_string();
        }
        wrong
    }
}

/// The text after the mark of a comment; empty if the mark is inside a string.
fn comment<'a>(line: &'a str, mark: &str) -> &'a str {
    let mut quoted = false;
    for (at, c) in line.char_indices() {
        if c == '"' && !line[..at].ends_with('\\') {
            quoted = !quoted;
        } else if !quoted && line[at..].starts_with(mark) {
            return &line[at + mark.len()..];
        }
    }
    ""
}

/// Names and commands between backticks are not prose.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

fn has_word(line: &str, word: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-');
    lower
        .match_indices(word)
        .any(|(at, _)| !inside(lower[..at].chars().next_back()) && !inside(lower[at + word.len()..].chars().next()))
}

fn has_sentence_in_parentheses(line: &str) -> bool {
    line.match_indices('(').any(|(at, _)| {
        let alone = line[..at].trim_end().is_empty() || line[..at].trim_end().ends_with(['.', ':', '!', '?']);
        let Some(length) = line[at..].find(')') else { return false };
        let inside = &line[at + 1..at + length];
        alone
            && inside.contains(' ')
            && inside.starts_with(|c: char| c.is_uppercase())
            && inside.ends_with(['.', '!', '?'])
    })
}

#[cfg(test)]
mod tests {
    use super::{has_sentence_in_parentheses, Style};

    fn lines(file: &str, text: &str) -> Vec<usize> {
        Style::of(file).map_or(vec![], |style| style.wrong(text).into_iter().map(|(line, _)| line).collect())
    }

    #[test]
    fn words_are_found_in_prose_and_not_in_code() {
        let word = super::WORDS[1];
        assert_eq!(lines("a.rs", &format!("let {word} = 1;\nlet x = 2; // {word} it\n\"// {word}\"")), [2]);
        assert_eq!(lines("a.md", &format!("It is `{word}`.\nIt is {word} it.\n```\n{word}\n```\n    {word}")), [2]);
        assert_eq!(lines("a.c", &format!("int {word}; /* {word} */\n/*\n * {word}\n */\nint {word};")), [1, 3]);
        assert_eq!(lines("cpp/ops/a.toml", &format!("doc = \"{word} it\"")), [1]);
        assert_eq!(lines("a.rs", &format!("// {word}hand and non-{word}")), [0usize; 0]);
        assert_eq!(lines("a.json", word), [0usize; 0]);
    }

    #[test]
    fn comments_begin_with_their_subject() {
        let (of, same) = (concat!("O", "f"), concat!("The", " same"));
        assert_eq!(lines("a.cpp", &format!("// {of} n rows.\nint x;\n// Rows\n// {of} it.\n// {same}.\n")), [1]);
        assert_eq!(lines("a.py", &format!("x = 1  # {same}\n")), [1]);
    }

    #[test]
    fn sentences_in_parentheses() {
        assert!(has_sentence_in_parentheses("It is so. (This is why.)"));
        assert!(has_sentence_in_parentheses("(This is why.)"));
        for fine in ["It is so (this is why).", "f(a, b).", "A name (Smith et al.)", "It is (NaN)."] {
            assert!(!has_sentence_in_parentheses(fine), "{fine}");
        }
    }
}
