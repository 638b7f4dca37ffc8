//! `/v1/classify`: the scores of a classifier's labels for texts or pairs of texts.

use crate::body;
use crate::embedder::Wanted;
use crate::error::{ApiError, Result};
use crate::fields::Fields;
use crate::routes::{self, App};
use crate::state;
use crate::vectors::{encode, whole, Lines};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use serde_json::{json, Value};
use tensorlib_models::{Encoder, TokenizedText};

/// Answers a request for classes, in the format of vLLM's route of this name.
pub async fn classify(State(app): State<App>, request: Request<Body>) -> Result<Response> {
    let fields = body::read(&app, request).await?;
    let prepared = app.clone();
    let lines = routes::blocking(move || prepare(&prepared, fields)).await?;
    let (model, tokens, embedder) = (lines.model.clone(), lines.tokens(), lines.embedder.clone());
    let scores = lines.compute(&app).await?;
    let labels = embedder.model().classifier().map_or(&[][..], |encoder| encoder.labels());
    let entry = |(index, scores): (usize, Vec<f32>)| {
        let best = (0..scores.len()).max_by(|a, b| scores[*a].total_cmp(&scores[*b]).then(b.cmp(a))).unwrap_or(0);
        json!({ "index": index, "label": labels.get(best), "probs": scores, "num_classes": labels.len() })
    };
    let data: Vec<Value> = scores.into_iter().enumerate().map(entry).collect();
    let usage = json!({ "prompt_tokens": tokens, "total_tokens": tokens });
    Ok(routes::json(json!({ "object": "list", "data": data, "labels": labels, "model": model, "usage": usage })))
}

fn prepare(state: &state::State, mut fields: Fields) -> Result<Lines> {
    let (name, embedder) = state.classifier(&mut fields)?;
    let encoder = embedder.model().classifier().ok_or_else(|| ApiError::internal("the model has no labels"))?;
    fields.ignore(&["user"]);
    let most = state.options.lines;
    let lines = match fields.take("input") {
        Some(text @ Value::String(_)) => vec![line(encoder, &text, "input")?],
        Some(Value::Array(values)) if values.len() > most => {
            return Err(ApiError::field("input", format!("has {} texts: up to {most} are valid", values.len())));
        }
        Some(Value::Array(values)) if !values.is_empty() => {
            let line = |(i, value): (usize, &Value)| line(encoder, value, &format!("input[{i}]"));
            values.iter().enumerate().map(line).collect::<Result<_>>()?
        }
        _ => return Err(ApiError::field("input", VALID)),
    };
    fields.end()?;
    Ok(Lines { model: name.into(), embedder: embedder.clone(), wanted: Wanted::Classes, lines })
}

const VALID: &str = "a text, or a list of texts or of pairs of texts, is valid";

/// A text, or a pair of texts.
fn line(encoder: &Encoder, value: &Value, name: &str) -> Result<TokenizedText> {
    match value {
        Value::String(text) => encode(encoder, text, name),
        Value::Array(pair) => match &pair[..] {
            [Value::String(first), Value::String(second)] => {
                whole(encoder.tokenize_pair(first, second), encoder.max_tokens(), name)
            }
            _ => Err(ApiError::field(name, "a text, or a list of two texts, is valid")),
        },
        _ => Err(ApiError::field("input", VALID)),
    }
}
