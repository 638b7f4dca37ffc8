//! The files of a repository, as the server lists them.

use super::http::{escaped, Http};
use super::odd_answer;
use crate::hub::name::is_inside;
use crate::hub::HubName;
use crate::{Error, Result};

/// A revision of a repository.
pub struct Listing {
    /// Its commit.
    pub commit: String,
    /// The names of its files.
    pub files: Vec<String>,
}

impl Listing {
    /// Asks the server.
    pub fn get(http: &Http, name: &HubName) -> Result<Self> {
        let revision = escaped(name.revision().unwrap_or("main"), false);
        let json = http.json(name, &format!("api/models/{}/revision/{revision}", name.repository()))?;
        let commit = json["sha"].as_str().filter(|sha| is_hash(sha));
        let commit = commit.ok_or_else(|| odd_answer(name, "it names no commit"))?.to_string();
        let siblings = json["siblings"].as_array().ok_or_else(|| odd_answer(name, "it lists no files"))?;
        let mut files = Vec::new();
        for sibling in siblings {
            let file = sibling["rfilename"].as_str().ok_or_else(|| odd_answer(name, "a file has no name"))?;
            if leaves(file) {
                let message = format!("{name}: the server lists '{file}', a path outside of the repository");
                return Err(Error::format(message).with_hint("nothing was written: do not trust that server"));
            }
            // Other odd names are none of a model's files.
            if is_inside(file) {
                files.push(file.to_string());
            }
        }
        Ok(Listing { commit, files })
    }
}

/// Whether a path leaves its folder.
fn leaves(path: &str) -> bool {
    path.starts_with(['/', '\\']) || path.split(['/', '\\']).any(|part| part == "..") || path.get(1..3) == Some(":\\")
}

/// Whether a text can be a hash, and the name of a file.
pub fn is_hash(text: &str) -> bool {
    (4..=64).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_hexdigit())
}
