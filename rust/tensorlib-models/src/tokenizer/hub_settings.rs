//! Reads the files that accompany `tokenizer.json`.

use super::metadata::sorted_ids;
use super::tables::{CONFIG, GENERATION};
use super::Usage;
use crate::settings::{check_fields, optional_json, read_text, Fields};
use crate::warnings::Warnings;
use crate::{Error, Result};
use serde_json::Value;
use std::path::Path;
use tokenizers::AddedToken;

/// The settings of a folder; missing ones keep their defaults.
#[derive(Default)]
pub(super) struct Settings {
    /// The texts of tokens with a role, by its name, such as `bos_token`.
    roles: Vec<(String, String)>,
    pub(super) add_bos: Option<bool>,
    pub(super) add_eos: Option<bool>,
    pub(super) added: Vec<(u32, AddedToken)>,
    /// The `eos_token_id` of the generation settings, or otherwise of the model.
    ends: Vec<u32>,
    /// Texts that end an answer.
    stops: Vec<String>,
    /// Tokens that the model never writes.
    suppressed: Vec<i64>,
    /// Whether texts that are too long lose their beginning.
    truncates_left: bool,
    /// Whether models get token types, as `model_input_names` says.
    pub(super) has_types: bool,
    chat_template: Option<String>,
}

impl Settings {
    pub(super) fn read(folder: &Path, warnings: &Warnings) -> Result<Self> {
        let mut settings = Settings { has_types: true, ..Settings::default() };
        let path = folder.join("tokenizer_config.json");
        if let Some(json) = optional_json(&path)? {
            check(&path, &json, &CONFIG, warnings)?;
            settings.add_roles(&json);
            settings.add_bos = json["add_bos_token"].as_bool();
            settings.add_eos = json["add_eos_token"].as_bool();
            settings.truncates_left = json["truncation_side"] == "left";
            if let Some(names) = json["model_input_names"].as_array() {
                settings.has_types = names.iter().any(|name| name == "token_type_ids");
            }
            settings.chat_template = template(&json["chat_template"]);
            settings.add_tokens(&path, &json["added_tokens_decoder"])?;
        }
        if let Some(json) = optional_json(&folder.join("special_tokens_map.json"))? {
            settings.add_roles(&json);
        }
        settings.read_ends(folder, warnings)?;
        // A separate file is the newer way and takes precedence.
        let path = folder.join("chat_template.json");
        if let Some(text) = optional_json(&path)?.and_then(|json| template(&json["chat_template"])) {
            settings.chat_template = Some(text);
        }
        let path = folder.join("chat_template.jinja");
        if path.exists() {
            let text = String::from_utf8(read_text(&path)?);
            settings.chat_template = Some(text.map_err(|_| Error::format(format!("{}: is no UTF-8", path.display())))?);
        }
        Ok(settings)
    }

    /// Reads what generation_config.json says about answers. The tokens that end one are those of config.json if it
    /// does not mention them.
    fn read_ends(&mut self, folder: &Path, warnings: &Warnings) -> Result<()> {
        let path = folder.join("generation_config.json");
        if let Some(json) = optional_json(&path)? {
            check(&path, &json, &GENERATION, warnings)?;
            self.stops = stops(&path, &json["stop_strings"])?;
            self.suppressed = suppressed(&path, &json["suppress_tokens"])?;
            if json.get("eos_token_id").is_some() {
                self.ends = ends(&path, &json["eos_token_id"])?;
                return Ok(());
            }
        }
        let path = folder.join("config.json");
        let json = optional_json(&path)?.unwrap_or_default();
        for of in [&json, &json["text_config"]] {
            self.ends.extend(ends(&path, &of["eos_token_id"])?);
        }
        Ok(())
    }

    /// What the settings say of the use of a vocabulary of `n_tokens`.
    pub(super) fn usage(self, folder: &Path, n_tokens: usize) -> Result<Usage> {
        let what = folder.join("generation_config.json").display().to_string() + ": suppress_tokens";
        Ok(Usage {
            ends: self.ends,
            stops: self.stops,
            suppressed: sorted_ids(&what, &self.suppressed, n_tokens)?,
            truncates_left: self.truncates_left,
            chat_template: self.chat_template,
            rerank_template: None,
        })
    }

    /// The text of `bos_token` for "bos".
    pub(super) fn role(&self, name: &str) -> Option<&str> {
        self.roles.iter().find(|(role, _)| role == name).map(|(_, text)| text.as_str())
    }

    fn add_roles(&mut self, json: &Value) {
        for name in ["bos", "cls", "eos", "pad", "unk"] {
            let value = &json[format!("{name}_token")];
            // Either the text, or an object with the text and how to look for it.
            if let Some(text) = value.as_str().or_else(|| value["content"].as_str()) {
                if self.role(name).is_none() {
                    self.roles.push((name.into(), text.into()));
                }
            }
        }
    }

    fn add_tokens(&mut self, path: &Path, tokens: &Value) -> Result<()> {
        for (id, token) in tokens.as_object().into_iter().flatten() {
            let what = format!("{}: added_tokens_decoder: '{id}'", path.display());
            let id = id.parse().map_err(|_| Error::format(format!("{what} is no number of a token")))?;
            let token = serde_json::from_value(token.clone());
            self.added.push((id, token.map_err(|error| Error::format(format!("{what}: {error}")))?));
        }
        self.added.sort_by_key(|(id, _)| *id);
        Ok(())
    }
}

/// A single template, or the default of several named ones.
fn template(value: &Value) -> Option<String> {
    let default = |list: &'_ Vec<Value>| {
        let named = list.iter().find(|entry| entry["name"] == "default").or(list.first());
        named.and_then(|entry| entry["template"].as_str()).map(str::to_string)
    };
    value.as_str().map(str::to_string).or_else(|| value.as_array().and_then(default))
}

/// One id or several.
fn ends(path: &Path, value: &Value) -> Result<Vec<u32>> {
    let list = match value {
        Value::Null => return Ok(Vec::new()),
        Value::Array(list) => list.as_slice(),
        one => std::slice::from_ref(one),
    };
    // null and -1 mean none.
    let list = list.iter().filter(|value| !value.is_null() && **value != -1);
    let id = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok());
    list.map(id).collect::<Option<_>>().ok_or_else(|| {
        Error::format(format!("{}: eos_token_id: an id or a list of ids is expected, not {value}", path.display()))
    })
}

/// A list of ids.
fn suppressed(path: &Path, value: &Value) -> Result<Vec<i64>> {
    let ids = match value {
        Value::Null => Some(Vec::new()),
        value => value.as_array().and_then(|list| list.iter().map(Value::as_i64).collect()),
    };
    ids.ok_or_else(|| {
        Error::format(format!("{}: suppress_tokens: a list of ids is expected, not {value}", path.display()))
    })
}

/// One text or several.
fn stops(path: &Path, value: &Value) -> Result<Vec<String>> {
    let list = match value {
        Value::Null => return Ok(Vec::new()),
        Value::Array(list) => list.as_slice(),
        one => std::slice::from_ref(one),
    };
    list.iter().map(|text| text.as_str().map(String::from)).collect::<Option<_>>().ok_or_else(|| {
        Error::format(format!("{}: stop_strings: a text or a list of texts is expected, not {value}", path.display()))
    })
}

fn check(path: &Path, json: &Value, fields: &Fields, warnings: &Warnings) -> Result<()> {
    let all = json.as_object().into_iter().flatten();
    check_fields(&[fields], &path.display().to_string(), all.map(|(k, v)| (k.as_str(), v.clone())), warnings)
}
