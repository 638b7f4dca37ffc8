//! The bodies of requests.

use crate::error::{ApiError, Result};
use crate::fields::Fields;
use crate::state::{State, BODY_UNIT};
use axum::body::Body;
use axum::http::{header, HeaderMap, Request};
use http_body_util::{BodyExt, Limited};
use std::error::Error;

/// Reads the JSON object that a request has, within the limits of size and time.
pub async fn read(state: &State, request: Request<Body>) -> Result<Fields> {
    let (parts, body) = request.into_parts();
    check_type(&parts.headers)?;
    let most = state.options.body_bytes;
    let too_large = || ApiError::too_large(format!("the body has more than {most} bytes, which is the most"));
    let announced = parts.headers.get(header::CONTENT_LENGTH).and_then(|n| n.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|n| n > most as u64) {
        return Err(too_large());
    }
    let seconds = state.options.client_time.as_secs_f64();
    // Parsed, a body takes several times its size, so not all clients send large ones at the same time.
    let size = announced.map_or(most, |n| usize::try_from(n).unwrap_or(most));
    let units = u32::try_from(size.div_ceil(BODY_UNIT)).unwrap_or(u32::MAX);
    let share = tokio::time::timeout(state.options.client_time, state.bodies.clone().acquire_many_owned(units)).await;
    let Ok(Ok(share)) = share else {
        return Err(ApiError::busy("other requests with large bodies are being read: try again"));
    };
    let read = tokio::time::timeout(state.options.client_time, Limited::new(body, most).collect());
    let slow = |_| ApiError::slow(format!("the body did not arrive within {seconds} seconds"));
    let bytes = match read.await.map_err(slow)? {
        Ok(read) => read.to_bytes(),
        Err(error) if is_limit(&*error) => return Err(too_large()),
        Err(error) => return Err(ApiError::invalid(format!("the body cannot be read: {error}"))),
    };
    let value = serde_json::from_slice(&bytes).map_err(|e| ApiError::invalid(format!("the body is no JSON: {e}")))?;
    Ok(Fields::new(value, "")?.holding(share))
}

/// Browsers send other types to any server without asking it, so JSON must be called JSON.
fn check_type(headers: &HeaderMap) -> Result<()> {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let name = given.split(';').next().unwrap_or_default().trim();
    match name.eq_ignore_ascii_case("application/json") {
        true => Ok(()),
        false => Err(ApiError::media_type("the header Content-Type must be application/json")),
    }
}

fn is_limit(mut error: &(dyn Error + 'static)) -> bool {
    loop {
        if error.is::<http_body_util::LengthLimitError>() {
            return true;
        }
        match error.source() {
            Some(source) => error = source,
            None => return false,
        }
    }
}
