//! Answers that are sent piece by piece, as server-sent events.

use crate::generator::Event;
use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::Value;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;

/// After this time without a piece a comment is sent, so that nothing on the way closes the connection.
const SILENCE: Duration = Duration::from_secs(15);

/// Makes the chunks of a streamed answer from what happens to its texts.
pub trait Chunks: Send + 'static {
    /// The chunks for an event of a text.
    fn chunks(&mut self, text: usize, event: Event) -> Vec<Value>;
    /// Whether all texts have ended.
    fn is_complete(&self) -> bool;
    /// The last chunks of a complete answer.
    fn last(&mut self) -> Vec<Value>;
}

struct Streamed<C> {
    events: UnboundedReceiver<(usize, Event)>,
    chunks: C,
    ready: VecDeque<Bytes>,
    has_ended: bool,
}

impl<C: Chunks> Streamed<C> {
    fn push(&mut self, chunk: &Value) {
        self.ready.push_back(Bytes::from(format!("data: {chunk}\n\n")));
    }

    fn take(&mut self, text: usize, event: Event) {
        if let Event::Failed(error) = &event {
            self.push(&error.body());
            self.has_ended = true;
            return;
        }
        for chunk in self.chunks.chunks(text, event) {
            self.push(&chunk);
        }
        if self.chunks.is_complete() {
            for chunk in self.chunks.last() {
                self.push(&chunk);
            }
            self.ready.push_back(Bytes::from_static(b"data: [DONE]\n\n"));
            self.has_ended = true;
        }
    }

    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        loop {
            if let Some(bytes) = self.ready.pop_front() {
                return Some((Ok(bytes), self));
            }
            if self.has_ended {
                return None;
            }
            match tokio::time::timeout(SILENCE, self.events.recv()).await {
                Ok(Some((text, event))) => self.take(text, event),
                // The thread of the model ended without an event: the stream ends without its mark.
                Ok(None) => return None,
                Err(_) => self.ready.push_back(Bytes::from_static(b": waiting\n\n")),
            }
        }
    }
}

/// The answer, which begins with this event.
pub fn answer(first: (usize, Event), events: UnboundedReceiver<(usize, Event)>, chunks: impl Chunks) -> Response {
    let mut streamed = Streamed { events, chunks, ready: VecDeque::new(), has_ended: false };
    streamed.take(first.0, first.1);
    let body = Body::from_stream(stream::unfold(streamed, Streamed::next));
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    (headers, body).into_response()
}
