//! Hyperparameters: the metadata of a GGUF file, or the config.json of a hub folder.
//!
//! A setting has a name in each; the code that asks says both, and an error names the one that the file at hand has.

use crate::{Error, Result};
use serde_json::Value as Json;
use std::fmt::Display;
use std::io::Read;
use std::path::{Path, PathBuf};
use tensorlib::{Array, Gguf, Value};

/// No count in a model's settings is larger: products of three of them fit into an `i64`.
const MAX_COUNT: i64 = 1 << 20;
/// The most bytes of a JSON file: the largest configurations have some thousand.
pub const MAX_JSON: u64 = 64 << 20;

/// A setting's name in GGUF, behind `ARCHITECTURE.`, and its path in config.json, dots between levels.
#[derive(Clone, Copy, Debug)]
pub struct Key(pub &'static str, pub &'static str);

/// A model's hyperparameters.
pub enum Settings {
    /// A GGUF file's, of this architecture.
    Gguf { file: Gguf, architecture: String },
    /// A config.json's.
    Hub { path: PathBuf, json: Json, architecture: String },
}

impl Settings {
    /// The metadata of a file.
    pub fn of_gguf(file: &Gguf) -> Result<Self> {
        Ok(Settings::Gguf { file: file.clone(), architecture: file.string("general.architecture")? })
    }

    /// The config.json of a folder.
    pub fn of_folder(folder: &Path) -> Result<Self> {
        let path = folder.join("config.json");
        let json = read_json(&path, MAX_JSON)?;
        let architecture = json.get("model_type").and_then(Json::as_str).unwrap_or_default().to_string();
        if architecture.is_empty() {
            let message = format!("{}: has no text 'model_type', which says what model it is", path.display());
            return Err(Error::format(message));
        }
        Ok(Settings::Hub { path, json, architecture })
    }

    /// `general.architecture`, or `model_type`.
    pub fn architecture(&self) -> &str {
        match self {
            Settings::Gguf { architecture, .. } | Settings::Hub { architecture, .. } => architecture,
        }
    }

    /// Whether the architecture has one of these names. Where a folder names that of its text's part too, it must be one
    /// of them as well.
    pub fn is_one_of(&self, names: &[&str]) -> Result<bool> {
        if !names.contains(&self.architecture()) {
            return Ok(false);
        }
        let Settings::Hub { path, json, architecture } = self else { return Ok(true) };
        match json.get(TEXT).and_then(|text| text.get("model_type")).and_then(Json::as_str) {
            Some(inner) if !names.contains(&inner) => {
                let what = format!("is '{inner}' in one that is '{architecture}': {} is known", names.join(", "));
                Err(Error::unsupported(format!("{}: {TEXT}.model_type: {what}", path.display())))
            }
            _ => Ok(true),
        }
    }

    /// The same with these values for what a folder does not say; its path and the value.
    pub fn with_defaults(&self, defaults: &[(Key, Json)]) -> Result<Self> {
        match self {
            Settings::Gguf { file, architecture } => {
                Ok(Settings::Gguf { file: file.clone(), architecture: architecture.clone() })
            }
            Settings::Hub { path, json, architecture } => {
                let mut json = json.clone();
                for (key, value) in defaults {
                    if self.find(*key)?.is_none() {
                        json[key.1] = value.clone();
                    }
                }
                Ok(Settings::Hub { path: path.clone(), json, architecture: architecture.clone() })
            }
        }
    }

    /// Whether these are of a hub folder.
    pub fn is_hub(&self) -> bool {
        matches!(self, Settings::Hub { .. })
    }

    /// The name of a setting where it comes from, for messages.
    pub fn name(&self, key: Key) -> String {
        match self {
            Settings::Gguf { architecture, .. } => format!("{architecture}.{}", key.0),
            Settings::Hub { path, .. } => format!("{}: {}", path.display(), key.1),
        }
    }

    /// An error about a setting.
    pub fn refuse(&self, key: Key, what: impl Display) -> Error {
        Error::format(format!("{}: {what}", self.name(key)))
    }

    /// A number from 1 to 2^20.
    pub fn count(&self, key: Key) -> Result<i64> {
        self.count_if(key)?.ok_or_else(|| self.refuse(key, "is missing: a whole number is expected"))
    }

    /// The same, where it is there.
    pub fn count_if(&self, key: Key) -> Result<Option<i64>> {
        let Some(value) = self.find(key)? else { return Ok(None) };
        let n = value.as_i64().filter(|n| (1..=MAX_COUNT).contains(n));
        n.map(Some).ok_or_else(|| {
            self.refuse(key, format!("is {}: a whole number from 1 to {MAX_COUNT} is valid", shown(&value)))
        })
    }

    /// A finite number.
    pub fn number(&self, key: Key) -> Result<f64> {
        self.number_if(key)?.ok_or_else(|| self.refuse(key, "is missing: a number is expected"))
    }

    /// The same, where it is there.
    pub fn number_if(&self, key: Key) -> Result<Option<f64>> {
        let Some(value) = self.find(key)? else { return Ok(None) };
        let x = value.as_f64().filter(|x| x.is_finite());
        x.map(Some).ok_or_else(|| self.refuse(key, format!("is {}: a finite number is valid", shown(&value))))
    }

    /// A yes or no, where it is there.
    pub fn flag_if(&self, key: Key) -> Result<Option<bool>> {
        let Some(value) = self.find(key)? else { return Ok(None) };
        value
            .as_bool()
            .map(Some)
            .ok_or_else(|| self.refuse(key, format!("is {}: true or false is valid", shown(&value))))
    }

    /// A text, where it is there.
    pub fn text_if(&self, key: Key) -> Result<Option<String>> {
        let Some(value) = self.find(key)? else { return Ok(None) };
        let text = value.as_str().map(String::from);
        text.map(Some).ok_or_else(|| self.refuse(key, format!("is {}: a text is valid", shown(&value))))
    }

    /// Anything, where it is there.
    pub fn value_if(&self, key: Key) -> Result<Option<Json>> {
        self.find(key)
    }

    /// Numbers, where they are there.
    pub fn numbers_if(&self, key: Key) -> Result<Option<Vec<f64>>> {
        let Some(value) = self.find(key)? else { return Ok(None) };
        let list =
            value.as_array().map(|list| list.iter().filter_map(Json::as_f64).filter(|x| x.is_finite()).collect());
        let whole = list.filter(|numbers: &Vec<f64>| Some(numbers.len()) == value.as_array().map(Vec::len));
        whole.map(Some).ok_or_else(|| self.refuse(key, format!("is {}: finite numbers are valid", shown(&value))))
    }

    /// Texts, where they are there.
    pub fn texts_if(&self, key: Key) -> Result<Option<Vec<String>>> {
        let Some(value) = self.find(key)? else { return Ok(None) };
        let list: Option<Vec<String>> =
            value.as_array().and_then(|list| list.iter().map(|v| v.as_str().map(String::from)).collect());
        list.map(Some).ok_or_else(|| self.refuse(key, format!("is {}: texts are valid", shown(&value))))
    }

    /// A setting that is there; a null is none.
    fn find(&self, key: Key) -> Result<Option<Json>> {
        match self {
            Settings::Gguf { file, architecture } if !key.0.is_empty() => {
                Ok(file.get(&format!("{architecture}.{}", key.0)).map(json_of))
            }
            Settings::Hub { json, .. } if !key.1.is_empty() => {
                let (inside, outside) = (json.get(TEXT).and_then(|text| at(text, key.1)), at(json, key.1));
                match (inside, outside) {
                    (Some(inside), Some(outside)) if !is_same(inside, outside) => {
                        let (inside, outside) = (shown(inside), shown(outside));
                        let what = format!("is {outside}, and in {TEXT} {inside}: one value is valid");
                        Err(self.refuse(key, what))
                    }
                    (inside, outside) => Ok(inside.or(outside).cloned()),
                }
            }
            _ => Ok(None),
        }
    }
}

/// Where models of several kinds of input have the settings of the part that reads text.
const TEXT: &str = "text_config";

/// What is at a path, dots between levels.
fn at<'a>(json: &'a Json, path: &str) -> Option<&'a Json> {
    path.split('.').try_fold(json, |at, name| at.get(name)).filter(|value| !value.is_null())
}

/// 256 and 256.0 are the same.
fn is_same(a: &Json, b: &Json) -> bool {
    a == b || matches!((a.as_f64(), b.as_f64()), (Some(a), Some(b)) if a == b)
}

/// A JSON file of a model's folder, of so many bytes at most.
pub fn read_json(path: &Path, most: u64) -> Result<Json> {
    let mut text = Vec::new();
    let file = std::fs::File::open(path).map_err(|e| Error::io(path, "opened", &e))?;
    file.take(most + 1).read_to_end(&mut text).map_err(|e| Error::io(path, "read", &e))?;
    if text.len() as u64 > most {
        return Err(Error::format(format!("{}: more than {most} bytes, which no such file has", path.display())));
    }
    serde_json::from_slice(&text).map_err(|e| Error::format(format!("{}: is no JSON: {e}", path.display())))
}

/// GGUF's values as JSON's.
fn json_of(value: Value) -> Json {
    match value {
        Value::U8(x) => x.into(),
        Value::I8(x) => x.into(),
        Value::U16(x) => x.into(),
        Value::I16(x) => x.into(),
        Value::U32(x) => x.into(),
        Value::I32(x) => x.into(),
        Value::U64(x) => x.into(),
        Value::I64(x) => x.into(),
        // JSON has no NaN and no infinity: as texts they are refused, and shown.
        Value::F32(x) if !x.is_finite() => x.to_string().into(),
        Value::F64(x) if !x.is_finite() => x.to_string().into(),
        Value::F32(x) => x.into(),
        Value::F64(x) => x.into(),
        Value::Bool(x) => x.into(),
        Value::String(x) => x.into(),
        Value::Array(Array::U32(x)) => x.into(),
        Value::Array(Array::I32(x)) => x.into(),
        Value::Array(Array::U64(x)) => x.into(),
        Value::Array(Array::I64(x)) => x.into(),
        Value::Array(Array::F32(x)) => x.into(),
        Value::Array(Array::F64(x)) => x.into(),
        Value::Array(Array::Bool(x)) => x.into(),
        Value::Array(Array::String(x)) => x.into(),
        other => format!("{other:?}").into(),
    }
}

fn shown(value: &Json) -> String {
    let mut text = value.to_string();
    if text.chars().count() > 60 {
        text = text.chars().take(60).chain("...".chars()).collect();
    }
    text
}
