//! The C header from tensorlib-sys.
//!
//! cbindgen translates the declarations, but puts all types before all functions. The header is the ABI's manual, so
//! this module restores the order of the sources, with a chapter per source file under that file's `//!` text, and adds
//! the export and nodiscard macros, which cbindgen cannot express.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

const MACROS: &str = "
#if UINTPTR_MAX != UINT64_MAX
#error \"tensorlib supports 64-bit targets\"
#endif

#ifndef TL_API
#if defined(_WIN32)
#define TL_API
#else
#define TL_API __attribute__((visibility(\"default\")))
#endif
#endif
#if defined(__GNUC__) || defined(__clang__)
#define TL_NODISCARD __attribute__((warn_unused_result))
#else
#define TL_NODISCARD
#endif
";

/// The committed header.
pub const HEADER: &str = "capi/include/tensorlib/tensorlib.h";

/// The position of an item: chapter number, then line in that chapter's source.
type Place = (usize, usize);

/// A chapter of the header: its introduction, whose first line is its title, and its items as they stand in the header.
pub(crate) struct Chapter {
    /// The chapter's source below `rust/tensorlib-sys/src`, without `.rs`.
    pub source: String,
    pub intro: String,
    pub items: Vec<Item>,
}

/// A declaration with the comment above it.
pub(crate) struct Item {
    pub name: String,
    pub comment: String,
    pub body: String,
}

/// The header's text.
///
/// # Errors
/// What cbindgen refuses, and items of the header that no source declares.
pub fn generate(root: &Path) -> Result<String, String> {
    let prologue = std::fs::read_to_string(root.join("capi/prologue.h")).map_err(|e| e.to_string())?;
    Ok(assemble(&prologue, &read(root)?))
}

/// The chapters with their items in the order of the sources.
pub(crate) fn read(root: &Path) -> Result<Vec<Chapter>, String> {
    let config = cbindgen::Config::from_file(root.join("capi/cbindgen.toml"))?;
    let bindings = cbindgen::Builder::new()
        .with_crate(root.join("rust/tensorlib-sys"))
        .with_config(config)
        .generate()
        .map_err(|e| format!("cbindgen: {e}"))?;
    let mut raw = Vec::new();
    bindings.write(&mut raw);
    let raw = String::from_utf8(raw).map_err(|e| e.to_string())?;

    let (places, mut chapters) = read_sources(root)?;
    let mut items: Vec<(Place, Item)> = Vec::new();
    for item in split_items(&raw)? {
        let place =
            *places.get(&item.name).ok_or(format!("{} is in the header but in no chapter's source", item.name))?;
        items.push((place, item));
    }
    items.sort_by_key(|(place, _)| *place);
    if items.len() != places.len() {
        let missing: Vec<_> =
            places.iter().filter(|(_, p)| !items.iter().any(|(q, _)| q == *p)).map(|(n, _)| n.as_str()).collect();
        return Err(format!("cbindgen dropped {}", missing.join(", ")));
    }
    for ((chapter, _), item) in items {
        chapters[chapter].items.push(item);
    }
    Ok(chapters)
}

fn assemble(prologue: &str, chapters: &[Chapter]) -> String {
    let mut out = String::from(prologue);
    out.push_str("#ifndef TENSORLIB_H\n#define TENSORLIB_H\n\n");
    out.push_str("#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n");
    out.push_str(MACROS);
    out.push_str("\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    for Chapter { intro, items, .. } in chapters {
        let _ = write!(out, "\n/* {}\n * {} */\n", "=".repeat(100), intro.trim_end().replace('\n', "\n * "));
        for Item { comment, body, .. } in items {
            let _ = write!(out, "\n{}{}\n", line_comments(comment), line_comments(body));
        }
    }
    out.push_str("\n#ifdef __cplusplus\n}\n#endif\n\n#endif /* TENSORLIB_H */\n");
    out.lines().map(|l| l.trim_end().to_string() + "\n").collect()
}

/// cbindgen's block comments as line comments, which take two lines less each.
fn line_comments(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let code = line.trim_start();
        // cbindgen sets the lines of a comment one column further than its beginning.
        let indent = " ".repeat((line.len() - code.len()) / 4 * 4);
        match code {
            "/**" | "*/" => {}
            "*" => out.extend([&indent, "///\n"]),
            _ => match code.strip_prefix("* ") {
                Some(words) => out.extend([&indent, "/// ", words, "\n"]),
                None => out.extend([line, "\n"]),
            },
        }
    }
    if !text.ends_with('\n') {
        out.pop();
    }
    out
}

/// The chapters are the crate's modules in the order of its `mod` lines. The module of operations is in `gen`.
fn sources(library: &str) -> Vec<String> {
    let mut sources = Vec::new();
    for line in library.lines() {
        if let Some(name) = line.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';')) {
            sources.push(name.to_string());
        } else if let Some(name) = line.strip_prefix("    pub mod ").and_then(|rest| rest.strip_suffix(';')) {
            sources.push(format!("gen/{name}"));
        }
    }
    sources
}

/// The line of each public item in its chapter, and the chapters without items.
fn read_sources(root: &Path) -> Result<(HashMap<String, Place>, Vec<Chapter>), String> {
    let mut places = HashMap::new();
    let mut chapters = Vec::new();
    let library = root.join("rust/tensorlib-sys/src/lib.rs");
    let library = std::fs::read_to_string(&library).map_err(|e| format!("{}: {e}", library.display()))?;
    for (chapter, source) in sources(&library).into_iter().enumerate() {
        let path = root.join(format!("rust/tensorlib-sys/src/{source}.rs"));
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut intro = String::new();
        for (number, line) in text.lines().enumerate() {
            if let Some(rest) = line.strip_prefix("//!") {
                intro.push_str(rest.strip_prefix(' ').unwrap_or(rest).trim_start_matches("# "));
                intro.push('\n');
            }
            let line = line.trim_start();
            let item =
                ["pub fn ", "pub struct ", "pub const ", "pub type "].iter().find_map(|kind| line.strip_prefix(kind));
            if let Some(item) = item {
                let name: String = item.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                places.insert(name, (chapter, number));
            }
        }
        chapters.push(Chapter { source, intro, items: Vec::new() });
    }
    Ok((places, chapters))
}

/// Divides cbindgen's output.
fn split_items(raw: &str) -> Result<Vec<Item>, String> {
    let mut items = Vec::new();
    let (mut comment, mut body) = (String::new(), String::new());
    let mut in_comment = false;
    for line in raw.lines() {
        if in_comment || (body.is_empty() && line.starts_with("/**")) {
            in_comment = !line.trim_end().ends_with("*/");
            comment.push_str(line);
            comment.push('\n');
            continue;
        }
        // assemble() writes guards and includes.
        if body.is_empty()
            && (line.trim().is_empty() || (line.starts_with('#') && comment.is_empty()) || line.starts_with('}'))
        {
            continue;
        }
        if body.is_empty() && comment.is_empty() && line.starts_with("extern \"C\"") {
            continue;
        }
        body.push_str(line);
        body.push('\n');
        let ended = line.starts_with('#') || (line.ends_with(';') && !line.starts_with(' ')) || line.ends_with(");");
        let inside_struct = body.contains(" {") && !line.starts_with('}');
        if ended && !inside_struct {
            let name = item_name(&body).ok_or(format!("no name in: {body}"))?;
            items.push(Item { name, comment: std::mem::take(&mut comment), body: finish(&body) });
            body.clear();
        }
    }
    Ok(items)
}

fn item_name(body: &str) -> Option<String> {
    let first = |s: &str| s.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    if let Some(rest) = body.strip_prefix("#define ") {
        return Some(first(rest));
    }
    if body.starts_with("extern ") {
        let before = body.split('(').next()?;
        return before.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next().map(str::to_string);
    }
    if let Some(at) = body.find("(*tl_") {
        return Some(first(&body[at + 2..]));
    }
    let last = body.trim_end().trim_end_matches(';');
    last.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next().map(str::to_string)
}

/// Adds the macros, and shortens cbindgen's C.
fn finish(body: &str) -> String {
    let mut body = body.trim_end().to_string();
    // Every struct has a typedef of its name.
    if !body.starts_with("typedef struct") {
        body = body.replace("struct tl_", "tl_");
    }
    if let Some(rest) = body.strip_prefix("extern tl_status ") {
        // Callers use the output of tl_context_error(); its status is a convenience.
        let nodiscard = if rest.starts_with("tl_context_error(") { "" } else { "TL_NODISCARD " };
        body = format!("TL_API {nodiscard}tl_status {rest}");
    } else if let Some(rest) = body.strip_prefix("extern ") {
        body = format!("TL_API {rest}");
    }
    if body.starts_with("TL_API") && body.contains('\n') {
        body = rewrap(&body);
    }
    body
}

/// Puts a declaration on one line if it fits, otherwise breaks it after commas with a fixed indent: the macros would
/// break the alignment that cbindgen chose.
fn rewrap(body: &str) -> String {
    let joined = body.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut out = String::new();
    let mut line = String::new();
    for word in joined.split_inclusive(", ") {
        if line.len() + word.trim_end().len() > 108 {
            out.push_str(line.trim_end());
            out.push('\n');
            line = String::from("        ");
        }
        line.push_str(word);
    }
    out + line.trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_lines() {
        let text = "/**\n * A struct.\n *\n * More.\n */\n";
        assert_eq!(line_comments(text), "/// A struct.\n///\n/// More.\n");
        let body = "typedef struct {\n    /**\n     * A field.\n     */\n    int x;\n} t;";
        assert_eq!(line_comments(body), "typedef struct {\n    /// A field.\n    int x;\n} t;");
    }

    #[test]
    fn chapters_are_the_modules() {
        let library = "//! mod x;\nmod status;\npub use status::*;\nmod ops;\nmod gen {\n    pub mod made;\n}\n";
        assert_eq!(sources(library), ["status", "ops", "gen/made"]);
    }

    #[test]
    fn structs_go_by_their_typedefs() {
        let body = "extern struct tl_tensor *tl_f(struct tl_context *ctx, const struct tl_f_params *params);";
        assert_eq!(finish(body), "TL_API tl_tensor *tl_f(tl_context *ctx, const tl_f_params *params);");
        assert_eq!(
            finish("typedef struct tl_a {\n  struct tl_b *b;\n} tl_a;"),
            "typedef struct tl_a {\n  struct tl_b *b;\n} tl_a;"
        );
    }
}
