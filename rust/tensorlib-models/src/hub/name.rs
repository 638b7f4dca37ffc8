//! Names of models on a hub.

use crate::{Error, Result};
use std::fmt;
use std::path::{Component, Path};
use std::str::FromStr;

/// A model on a hub: `OWNER/NAME[@REVISION][:FILE]`.
///
/// REVISION is a branch, a tag or a commit; `main` is the default. FILE is a file's name, such as `model-Q8_0.gguf`; a
/// type in the names of GGUF files, such as `Q8_0`; or `safetensors` for the folder of a repository that has GGUF files
/// too. Without FILE a repository with GGUF files stands for the only model among them, else for the one of type
/// Q4_K_M, else for the one of type Q8_0; a repository without GGUF files stands for its folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubName {
    owner: String,
    name: String,
    revision: Option<String>,
    file: Option<String>,
}

impl HubName {
    /// `OWNER/NAME`.
    pub fn repository(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }

    /// The name of the repository's folder in a cache.
    pub(super) fn folder(&self) -> String {
        format!("models--{}--{}", self.owner, self.name)
    }

    /// The branch, tag or commit, if the name has one.
    pub(super) fn revision(&self) -> Option<&str> {
        self.revision.as_deref()
    }

    /// The file or type, if the name has one.
    pub(super) fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }
}

impl FromStr for HubName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = |why: &str| {
            Error::invalid(format!("'{text}': {why}"))
                .with_hint("OWNER/NAME, OWNER/NAME:Q8_0 and OWNER/NAME@REVISION:FILE are valid")
        };
        let (repository, file) = match text.split_once(':') {
            Some((repository, file)) => (repository, Some(file)),
            None => (text, None),
        };
        let (repository, revision) = match repository.split_once('@') {
            Some((repository, revision)) => (repository, Some(revision)),
            None => (repository, None),
        };
        let (owner, name) = repository.split_once('/').ok_or_else(|| wrong("names no model of a hub"))?;
        if !is_word(owner) || !is_word(name) {
            return Err(wrong("an owner and a name have letters, digits, '-', '_' and '.'"));
        }
        if revision.is_some_and(|revision| !is_inside(revision)) {
            return Err(wrong("its revision is none: a branch, a tag or a commit is valid"));
        }
        if file.is_some_and(|file| !is_inside(file)) {
            return Err(wrong("its file is none of a repository"));
        }
        Ok(HubName {
            owner: owner.into(),
            name: name.into(),
            revision: revision.map(String::from),
            file: file.map(String::from),
        })
    }
}

impl fmt::Display for HubName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)?;
        self.revision.iter().try_for_each(|revision| write!(f, "@{revision}"))?;
        self.file.iter().try_for_each(|file| write!(f, ":{file}"))
    }
}

/// Whether an owner or a repository may have this name. `--` separates both in names of folders.
fn is_word(text: &str) -> bool {
    let plain = text.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_.".contains(&c));
    plain && (1..=96).contains(&text.len()) && !text.contains("--") && !text.contains("..") && !text.starts_with('.')
}

/// Whether a relative path with `/` stays in its folder on every system.
pub(super) fn is_inside(path: &str) -> bool {
    let plain = !path.contains(['\\', ':']) && !path.contains(char::is_control);
    // Components leave out what `a//b` and `a/./b` have too much: those are refused with the rest.
    let parts = path.split('/').all(|part| !part.is_empty() && part != ".");
    plain && parts && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read() {
        let name: HubName = "o/n-1.5_x@refs/pr/1:a/b.gguf".parse().unwrap();
        assert_eq!((name.repository().as_str(), name.folder().as_str()), ("o/n-1.5_x", "models--o--n-1.5_x"));
        assert_eq!((name.revision(), name.file()), (Some("refs/pr/1"), Some("a/b.gguf")));
        assert_eq!(name.to_string(), "o/n-1.5_x@refs/pr/1:a/b.gguf");
        for bad in [
            "",
            "n",
            "/n",
            "o/",
            "o/n/m",
            "o//n",
            "../n",
            "o/..",
            "o/n:",
            "o/n@",
            "o/n:/etc/passwd",
            "o/n:../x",
            "o/n:a//b",
            "o/n:a/./b",
            "o/n@../x",
            "o/n:a\\b",
            "o/n:c:x",
            "a--b/n",
            "o/n o",
            "ü/n",
        ] {
            let error = bad.parse::<HubName>().unwrap_err();
            assert!(error.to_string().contains(bad) && error.hint().unwrap().contains("OWNER/NAME"), "{bad}");
        }
    }
}
