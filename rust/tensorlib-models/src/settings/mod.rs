//! Hyperparameters: the metadata of a GGUF file, or the config.json of a hub folder.
//!
//! A setting has a name in each of the two. The code that asks for it gives both, and errors use the name in the file
//! that was read.

mod fields;
mod json_file;
mod keys;
mod object;
mod tables;

pub(crate) use fields::{check as check_fields, is_same, Fields};
pub(crate) use json_file::{optional_json, parse_json, read_json, read_text};
pub(crate) use keys::Keys;
pub(crate) use object::Object;
pub(crate) use tables::*;

use crate::warnings::Warnings;
use crate::{Error, Result};
use serde_json::Value as Json;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tensorlib::{Array, Gguf, Value};

/// The largest count in a model's settings: products of three counts fit into an `i64`.
const MAX_COUNT: i64 = 1 << 20;

/// A setting's name in GGUF, after `ARCHITECTURE.`, and its path in config.json, with dots between levels.
#[derive(Clone, Copy, Debug)]
pub struct Key(pub &'static str, pub &'static str);

/// A model's hyperparameters. They record which settings were read, so that [`Settings::finish`] can report the rest.
#[derive(Clone)]
pub struct Settings {
    values: Values,
    architecture: String,
    /// The settings read so far: names after the architecture's in GGUF, or paths in config.json. Clones share them.
    asked: Rc<RefCell<BTreeSet<&'static str>>>,
    warnings: Warnings,
}

#[derive(Clone)]
enum Values {
    /// A GGUF file's.
    Gguf(Gguf),
    /// A config.json's.
    Hub { path: PathBuf, json: Json },
}

/// Architectures whose text part may have the name of another one that differs in defaults alone.
const OTHER_TEXTS: [(&str, &str); 1] = [("mistral3", "mistral")];

impl Settings {
    fn new(values: Values, architecture: String, warnings: &Warnings) -> Self {
        Settings { values, architecture, asked: Rc::default(), warnings: warnings.clone() }
    }

    /// Reads the metadata of a file.
    pub fn of_gguf(file: &Gguf, warnings: &Warnings) -> Result<Self> {
        let architecture = file.string("general.architecture")?;
        Ok(Self::new(Values::Gguf(file.clone()), architecture, warnings))
    }

    /// Reads the config.json of a folder.
    pub fn of_folder(folder: &Path, warnings: &Warnings) -> Result<Self> {
        Self::of_config(&folder.join("config.json"), warnings)
    }

    /// Reads a config.json, which may have another name.
    pub fn of_config(path: &Path, warnings: &Warnings) -> Result<Self> {
        let (path, json) = (path.to_path_buf(), read_json(path)?);
        let architecture = json.get("model_type").and_then(Json::as_str).unwrap_or_default().to_string();
        if architecture.is_empty() {
            let message = format!("{}: has no text 'model_type', which says what model it is", path.display());
            return Err(Error::format(message));
        }
        Ok(Self::new(Values::Hub { path, json }, architecture, warnings))
    }

    /// Whether a setting of this GGUF name, after the architecture's, was read.
    pub fn was_read(&self, name: &str) -> bool {
        self.asked.borrow().contains(name)
    }

    /// The text of a folder's setting that no architecture reads, such as its name.
    pub fn hub_text(&self, name: &str) -> Option<&str> {
        match &self.values {
            Values::Hub { json, .. } => json.get(name).and_then(Json::as_str),
            Values::Gguf(_) => None,
        }
    }

    /// Collects warnings about these settings.
    pub fn warnings(&self) -> &Warnings {
        &self.warnings
    }

    /// The value of `general.architecture`, or `model_type`.
    pub fn architecture(&self) -> &str {
        &self.architecture
    }

    /// Whether the architecture has one of these names. If a folder also names the architecture of its text model, that
    /// must be one of them too, or one of [`OTHER_TEXTS`].
    pub fn is_one_of(&self, names: &[&str]) -> Result<bool> {
        if !names.contains(&self.architecture()) {
            return Ok(false);
        }
        let Values::Hub { path, json } = &self.values else { return Ok(true) };
        match json.get(TEXT).and_then(|text| text.get("model_type")).and_then(Json::as_str) {
            Some(inner) if !names.contains(&inner) && !OTHER_TEXTS.contains(&(self.architecture(), inner)) => {
                let (architecture, known) = (&self.architecture, names.join(", "));
                let what = format!("is '{inner}' in one that is '{architecture}': {known} is known");
                Err(Error::unsupported(format!("{}: {TEXT}.model_type: {what}", path.display())))
            }
            _ => Ok(true),
        }
    }

    /// These settings with values for settings that a folder does not mention. A null is a mention.
    pub fn with_defaults(&self, defaults: &[(Key, Json)]) -> Result<Self> {
        self.with(defaults, |key| Ok(!self.is_null(key)))
    }

    /// These settings with values for settings that a folder does not mention or sets to null.
    pub fn with_values(&self, values: &[(Key, Json)]) -> Result<Self> {
        self.with(values, |_| Ok(true))
    }

    fn with(&self, values: &[(Key, Json)], wanted: impl Fn(Key) -> Result<bool>) -> Result<Self> {
        let mut made = self.clone();
        let Values::Hub { json, .. } = &mut made.values else { return Ok(made) };
        for (key, value) in values {
            if self.find(*key)?.is_none() && wanted(*key)? {
                put(json, key.1, value.clone());
            }
        }
        Ok(made)
    }

    /// Whether these are settings of a hub folder.
    pub fn is_hub(&self) -> bool {
        matches!(self.values, Values::Hub { .. })
    }

    /// Whether a folder sets a setting to null, which differs from not mentioning it.
    pub fn is_null(&self, key: Key) -> bool {
        let Values::Hub { json, .. } = &self.values else { return false };
        let is_null = |json: &Json| {
            let mut found = Some(json);
            for name in key.1.split('.') {
                found = found.and_then(|json| json.get(name));
            }
            found.is_some_and(Json::is_null)
        };
        !key.1.is_empty() && (json.get(TEXT).is_some_and(is_null) || is_null(json))
    }

    /// The name of a setting in the file that it comes from, for messages.
    pub fn name(&self, key: Key) -> String {
        match &self.values {
            Values::Gguf(_) => format!("{}.{}", self.architecture, key.0),
            Values::Hub { path, .. } => format!("{}: {}", path.display(), key.1),
        }
    }

    /// An error about a setting.
    pub fn refuse(&self, key: Key, what: impl Display) -> Error {
        Error::format(format!("{}: {what}", self.name(key)))
    }

    /// A required count from 1 to 2^20.
    pub fn count(&self, key: Key) -> Result<i64> {
        self.count_if(key)?.ok_or_else(|| self.refuse(key, "is missing: a whole number is expected"))
    }

    /// An optional integer from `least` to 2^20.
    pub fn whole_if(&self, key: Key, least: i64) -> Result<Option<i64>> {
        let Some(value) = self.find(key)? else { return Ok(None) };
        let n = value.as_i64().filter(|n| (least..=MAX_COUNT).contains(n));
        n.map(Some).ok_or_else(|| {
            self.refuse(key, format!("is {}: a whole number from {least} to {MAX_COUNT} is valid", shown(&value)))
        })
    }

    /// [`Settings::count_if`] for a setting of which 0 means none, as any GGUF file may say.
    pub fn count_or_none(&self, key: Key) -> Result<Option<i64>> {
        Ok(self.whole_if(key, 0)?.filter(|n| *n > 0))
    }

    /// An optional count from 1 to 2^20.
    pub fn count_if(&self, key: Key) -> Result<Option<i64>> {
        self.whole_if(key, 1)
    }

    /// Counts for each of `n` layers: a list of at least as many, or one number for all.
    pub fn counts(&self, key: Key, n: i64) -> Result<Vec<i64>> {
        self.wholes(key, n, 1)
    }

    /// Integers from `least` to 2^20 for each of `n` layers: a list of at least as many, or one number for all.
    pub fn wholes(&self, key: Key, n: i64, least: i64) -> Result<Vec<i64>> {
        let length = usize::try_from(n).unwrap_or(0);
        let Some(Json::Array(list)) = self.find(key)? else { return Ok(vec![self.count(key)?; length]) };
        let counts = list.iter().take(length).map(|value| value.as_i64().filter(|n| (least..=MAX_COUNT).contains(n)));
        let counts: Option<Vec<i64>> = counts.collect();
        counts.filter(|counts| counts.len() == length).ok_or_else(|| {
            let one = format!("a whole number from {least} to {MAX_COUNT}");
            self.refuse(key, format!("{one}, or one for each of the {n} layers, is valid"))
        })
    }

    /// [`Settings::wholes`] of which some layers have 0 and all others the same number, and that number.
    pub fn zero_or_one_number(&self, key: Key, n: i64) -> Result<(Vec<i64>, i64)> {
        let all = self.wholes(key, n, 0)?;
        let mut others = all.iter().copied().filter(|n| *n > 0);
        let first = others.next().unwrap_or(1);
        match others.find(|n| *n != first) {
            Some(other) => {
                let what = format!("has {first} and {other}: 0 and one other number are supported");
                Err(Error::unsupported(format!("{}: {what}", self.name(key))))
            }
            None => Ok((all, first)),
        }
    }

    /// A required finite number.
    pub fn number(&self, key: Key) -> Result<f64> {
        self.number_if(key)?.ok_or_else(|| self.refuse(key, "is missing: a number is expected"))
    }

    /// An optional finite number.
    pub fn number_if(&self, key: Key) -> Result<Option<f64>> {
        let Some(value) = self.find(key)? else { return Ok(None) };
        let x = value.as_f64().filter(|x| x.is_finite());
        x.map(Some).ok_or_else(|| self.refuse(key, format!("is {}: a finite number is valid", shown(&value))))
    }

    /// An optional flag.
    pub fn flag_if(&self, key: Key) -> Result<Option<bool>> {
        let Some(value) = self.find(key)? else { return Ok(None) };
        value
            .as_bool()
            .map(Some)
            .ok_or_else(|| self.refuse(key, format!("is {}: true or false is valid", shown(&value))))
    }

    /// An optional text.
    pub fn text_if(&self, key: Key) -> Result<Option<String>> {
        let Some(value) = self.find(key)? else { return Ok(None) };
        let text = value.as_str().map(String::from);
        text.map(Some).ok_or_else(|| self.refuse(key, format!("is {}: a text is valid", shown(&value))))
    }

    /// An optional value of any kind.
    pub fn value_if(&self, key: Key) -> Result<Option<Json>> {
        self.find(key)
    }

    /// An optional list of numbers.
    pub fn numbers_if(&self, key: Key) -> Result<Option<Vec<f64>>> {
        let Some(value) = self.find(key)? else { return Ok(None) };
        let list =
            value.as_array().map(|list| list.iter().filter_map(Json::as_f64).filter(|x| x.is_finite()).collect());
        let whole = list.filter(|numbers: &Vec<f64>| Some(numbers.len()) == value.as_array().map(Vec::len));
        whole.map(Some).ok_or_else(|| self.refuse(key, format!("is {}: finite numbers are valid", shown(&value))))
    }

    /// The numbers of `n` layers under a key of a GGUF file that is not the architecture's: one for all, or a list.
    pub fn numbers_of_layers(&self, key: &str, n: usize) -> Result<Vec<f64>> {
        let value = match &self.values {
            Values::Gguf(file) => file.get(key).map(json_of).unwrap_or_default(),
            Values::Hub { .. } => Json::Null,
        };
        let list: Option<Vec<f64>> = match (value.as_f64(), value.as_array()) {
            (Some(one), _) => Some(vec![one; n]),
            (_, Some(list)) => list.iter().map(Json::as_f64).collect(),
            _ => None,
        };
        list.filter(|list| list.len() == n && list.iter().all(|x| x.is_finite())).ok_or_else(|| {
            Error::format(format!("{key}: is {}: a finite number for each of the {n} layers is valid", shown(&value)))
        })
    }

    /// An optional list of texts.
    pub fn texts_if(&self, key: Key) -> Result<Option<Vec<String>>> {
        let Some(value) = self.find(key)? else { return Ok(None) };
        let list: Option<Vec<String>> =
            value.as_array().and_then(|list| list.iter().map(|v| v.as_str().map(String::from)).collect());
        list.map(Some).ok_or_else(|| self.refuse(key, format!("is {}: texts are valid", shown(&value))))
    }

    /// Two numbers, which may be infinite.
    pub fn limits_if(&self, key: Key) -> Result<Option<(f64, f64)>> {
        let Some(value) = self.find(key)? else { return Ok(None) };
        let number = |value: &Json| {
            // Newer folders name such numbers in an object.
            let text = value.as_str().or(value["__float__"].as_str());
            value.as_f64().or(text.and_then(|text| text.parse().ok())).filter(|x: &f64| !x.is_nan())
        };
        let list: Option<Vec<f64>> = value.as_array().and_then(|list| list.iter().map(number).collect());
        match list.as_deref() {
            Some([least, most]) if least <= most => Ok(Some((*least, *most))),
            _ => Err(self.refuse(key, format!("is {}: two numbers, the lower one first, are valid", shown(&value)))),
        }
    }

    /// What a list of texts says of each of `n` layers, if it exists: one of these kinds.
    pub fn kinds_of_layers<T: Clone>(&self, key: Key, n: i64, known: &[(&str, T)]) -> Result<Option<Vec<T>>> {
        let Some(texts) = self.texts_if(key)? else { return Ok(None) };
        if texts.len() as i64 != n {
            return Err(self.refuse_length(key, texts.len(), n));
        }
        let kind = |text: &String| {
            let found = known.iter().find(|(name, _)| name == text).map(|(_, kind)| kind.clone());
            found.ok_or_else(|| {
                let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
                let what = format!("has '{text}': {} are known", names.join(" and "));
                Error::unsupported(format!("{}: {what}", self.name(key)))
            })
        };
        texts.iter().map(kind).collect::<Result<_>>().map(Some)
    }

    /// An error about a list that has not one entry for each of `n` layers.
    pub fn refuse_length(&self, key: Key, entries: usize, n: i64) -> Error {
        self.refuse(key, format!("has {entries} entries: one for each of the {n} layers is valid"))
    }

    /// Whether a folder names a class that classifies whole texts; `None` if it names no class.
    pub fn classifies_texts(&self) -> Result<Option<bool>> {
        const ARCHITECTURES: Key = Key("", "architectures");
        let names = self.texts_if(ARCHITECTURES)?.filter(|names| !names.is_empty());
        Ok(names.map(|names| names.iter().any(|name| name.ends_with("ForSequenceClassification"))))
    }

    /// Refuses a text other than these.
    pub fn expect_text(&self, key: Key, known: &[&str]) -> Result<()> {
        match self.text_if(key)? {
            Some(text) if !known.contains(&text.as_str()) => {
                let what = format!("is '{text}': {} is known", known.join(", "));
                Err(Error::unsupported(format!("{}: {what}", self.name(key))))
            }
            _ => Ok(()),
        }
    }

    /// A setting of the text model, or otherwise the one at the top level, which may differ.
    pub fn inner_first(&self, key: Key) -> Option<Json> {
        self.asked.borrow_mut().insert(if self.is_hub() { key.1 } else { key.0 });
        match &self.values {
            Values::Gguf(file) => self.of_file(file, key),
            Values::Hub { json, .. } if !key.1.is_empty() => {
                json.get(TEXT).and_then(|text| at(text, key.1)).or(at(json, key.1)).cloned()
            }
            Values::Hub { .. } => None,
        }
    }

    /// A setting, unless it is missing or null.
    fn find(&self, key: Key) -> Result<Option<Json>> {
        if let Values::Hub { json, .. } = &self.values {
            let outside = at(json, key.1).filter(|_| !key.1.is_empty());
            let inside = json.get(TEXT).and_then(|text| at(text, key.1));
            if let (Some(inside), Some(outside)) = (inside, outside) {
                if !is_same(inside, outside) {
                    let (inside, outside) = (shown(inside), shown(outside));
                    let what = format!("is {outside}, and in {TEXT} {inside}: one value is valid");
                    return Err(self.refuse(key, what));
                }
            }
        }
        Ok(self.inner_first(key))
    }

    fn of_file(&self, file: &Gguf, key: Key) -> Option<Json> {
        if key.0.is_empty() {
            return None;
        }
        file.get(&format!("{}.{}", self.architecture, key.0)).map(json_of)
    }

    /// Call it when all settings were read: the others are harmless, refused or reported.
    pub fn finish(&self, config: &[&Fields], gguf: &[&Fields]) -> Result<()> {
        match &self.values {
            Values::Gguf(file) => self.finish_gguf(file, gguf),
            Values::Hub { path, json } => {
                let path = path.display().to_string();
                self.finish_object(&path, json, "", config)?;
                // Other models leave this part out.
                let reads_images = self
                    .asked
                    .borrow()
                    .iter()
                    .any(|name| name.strip_prefix(IMAGES).is_some_and(|rest| rest.starts_with('.')));
                if let Some(images) = json.get(IMAGES).filter(|_| reads_images) {
                    self.finish_object(&format!("{path}: {IMAGES}"), images, &format!("{IMAGES}."), config)?;
                }
                json.get(TEXT).map_or(Ok(()), |text| self.finish_object(&format!("{path}: {TEXT}"), text, "", config))
            }
        }
    }

    /// `inside` is the path of the object, with a dot at its end.
    fn finish_object(&self, file: &str, json: &Json, inside: &str, tables: &[&Fields]) -> Result<()> {
        let asked = self.asked.borrow();
        let is_read = |name: &str| asked.iter().any(|path| path.strip_prefix(inside) == Some(name));
        let all = json.as_object().into_iter().flatten();
        let rotations = ["rope_scaling", "rope_parameters"];
        let left = all.clone().filter(|(name, _)| !is_read(name) && !rotations.contains(&name.as_str()));
        fields::check(tables, file, left.map(|(name, value)| (name.as_str(), value.clone())), &self.warnings)?;
        for (name, value) in all.filter(|(name, _)| rotations.contains(&name.as_str())) {
            let kinds = value.as_object().into_iter().flatten().filter(|(_, inner)| inner.is_object());
            let kinds: Vec<_> = kinds.map(|(kind, inner)| (format!("{file}: {name}.{kind}"), inner)).collect();
            let objects = if kinds.is_empty() { vec![(format!("{file}: {name}"), value)] } else { kinds };
            for (what, object) in objects {
                self.finish_rotation(&what, object, &asked)?;
            }
        }
        Ok(())
    }

    /// A folder's settings of rotations are read under the older name, `rope_scaling`.
    fn finish_rotation(&self, what: &str, object: &Json, asked: &BTreeSet<&'static str>) -> Result<()> {
        let is_read = |name: &str| asked.iter().any(|path| path.strip_prefix("rope_scaling.") == Some(name));
        let left = object.as_object().into_iter().flatten().filter(|(name, _)| !is_read(name));
        fields::check(&[&ROTATION], what, left.map(|(name, value)| (name.as_str(), value.clone())), &self.warnings)
    }

    fn finish_gguf(&self, file: &Gguf, tables: &[&Fields]) -> Result<()> {
        let asked = self.asked.borrow();
        let prefix = format!("{}.", self.architecture);
        let own = file.keys().filter_map(|key| Some((key, key.strip_prefix(&prefix)?)));
        let left: Vec<_> = own.filter(|(_, name)| !asked.contains(name)).collect();
        let value = |key: &str| file.get(key).map(json_of).unwrap_or_default();
        let named = left.iter().map(|(key, name)| (*name, value(key)));
        fields::check(tables, &self.architecture, named, &self.warnings)?;
        // A separate reader handles the long arrays of tokenizers.
        let others = file.keys().filter(|key| !key.starts_with(&prefix) && !key.starts_with("tokenizer."));
        fields::check(&[&GENERAL], "GGUF", others.map(|key| (key, value(key))), &self.warnings)
    }
}

/// The key of the text model's settings, in models with several kinds of input.
const TEXT: &str = "text_config";

/// The object of the image encoder.
const IMAGES: &str = "vision_config";

/// Sets the value at a path with dots between levels, unless something on the way is no object.
fn put(json: &mut Json, path: &str, value: Json) {
    let mut at = json;
    for name in path.split('.') {
        if at.is_null() {
            *at = Json::Object(serde_json::Map::new());
        }
        let Some(object) = at.as_object_mut() else { return };
        at = object.entry(name).or_insert(Json::Null);
    }
    *at = value;
}

/// The value at a path with dots between levels.
fn at<'a>(json: &'a Json, path: &str) -> Option<&'a Json> {
    path.split('.').try_fold(json, |at, name| at.get(name)).filter(|value| !value.is_null())
}

/// GGUF's values as JSON's.
pub(crate) fn json_of(value: Value) -> Json {
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

pub(crate) fn shown(value: &Json) -> String {
    let mut text = value.to_string();
    if text.chars().count() > 60 {
        text = text.chars().take(60).chain("...".chars()).collect();
    }
    text
}
