//! `/v1/rerank`: texts in the order in which they answer a query.

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

/// What a request for a ranking wants.
struct Ranking {
    lines: Lines,
    documents: Vec<String>,
    top: usize,
    return_documents: bool,
}

/// Answers a request for a ranking, in the format of Jina's API. A model that scores pairs of texts gives its scores, an
/// encoder without a head the cosine of the vectors.
pub async fn rerank(State(app): State<App>, request: Request<Body>) -> Result<Response> {
    let fields = body::read(&app, request).await?;
    let prepared = app.clone();
    let ranking = routes::blocking(move || prepare(&prepared, fields)).await?;
    let (model, tokens, wanted) = (ranking.lines.model.clone(), ranking.lines.tokens(), ranking.lines.wanted);
    let numbers = ranking.lines.compute(&app).await?;
    let scores = match wanted {
        Wanted::Vectors => cosines(&numbers),
        Wanted::Scores | Wanted::Classes => numbers.into_iter().flatten().map(f64::from).collect(),
    };
    let mut order: Vec<(usize, f64)> = scores.into_iter().enumerate().collect();
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

/// The cosines of the first vector and each of the others; all have length 1.
fn cosines(vectors: &[Vec<f32>]) -> Vec<f64> {
    let Some((query, documents)) = vectors.split_first() else { return Vec::new() };
    let product = |vector: &Vec<f32>| query.iter().zip(vector).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
    documents.iter().map(product).collect()
}

fn prepare(state: &state::State, mut fields: Fields) -> Result<Ranking> {
    let (name, embedder) = state.ranker(&mut fields)?;
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
    let texts = || documents.iter().enumerate().map(|(i, text)| (format!("documents[{i}]"), text));
    let (wanted, lines) = match (embedder.model().scorer(), embedder.model().embedder()) {
        (Some(scorer), _) => {
            let pair = |(name, text): (String, &String)| match text.is_empty() || query.is_empty() {
                true => {
                    Err(ApiError::field(if query.is_empty() { "query" } else { &name }, "is empty: a text is valid"))
                }
                false => whole(scorer.tokenize_pair(&query, text), scorer.max_tokens(), &name),
            };
            (Wanted::Scores, texts().map(pair).collect::<Result<Vec<_>>>()?)
        }
        (None, Some(encoder)) => {
            let mut lines = vec![encode(encoder, &query, "query")?];
            for (name, text) in texts() {
                lines.push(encode(encoder, text, &name)?);
            }
            (Wanted::Vectors, lines)
        }
        (None, None) => return Err(ApiError::internal("the model ranks no texts")),
    };
    let lines = Lines { model: name.into(), embedder: embedder.clone(), wanted, lines };
    Ok(Ranking { lines, documents, top, return_documents })
}
