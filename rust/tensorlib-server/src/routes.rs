//! The routes, and what every request passes.

use crate::access::check_origin;
use crate::embedder::LineModel;
use crate::error::{ApiError, Result};
use crate::state::{self, Kind, Model};
use crate::texts::{chat, completions};
use crate::{classes, metrics, page, ranking, tokens, vectors};
use axum::body::Body;
use axum::extract::{MatchedPath, Path, Request, State};
use axum::http::{header, HeaderValue, StatusCode, Uri};
use axum::middleware::{from_fn_with_state, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::Router;
use serde_json::{json, Value};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Instant;

/// What all requests share.
pub type App = Arc<state::State>;

/// All routes.
pub fn router(app: App) -> Router {
    let open = Router::new()
        .route("/", get(page::html))
        .route("/chat.js", get(page::script))
        .route("/chat.css", get(page::style))
        .route("/health", get(health));
    let closed = Router::new()
        .route("/v1/chat/completions", post(chat::route))
        .route("/v1/completions", post(completions::route))
        .route("/v1/embeddings", post(vectors::embeddings))
        .route("/v1/rerank", post(ranking::rerank))
        .route("/v1/classify", post(classes::classify))
        .route("/v1/models", get(models))
        .route("/v1/models/{name}", get(model))
        .route("/tokenize", post(tokens::tokenize))
        .route("/detokenize", post(tokens::detokenize))
        .route("/metrics", get(counters))
        .route_layer(from_fn_with_state(app.clone(), check_key));
    open.merge(closed)
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(app.clone(), count))
        .with_state(app)
}

/// An answer of JSON.
pub fn json(value: Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

/// Runs what takes a processor for a while apart from the threads that serve connections. A panic is an error.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let defect = || ApiError::internal("a defect of the server ended this request: please report it");
    let done = tokio::task::spawn_blocking(|| catch_unwind(AssertUnwindSafe(work))).await;
    done.map_err(|_| defect())?.map_err(|_| defect())?
}

async fn check_key(State(app): State<App>, request: Request<Body>, next: Next) -> Result<Response> {
    app.options.keys.check(request.headers())?;
    if app.is_draining.load(Ordering::Relaxed) {
        return Err(ApiError::unavailable("the server is stopping"));
    }
    Ok(next.run(request).await)
}

/// Counts requests, and refuses those that pages elsewhere make browsers send.
async fn count(State(app): State<App>, request: Request<Body>, next: Next) -> Response {
    let begin = Instant::now();
    let route = request.extensions().get::<MatchedPath>().map_or("other".to_string(), |path| path.as_str().into());
    let origin = match app.options.keys.is_empty() {
        true => check_origin(request.headers(), &app.options.hosts),
        false => Ok(()),
    };
    let mut response = match origin {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    };
    app.metrics.answered(&route, response.status(), begin.elapsed().as_secs_f64());
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

async fn unknown(uri: Uri) -> ApiError {
    let path = crate::fields::shortened(uri.path());
    ApiError::not_found(
        "unknown_route",
        format!(
            "{path} is no route: /v1/chat/completions, /v1/completions, \
        /v1/embeddings, /v1/rerank, /v1/classify, /v1/models, /tokenize, /detokenize, /health, /metrics and / are"
        ),
    )
}

async fn wrong_method() -> ApiError {
    ApiError::method("the route has another method: routes that take a body have POST, the others GET")
}

async fn health(State(app): State<App>) -> Response {
    let is_healthy = |model: &Model| match &model.kind {
        Kind::Generator(generator) => generator.is_healthy(),
        Kind::Embedder(_) => true,
    };
    let status = match app.is_draining.load(Ordering::Relaxed) {
        true => "stopping",
        false if app.models.iter().all(is_healthy) => "ok",
        false => "failed",
    };
    let code = if status == "ok" { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (code, json(json!({ "status": status }))).into_response()
}

async fn models(State(app): State<App>) -> Response {
    let data: Vec<Value> = app.models.iter().map(about).collect();
    json(json!({ "object": "list", "data": data }))
}

async fn model(State(app): State<App>, Path(name): Path<String>) -> Result<Response> {
    Ok(json(about(app.model(&name)?)))
}

fn about(model: &Model) -> Value {
    let (kind, context) = match &model.kind {
        Kind::Generator(generator) => ("text", generator.decoder().context()),
        Kind::Embedder(embedder) => (kind_of_lines(embedder.model()), embedder.model().max_tokens()),
    };
    json!({
        "id": model.name,
        "object": "model",
        "created": model.created,
        "owned_by": "tensorlib",
        "kind": kind,
        "context_length": context,
    })
}

fn kind_of_lines(model: &LineModel) -> &'static str {
    match (model.scorer(), model.classifier()) {
        (Some(_), _) => "reranking",
        (None, Some(_)) => "classification",
        (None, None) => "embedding",
    }
}

async fn counters(State(app): State<App>) -> Response {
    ([(header::CONTENT_TYPE, metrics::MEDIA_TYPE)], app.metrics.text()).into_response()
}
