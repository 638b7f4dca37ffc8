//! `/v1/embeddings`: vectors of texts.

use crate::body;
use crate::embedder::{Embedder, Wanted};
use crate::error::{ApiError, Result};
use crate::fields::Fields;
use crate::routes::{self, App};
use crate::state;
use crate::texts::completions::tokens;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use base64::prelude::{Engine, BASE64_STANDARD};
use serde_json::{json, Value};
use std::sync::Arc;
use tensorlib_models::{EmbedTexts, TokenizedText};

/// The lines of a request, as tokens.
pub struct Lines {
    /// The model's name.
    pub model: String,
    pub embedder: Arc<Embedder>,
    pub wanted: Wanted,
    pub lines: Vec<TokenizedText>,
}

impl Lines {
    /// The number of tokens of all lines.
    pub fn tokens(&self) -> usize {
        self.lines.iter().map(|line| line.ids.len()).sum()
    }

    /// The numbers of each line.
    pub async fn compute(self, app: &App) -> Result<Vec<Vec<f32>>> {
        self.embedder.compute(self.wanted, self.lines, app.deadline()).await
    }
}

/// Answers a request for vectors.
pub async fn embeddings(State(app): State<App>, request: Request<Body>) -> Result<Response> {
    let fields = body::read(&app, request).await?;
    let prepared = app.clone();
    let (lines, is_base64) = routes::blocking(move || prepare_embeddings(&prepared, fields)).await?;
    let (model, tokens) = (lines.model.clone(), lines.tokens());
    let vectors = lines.compute(&app).await?;
    let entry = |(index, vector): (usize, Vec<f32>)| {
        let vector = match is_base64 {
            true => {
                let bytes: Vec<u8> = vector.iter().flat_map(|x| x.to_le_bytes()).collect();
                json!(BASE64_STANDARD.encode(bytes))
            }
            false => json!(vector),
        };
        json!({ "object": "embedding", "index": index, "embedding": vector })
    };
    let data: Vec<Value> = vectors.into_iter().enumerate().map(entry).collect();
    let usage = json!({ "prompt_tokens": tokens, "total_tokens": tokens });
    Ok(routes::json(json!({ "object": "list", "data": data, "model": model, "usage": usage })))
}

/// Reads a request for vectors; true if they are to be base64.
fn prepare_embeddings(state: &state::State, mut fields: Fields) -> Result<(Lines, bool)> {
    let (name, embedder) = state.embedder(&mut fields)?;
    let encoder = embedder.model().embedder().ok_or_else(|| ApiError::internal("the model gives no vectors"))?;
    let is_base64 = fields.one_of("encoding_format", &["float", "base64"])? == Some("base64");
    let width = encoder.width();
    fields.only("dimensions", &format!("{width}, which the model has, is"), |n| n.as_u64() == Some(width as u64))?;
    fields.ignore(&["user"]);
    let wrong = || ApiError::field("input", "a text, a list of tokens, or a list of either is valid");
    let most = state.options.lines;
    let lines = match fields.take("input") {
        Some(Value::String(text)) => vec![encode(encoder, &text, "input")?],
        Some(Value::Array(values)) if values.first().is_some_and(Value::is_number) => {
            vec![given(encoder, &values)?]
        }
        Some(Value::Array(values)) if values.len() > most => {
            return Err(ApiError::field("input", format!("has {} texts: up to {most} are valid", values.len())));
        }
        Some(Value::Array(values)) if !values.is_empty() => {
            let line = |(i, value): (usize, &Value)| match value {
                Value::String(text) => encode(encoder, text, &format!("input[{i}]")),
                Value::Array(values) => given(encoder, values),
                _ => Err(wrong()),
            };
            values.iter().enumerate().map(line).collect::<Result<_>>()?
        }
        _ => return Err(wrong()),
    };
    fields.end()?;
    let lines = Lines { model: name.into(), embedder: embedder.clone(), wanted: Wanted::Vectors, lines };
    Ok((lines, is_base64))
}

/// The tokens of a text. One that is too long is refused, because its end would not count.
pub fn encode(encoder: &dyn EmbedTexts, text: &str, name: &str) -> Result<TokenizedText> {
    if text.is_empty() {
        return Err(ApiError::field(name, "is empty: a text is valid"));
    }
    whole(encoder.tokenize_text(text), encoder.max_tokens(), name)
}

/// The tokens of a text or pair, unless they were cut.
pub fn whole(tokenized: tensorlib_models::Result<TokenizedText>, most: usize, name: &str) -> Result<TokenizedText> {
    match tokenized.map_err(|e| ApiError::about(name, &e))? {
        line if line.was_cut => {
            let message = format!("the text has more tokens than the {most} that the model takes");
            Err(ApiError::too_long(format!("{name}: {message}")))
        }
        line => Ok(line),
    }
}

/// Tokens that the request gives.
fn given(encoder: &dyn EmbedTexts, values: &[Value]) -> Result<TokenizedText> {
    let most = encoder.max_tokens();
    match values.len() {
        0 => Err(ApiError::field("input", "has no tokens")),
        n if n > most => Err(ApiError::too_long(format!("input: {n} tokens: up to {most} are valid"))),
        _ => Ok(TokenizedText { ids: tokens(values, encoder.vocabulary(), "input")?, ..TokenizedText::default() }),
    }
}
