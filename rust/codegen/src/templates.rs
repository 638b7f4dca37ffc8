//! The templates of generated files, `rust/codegen/templates`, and the filters that they use.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Serde};
use minijinja::{Environment, Error, UndefinedBehavior};
use serde::Serialize;

use crate::description::Family;
use crate::model::{self, FamilyModel, OpModel, Uses};
use crate::names::Language;
use crate::text::{filled, listed, wrapped};

/// A generated file.
struct File {
    path: &'static str,
    language: Language,
    template: &'static str,
}

macro_rules! files {
    ($($path:literal: $language:ident, $template:literal;)*) => {
        const FILES: &[File] = &[$(File {
            path: $path,
            language: Language::$language,
            template: include_str!(concat!("../templates/", $template)),
        }),*];
    };
}

files! {
    "cpp/graph/gen/op_list.inc": Cpp, "op_list.inc.j2";
    "cpp/ops/gen/op_facts.hpp": Cpp, "op_facts.hpp.j2";
    "rust/tensorlib-sys/src/gen/op_functions.rs": C, "c_declarations.rs.j2";
    "capi/src/gen/op_functions.cpp": C, "c_definitions.cpp.j2";
    "cpp/include/tensorlib/gen/op_functions.hpp": Cpp, "cpp_declarations.hpp.j2";
    "cpp/api/gen/op_functions.cpp": Cpp, "cpp_definitions.cpp.j2";
    "rust/tensorlib/src/gen/op_functions.rs": Rust, "rust_methods.rs.j2";
    "bindings/go/op_functions.go": Go, "go_methods.go.j2";
    "bindings/zig/src/gen/op_functions.zig": Zig, "zig_functions.zig.j2";
    "bindings/zig/src/gen/c_ops.zig": Zig, "zig_declarations.zig.j2";
    "tests/capi/gen/case_ops.h": C, "c_cases.h.j2";
    "tests/cpp/gen/case_ops.hpp": Cpp, "cpp_cases.hpp.j2";
    "rust/tensorlib/tests/gen/case_ops.rs": Rust, "rust_cases.rs.j2";
    "bindings/go/case_ops_test.go": Go, "go_cases.go.j2";
    "bindings/zig/tests/gen/case_ops.zig": Zig, "zig_cases.zig.j2";
}

/// The variables of a template.
#[derive(Serialize)]
struct Context<'a> {
    /// The sentence in the file's head.
    head: &'static str,
    families: &'a [FamilyModel],
    /// The operations of all families, and those whose functions are generated.
    ops: Vec<&'a OpModel>,
    generated: Vec<&'a OpModel>,
    /// What the latter use.
    uses: Uses,
}

/// The region in the hand-written file of Zig's Context.
const REGION: File = File {
    path: "bindings/zig/src/context.zig",
    language: Language::Zig,
    template: include_str!("../templates/zig_aliases.zig.j2"),
};

/// The paths and texts of the files that templates make.
///
/// # Errors
/// What a template does wrong, with its line.
pub fn files(families: &[Family]) -> Result<Vec<(&'static str, String)>, String> {
    FILES.iter().map(|file| Ok((file.path, rendered(file, families)?))).collect()
}

/// Hand-written files with a generated region: since Zig 0.15 a struct cannot take declarations from another file.
///
/// # Errors
/// Those of [`files`].
pub fn regions(families: &[Family]) -> Result<Vec<(&'static str, String)>, String> {
    Ok(vec![(REGION.path, rendered(&REGION, families)?)])
}

fn rendered(file: &File, families: &[Family]) -> Result<String, String> {
    let width = file.language.width();
    let mut environment = Environment::new();
    let mut syntax = SyntaxConfig::builder();
    syntax.trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true);
    environment.set_syntax(syntax.build().map_err(|e| e.to_string())?);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    // A tab is eight columns wide.
    let width_after = move |prefix: &str| width - 7 * prefix.matches('\t').count();
    environment.add_filter("wrap", move |text: &str, prefix: &str| wrapped(text, prefix, width_after(prefix)));
    let language = file.language;
    environment.add_filter("comment", move |comment: Serde<model::Comment>, prefix: &str, options: Kwargs| {
        let indent = options.get::<Option<&str>>("indent")?.unwrap_or("");
        options.assert_all_used()?;
        // gofmt wants a blank line before a list.
        let list_after_blank = language == Language::Go;
        Ok::<String, Error>(comment_text(&comment, prefix, indent, list_after_blank, width))
    });
    environment.add_filter("listed", move |arguments: Vec<String>, head: &str, tail: &str| {
        let blanks = head.len() - head.trim_start().len();
        listed(&head[..blanks], &head[blanks..], &arguments, tail, width)
    });
    let families = model::families(families, file.language);
    let ops: Vec<&OpModel> = families.iter().flat_map(|family| &family.ops).collect();
    let generated: Vec<&OpModel> = ops.iter().copied().filter(|op| !op.by_hand).collect();
    let uses = Uses::of(&generated);
    let context = Serde(Context { head: crate::HEAD, families: &families, ops, generated, uses });
    // The name in messages.
    let name = format!("rust/codegen/templates, for {}", file.path);
    environment.render_named_str(&name, file.template, context).map_err(|e| format!("{e:#}"))
}

/// A comment in lines that begin with `prefix`, with its points as a list.
fn comment_text(comment: &model::Comment, prefix: &str, indent: &str, list_after_blank: bool, width: usize) -> String {
    let blank = format!("{}\n", prefix.trim_end());
    let paragraphs: Vec<String> = comment.paragraphs.iter().map(|text| wrapped(text, prefix, width)).collect();
    let mut text = paragraphs.join(&blank);
    if list_after_blank {
        text += &blank;
    }
    for point in &comment.points {
        text += &filled(point, &format!("{prefix}{indent}- "), &format!("{prefix}{indent}  "), width);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::family;

    const ONE: &str = "title = \"T\"\n[cast]\nnumber = 1\nclass = \"other\"\ndoc = \"Copies `a`\"\nformula = \"c[i] = a[i]\"\n\
                       shapes = \"one\"\ntypes = \"any\"\ngradient = \"g\"\noperands = [{ name = \"a\", role = \"read\" }]";

    #[test]
    fn every_file_has_every_operation() {
        let families = [family("f", ONE).unwrap()];
        for (path, text) in files(&families).unwrap().into_iter().chain(regions(&families).unwrap()) {
            assert!(text.contains("cast") || text.contains("Cast"), "{path}: {text}");
            assert!(text.ends_with('\n') && !text.contains("\n\n\n"), "{path}: {text}");
        }
    }

    #[test]
    fn a_wrong_template_names_its_file_and_line() {
        let file = File { path: "a/b.h", language: Language::C, template: "{{ head }}\n{{ operations }}" };
        let error = rendered(&file, &[family("f", ONE).unwrap()]).unwrap_err();
        assert!(error.contains("for a/b.h:2"), "{error}");
    }
}
