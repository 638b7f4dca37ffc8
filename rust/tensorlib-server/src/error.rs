//! Answers to requests that fail, in the format of OpenAI's API.

use axum::http::{header, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{json, Value};
use std::fmt;
use tensorlib_models::ErrorKind;

/// The result of handling a request.
pub type Result<T> = std::result::Result<T, ApiError>;

/// A request's failure: a status, and a message that says what would be valid.
#[derive(Clone, Debug)]
pub struct ApiError {
    status: StatusCode,
    message: String,
    param: Option<String>,
    code: &'static str,
    retry_after: Option<u32>,
}

impl ApiError {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        ApiError { status, message: message.into(), param: None, code, retry_after: None }
    }

    /// 400: the request is not valid.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
    }

    /// 400: a field of the request is not valid.
    pub fn field(name: impl Into<String>, message: impl fmt::Display) -> Self {
        let name = name.into();
        let message = format!("{name}: {message}");
        ApiError { param: Some(name), ..Self::invalid(message) }
    }

    /// 400: more tokens than the context holds.
    pub fn too_long(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "context_length_exceeded", message)
    }

    /// 401: no valid key.
    pub fn key(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "invalid_api_key", message)
    }

    /// 403: a request from a place that the server does not serve.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", message)
    }

    /// 404: no such route or model.
    pub fn not_found(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, message)
    }

    /// 405: the route has another method.
    pub fn method(message: impl Into<String>) -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message)
    }

    /// 408: the client took too long to send its request.
    pub fn slow(message: impl Into<String>) -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, "request_timeout", message)
    }

    /// 413: the body is too large.
    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "request_too_large", message)
    }

    /// 415: the body is not said to be JSON.
    pub fn media_type(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message)
    }

    /// 429: too much is waiting already.
    pub fn busy(message: impl Into<String>) -> Self {
        ApiError { retry_after: Some(1), ..Self::new(StatusCode::TOO_MANY_REQUESTS, "queue_full", message) }
    }

    /// 500: a defect, or a damaged model.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal_error", message)
    }

    /// 503: the server stops, or has no memory.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message)
    }

    /// 504: the request took longer than the server's limit.
    pub fn timeout(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GATEWAY_TIMEOUT, "timeout", message)
    }

    /// An error of a model about this field: what the caller sent is at fault if the error says so.
    pub fn about(name: &str, error: &tensorlib_models::Error) -> Self {
        match Self::from(error) {
            made if made.status == StatusCode::BAD_REQUEST => Self::field(name, made.message),
            made => made,
        }
    }

    /// The body of the answer.
    pub fn body(&self) -> Value {
        let kind = match self.status {
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            status if status.is_server_error() => "server_error",
            _ => "invalid_request_error",
        };
        json!({ "error": { "message": self.message, "type": kind, "param": self.param, "code": self.code } })
    }
}

impl From<&tensorlib_models::Error> for ApiError {
    fn from(error: &tensorlib_models::Error) -> Self {
        let hint = error.hint().map_or(String::new(), |hint| format!(" ({hint})"));
        let message = format!("{error}{hint}");
        match error.kind() {
            ErrorKind::Invalid | ErrorKind::Unsupported => Self::invalid(message),
            ErrorKind::Memory | ErrorKind::Busy => Self::unavailable(message),
            _ => Self::internal(message),
        }
    }
}

impl From<tensorlib_models::Error> for ApiError {
    fn from(error: tensorlib_models::Error) -> Self {
        Self::from(&error)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let content = [(header::CONTENT_TYPE, "application/json")];
        let mut response = (self.status, content, self.body().to_string()).into_response();
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
