//! `/v1/completions`: texts that continue others.

use super::stream;
use super::{constraints, finish_reason, limit, start, token_text, LEAST};
use super::{Delivery, Envelope, Started, Wanted};
use crate::error::{ApiError, Result};
use crate::fields::Fields;
use crate::generator::{Event, Generator};
use crate::routes::{self, App};
use crate::sampling;
use crate::{body, state};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use serde_json::{json, Value};
use tensorlib_models::{Decoder, Logprobs};

/// The most likely tokens that a request may ask log-probabilities of, as OpenAI's documentation has it.
const MOST_LOGPROBS: usize = 5;
/// The tokens of a text if the request does not say, as OpenAI's documentation has it.
const USUAL_TOKENS: usize = 16;

/// Answers a request.
pub async fn route(State(app): State<App>, request: Request<Body>) -> Result<Response> {
    let fields = body::read(&app, request).await?;
    let prepared = app.clone();
    let started = routes::blocking(move || prepare(&prepared, fields)).await?;
    stream::answer(Answer::new(&started), started.events, started.delivery.stream).await
}

/// Reads a request and starts its texts.
fn prepare(state: &state::State, mut fields: Fields) -> Result<Started> {
    let (name, generator) = state.generator(&mut fields)?;
    let decoder = generator.decoder();
    let prompts = prompts(&mut fields, generator, state.options.texts)?;
    let delivery = Delivery::read(&mut fields)?;
    let mut sampling = sampling::read(&mut fields, decoder.vocabulary())?;
    sampling.logprobs = fields.count("logprobs", 0..=MOST_LOGPROBS)?;
    let n = fields.count("n", 1..=state.options.texts)?.unwrap_or(1);
    let usual = USUAL_TOKENS.min(state.options.max_tokens);
    let (limit, stops) = (limit(&mut fields)?.or(Some(usual)), sampling::stops(&mut fields)?);
    super::ignore(&mut fields);
    fields.only("echo", "false is", |value| value == &json!(false))?;
    fields.only("suffix", "\"\" is", |value| value == &json!(""))?;
    fields.only("best_of", "the number of n is", |value| value.as_u64() == Some(n as u64))?;
    let constraint = constraints::read(&mut fields, decoder.tokenizer())?;
    fields.end()?;
    let wanted = Wanted { prompts, n, sampling, limit, stops, constraint };
    start(state, (name, generator), wanted, delivery)
}

/// `prompt`: a text, its tokens, or a list of either. With `parse_special`, control tokens that are written out in a text
/// are those tokens.
fn prompts(fields: &mut Fields, generator: &Generator, most: usize) -> Result<Vec<Vec<u32>>> {
    let parse_special = fields.flag("parse_special")?.unwrap_or(false);
    let decoder = generator.decoder();
    let encode = |text: &str| {
        generator.check_length("prompt", text.len())?;
        decoder.tokenizer().encode_prompt(text, parse_special).map_err(|e| ApiError::about("prompt", &e))
    };
    let wrong = || ApiError::field("prompt", "a text, a list of tokens, or a list of either is valid");
    let tokens = |values: &[Value]| tokens(values, decoder.vocabulary(), "prompt");
    let one = |value: &Value| match value {
        Value::String(text) => encode(text),
        Value::Array(values) => tokens(values),
        _ => Err(wrong()),
    };
    match fields.take("prompt") {
        Some(Value::Array(values)) if values.first().is_some_and(Value::is_number) => Ok(vec![tokens(&values)?]),
        Some(Value::Array(values)) if values.len() > most => {
            Err(ApiError::field("prompt", format!("has {} texts: up to {most} are valid", values.len())))
        }
        Some(Value::Array(values)) if !values.is_empty() => values.iter().map(one).collect(),
        Some(Value::String(text)) => Ok(vec![encode(&text)?]),
        _ => Err(wrong()),
    }
}

/// The tokens that a list has.
pub fn tokens(values: &[Value], vocabulary: usize, name: &str) -> Result<Vec<u32>> {
    let token = |value: &Value| {
        let token = value.as_u64().and_then(|token| u32::try_from(token).ok());
        token.filter(|token| (*token as usize) < vocabulary).ok_or_else(|| {
            let last = vocabulary.saturating_sub(1);
            ApiError::field(name, format!("tokens from 0 to {last} are valid in a list of tokens"))
        })
    };
    values.iter().map(token).collect()
}

/// The kind of objects.
const KIND: &str = "text_completion";

/// An answer so far.
struct Answer {
    envelope: Envelope,
    decoder: Decoder,
    choices: Vec<Choice>,
}

#[derive(Default)]
struct Choice {
    text: String,
    logprobs: Option<TokenLogprobs>,
    /// The characters so far.
    offset: usize,
    finish: Option<&'static str>,
}

/// The log-probabilities of tokens, in four lists.
#[derive(Default)]
struct TokenLogprobs {
    tokens: Vec<Value>,
    logprobs: Vec<Value>,
    top: Vec<Value>,
    offsets: Vec<Value>,
}

impl TokenLogprobs {
    fn add(&mut self, decoder: &Decoder, (token, offset): (u32, usize), logprobs: &Logprobs) {
        let tokenizer = decoder.tokenizer();
        let top = logprobs.top.iter().map(|(token, x)| (token_text(tokenizer, *token), json!(x.max(LEAST))));
        self.tokens.push(token_text(tokenizer, token).into());
        self.logprobs.push(json!(logprobs.logprob.max(LEAST)));
        self.top.push(Value::Object(top.collect()));
        self.offsets.push(json!(offset));
    }

    fn append(&mut self, other: TokenLogprobs) {
        self.tokens.extend(other.tokens);
        self.logprobs.extend(other.logprobs);
        self.top.extend(other.top);
        self.offsets.extend(other.offsets);
    }

    fn json(self) -> Value {
        json!({
            "tokens": self.tokens,
            "token_logprobs": self.logprobs,
            "top_logprobs": self.top,
            "text_offset": self.offsets,
        })
    }
}

impl Answer {
    fn new(started: &Started) -> Self {
        let choices = (0..started.n).map(|_| Choice::default()).collect();
        Answer { envelope: Envelope::new("cmpl", started), decoder: started.decoder.clone(), choices }
    }

    /// The text that an event adds, and its log-probabilities.
    fn take(&mut self, text: usize, event: Event) -> (String, Option<TokenLogprobs>) {
        let choice = &mut self.choices[text];
        match event {
            Event::Piece { token, text, logprobs, .. } => {
                let mut made = None;
                if let (Some(token), Some(logprobs)) = (token, logprobs) {
                    let mut one = TokenLogprobs::default();
                    one.add(&self.decoder, (token, choice.offset), &logprobs);
                    made = Some(one);
                }
                choice.offset += text.chars().count();
                (text, made)
            }
            Event::Ended(totals) => {
                self.envelope.usage.add(&totals);
                choice.finish = Some(finish_reason(&totals.ending));
                (String::new(), None)
            }
            Event::Failed(_) => (String::new(), None),
        }
    }
}

fn choice(index: usize, text: &str, logprobs: Option<TokenLogprobs>, finish: Option<&str>) -> Value {
    let logprobs = logprobs.map_or(Value::Null, TokenLogprobs::json);
    json!({ "index": index, "text": text, "logprobs": logprobs, "finish_reason": finish })
}

impl stream::Answer for Answer {
    fn chunks(&mut self, text: usize, event: Event) -> Vec<Value> {
        let (added, logprobs) = self.take(text, event);
        let finish = self.choices[text].finish;
        match added.is_empty() && logprobs.is_none() && finish.is_none() {
            true => Vec::new(),
            false => vec![self.envelope.chunk(KIND, vec![choice(text, &added, logprobs, finish)])],
        }
    }

    fn add(&mut self, text: usize, event: Event) {
        let (added, logprobs) = self.take(text, event);
        self.choices[text].text += &added;
        if let Some(logprobs) = logprobs {
            self.choices[text].logprobs.get_or_insert_default().append(logprobs);
        }
    }

    fn is_complete(&self) -> bool {
        self.choices.iter().all(|choice| choice.finish.is_some())
    }

    fn last(&self) -> Vec<Value> {
        self.envelope.last(KIND)
    }

    fn whole(self) -> Value {
        let choices = self.choices.into_iter().enumerate();
        let choices = choices.map(|(index, c)| choice(index, &c.text, c.logprobs, c.finish));
        self.envelope.whole(KIND, choices.collect())
    }
}
