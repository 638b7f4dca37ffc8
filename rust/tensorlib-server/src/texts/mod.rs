//! What the routes for chats and completions have in common: texts are prepared, generated, and answered at once or as
//! a stream.

pub mod chat;
pub mod completions;
mod constraints;
mod messages;
mod stream;
mod tools;

use crate::error::{ApiError, Result};
use crate::fields::Fields;
use crate::generator::{Event, Generator};
use crate::sampling;
use crate::state::State;
use serde_json::{json, Map, Value};
use std::time::{SystemTime, UNIX_EPOCH};
use tensorlib_models::tokenizer::Tokenizer;
use tensorlib_models::{Constraint, Decoder, Ending, Logprobs, Sampler, SamplerOptions, Task, Totals};
use tokio::sync::mpsc::UnboundedReceiver;

/// What a request's texts are made of.
struct Wanted {
    prompts: Vec<Vec<u32>>,
    /// Texts for each prompt.
    n: usize,
    sampling: SamplerOptions,
    limit: Option<usize>,
    stops: Vec<String>,
    constraint: Option<Constraint>,
}

/// The texts of a request, which are being generated.
pub struct Started {
    /// The model's name, and the model.
    pub model: String,
    pub decoder: Decoder,
    pub events: UnboundedReceiver<(usize, Event)>,
    /// How many texts there are.
    pub n: usize,
    /// The tokens of all prompts.
    pub prompt_tokens: usize,
    pub delivery: Delivery,
}

/// How a request is answered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivery {
    /// Piece by piece.
    pub stream: bool,
    /// A stream ends with the numbers of tokens.
    pub include_usage: bool,
}

impl Delivery {
    fn read(fields: &mut Fields) -> Result<Self> {
        let stream = fields.flag("stream")?.unwrap_or(false);
        let mut include_usage = false;
        if let Some(mut options) = fields.object("stream_options")? {
            if !stream {
                return Err(fields.wrong("stream_options", "is valid with \"stream\": true"));
            }
            include_usage = options.flag("include_usage")?.unwrap_or(false);
            options.ignore(&["include_obfuscation"]);
            options.end()?;
        }
        Ok(Delivery { stream, include_usage })
    }
}

/// Starts the texts.
fn start(state: &State, (name, generator): (&str, &Generator), wanted: Wanted, delivery: Delivery) -> Result<Started> {
    let decoder = generator.decoder().clone();
    let n = wanted.prompts.len() * wanted.n;
    if n > state.options.texts {
        return Err(ApiError::invalid(format!("{n} texts: up to {} are valid", state.options.texts)));
    }
    for prompt in &wanted.prompts {
        check_prompt(prompt, decoder.context())?;
    }
    let most = state.options.max_tokens;
    if wanted.limit.is_some_and(|limit| limit > most) {
        return Err(ApiError::field("max_tokens", format!("this server generates up to {most} tokens a text")));
    }
    let limit = wanted.limit.or(Some(most).filter(|most| *most < usize::MAX));
    let place = generator.enter(n)?;
    let mut tasks = Vec::new();
    for prompt in &wanted.prompts {
        for _ in 0..wanted.n {
            // Each text has random numbers of its own.
            let seed = wanted.sampling.seed.wrapping_add(tasks.len() as u64);
            let options = SamplerOptions { seed, ..wanted.sampling.clone() };
            let mut sampler = Sampler::with_tokenizer(options, decoder.tokenizer())?;
            sampler.set_constraint(wanted.constraint.clone());
            tasks.push(Task { prompt: prompt.clone(), sampler, limit, stops: wanted.stops.clone() });
        }
    }
    let prompt_tokens = wanted.prompts.iter().map(Vec::len).sum();
    let events = generator.submit(tasks, place, state.deadline())?;
    Ok(Started { model: name.into(), decoder, events, n, prompt_tokens, delivery })
}

fn check_prompt(prompt: &[u32], context: usize) -> Result<()> {
    match prompt.len() {
        0 => Err(ApiError::invalid("the prompt has no tokens: a text is valid")),
        n if n >= context => {
            let most = context - 1;
            Err(ApiError::too_long(format!(
                "the prompt has {n} tokens: the context has room for {most}, and an answer"
            )))
        }
        _ => Ok(()),
    }
}

/// The most tokens of a text that the request asks for.
fn limit(fields: &mut Fields) -> Result<Option<usize>> {
    let (old, new) = (fields.count("max_tokens", 1..=1 << 30)?, fields.count("max_completion_tokens", 1..=1 << 30)?);
    match (old, new) {
        (Some(old), Some(new)) if old != new => {
            Err(fields.wrong("max_tokens", "differs from max_completion_tokens: one of them is valid"))
        }
        (old, new) => Ok(new.or(old)),
    }
}

/// Takes the fields that OpenAI's clients send and that do not change a text here.
fn ignore(fields: &mut Fields) {
    fields.ignore(&[
        "metadata",
        "prompt_cache_key",
        "prompt_cache_retention",
        "safety_identifier",
        "service_tier",
        "store",
        "user",
    ]);
}

/// How many tokens a request took.
#[derive(Default)]
struct Usage {
    prompt: usize,
    cached: usize,
    generated: usize,
}

impl Usage {
    fn of_prompts(tokens: usize) -> Self {
        Usage { prompt: tokens, ..Usage::default() }
    }

    /// Adds a text that ended. Texts with one prompt share what one of them computed, so the cache counts once.
    fn add(&mut self, totals: &Totals) {
        self.cached = self.cached.max(totals.cached_tokens);
        self.generated += totals.tokens;
    }

    fn json(&self) -> Value {
        json!({
            "prompt_tokens": self.prompt,
            "completion_tokens": self.generated,
            "total_tokens": self.prompt + self.generated,
            "prompt_tokens_details": { "cached_tokens": self.cached.min(self.prompt) },
        })
    }
}

/// What all objects of an answer have in common.
struct Envelope {
    id: String,
    created: u64,
    model: String,
    usage: Usage,
    include_usage: bool,
}

impl Envelope {
    fn new(prefix: &str, started: &Started) -> Self {
        Envelope {
            id: format!("{prefix}-{:016x}{:016x}", sampling::random(), sampling::random()),
            created: now(),
            model: started.model.clone(),
            usage: Usage::of_prompts(started.prompt_tokens),
            include_usage: started.delivery.include_usage,
        }
    }

    /// An object of this kind with these choices.
    fn object(&self, kind: &str, choices: Vec<Value>) -> Map<String, Value> {
        let mut object = Map::new();
        object.insert("id".into(), json!(self.id));
        object.insert("object".into(), json!(kind));
        object.insert("created".into(), json!(self.created));
        object.insert("model".into(), json!(self.model));
        object.insert("choices".into(), Value::Array(choices));
        object
    }

    /// A chunk of a streamed answer.
    fn chunk(&self, kind: &str, choices: Vec<Value>) -> Value {
        let mut object = self.object(kind, choices);
        if self.include_usage {
            object.insert("usage".into(), Value::Null);
        }
        Value::Object(object)
    }

    /// The last chunks of a streamed answer.
    fn last(&self, kind: &str) -> Vec<Value> {
        match self.include_usage {
            true => vec![self.whole(kind, Vec::new())],
            false => Vec::new(),
        }
    }

    /// An object with the numbers of tokens.
    fn whole(&self, kind: &str, choices: Vec<Value>) -> Value {
        let mut object = self.object(kind, choices);
        object.insert("usage".into(), self.usage.json());
        Value::Object(object)
    }
}

/// Why a text ended, in OpenAI's words.
fn finish_reason(ending: &Ending) -> &'static str {
    match ending {
        Ending::Length | Ending::Context => "length",
        _ => "stop",
    }
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// The least log-probability that answers have: JSON has no infinity.
const LEAST: f64 = -9999.0;

/// A token's text, as log-probabilities show it.
fn token_text(tokenizer: &Tokenizer, token: u32) -> String {
    tokenizer.decode(&[token], false)
}

/// The entry of a token in a chat's log-probabilities.
fn chat_logprobs(tokenizer: &Tokenizer, token: u32, logprobs: &Logprobs) -> Value {
    let entry = |token: u32, logprob: f64| {
        let text = token_text(tokenizer, token);
        json!({ "token": text, "logprob": logprob.max(LEAST), "bytes": text.as_bytes() })
    };
    let mut made = entry(token, logprobs.logprob);
    made["top_logprobs"] = logprobs.top.iter().map(|(token, logprob)| entry(*token, *logprob)).collect();
    made
}
