//! `/v1/embeddings` and `/v1/rerank`: vectors of texts, and texts in the order of their likeness to another.

use crate::body;
use crate::embedder::Embedder;
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

/// The lines of a request, as tokens.
struct Lines {
    model: String,
    embedder: Arc<Embedder>,
    lines: Vec<Vec<u32>>,
}

impl Lines {
    fn tokens(&self) -> usize {
        self.lines.iter().map(Vec::len).sum()
    }
}

/// Answers a request for vectors.
pub async fn embeddings(State(app): State<App>, request: Request<Body>) -> Result<Response> {
    let fields = body::read(&app, request).await?;
    let prepared = app.clone();
    let (lines, is_base64) = routes::blocking(move || prepare_embeddings(&prepared, fields)).await?;
    let (model, tokens) = (lines.model.clone(), lines.tokens());
    let vectors = lines.embedder.embed(lines.lines, app.deadline()).await?;
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
    let is_base64 = fields.one_of("encoding_format", &["float", "base64"])? == Some("base64");
    let width = embedder.encoder().width();
    fields.only("dimensions", &format!("{width}, which the model has, is"), |n| n.as_u64() == Some(width as u64))?;
    fields.ignore(&["user"]);
    let wrong = || ApiError::field("input", "a text, a list of tokens, or a list of either is valid");
    let most = state.options.lines;
    let lines = match fields.take("input") {
        Some(Value::String(text)) => vec![encode(embedder, &text, "input")?],
        Some(Value::Array(values)) if values.first().is_some_and(Value::is_number) => {
            vec![given(embedder, &values)?]
        }
        Some(Value::Array(values)) if values.len() > most => {
            return Err(ApiError::field("input", format!("has {} texts: up to {most} are valid", values.len())));
        }
        Some(Value::Array(values)) if !values.is_empty() => {
            let line = |(i, value): (usize, &Value)| match value {
                Value::String(text) => encode(embedder, text, &format!("input[{i}]")),
                Value::Array(values) => given(embedder, values),
                _ => Err(wrong()),
            };
            values.iter().enumerate().map(line).collect::<Result<_>>()?
        }
        _ => return Err(wrong()),
    };
    fields.end()?;
    Ok((Lines { model: name.into(), embedder: embedder.clone(), lines }, is_base64))
}

/// The tokens of a text. One that is too long is refused, because its end would not count.
fn encode(embedder: &Embedder, text: &str, name: &str) -> Result<Vec<u32>> {
    let encoder = embedder.encoder();
    if text.is_empty() {
        return Err(ApiError::field(name, "is empty: a text is valid"));
    }
    match encoder.tokenize(text).map_err(|e| ApiError::about(name, &e))? {
        (tokens, false) => Ok(tokens),
        (_, true) => {
            let message = format!("the text has more tokens than the {} that the model takes", encoder.max_tokens());
            Err(ApiError::too_long(format!("{name}: {message}")))
        }
    }
}

/// Tokens that the request gives.
fn given(embedder: &Embedder, values: &[Value]) -> Result<Vec<u32>> {
    let most = embedder.encoder().max_tokens();
    match values.len() {
        0 => Err(ApiError::field("input", "has no tokens")),
        n if n > most => Err(ApiError::too_long(format!("input: {n} tokens: up to {most} are valid"))),
        _ => tokens(values, embedder.encoder().vocabulary(), "input"),
    }
}

/// What a request for a ranking wants.
struct Ranking {
    lines: Lines,
    documents: Vec<String>,
    top: usize,
    return_documents: bool,
}

/// Answers a request for a ranking, in the format of Jina's API: the likeness is the cosine of the vectors.
pub async fn rerank(State(app): State<App>, request: Request<Body>) -> Result<Response> {
    let fields = body::read(&app, request).await?;
    let prepared = app.clone();
    let ranking = routes::blocking(move || prepare_ranking(&prepared, fields)).await?;
    let (model, tokens) = (ranking.lines.model.clone(), ranking.lines.tokens());
    let vectors = ranking.lines.embedder.embed(ranking.lines.lines, app.deadline()).await?;
    let Some((query, documents)) = vectors.split_first() else {
        return Err(ApiError::internal("the encoder gave no vectors"));
    };
    // Vectors have length 1.
    let cosine = |vector: &Vec<f32>| query.iter().zip(vector).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    let mut order: Vec<(usize, f64)> = documents.iter().map(cosine).enumerate().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let result = |(index, score): (usize, f64)| {
        let mut made = json!({ "index": index, "relevance_score": score });
        if ranking.return_documents {
            made["document"] = json!({ "text": ranking.documents[index] });
        }
        made
    };
    let results: Vec<Value> = order.into_iter().take(ranking.top).map(result).collect();
    Ok(routes::json(json!({ "model": model, "results": results, "usage": { "total_tokens": tokens } })))
}

fn prepare_ranking(state: &state::State, mut fields: Fields) -> Result<Ranking> {
    let (name, embedder) = state.embedder(&mut fields)?;
    let query = fields.needed_text("query")?;
    let listed = fields.list("documents", state.options.lines)?.filter(|documents| !documents.is_empty());
    let listed = listed.ok_or_else(|| fields.wrong("documents", "a list of at least one text is expected"))?;
    let top = fields.count("top_n", 1..=1 << 30)?.unwrap_or(usize::MAX);
    let return_documents = fields.flag("return_documents")?.unwrap_or(true);
    fields.end()?;
    let document = |(i, value)| match value {
        Value::String(text) => Ok(text),
        value => {
            let mut fields = Fields::new(value, &format!("documents[{i}]"))?;
            let text = fields.needed_text("text")?;
            fields.end()?;
            Ok(text)
        }
    };
    let documents = listed.into_iter().enumerate().map(document).collect::<Result<Vec<_>>>()?;
    let mut lines = vec![encode(embedder, &query, "query")?];
    for (i, text) in documents.iter().enumerate() {
        lines.push(encode(embedder, text, &format!("documents[{i}]"))?);
    }
    Ok(Ranking {
        lines: Lines { model: name.into(), embedder: embedder.clone(), lines },
        documents,
        top,
        return_documents,
    })
}
