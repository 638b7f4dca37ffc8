//! Finds the files of one model: files numbered in their names, or shards that an index lists.

use crate::settings::{parse_json, read_text};
use crate::{Error, Result};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// The most names that a message lists; it counts the others.
const NAMED: usize = 4;

/// Names of a hub folder's tensor files; the first that exists is used.
const TENSORS: [&str; 2] = ["model.safetensors", "model.safetensors.index.json"];

/// The file in a hub folder that stands for its tensors: the only one, or the index of the shards.
///
/// # Errors
/// [`ErrorKind::Io`](crate::ErrorKind) if the folder has neither.
pub fn tensors_of(folder: &Path) -> Result<PathBuf> {
    TENSORS.iter().map(|name| folder.join(name)).find(|file| file.exists()).ok_or_else(|| {
        Error::no_file(format!("{}: has neither {}", folder.display(), TENSORS.join(" nor ")))
            .with_hint("weights of PyTorch (pytorch_model.bin) are programs: convert them to safetensors before")
    })
}

/// All files of a hub folder with tensors, or an error that names the missing ones.
pub fn tensor_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let file = tensors_of(folder)?;
    match file.extension().is_some_and(|end| end == "json") {
        true => Index::read(&file)?.shards(),
        false => Ok(vec![file]),
    }
}

/// The existing files `STEM-NUMBER-of-COUNT.EXTENSION` with the same stem and count. Numbers begin at 1, or at 0 if
/// that file exists.
pub struct Numbered {
    like: PathBuf,
    stem: String,
    count: usize,
    end: String,
    /// Digits of a number with leading zeros.
    width: usize,
    there: BTreeMap<usize, PathBuf>,
}

/// The files numbered like this one, including itself; `None` if its name has no number.
pub fn beside(path: &Path, suffix: &str) -> Result<Option<Numbered>> {
    let name = path.file_name().and_then(|name| name.to_str());
    let Some((stem, number, count)) = name.and_then(|name| parsed(name, suffix)) else { return Ok(None) };
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut width = [number, count].into_iter().filter(|n| n.starts_with('0')).map(str::len).max().unwrap_or(0);
    let mut there = BTreeMap::new();
    let entries = std::fs::read_dir(folder).map_err(|e| {
        let error = Error::io(folder, "read", &e);
        error.about(format_args!("{}: the other shards are looked for", path.display()))
    })?;
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some((s, number, c)) = name.to_str().and_then(|name| parsed(name, suffix)) else { continue };
        if (s, c) == (stem, count) {
            width = if number.starts_with('0') { number.len() } else { width };
            let (number, path) = (number.parse().unwrap_or(0), path.with_file_name(&name));
            if let Some(other) = there.insert(number, path.clone()) {
                let message = format!("{}: has the number of {}", path.display(), other.display());
                return Err(Error::no_file(message).with_hint("one of both is not of this model: move it away"));
            }
        }
    }
    let (like, stem, end) = (path.to_path_buf(), stem.into(), format!("-of-{count}{suffix}"));
    Ok(Some(Numbered { like, stem, count: count.parse().unwrap_or(0), end, width, there }))
}

/// Stem, number and count of a name.
pub fn parsed<'a>(name: &'a str, suffix: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let (rest, count) = name.strip_suffix(suffix)?.rsplit_once("-of-")?;
    let (stem, number) = rest.rsplit_once('-')?;
    // Six digits would be more files than any folder has.
    let value = |text: &str| {
        let digits = (1..=6).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_digit());
        digits.then(|| text.parse::<usize>().ok()).flatten()
    };
    (value(number)? <= value(count)?).then_some((stem, number, count))
}

impl Numbered {
    /// The files that exist.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.there.values().cloned().collect()
    }

    /// All files, or an error that names the missing ones.
    pub fn complete(&self) -> Result<Vec<PathBuf>> {
        let (stem, end, width) = (&self.stem, &self.end, self.width);
        let first = usize::from(!self.there.contains_key(&0));
        let missing = (first..first + self.count).filter(|n| !self.there.contains_key(n));
        let names: Vec<String> = missing.map(|n| format!("{stem}-{n:0width$}{end}")).collect();
        if names.is_empty() {
            return Ok(self.paths());
        }
        let (path, count) = (self.like.display(), self.count);
        let message = format!("{path}: is one of {count} shards, and its folder has no {}", listed(names));
        Err(Error::no_file(message)
            .with_hint("get the missing ones too; a shard is read alone under a name that does not count it"))
    }
}

/// The contents of a `model.safetensors.index.json`: the shard of each tensor.
pub struct Index {
    path: PathBuf,
    map: BTreeMap<String, String>,
}

impl Index {
    /// Reads an index; shards lie in its folder or below.
    pub fn read(path: &Path) -> Result<Self> {
        let bad = |what: String| {
            let message = format!("{}: {what}", path.display());
            Error::format(message).with_hint("an index has a weight_map from tensors' names to shards' files")
        };
        let text = read_text(path)?;
        let json: Json = parse_json(&text).map_err(|e| bad(format!("is no index of shards: {e}")))?;
        let pairs = json.get("weight_map").and_then(Json::as_object);
        let pairs = pairs.ok_or_else(|| bad("is JSON without an object 'weight_map'".into()))?;
        let mut map = BTreeMap::new();
        for (tensor, shard) in pairs {
            let name =
                shard.as_str().ok_or_else(|| bad(format!("weight_map: '{tensor}' is {shard}: a file is valid")))?;
            let mut parts = Path::new(name).components();
            if name.is_empty() || !parts.all(|part| matches!(part, Component::Normal(_))) {
                return Err(bad(format!(
                    "weight_map: '{tensor}' is in '{name}': a file in the index's folder is valid"
                )));
            }
            map.insert(tensor.clone(), name.to_string());
        }
        if map.is_empty() {
            return Err(bad("its weight_map is empty: it names no shard".into()));
        }
        Ok(Index { path: path.to_path_buf(), map })
    }

    /// Each shard once, or an error that names the missing ones.
    pub fn shards(&self) -> Result<Vec<PathBuf>> {
        let mut names: Vec<&String> = self.map.values().collect();
        names.sort_unstable();
        names.dedup();
        let (there, missing): (Vec<&String>, Vec<&String>) =
            names.into_iter().partition(|name| self.file(name).exists());
        if missing.is_empty() {
            return Ok(there.into_iter().map(|name| self.file(name)).collect());
        }
        let names = listed(missing.into_iter().cloned().collect());
        let message = format!("{}: names shards that are not in its folder: {names}", self.path.display());
        Err(Error::no_file(message).with_hint("get the missing ones too"))
    }

    /// The tensors that the index lists, each with its shard.
    pub fn tensors(&self) -> impl Iterator<Item = (&str, PathBuf)> {
        self.map.iter().map(|(tensor, shard)| (tensor.as_str(), self.file(shard)))
    }

    /// Whether the index lists a tensor.
    pub fn names(&self, tensor: &str) -> bool {
        self.map.contains_key(tensor)
    }

    /// The path of the index.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.with_file_name(name)
    }
}

/// `a, b and 7 more`.
pub fn listed(mut names: Vec<String>) -> String {
    let n = names.len();
    names.truncate(NAMED);
    let more = if n > NAMED { format!(" and {} more", n - NAMED) } else { String::new() };
    names.join(", ") + &more
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_count() {
        let name = |name| parsed(name, ".safetensors");
        assert_eq!(name("model-00002-of-00003.safetensors"), Some(("model", "00002", "00003")));
        assert_eq!(name("a-b-of-c-7-of-12.safetensors"), Some(("a-b-of-c", "7", "12")));
        assert_eq!(name("m-00000-of-00002.safetensors"), Some(("m", "00000", "00002")));
        for none in ["model.safetensors", "m-4-of-3.safetensors", "m-1-of-x.safetensors", "m--of-2.safetensors"] {
            assert_eq!(name(none), None, "{none}");
        }
        assert_eq!(name("m-0000001-of-0000002.safetensors"), None);
        assert_eq!(name("m-1-of-2.gguf"), None);
    }

    #[test]
    fn long_lists_are_cut() {
        let names = |n: usize| (0..n).map(|i| i.to_string()).collect();
        assert_eq!(listed(names(4)), "0, 1, 2, 3");
        assert_eq!(listed(names(6)), "0, 1, 2, 3 and 2 more");
    }
}
