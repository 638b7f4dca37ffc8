//! Invented operations that use every feature of descriptions: the code generated for them is formatted as each
//! language's formatter would format it. Their lines are chosen to fit just barely, or not.

use std::path::{Path, PathBuf};

use crate::tools;
use crate::workspace::{make_dir, remove_dir, Workspace};
use tensorlib_codegen::description::{family, Family};
use tensorlib_codegen::document;

const TRIALS: &str = r#"
title = "Trials"

[plain]
number = 1
class = "elementwise"
doc = "Copies `a`"
formula = "c[i] = a[i]"
shapes = "`c` has the shape of `a`"
types = "F32"
result = "first operand's"
gradient = "`da = g`"
operands = [{ name = "a", role = "read" }]

[every_kind_given]
number = 2
class = "other"
doc = "Changes `a` by attributes that are required"
formula = "c[i] = a[i]"
shapes = "{n, m}, as `every_kind_left_out`"
types = "F32"
result = "i32"
gradient = "none: the result is a count"
operands = [{ name = "a", role = "read", no_gradient = "the result is a count" }]
attributes = [
    { name = "flag", kind = "bool", required = true, doc = "if true, it is changed" },
    { name = "count", kind = "integer", required = true, range = [1, 8], doc = "number of elements" },
    { name = "factor", kind = "number", required = true, nan = true, doc = "factor" },
    { name = "axes", kind = "integers", length = [4, 4], required = true, doc = "the dimensions" },
    { name = "way", kind = "enum", values = ["forth", "back_again"], required = true, names = { c = "direction" }, doc = "direction",
        value_docs = ["away from here", "away from here and back to it"] },
    { name = "to", kind = "type", required = true, names = { zig = "dtype" }, doc = "type of the result" },
]

[every_kind_left_out]
number = 3
class = "other"
doc = "Changes `a` by attributes that are optional"
notes = "`way` is `forth` if it is left out"
formula = "c[i] = a[i]"
shapes = "`c` has the shape of `a`"
types = "F32"
gradient = "`da = g`"
operands = [{ name = "a", role = "read" }]
attributes = [
    { name = "flag", kind = "bool", doc = "if true, it is changed" },
    { name = "count", kind = "integer", range = [1, 8], default = 1, doc = "number of elements" },
    { name = "eps", kind = "number", range = [1e-9, 1], default = 1e-5, doc = "added, so that it is not 0" },
    { name = "sections", kind = "integers", length = [2, 2], doc = "the dimensions" },
    { name = "way", kind = "enum", values = ["forth", "back_again"], doc = "direction" },
]

[one_optional]
number = 4
class = "row"
doc = "Adds `b`, if it is given, to `a`"
formula = "c[i] = a[i] + b[i]"
shapes = "`c` has the shape of `a`"
types = "F32"
result = "first operand's"
gradient = "`da = g`"
operands = [{ name = "a", role = "read" }, { name = "b", role = "read", optional = true }]

[optional_in_the_middle]
number = 5
class = "row"
doc = "Changes rows of `a` by index"
formula = "The rows of `a` are changed"
shapes = "`c` has the shape of `a`"
types = "F32; rows I32"
result = "f32"
refuses = "a row index out of range"
gradient = "`da = g`"
operands = [
    { name = "a", role = "written", no_gradient = "overwritten by the operation" },
    { name = "range", role = "read", optional = true, names = { go = "span" } },
    { name = "rows", role = "indices", no_gradient = "row indices" },
]

[optional_with_attributes]
number = 6
class = "row"
doc = "Computes the softmax of each row of `a`"
formula = "c[i] = exp(a[i] scale + mask[i]) / sum"
shapes = "mask {n, m}, sinks {m}"
types = "F32"
result = "first operand's"
gradient = "that of its parts"
names = { go = "OptionalWithAttrs" }
operands = [
    { name = "a", role = "read" },
    { name = "mask", role = "read", optional = true },
    { name = "sinks", role = "read", optional = true, no_gradient = "constants of the model" },
]
attributes = [
    { name = "scale", kind = "number", required = true, doc = "factor of `a`" },
    { name = "max_bias", kind = "number", range = [0, 1024], doc = "the steepest slope" },
    { name = "sections", kind = "integers", length = [4, 4], doc = "the dimensions" },
]

[operands_for_more_than_a_line_of_any_language]
number = 7
class = "other"
doc = "Takes all of them"
formula = "c[i] = queries[i]"
shapes = "`c` has the shape of `queries`"
types = "F32"
result = "i64"
gradient = "none: the result is a count"
operands = [
    { name = "queries", role = "read" },
    { name = "keys_of_all_heads", role = "read" },
    { name = "values_of_all_heads", role = "read", optional = true },
    { name = "mask_of_all_heads", role = "read", optional = true },
    { name = "positions", role = "indices", optional = true, no_gradient = "positions" },
    { name = "frequency_factors", role = "read" },
    { name = "sinks", role = "read", optional = true },
    { name = "slopes", role = "read", optional = true },
    { name = "state", role = "read" },
    { name = "the_last_one", role = "read", optional = true },
]

[operands_for_a_line]
number = 8
class = "other"
doc = "Takes three"
formula = "c[i] = a[i]"
shapes = "`c` has the shape of `a`"
types = "F32"
gradient = "none: the result is a count"
operands = [
    { name = "the_first_operand", role = "read" },
    { name = "the_second_operand", role = "read" },
    { name = "the_third_operand", role = "read", optional = true },
]

[of_nothing]
number = 9
class = "other"
doc = "Makes n elements"
formula = "c[i] = value"
shapes = "{n}"
types = "F32"
result = "f32"
gradient = "none: the result is constant"
attributes = [
    { name = "n", kind = "integer", required = true, doc = "number of elements" },
    { name = "value", kind = "number", doc = "value of all elements" },
]

[by_hand]
number = 10
signature = "by hand"
class = "other"
doc = "Changes `a` in its own way"
formula = "c[i] = a[i]"
shapes = "`c` has the shape of `a`"
types = "F32"
gradient = "`da = g`"
operands = [{ name = "a", role = "read" }, { name = "b", role = "read", optional = true }]
attributes = [{ name = "ne", kind = "integers", length = [1, 4], doc = "the shape" }]
"#;

/// Writes the files into a folder in which the formatters find the tree's settings.
fn written() -> (Workspace, Vec<PathBuf>) {
    let ws = Workspace::find().unwrap();
    let families = [family("trials", TRIALS).unwrap()];
    let folder = ws.out.join("trials");
    remove_dir(&folder).unwrap();
    let mut files = Vec::new();
    let mut whole = tensorlib_codegen::files(&families).unwrap();
    super::laid_out(&ws, &mut whole, &folder).unwrap();
    for (file, text) in whole.into_iter().chain(wrapped_regions(&families)) {
        let path = folder.join(file);
        make_dir(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        files.push(path);
    }
    (ws, files)
}

/// The text around a region that its formatter needs.
fn wrapped_regions(families: &[Family]) -> impl Iterator<Item = (&'static str, String)> {
    tensorlib_codegen::regions(families).unwrap().into_iter().map(|(file, text)| match file {
        "bindings/zig/src/context.zig" => (file, format!("pub const Context = struct {{\n{text}}};\n")),
        _ => (file, text),
    })
}

fn ending<'a>(files: &'a [PathBuf], endings: &[&str]) -> Vec<&'a Path> {
    let chosen = |file: &&PathBuf| endings.iter().any(|ending| file.extension().is_some_and(|of| of == *ending));
    let files: Vec<_> = files.iter().filter(chosen).map(PathBuf::as_path).collect();
    assert!(files.len() > 1, "{endings:?}");
    files
}

#[test]
fn what_is_written_is_formatted() {
    let (ws, files) = written();
    let c = ending(&files, &["c", "h", "cpp", "hpp"]);
    tools::clang_format().unwrap().dir(&ws.root).args(["--dry-run", "--Werror"]).args(c).capture().unwrap();
    let rustfmt = ws.cmd("rustfmt").args(["--check", "--edition", "2021"]);
    rustfmt.args(ending(&files, &["rs"])).capture().unwrap();
    let gofmt = ws.cmd(tools::gofmt(&ws).unwrap()).arg("-d");
    assert_eq!(gofmt.args(ending(&files, &["go"])).capture().unwrap(), "");
    tools::zig().unwrap().dir(&ws.root).args(["fmt", "--check"]).args(ending(&files, &["zig"])).capture().unwrap();
}

/// What generated files hold for the trial operations.
const WRITTEN: &[(&str, &str)] = &[
    ("cpp/ops/gen/op_facts.hpp", "{.name = \"b\", .role = Role::read, .optional = true}"),
    ("cpp/ops/gen/op_facts.hpp", ".no_gradient = \"constants of the model\""),
    ("cpp/ops/gen/op_facts.hpp", ".result = ResultType::i64,"),
    ("docs/ops.md", "- `mask` and `sinks` are optional."),
    ("docs/ops.md", "- No gradient for `rows`: row indices."),
    ("docs/ops.md", "- Types: F32.\n- Result: The type of `a`.\n"),
    ("docs/ops.md", "Direction. `forth`: away from here; `back_again`: away from here and back to it |"),
    ("docs/ops.md", "| `count` | integer, 1 to 8; default 1 | Number of elements |"),
    ("rust/tensorlib-sys/src/gen/op_functions.rs", "`b` is optional: tl_none() leaves it out."),
    (
        "rust/tensorlib-sys/src/gen/op_functions.rs",
        "/// The attribute `direction` of tl_every_kind_given(): direction.\n",
    ),
    ("rust/tensorlib-sys/src/gen/op_functions.rs", "/// Away from here.\npub const TL_EVERY_KIND_GIVEN_WAY_FORTH"),
    ("rust/tensorlib-sys/src/gen/op_functions.rs", "direction: tl_every_kind_given_way"),
    ("capi/src/gen/op_functions.cpp", "tl_every_kind_given_way direction"),
    ("capi/src/gen/op_functions.cpp", "return build<2>(ctx, Op::one_optional, {a, b});"),
    (
        "cpp/include/tensorlib/gen/op_functions.hpp",
        "Tensor one_optional(const Tensor &a, const std::optional<Tensor> &b);",
    ),
    ("cpp/include/tensorlib/gen/op_functions.hpp", "mask and sinks are optional: std::nullopt leaves one out."),
    ("cpp/api/gen/op_functions.cpp", "{&a, if_given(b)}"),
    ("rust/tensorlib/src/gen/op_functions.rs", "pub fn one_optional(&self, b: Option<&Tensor>) -> Result<Tensor> {"),
    ("rust/tensorlib/src/gen/op_functions.rs", "youngest(self, &[b]).construct("),
    ("rust/tensorlib/src/gen/op_functions.rs", "youngest(self, &[range, Some(rows)]).construct("),
    ("bindings/go/op_functions.go", "\tmask, sinks = orNone(mask), orNone(sinks)\n"),
    (
        "bindings/zig/src/gen/op_functions.zig",
        "pub fn oneOptional(self: Context, a: Tensor, b: ?Tensor) Error!Tensor {",
    ),
    ("bindings/zig/src/gen/op_functions.zig", ".{ a.handle, Tensor.handleOrNone(b) }"),
    ("tests/cpp/gen/case_ops.hpp", "return tl::one_optional(s.at(0), s.at_if_given(1));"),
    ("tests/capi/gen/case_ops.h", "operands(run, words, n, 2, s);"),
    ("rust/tensorlib/tests/gen/case_ops.rs", "s[0].one_optional(s.if_given(1))\n"),
    ("bindings/go/case_ops_test.go", "made, err = c.OneOptional(src[0], src[1])"),
    (
        "cpp/include/tensorlib/gen/op_functions.hpp",
        "    Tensor of_nothing(std::int64_t n, const OfNothingOptions &options = {}) const;",
    ),
    ("capi/src/gen/op_functions.cpp", "return node<0>(context, Op::of_nothing, {}, attrs);"),
    ("rust/tensorlib/src/gen/op_functions.rs", "pub fn of_nothing(&self, n: i64, options: OfNothingOptions)"),
    (
        "bindings/go/op_functions.go",
        "func (c *Context) OfNothing(n int64, options *OfNothingOptions) (*Tensor, error) {",
    ),
    ("bindings/zig/tests/gen/case_ops.zig", ".one_optional => return try ctx.oneOptional(src[0].?, src[1]),"),
];

#[test]
fn optional_operands_are_the_languages_own() {
    let families = [family("trials", TRIALS).unwrap()];
    let files = tensorlib_codegen::files(&families).unwrap();
    for (file, text) in WRITTEN {
        let (_, content) = files.iter().find(|(name, _)| name == file).unwrap();
        assert!(content.contains(text), "{file} lacks {text}:\n{content}");
    }
}

#[test]
fn the_table_leads_to_every_chapter() {
    let families = [family("trials", TRIALS).unwrap()];
    let (chapters, table) = (document::text(&families), document::table(&families));
    assert!(table.contains("| Trials | [`plain`](#plaina), "), "{table}");
    let headings: Vec<&str> = chapters.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    assert_eq!(headings.len(), families[0].ops.len());
    for heading in headings {
        let link = format!("(#{})", document::anchor(heading));
        assert_eq!(table.matches(&link).count(), 1, "{link}");
    }
}

#[test]
fn gradient_rules_are_found_by_their_definitions() {
    let sources = "constexpr GradientRule add{[](Rule &r) { give(sub); }};\nconstexpr GradientRule eq = none, ne = none,\n    lt = none;\n";
    for name in ["add", "eq", "ne", "lt"] {
        assert!(super::has_rule(sources, name), "{name}");
    }
    for name in ["sub", "none", "ad", "gt"] {
        assert!(!super::has_rule(sources, name), "{name}");
    }
}
