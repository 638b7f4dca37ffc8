//! The sources of the site's pages: copies of Markdown files at the paths that they have in the tree, so that their links keep working,
//! and of the files that they link.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Component, Path, PathBuf};

use crate::workspace::{make_dir, Workspace};

/// The chapters, in the order of the sidebar. Other Markdown files that pages link follow them.
const CHAPTERS: [(&str, &[(&str, &str)]); 5] = [
    (
        "First steps",
        &[
            ("Install", "docs/install.md"),
            ("Programs in five languages", "docs/languages.md"),
            ("The command line", "rust/tensorlib-cli/README.md"),
            ("Examples", "examples/README.md"),
        ],
    ),
    (
        "Guides",
        &[
            ("Models", "docs/models.md"),
            ("Serving models", "docs/serving.md"),
            ("Training", "docs/training.md"),
            ("Several devices", "docs/devices.md"),
            ("CUDA", "docs/cuda.md"),
            ("Sparse models", "docs/sparsity.md"),
        ],
    ),
    (
        "Reference",
        &[
            ("Operations", "docs/ops.md"),
            ("Guarantees", "docs/semantics.md"),
            ("Storage types", "docs/formats.md"),
            ("Glossary", "docs/glossary.md"),
            ("Changelog", "CHANGELOG.md"),
        ],
    ),
    (
        "Performance",
        &[
            ("Overview", "docs/performance/README.md"),
            ("Method", "docs/performance/method.md"),
            ("Matrix products", "docs/performance/products.md"),
            ("Operations", "docs/performance/operations.md"),
            ("Models", "docs/performance/models.md"),
            ("Training", "docs/performance/training.md"),
            ("Tools", "docs/performance/tools.md"),
            ("GPU results", "docs/gpu-results.md"),
        ],
    ),
    (
        "Development",
        &[
            ("Architecture", "docs/architecture.md"),
            ("Adding an operation", "docs/adding-an-op.md"),
            ("Adding a kernel", "docs/adding-a-kernel.md"),
            ("Adding a storage type", "docs/adding-a-format.md"),
            ("ABI policy", "docs/abi-policy.md"),
            ("Dependencies", "docs/dependencies.md"),
        ],
    ),
];

/// The folder of the C reference's pages, which follow from the header.
const C_REFERENCE: &str = "capi/reference";

const BOOK: &str = r#"[book]
title = "tensorlib"
description = "A tensor library for Rust, C, C++, Go and Zig"
language = "en"
src = "src"

[output.html]
no-section-label = true
default-theme = "light"

[output.html.fold]
enable = true
level = 1
"#;

/// Writes the book's sources below `folder`; returns the number of pages.
pub fn write(ws: &Workspace, folder: &Path) -> Result<usize, String> {
    let source = folder.join("src");
    let mut titles: BTreeMap<String, String> = BTreeMap::new();
    let mut summary = String::from("# Summary\n\n[tensorlib](index.md)\n");
    let mut waiting = vec!["README.md".to_string()];
    for (part, chapters) in CHAPTERS {
        let _ = write!(summary, "\n# {part}\n\n");
        for (title, path) in chapters {
            let _ = writeln!(summary, "- [{title}]({})", page_of(path));
            titles.insert(path.to_string(), title.to_string());
            waiting.push(path.to_string());
        }
    }
    let reference = tensorlib_codegen::reference::pages(&ws.root)?;
    summary += "\n# C reference\n\n";
    for page in &reference {
        let path = format!("{C_REFERENCE}/{}", page.file);
        let _ = writeln!(summary, "- [{}]({path})", page.title);
        put(&source, &path, &page.text)?;
    }
    let (mut seen, mut more) = (BTreeSet::new(), Vec::new());
    while let Some(path) = waiting.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        if path != "README.md" && !titles.contains_key(&path) {
            more.push(path.clone());
        }
        let text = ws.read(&path)?.ok_or(format!("{path} is not UTF-8"))?;
        let (page, targets) = with_files(ws, &path, &text)?;
        put(&source, &page_of(&path), &page)?;
        for target in targets {
            if target.ends_with(".md") {
                waiting.push(target);
            } else {
                copy(ws, &source, &target)?;
            }
        }
    }
    more.sort();
    summary += "\n# Folders\n\n";
    for path in &more {
        let _ = writeln!(summary, "- [{}]({})", path.trim_end_matches("/README.md"), page_of(path));
    }
    summary += "\n---\n\n[Rust reference](rust-api.md)\n";
    let rust = "# Rust reference\n- [tensorlib](rust-api/tensorlib/index.html): the safe API\n- [tensorlib-models](rust-api/tensorlib_models/index.html): \
                language models and encoders\n- [tensorlib-server](rust-api/tensorlib_server/index.html): models over HTTP\n- [tensorlib-sys](rust-api/tensorlib_sys/index.html): the C ABI\n";
    put(&source, "rust-api.md", rust)?;
    put(&source, "SUMMARY.md", &summary)?;
    put(folder, "book.toml", BOOK)?;
    // The list of the crates is a page too.
    Ok(seen.len() + reference.len() + 1)
}

fn put(folder: &Path, path: &str, text: &str) -> Result<(), String> {
    let to = folder.join(path);
    make_dir(to.parent().unwrap_or(folder))?;
    std::fs::write(&to, text).map_err(|e| format!("{}: {e}", to.display()))
}

fn copy(ws: &Workspace, folder: &Path, path: &str) -> Result<(), String> {
    let to = folder.join(path);
    make_dir(to.parent().unwrap_or(folder))?;
    std::fs::copy(ws.root.join(path), &to).map(drop).map_err(|e| format!("{path}: {e}"))
}

/// A page whose links to folders lead to their READMEs, and the files that it links.
fn with_files(ws: &Workspace, path: &str, text: &str) -> Result<(String, Vec<String>), String> {
    let folder = Path::new(path).parent().unwrap_or(Path::new(""));
    let (mut page, mut targets) = (String::new(), Vec::new());
    let mut in_code = false;
    for line in text.lines() {
        in_code ^= line.trim_start().starts_with("```");
        if in_code || line.starts_with("    ") {
            page += line;
            page.push('\n');
            continue;
        }
        let mut parts = line.split("](");
        page += parts.next().unwrap_or("");
        for part in parts {
            page += "](";
            let (link, rest) = part.split_once(')').unwrap_or((part, ""));
            let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
            let is_file = !file.contains("://") && file.contains(['.', '/']);
            match is_file.then(|| resolve(folder, file)) {
                Some(target) if ws.root.join(&target).is_dir() => {
                    let readme = format!("{}/README.md", file.trim_end_matches('/'));
                    targets.push(resolve(folder, &readme));
                    page += &page_of(&readme);
                }
                Some(target) if ws.root.join(&target).is_file() => {
                    targets.push(target);
                    page += &page_of(file);
                }
                Some(target) => return Err(format!("{path}: no file {target}")),
                None => page += file,
            }
            if let Some(anchor) = anchor {
                let _ = write!(page, "#{anchor}");
            }
            if part.contains(')') {
                page.push(')');
            }
            page += rest;
        }
        page.push('\n');
    }
    Ok((page, targets))
}

/// The site's name of a file: mdBook makes a folder's index from its README, but leaves links to it as they are.
fn page_of(path: &str) -> String {
    match path.strip_suffix("README.md") {
        Some(folder) => format!("{folder}index.md"),
        None => path.into(),
    }
}

/// A link's path from the root of the tree.
fn resolve(folder: &Path, link: &str) -> String {
    let mut path = PathBuf::new();
    for component in folder.join(link).components() {
        match component {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::{page_of, resolve};
    use std::path::Path;

    #[test]
    fn links_lead_from_the_page() {
        assert_eq!(resolve(Path::new("docs/performance"), "../ops.md"), "docs/ops.md");
        assert_eq!(resolve(Path::new(""), "./docs/../README.md"), "README.md");
        assert_eq!((page_of("a/README.md"), page_of("a/b.md")), ("a/index.md".into(), "a/b.md".into()));
    }
}
