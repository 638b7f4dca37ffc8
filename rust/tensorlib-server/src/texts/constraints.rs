//! `response_format`: what an answer must be.

use crate::error::{ApiError, Result};
use crate::fields::Fields;
use tensorlib_models::tokenizer::Tokenizer;
use tensorlib_models::Constraint;

/// The constraint that `response_format` asks for, if it does.
pub fn read(fields: &mut Fields, tokenizer: &Tokenizer) -> Result<Option<Constraint>> {
    let Some(mut format) = fields.object("response_format")? else { return Ok(None) };
    let valid = ["text", "json_object", "json_schema", "grammar"];
    let kind = format.one_of("type", &valid)?;
    let about = |name: &str, made: tensorlib_models::Result<Constraint>| made.map_err(|e| ApiError::about(name, &e));
    let made = match kind {
        None => return Err(format.wrong("type", format!("is missing: {} are valid", valid.join(", ")))),
        Some("text") => None,
        Some("json_object") => Some(about("response_format", Constraint::json_schema(tokenizer, OBJECT))?),
        Some("json_schema") => {
            let mut described = format.object("json_schema")?.ok_or_else(|| {
                format.wrong("json_schema", "is missing: an object with a name and a schema is valid")
            })?;
            // Schemas are always enforced.
            described.ignore(&["name", "description", "strict"]);
            let place = described.place("schema");
            let schema = described.take("schema").map_or(OBJECT.to_string(), |schema| schema.to_string());
            described.end()?;
            Some(about(&place, Constraint::json_schema(tokenizer, &schema))?)
        }
        Some(_) => {
            let (syntax, place) = (format.one_of("syntax", &["lark", "regex"])?, format.place("definition"));
            let definition = format.needed_text("definition")?;
            Some(match syntax {
                Some("lark") => about(&place, Constraint::lark(tokenizer, &definition))?,
                Some(_) => about(&place, Constraint::regex(tokenizer, &definition))?,
                None => return Err(format.wrong("syntax", "is missing: lark and regex are valid")),
            })
        }
    };
    format.end()?;
    Ok(made)
}

/// Any JSON object.
const OBJECT: &str = r#"{"type": "object"}"#;
