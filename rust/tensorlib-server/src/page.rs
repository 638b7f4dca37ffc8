//! The chat page, which is part of the binary.

use axum::http::header;
use axum::response::{IntoResponse, Response};

/// The page loads nothing from elsewhere, and no other page may show it in a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

fn file(media_type: &'static str, text: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, media_type),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, text).into_response()
}

/// The document.
pub async fn html() -> Response {
    file("text/html; charset=utf-8", include_str!("page/index.html"))
}

/// Its script.
pub async fn script() -> Response {
    file("text/javascript; charset=utf-8", include_str!("page/chat.js"))
}

/// Its style sheet.
pub async fn style() -> Response {
    file("text/css; charset=utf-8", include_str!("page/chat.css"))
}
