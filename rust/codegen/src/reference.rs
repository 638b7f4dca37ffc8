//! The pages of the C reference: a Markdown page for each chapter of the header.

use std::fmt::Write as _;
use std::path::Path;

use crate::header::{self, Chapter, Item};

/// A page of the reference.
pub struct Page {
    /// The file's name, which ends in `.md`.
    pub file: String,
    pub title: String,
    pub text: String,
}

/// The pages in the header's order.
///
/// # Errors
/// Those of [`header::generate`].
pub fn pages(root: &Path) -> Result<Vec<Page>, String> {
    Ok(header::read(root)?.iter().map(page).collect())
}

fn page(chapter: &Chapter) -> Page {
    let (title, intro) = chapter.intro.split_once('\n').unwrap_or((&chapter.intro, ""));
    let mut text = format!("# {title}\n\n{}\n", intro.trim());
    let mut constants: Vec<&Item> = Vec::new();
    for item in &chapter.items {
        if item.body.starts_with("#define ") {
            constants.push(item);
            continue;
        }
        put_constants(&mut text, &mut constants);
        let _ = write!(text, "\n## {}\n\n```c\n{}\n```\n\n{}", item.name, item.body, prose(&item.comment));
    }
    put_constants(&mut text, &mut constants);
    let name = chapter.source.rsplit('/').next().unwrap_or(&chapter.source);
    Page { file: format!("{name}.md"), title: title.trim_end_matches('.').into(), text }
}

/// Constants that follow each other are one table.
fn put_constants(text: &mut String, constants: &mut Vec<&Item>) {
    if constants.is_empty() {
        return;
    }
    text.push_str("\n| Constant | Value | Meaning |\n|---|---|---|\n");
    for item in constants.drain(..) {
        let value = item.body.split_whitespace().skip(2).collect::<Vec<_>>().join(" ");
        let meaning = prose(&item.comment).trim().replace('|', "\\|").replace('\n', " ");
        let _ = writeln!(text, "| `{}` | {value} | {meaning} |", item.name);
    }
}

/// A C comment's text.
fn prose(comment: &str) -> String {
    let mut text = String::new();
    for line in comment.lines() {
        let line = line.trim_end().trim_end_matches("*/").trim_start();
        let line = line.trim_start_matches("/**");
        let line = line.strip_prefix("* ").unwrap_or(if line == "*" { "" } else { line });
        text.push_str(line.trim_end());
        text.push('\n');
    }
    format!("{}\n", text.trim_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(name: &str, comment: &str, body: &str) -> Item {
        Item { name: name.into(), comment: comment.into(), body: body.into() }
    }

    #[test]
    fn chapters_become_pages() {
        let items = vec![
            item("tl_a", "/**\n * A number.\n *\n * - One: `1`.\n */\n", "typedef int32_t tl_a;"),
            item("TL_A_X", "/**\n * X | x.\n */\n", "#define TL_A_X 0"),
            item("TL_A_Y", "/**\n * Y\n * y.\n */\n", "#define TL_A_Y 1"),
        ];
        let made = page(&Chapter { source: "gen/numbers".into(), intro: "Numbers\n\nThey count.\n".into(), items });
        assert_eq!((made.file.as_str(), made.title.as_str()), ("numbers.md", "Numbers"));
        let expected = "# Numbers\n\nThey count.\n\n## tl_a\n\n```c\ntypedef int32_t tl_a;\n```\n\nA number.\n\n- One: `1`.\n\n\
                        | Constant | Value | Meaning |\n|---|---|---|\n| `TL_A_X` | 0 | X \\| x. |\n| `TL_A_Y` | 1 | Y y. |\n";
        assert_eq!(made.text, expected);
    }
}
