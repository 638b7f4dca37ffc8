//! Rules about names in code, and about files that must exist.

use std::collections::BTreeSet;

use super::none_of;
use crate::workspace::Workspace;

/// Code that is compiled for every ISA must not name one: only the ISA's own header (vec_*.hpp) and the table of ISAs
/// (isa.*) may.
pub fn instruction_sets(ws: &Workspace) -> Result<(), String> {
    let mut found = Vec::new();
    let mut searched = 0;
    for file in ws.files_of(&[".cpp", ".hpp", ".inc"], &["cpp/cpu/kernels", "cpp/cpu/simd"])? {
        let name = file.rsplit('/').next().unwrap_or(&file);
        if file.contains("/simd/") && (name.starts_with("vec_") || name.starts_with("isa.")) {
            continue;
        }
        searched += 1;
        let text = ws.read(&file)?.ok_or(format!("{file} is not UTF-8"))?;
        for (number, line) in text.lines().enumerate() {
            if let Some(word) = instruction_set(line) {
                found.push(format!("{file}:{}: names {word}", number + 1));
            }
        }
    }
    if searched == 0 {
        return Err("no file in cpp/cpu/kernels and cpp/cpu/simd: this rule looks in the wrong place".into());
    }
    none_of(found)
}

/// The part of a word that names an instruction set: `_mm256` has none, `gemm_avx2_6x16` has one.
fn instruction_set(line: &str) -> Option<&str> {
    line.split(|c: char| !c.is_alphanumeric()).find(|word| {
        let word = *word;
        let part = word.to_ascii_lowercase();
        let numbered = |name: &str| part.strip_prefix(name).is_some_and(|n| n.chars().all(|c| c.is_ascii_digit()));
        // `fma` in lower case is an operation (Vec::fma), which every ISA implements.
        let extension = word == "FMA" || numbered("fma") && part != "fma";
        part.starts_with("avx") || numbered("sse") || extension || part == "neon" || numbered("mm")
    })
}

/// Every folder of the first two levels with tracked files, and cpp/cpu/simd on the third, has a README.
pub fn readmes(ws: &Workspace) -> Result<(), String> {
    let files = ws.files()?;
    let mut folders = BTreeSet::new();
    for file in &files {
        let parts: Vec<&str> = file.split('/').collect();
        let depth = if file.starts_with("cpp/cpu/") { 3 } else { 2 };
        for n in 1..parts.len().min(depth + 1) {
            folders.insert(parts[..n].join("/"));
        }
    }
    // Folders whose names explain them, or that a tool prescribes.
    let plain = |folder: &String| {
        folder.starts_with('.') || ["include", "src"].contains(&folder.rsplit('/').next().unwrap_or(""))
    };
    folders.retain(|f| !plain(f));
    none_of(folders.into_iter().filter(|f| !files.contains(&format!("{f}/README.md"))).collect())
}

/// A guide in docs/ that refers to a moved file is worse than none: every path in backticks must exist. Words with a
/// placeholder, a space or an option are not paths.
pub fn guides(ws: &Workspace) -> Result<(), String> {
    let mut found = Vec::new();
    let mut paths = 0;
    for guide in ws.files_of(&[".md"], &["docs"])? {
        let text = ws.read(&guide)?.ok_or(format!("{guide} is not UTF-8"))?;
        for path in text.split('`').skip(1).step_by(2).filter(|word| is_path(word)) {
            paths += 1;
            if !ws.root.join(path.trim_end_matches('/')).exists() {
                found.push(format!("{guide}: {path}"));
            }
        }
    }
    if paths == 0 {
        return Err("no path in docs/: this rule looks in the wrong place".into());
    }
    none_of(found)
}

/// A link in a Markdown file leads to a file of the tree, relative to its own folder; links to the web are not checked.
pub fn links(ws: &Workspace) -> Result<(), String> {
    let mut found = Vec::new();
    let mut seen = 0;
    for file in ws.files_of(&[".md"], &[])? {
        let text = ws.read(&file)?.ok_or(format!("{file} is not UTF-8"))?;
        let folder = ws.root.join(&file).parent().map(std::path::Path::to_path_buf).unwrap_or_default();
        for target in link_targets(&text) {
            seen += 1;
            if !folder.join(target).exists() {
                found.push(format!("{file}: {target}"));
            }
        }
    }
    if seen == 0 {
        return Err("no link in any Markdown file: this rule looks in the wrong place".into());
    }
    none_of(found)
}

/// The files that `[words](file)` names, without anchors; links in code and links with a scheme do not count.
fn link_targets(text: &str) -> Vec<&str> {
    let prose = text.lines().filter(|line| !line.starts_with("    "));
    let after = prose.flat_map(|line| line.split("](").skip(1));
    let targets =
        after.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target.split('#').next().unwrap_or(""));
    let file = |target: &&str| !target.contains("://") && target.contains(['.', '/']);
    targets.filter(file).collect()
}

fn is_path(word: &str) -> bool {
    const FOLDERS: [&str; 11] = [
        "cpp/",
        "capi/",
        "rust/",
        "bindings/",
        "examples/",
        "tests/",
        "benches/",
        "docs/",
        "cmake/",
        ".cargo/",
        ".ci/",
    ];
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    FOLDERS.iter().any(|folder| word.starts_with(folder)) && word.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::{instruction_set, link_targets};

    #[test]
    fn links_to_files() {
        let text = "[a](b/c.md) and ![d](e.svg), [f](https://g.h/i.md), [j](k.md#l), x[0](c)\n    [code](m.md)\n";
        assert_eq!(link_targets(text), ["b/c.md", "e.svg", "k.md"]);
    }

    #[test]
    fn words_that_only_contain_the_letters_are_fine() {
        for fine in ["passed", "assert(x)", "std::move", "// addressed", "gemm_f32", "mmap", "Vec::fma(a, b, c)"] {
            assert_eq!(instruction_set(fine), None, "{fine}");
        }
        for set in ["avx2", "gemm_avx512_tile", "__SSE2__", "_mm256_add_ps", "__FMA__", "fma3", "AVX"] {
            assert!(instruction_set(set).is_some(), "{set}");
        }
    }
}
