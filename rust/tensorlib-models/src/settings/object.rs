//! Objects of JSON files whose fields are all checked.

use super::{check_fields, optional_json, Fields};
use crate::warnings::Warnings;
use crate::{Error, Result};
use serde_json::Value as Json;
use std::path::Path;

/// A JSON object and the name of its file.
pub(crate) struct Object {
    pub json: Json,
    pub path: String,
}

impl Object {
    /// Reads a file if it exists, and checks its fields.
    pub(crate) fn read(path: &Path, fields: &Fields, warnings: &Warnings) -> Result<Option<Self>> {
        let Some(json) = optional_json(path)? else { return Ok(None) };
        let object = Object { json, path: path.display().to_string() };
        object.check(&object.path, &object.json, fields, warnings)?;
        Ok(Some(object))
    }

    /// Checks the fields of an object of this file; `what` is the start of messages.
    pub(crate) fn check(&self, what: &str, json: &Json, fields: &Fields, warnings: &Warnings) -> Result<()> {
        let all = json.as_object().into_iter().flatten();
        check_fields(&[fields], what, all.map(|(name, value)| (name.as_str(), value.clone())), warnings)
    }

    /// An error about a field that is not `valid`.
    pub(crate) fn wrong(&self, name: &str, valid: &str) -> Error {
        Error::format(format!("{}: {name}: is {}: {valid} is valid", self.path, self.json[name]))
    }

    /// true or false; false if it is null or missing.
    pub(crate) fn flag(&self, name: &str) -> Result<bool> {
        Ok(self.flag_if(name)?.unwrap_or(false))
    }

    /// true or false, unless it is null or missing.
    pub(crate) fn flag_if(&self, name: &str) -> Result<Option<bool>> {
        match &self.json[name] {
            Json::Null => Ok(None),
            value => value.as_bool().map(Some).ok_or_else(|| self.wrong(name, "true or false")),
        }
    }

    /// A required whole number from 1 on.
    pub(crate) fn count(&self, name: &str) -> Result<i64> {
        const MOST: i64 = 1 << 20;
        let n = self.json[name].as_i64().filter(|n| (1..=MOST).contains(n));
        n.ok_or_else(|| self.wrong(name, "a whole number from 1 to 1048576"))
    }

    /// A text, unless it is null or missing.
    pub(crate) fn text_if(&self, name: &str) -> Result<Option<&str>> {
        match &self.json[name] {
            Json::Null => Ok(None),
            value => value.as_str().map(Some).ok_or_else(|| self.wrong(name, "a text")),
        }
    }
}
