//! Follows the links of the site's pages: each leads to a file of the site, and its fragment to an element of that page.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// Pages that repeat others, and those that rustdoc checks.
const LEFT_OUT: [&str; 3] = ["print.html", "404.html", "rust-api/"];

/// The number of links that were followed.
pub fn check(site: &Path) -> Result<usize, String> {
    let mut pages = Vec::new();
    collect(site, site, &mut pages)?;
    let mut ids: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
    let (mut followed, mut broken) = (0, Vec::new());
    for page in pages.iter().filter(|page| !LEFT_OUT.iter().any(|out| page.to_string_lossy().starts_with(out))) {
        let text = read(&site.join(page))?;
        for link in attributes(&text, &["href", "src"]) {
            if link.is_empty()
                || link.contains("://")
                || ["mailto:", "data:", "javascript:"].iter().any(|s| link.starts_with(s))
            {
                continue;
            }
            followed += 1;
            let (file, fragment) = link.split_once('#').map_or((link, ""), |(file, fragment)| (file, fragment));
            let target = match file.is_empty() {
                true => page.clone(),
                false => resolve(page.parent().unwrap_or(Path::new("")), file.split('?').next().unwrap_or(file)),
            };
            let path = site.join(&target);
            if !path.is_file() {
                broken.push(format!("{}: {link}: no such file", page.display()));
            } else if !fragment.is_empty() && target.extension().is_some_and(|e| e == "html") {
                if !ids.contains_key(&target) {
                    let found = attributes(&read(&path)?, &["id", "name"]).into_iter().map(String::from).collect();
                    ids.insert(target.clone(), found);
                }
                if !ids[&target].contains(fragment) {
                    broken.push(format!("{}: {link}: no element of that id", page.display()));
                }
            }
        }
    }
    match (followed, broken.is_empty()) {
        (0, _) => Err("the site has no links: this looks in the wrong place".into()),
        (_, true) => Ok(followed),
        (_, false) => {
            broken.sort();
            broken.dedup();
            Err(format!("\n     {}", broken.join("\n     ")))
        }
    }
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn collect(site: &Path, folder: &Path, pages: &mut Vec<PathBuf>) -> Result<(), String> {
    for entry in std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))? {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.is_dir() {
            collect(site, &path, pages)?;
        } else if path.extension().is_some_and(|e| e == "html") {
            pages.push(path.strip_prefix(site).unwrap_or(&path).to_path_buf());
        }
    }
    Ok(())
}

/// The values of these attributes, in tags alone.
fn attributes<'a>(html: &'a str, names: &[&str]) -> Vec<&'a str> {
    let mut values = Vec::new();
    for tag in html.split('<').skip(1).filter_map(|rest| rest.split_once('>')).map(|(tag, _)| tag) {
        for name in names {
            for (at, _) in tag.match_indices(&format!(" {name}=\"")) {
                let value = &tag[at + name.len() + 3..];
                values.extend(value.split_once('"').map(|(value, _)| value));
            }
        }
    }
    values
}

fn resolve(folder: &Path, link: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for component in folder.join(link).components() {
        match component {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::workspace::{make_dir, remove_dir};

    #[test]
    fn broken_links_are_named() {
        let site = std::env::temp_dir().join(format!("tensorlib-site-{}", std::process::id()));
        make_dir(&site.join("b")).unwrap();
        let put = |file: &str, text: &str| std::fs::write(site.join(file), text).unwrap();
        put("a.html", "<a href=\"b/c.html#x\">c</a> <a href=\"https://d.e/f\">f</a> href=\"text.html\"");
        put("b/c.html", "<h1 id=\"x\">C</h1><a href=\"../a.html\">a</a><a href=\"#x\">x</a>");
        assert_eq!(check(&site), Ok(3));
        put("a.html", "<a href=\"b/c.html#y\">c</a><img src=\"g.svg\">");
        let broken = check(&site).unwrap_err();
        assert!(
            broken.contains("a.html: b/c.html#y: no element") && broken.contains("a.html: g.svg: no such file"),
            "{broken}"
        );
        remove_dir(&site).unwrap();
    }
}
