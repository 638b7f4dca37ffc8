//! Chooses what a name stands for among the files of a repository.

use super::HubName;
use crate::files::parsed;
use crate::{Error, Result};

/// Types of GGUF files that are taken without being asked for, the first first.
const USUAL: [&str; 2] = ["Q4_K_M", "Q8_0"];
/// Stands for the folder of a repository that has GGUF files too.
const FOLDER: &str = "safetensors";

/// The most names that a message lists.
const NAMED: usize = 30;

/// What a name stands for.
#[derive(Debug, PartialEq, Eq)]
pub enum Chosen {
    /// A file; of a split GGUF file all shards, the first first.
    Files(Vec<String>),
    /// All files of a model in safetensors.
    Folder,
}

/// Chooses among the files of a repository, which `of` names in errors.
pub fn choose(name: &HubName, files: &[String], of: &str) -> Result<Chosen> {
    let models = models(files);
    let Some(wanted) = name.file() else {
        return match models[..] {
            [] => Ok(Chosen::Folder),
            [only] => Ok(Chosen::Files(shards_of(only, files))),
            _ => usual(name, &models, files, of),
        };
    };
    if files.iter().any(|file| file == wanted) {
        return Ok(Chosen::Files(shards_of(wanted, files)));
    }
    if wanted.eq_ignore_ascii_case(FOLDER) {
        return Ok(Chosen::Folder);
    }
    match of_type(wanted, &models)[..] {
        [] => {
            let message = format!("{name}: {of} has no file '{wanted}', and no GGUF file of such a type");
            Err(Error::no_file(message).with_hint(format!("there are {}", some_of(files))))
        }
        [only] => Ok(Chosen::Files(shards_of(only, files))),
        ref several => Err(ambiguous(name, several, of)),
    }
}

/// The model that a repository with several ones stands for.
fn usual(name: &HubName, models: &[&str], files: &[String], of: &str) -> Result<Chosen> {
    for dtype in USUAL {
        match of_type(dtype, models)[..] {
            [] => {}
            [only] => return Ok(Chosen::Files(shards_of(only, files))),
            ref several => return Err(ambiguous(name, several, of)),
        }
    }
    Err(ambiguous(name, models, of))
}

fn ambiguous(name: &HubName, models: &[&str], of: &str) -> Error {
    let models: Vec<String> = models.iter().map(|file| file.to_string()).collect();
    let message = format!("{name}: {of} has {} GGUF files that fit: {}", models.len(), some_of(&models));
    Error::invalid(message).with_hint(format!("name one, or its type: {}:{}", name.repository(), models[0]))
}

/// The GGUF files that are models: of a split one the first shard.
fn models(files: &[String]) -> Vec<&str> {
    let is_model = |file: &&str| {
        let lower = base(file).to_ascii_lowercase();
        // What reads images has a file of its own, and so have the weights of columns for quantising.
        let is_other = lower.starts_with("mmproj") || lower.contains("imatrix");
        let is_first = parsed(file, ".gguf").is_none_or(|(_, number, _)| number.parse() == Ok(1));
        lower.ends_with(".gguf") && !is_other && is_first
    };
    files.iter().map(String::as_str).filter(is_model).collect()
}

/// The models with this type in their name, as in `model-Q8_0.gguf`, or in that of their folder.
fn of_type<'a>(dtype: &str, models: &[&'a str]) -> Vec<&'a str> {
    let dtype = dtype.to_ascii_lowercase();
    let has = |file: &&&str| {
        let lower = file.to_ascii_lowercase();
        let bounded = |c: Option<char>| c.is_none_or(|c| "-./".contains(c));
        let ends = |at: usize| (lower[..at].chars().last(), lower[at + dtype.len()..].chars().next());
        lower.match_indices(&dtype).map(|(at, _)| ends(at)).any(|(before, after)| bounded(before) && bounded(after))
    };
    models.iter().filter(has).copied().collect()
}

/// A file with the others that are shards of the same model, the first first.
fn shards_of(file: &str, files: &[String]) -> Vec<String> {
    let key = |file: &str| parsed(file, ".gguf").map(|(stem, _, count)| (stem.to_string(), count.to_string()));
    let Some(wanted) = key(file) else { return vec![file.to_string()] };
    let mut all: Vec<String> = files.iter().filter(|file| key(file).as_ref() == Some(&wanted)).cloned().collect();
    all.sort();
    all
}

fn base(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

/// The first names of a list, for messages.
fn some_of(files: &[String]) -> String {
    if files.is_empty() {
        return "no files".into();
    }
    let more = files.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    files[..files.len().min(NAMED)].join(", ") + &more
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(name: &str, files: &[&str]) -> Result<Chosen> {
        let files: Vec<String> = files.iter().map(|file| file.to_string()).collect();
        choose(&name.parse().unwrap(), &files, "the repository")
    }

    #[test]
    fn the_usual_type_is_taken() {
        let files = ["README.md", "m-Q8_0.gguf", "m-Q4_K_M.gguf", "m-F16.gguf", "mmproj-F16.gguf", "m.imatrix.gguf"];
        let take = |name: &str, files: &[&str]| match chosen(name, files).unwrap() {
            Chosen::Files(files) => files.join(" "),
            Chosen::Folder => "folder".into(),
        };
        assert_eq!(take("o/n", &files), "m-Q4_K_M.gguf");
        assert_eq!(take("o/n", &files[..2]), "m-Q8_0.gguf");
        assert_eq!(take("o/n", &[files[1], files[3]]), "m-Q8_0.gguf");
        assert_eq!(take("o/n", &files[3..]), "m-F16.gguf");
        assert_eq!(take("o/n:q8_0", &files), "m-Q8_0.gguf");
        assert_eq!(take("o/n:mmproj-F16.gguf", &files), "mmproj-F16.gguf");
        assert_eq!(take("o/n:safetensors", &files), "folder");
        assert_eq!(take("o/n", &["config.json", "model.safetensors"]), "folder");
        let split = ["Q4_K_M/m-00002-of-00002.gguf", "Q4_K_M/m-00001-of-00002.gguf", "m-UD-Q4_K_XL.gguf"];
        assert_eq!(take("o/n", &split), "Q4_K_M/m-00001-of-00002.gguf Q4_K_M/m-00002-of-00002.gguf");
        assert_eq!(take("o/n:UD-Q4_K_XL", &split), "m-UD-Q4_K_XL.gguf");
    }

    #[test]
    fn several_files_and_none_are_errors_that_list_them() {
        let files = ["m-Q5_K_M.gguf", "m-Q6_K.gguf"];
        let error = chosen("o/n", &files).unwrap_err();
        assert!(error.to_string().contains("2 GGUF files that fit: m-Q5_K_M.gguf, m-Q6_K.gguf"), "{error}");
        assert!(error.hint().unwrap().contains("o/n:m-Q5_K_M.gguf"));
        // `Q6` and `K_M` are parts of types.
        for part in ["Q6", "K_M", "Q4_K_M", "none.gguf"] {
            let error = chosen(&format!("o/n:{part}"), &files).unwrap_err();
            assert!(error.to_string().contains(&format!("no file '{part}'")), "{error}");
            assert!(error.hint().unwrap().contains("m-Q6_K.gguf"));
        }
        let twice = ["a-Q4_K_M.gguf", "b-Q4_K_M.gguf"];
        assert!(chosen("o/n", &twice).unwrap_err().to_string().contains("a-Q4_K_M.gguf, b-Q4_K_M.gguf"));
    }
}
