//! `/v1/chat/completions`: the next turn of a conversation.

use super::stream::{self, Chunks};
use super::{chat_logprobs, constraints, finish_reason, id, limit, messages, now, start};
use super::{Delivery, Started, Usage, Wanted};
use crate::error::{ApiError, Result};
use crate::fields::Fields;
use crate::generator::Event;
use crate::routes::{self, App};
use crate::sampling::{self, LOGPROBS};
use crate::{body, state};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use serde_json::{json, Map, Value};
use tensorlib_models::Decoder;

/// Answers a request.
pub async fn route(State(app): State<App>, request: Request<Body>) -> Result<Response> {
    let fields = body::read(&app, request).await?;
    let prepared = app.clone();
    let mut started = routes::blocking(move || prepare(&prepared, fields)).await?;
    let first = started.events.recv().await.ok_or_else(|| ApiError::internal("the model's thread has ended"))?;
    if let (_, Event::Failed(error)) = first {
        return Err(error);
    }
    let chat = Answer::new(&started);
    if started.delivery.stream {
        return Ok(stream::answer(first, started.events, Streamed::new(chat, &started.delivery)));
    }
    at_once(chat, first, started).await
}

/// Reads a request and starts its texts.
fn prepare(state: &state::State, mut fields: Fields) -> Result<Started> {
    let (name, generator) = state.generator(&mut fields)?;
    let (decoder, chat) = (generator.decoder(), generator.chat()?);
    let messages = messages::read(&mut fields)?;
    let delivery = Delivery::read(&mut fields)?;
    let mut sampling = sampling::read(&mut fields, decoder.vocabulary())?;
    sampling.logprobs = logprobs(&mut fields)?;
    let n = fields.count("n", 1..=state.options.texts)?.unwrap_or(1);
    let (limit, stops) = (limit(&mut fields)?, sampling::stops(&mut fields)?);
    super::ignore(&mut fields);
    let place = fields.place("messages");
    let constraint = constraints::read(&mut fields, decoder.tokenizer())?;
    fields.end()?;
    let prompt = chat.encode(decoder.tokenizer(), &messages, false).map_err(|e| ApiError::about(&place, &e))?;
    let wanted = Wanted { prompts: vec![prompt], n, sampling, limit, stops, constraint };
    start(state, (name, generator), wanted, delivery)
}

/// `logprobs` and `top_logprobs`.
fn logprobs(fields: &mut Fields) -> Result<Option<usize>> {
    let (wanted, top) = (fields.flag("logprobs")?.unwrap_or(false), fields.count("top_logprobs", 0..=LOGPROBS)?);
    match (wanted, top) {
        (false, Some(1..)) => Err(fields.wrong("top_logprobs", "is valid with \"logprobs\": true")),
        (false, _) => Ok(None),
        (true, top) => Ok(Some(top.unwrap_or(0))),
    }
}

/// What all chunks of an answer have in common, and its texts so far.
struct Answer {
    id: String,
    created: u64,
    model: String,
    decoder: Decoder,
    usage: Usage,
    choices: Vec<Choice>,
}

#[derive(Default)]
struct Choice {
    content: String,
    reasoning: String,
    logprobs: Vec<Value>,
    finish: Option<&'static str>,
}

/// What an event adds to a text.
#[derive(Default)]
struct Delta {
    content: String,
    reasoning: String,
    logprobs: Option<Value>,
}

impl Answer {
    fn new(started: &Started) -> Self {
        let (model, decoder) = (started.model.clone(), started.decoder.clone());
        let choices = (0..started.n).map(|_| Choice::default()).collect();
        let usage = Usage::of_prompts(started.prompt_tokens);
        Answer { id: id("chatcmpl"), created: now(), model, decoder, usage, choices }
    }

    fn take(&mut self, text: usize, event: Event) -> Delta {
        let mut delta = Delta::default();
        match event {
            Event::Piece { token, text, channel, logprobs } => {
                // Reasoning comes in channels of its own.
                let is_content = channel.as_deref().is_none_or(|channel| channel == "final");
                *(if is_content { &mut delta.content } else { &mut delta.reasoning }) = text;
                if let (Some(token), Some(logprobs), true) = (token, logprobs, is_content) {
                    delta.logprobs = Some(chat_logprobs(self.decoder.tokenizer(), token, &logprobs));
                }
            }
            Event::Ended(totals) => {
                self.usage.add(&totals);
                self.choices[text].finish = Some(finish_reason(&totals.ending));
            }
            Event::Failed(_) => {}
        }
        delta
    }

    fn is_complete(&self) -> bool {
        self.choices.iter().all(|choice| choice.finish.is_some())
    }

    fn object(&self, kind: &str, choices: Vec<Value>) -> Map<String, Value> {
        let mut object = Map::new();
        object.insert("id".into(), json!(self.id));
        object.insert("object".into(), json!(kind));
        object.insert("created".into(), json!(self.created));
        object.insert("model".into(), json!(self.model));
        object.insert("choices".into(), Value::Array(choices));
        object
    }
}

/// Waits for the whole answer.
async fn at_once(mut answer: Answer, first: (usize, Event), mut started: Started) -> Result<Response> {
    let mut next = Some(first);
    while let Some((text, event)) = next {
        if let Event::Failed(error) = event {
            return Err(error);
        }
        let delta = answer.take(text, event);
        let choice = &mut answer.choices[text];
        choice.content += &delta.content;
        choice.reasoning += &delta.reasoning;
        choice.logprobs.extend(delta.logprobs);
        if answer.is_complete() {
            return Ok(routes::json(whole(&mut answer)));
        }
        next = started.events.recv().await;
    }
    Err(ApiError::internal("the model's thread has ended"))
}

fn whole(answer: &mut Answer) -> Value {
    let choices = std::mem::take(&mut answer.choices).into_iter().enumerate();
    let choices = choices.map(|(index, choice)| {
        let mut message = json!({ "role": "assistant", "content": choice.content, "refusal": null });
        if !choice.reasoning.is_empty() {
            message["reasoning_content"] = choice.reasoning.into();
        }
        let logprobs = match choice.logprobs {
            all if all.is_empty() => Value::Null,
            all => json!({ "content": all, "refusal": null }),
        };
        json!({ "index": index, "message": message, "logprobs": logprobs, "finish_reason": choice.finish })
    });
    let mut object = answer.object("chat.completion", choices.collect());
    object.insert("usage".into(), answer.usage.json());
    Value::Object(object)
}

/// The chunks of a streamed answer.
struct Streamed {
    answer: Answer,
    include_usage: bool,
    /// Whether each text's role was sent.
    begun: Vec<bool>,
}

impl Streamed {
    fn new(answer: Answer, delivery: &Delivery) -> Self {
        let begun = vec![false; answer.choices.len()];
        Streamed { answer, include_usage: delivery.include_usage, begun }
    }

    fn chunk(&self, choices: Vec<Value>, usage: Value) -> Value {
        let mut object = self.answer.object("chat.completion.chunk", choices);
        if self.include_usage {
            object.insert("usage".into(), usage);
        }
        Value::Object(object)
    }

    fn choice(&self, index: usize, delta: Value, logprobs: Option<Value>, finish: Option<&str>) -> Value {
        let logprobs = logprobs.map_or(Value::Null, |entry| json!({ "content": [entry], "refusal": null }));
        let choice = json!({ "index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish });
        self.chunk(vec![choice], Value::Null)
    }
}

impl Chunks for Streamed {
    fn chunks(&mut self, text: usize, event: Event) -> Vec<Value> {
        let mut chunks = Vec::new();
        if !std::mem::replace(&mut self.begun[text], true) {
            chunks.push(self.choice(text, json!({ "role": "assistant", "content": "" }), None, None));
        }
        let delta = self.answer.take(text, event);
        let mut shown = json!({});
        for (name, part) in [("content", delta.content), ("reasoning_content", delta.reasoning)] {
            if !part.is_empty() {
                shown[name] = part.into();
            }
        }
        if delta.logprobs.is_some() || shown.as_object().is_some_and(|shown| !shown.is_empty()) {
            chunks.push(self.choice(text, shown, delta.logprobs, None));
        }
        if let Some(finish) = self.answer.choices[text].finish {
            chunks.push(self.choice(text, json!({}), None, Some(finish)));
        }
        chunks
    }

    fn is_complete(&self) -> bool {
        self.answer.is_complete()
    }

    fn last(&mut self) -> Vec<Value> {
        match self.include_usage {
            true => vec![self.chunk(Vec::new(), self.answer.usage.json())],
            false => Vec::new(),
        }
    }
}
