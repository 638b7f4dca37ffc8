//! What the files beside `tokenizer.json` say.

use crate::settings::{read_json, MAX_JSON};
use crate::{Error, Result};
use serde_json::Value;
use std::path::Path;
use tokenizers::AddedToken;

/// The settings of a folder. Whatever is not there is not said.
#[derive(Default)]
pub(super) struct Settings {
    /// The texts of tokens with a task, such as `bos_token`, by that name.
    roles: Vec<(String, String)>,
    pub(super) add_bos: Option<bool>,
    pub(super) add_eos: Option<bool>,
    pub(super) added: Vec<(u32, AddedToken)>,
    /// `eos_token_id` of the settings of generation.
    pub(super) ends: Vec<u32>,
    pub(super) chat_template: Option<String>,
}

impl Settings {
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let mut settings = Settings::default();
        let path = folder.join("tokenizer_config.json");
        if path.exists() {
            let json = read_json(&path, MAX_JSON)?;
            settings.add_roles(&json);
            settings.add_bos = json["add_bos_token"].as_bool();
            settings.add_eos = json["add_eos_token"].as_bool();
            settings.chat_template = template(&json["chat_template"]);
            settings.add_tokens(&path, &json["added_tokens_decoder"])?;
        }
        let path = folder.join("special_tokens_map.json");
        if path.exists() {
            settings.add_roles(&read_json(&path, MAX_JSON)?);
        }
        let path = folder.join("generation_config.json");
        if path.exists() {
            settings.ends = ends(&path, &read_json(&path, MAX_JSON)?["eos_token_id"])?;
        }
        // A file of its own is the newer way, and goes before the other.
        let path = folder.join("chat_template.jinja");
        if path.exists() {
            settings.chat_template =
                Some(std::fs::read_to_string(&path).map_err(|error| Error::io(&path, "read", &error))?);
        }
        Ok(settings)
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

/// One template, or the default of several with names.
fn template(value: &Value) -> Option<String> {
    let default = |list: &'_ Vec<Value>| {
        let named = list.iter().find(|entry| entry["name"] == "default").or(list.first());
        named.and_then(|entry| entry["template"].as_str()).map(str::to_string)
    };
    value.as_str().map(str::to_string).or_else(|| value.as_array().and_then(default))
}

/// An id, or several.
fn ends(path: &Path, value: &Value) -> Result<Vec<u32>> {
    let list = match value {
        Value::Null => return Ok(Vec::new()),
        Value::Array(list) => list.as_slice(),
        one => std::slice::from_ref(one),
    };
    let id = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok());
    list.iter().map(id).collect::<Option<_>>().ok_or_else(|| {
        Error::format(format!("{}: eos_token_id: an id or a list of ids is expected, not {value}", path.display()))
    })
}
