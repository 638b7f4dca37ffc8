//! Answers of texts that are being generated: at once, or piece by piece as server-sent events.

use crate::error::Result;
use crate::generator::Event;
use crate::{jobs, routes};
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

/// An answer that grows with what happens to its texts.
pub trait Answer: Send + 'static {
    /// Takes an event of a text, and returns the chunks of a streamed answer for it.
    fn chunks(&mut self, text: usize, event: Event) -> Vec<Value>;
    /// Takes an event of a text for [`Answer::whole`].
    fn add(&mut self, text: usize, event: Event);
    /// Whether all texts have ended.
    fn is_complete(&self) -> bool;
    /// The last chunks of a complete answer.
    fn last(&self) -> Vec<Value>;
    /// The complete answer.
    fn whole(self) -> Value;
}

/// Answers with what happens to these texts. A failure before the first piece has a status of its own.
pub async fn answer(
    mut answer: impl Answer,
    mut events: UnboundedReceiver<(usize, Event)>,
    is_streamed: bool,
) -> Result<Response> {
    let mut next = events.recv().await.ok_or_else(jobs::ended)?;
    loop {
        let (text, event) = next;
        if let Event::Failed(error) = event {
            return Err(error);
        }
        if is_streamed {
            return Ok(streamed((text, event), events, answer));
        }
        answer.add(text, event);
        if answer.is_complete() {
            return Ok(routes::json(answer.whole()));
        }
        next = events.recv().await.ok_or_else(jobs::ended)?;
    }
}

struct Streamed<A> {
    events: UnboundedReceiver<(usize, Event)>,
    answer: A,
    ready: VecDeque<Bytes>,
    has_ended: bool,
}

impl<A: Answer> Streamed<A> {
    fn push(&mut self, chunk: &Value) {
        self.ready.push_back(Bytes::from(format!("data: {chunk}\n\n")));
    }

    fn take(&mut self, text: usize, event: Event) {
        if let Event::Failed(error) = &event {
            self.push(&error.body());
            self.has_ended = true;
            return;
        }
        for chunk in self.answer.chunks(text, event) {
            self.push(&chunk);
        }
        if self.answer.is_complete() {
            for chunk in self.answer.last() {
                self.push(&chunk);
            }
            self.ready.push_back(Bytes::from_static(b"data: [DONE]\n\n"));
            self.has_ended = true;
        }
    }

    async fn next(mut self) -> Option<(std::result::Result<Bytes, Infallible>, Self)> {
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
fn streamed(first: (usize, Event), events: UnboundedReceiver<(usize, Event)>, answer: impl Answer) -> Response {
    let mut streamed = Streamed { events, answer, ready: VecDeque::new(), has_ended: false };
    streamed.take(first.0, first.1);
    let body = Body::from_stream(stream::unfold(streamed, Streamed::next));
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    (headers, body).into_response()
}
