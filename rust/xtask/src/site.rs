//! `cargo xtask docs`: the site. mdBook renders docs/ and the Markdown files that it links, together with the C reference;
//! rustdoc renders the crates. Every link of the pages is followed.

mod links;
mod pages;

use std::path::Path;

use crate::build_cache;
use crate::tools;
use crate::workspace::{make_dir, remove_dir, Workspace};

/// The crates whose rustdoc is part of the site.
const CRATES: [&str; 4] = ["tensorlib", "tensorlib-models", "tensorlib-server", "tensorlib-sys"];

/// Builds the site into `target/xtask/site` and checks its links.
pub fn build(ws: &Workspace) -> Result<(), String> {
    let (source, site) = (ws.out.join("site-source"), ws.out.join("site"));
    for folder in [&source, &site] {
        remove_dir(folder)?;
        make_dir(folder)?;
    }
    let n_pages = pages::write(ws, &source)?;
    tools::mdbook(ws)?.arg("build").arg(&source).arg("--dest-dir").arg(&site).capture()?;
    rustdoc(ws, &site.join("rust-api"))?;
    let n_links = links::check(&site)?;
    println!("{n_pages} pages, {n_links} links: {}", site.join("index.html").display());
    Ok(())
}

/// The crates' documentation, which rustdoc checks itself.
fn rustdoc(ws: &Workspace, folder: &Path) -> Result<(), String> {
    let target = ws.out.join("site-rust");
    let mut doc = build_cache::cargo(ws).args(["doc", "--no-deps"]).env("CARGO_TARGET_DIR", &target);
    for name in CRATES {
        doc = doc.args(["--package", name]);
    }
    // docs.rs sets the same: the engine is not compiled for its documentation.
    doc.env("DOCS_RS", "1").env("RUSTDOCFLAGS", "-D warnings").capture()?;
    make_dir(folder)?;
    ws.cmd("cp").arg("-r").arg(target.join("doc/.")).arg(folder).capture().map(drop)
}
