//! Texts that a server must write whatever else it does: if a sequence saw another one's tokens, they would differ.

use super::client::Client;
use serde_json::{json, Value};
use tensorlib::DType;
use tensorlib_models::{generate, Decoder, Sampler, SamplerOptions};

/// Prompts, and what the model writes after them alone.
pub struct Canaries(Vec<(String, String)>);

const TOKENS: usize = 20;

impl Canaries {
    /// Has this model, which must be reproducible, write n texts one after the other.
    pub fn new(decoder: &Decoder, n: usize) -> Self {
        let write = |i: usize| {
            // Some begin alike, so that they share pages.
            let prompt =
                format!("{}{} says to {}:", ["O, my good lord, ", ""][i % 2].repeat(5), ["He", "She"][i % 2], i);
            let tokens = decoder.tokenizer().encode_prompt(&prompt, false).unwrap();
            let mut sampler = Sampler::new(SamplerOptions { temperature: 0.0, ..SamplerOptions::default() }).unwrap();
            let (mut session, mut text) = (decoder.session(DType::F16).unwrap(), String::new());
            let show = |piece: tensorlib_models::Piece| {
                text += piece.text;
                true
            };
            generate(&mut session, &mut sampler, &tokens, Some(TOKENS), &[], show).unwrap();
            (prompt, text)
        };
        Canaries((0..n).map(write).collect())
    }

    /// The request of a canary.
    pub fn request(&self, i: usize) -> Value {
        json!({ "prompt": self.0[i % self.0.len()].0, "temperature": 0, "max_tokens": TOKENS })
    }

    /// Whether an answer to [`Canaries::request`] has the right text.
    pub fn check(&self, i: usize, answer: &Value) {
        assert_eq!(answer["choices"][0]["text"], self.0[i % self.0.len()].1, "canary {i}");
    }

    /// Asks for a text and checks it; a full queue is no failure. Returns whether there was an answer.
    pub fn ask(&self, client: &Client, i: usize) -> bool {
        let answer = client.post("/v1/completions", &self.request(i));
        if answer.status == 429 {
            return false;
        }
        self.check(i, &answer.ok());
        true
    }
}

/// Bytes of memory that this process holds.
pub fn memory() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: usize = text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * 4096
}

/// How long a test that can go on for ever does so.
pub fn seconds(name: &str, usual: u64) -> std::time::Duration {
    let given = std::env::var(name).ok();
    std::time::Duration::from_secs(given.map_or(usual, |text| text.parse().unwrap()))
}
