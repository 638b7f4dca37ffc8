//! `/tokenize` and `/detokenize`.

use crate::body;
use crate::error::{ApiError, Result};
use crate::routes::{self, App};
use crate::texts::completions::tokens;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use serde_json::{json, Value};

/// The tokens of a text.
pub async fn tokenize(State(app): State<App>, request: Request<Body>) -> Result<Response> {
    let mut fields = body::read(&app, request).await?;
    routes::blocking(move || {
        let (_, generator) = app.generator(&mut fields)?;
        let tokenizer = generator.decoder().tokenizer();
        let content = fields.needed_text("content")?;
        let add_special = fields.flag("add_special")?.unwrap_or(false);
        let parse_special = fields.flag("parse_special")?.unwrap_or(true);
        let with_pieces = fields.flag("with_pieces")?.unwrap_or(false);
        fields.end()?;
        let about = |e| ApiError::about("content", &e);
        let tokens = tokenizer.encode(&content, add_special, parse_special).map_err(about)?;
        let piece = |id: &u32| json!({ "id": id, "piece": tokenizer.decode(&[*id], false) });
        let tokens: Vec<Value> = tokens.iter().map(|id| if with_pieces { piece(id) } else { json!(id) }).collect();
        Ok(routes::json(json!({ "tokens": tokens })))
    })
    .await
}

/// The text of tokens.
pub async fn detokenize(State(app): State<App>, request: Request<Body>) -> Result<Response> {
    let mut fields = body::read(&app, request).await?;
    routes::blocking(move || {
        let (_, generator) = app.generator(&mut fields)?;
        let decoder = generator.decoder();
        let listed = fields.list("tokens", 1 << 20)?;
        let listed = listed.ok_or_else(|| fields.wrong("tokens", "is missing: a list of tokens is valid"))?;
        fields.end()?;
        let ids = tokens(&listed, decoder.vocabulary(), "tokens")?;
        Ok(routes::json(json!({ "content": decoder.tokenizer().decode(&ids, false) })))
    })
    .await
}
