//! The cost of choosing a token from a vocabulary of 128,000: samplers, and a constraint by JSON schema.
//!
//! The vocabulary is made: all bytes, then words and parts of words over the letters of the alphabet, with and without a
//! space. Logits are random, so a constrained text is any that the schema accepts.

use criterion::Criterion;
use std::collections::BTreeSet;
use std::hint::black_box;
use tensorlib::{Array, Gguf, GgufWriter};
use tensorlib_models::tokenizer::Tokenizer;
use tensorlib_models::{Constraint, Sampler, SamplerOptions};

const TOKENS: usize = 128_000;
const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "name": { "type": "string" },
        "tags": { "type": "array", "items": { "type": "string" } },
        "price": { "type": "number" },
        "state": { "enum": ["new", "used", "broken"] }
    },
    "required": ["name", "tags", "price", "state"],
    "additionalProperties": false
}"#;

/// Random numbers, equal in each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 33
    }
}

/// The character by which byte-pair vocabularies write a byte.
fn character(byte: u8) -> char {
    let is_printable = |b: u8| matches!(b, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    match is_printable(byte) {
        true => char::from(byte),
        false => {
            let others = (0..byte).filter(|b| !is_printable(*b)).count() as u32;
            char::from_u32(0x100 + others).unwrap_or('?')
        }
    }
}

fn tokenizer() -> Tokenizer {
    let (mut random, mut words) = (Random(1), BTreeSet::new());
    while words.len() < TOKENS - 257 {
        let space = if random.next() % 2 == 0 { "\u{120}" } else { "" };
        let n = 2 + random.next() % 9;
        let letters: String = (0..n).map(|_| char::from(b'a' + (random.next() % 26) as u8)).collect();
        words.insert(format!("{space}{letters}"));
    }
    let mut tokens: Vec<String> = (0..=255).map(|byte| character(byte).to_string()).collect();
    tokens.push("<|end|>".into());
    tokens.extend(words);
    let kinds: Vec<i32> = (0..tokens.len()).map(|i| if i == 256 { 3 } else { 1 }).collect();
    let path = std::env::temp_dir().join(format!("tensorlib-bench-sampling-{}.gguf", std::process::id()));
    let mut writer = GgufWriter::create(&path).expect("a temporary file");
    let mut set = |key: &str, value: tensorlib::Value| writer.set(key, value).expect("a key");
    set("tokenizer.ggml.model", "gpt2".into());
    set("tokenizer.ggml.pre", "gpt-2".into());
    set("tokenizer.ggml.tokens", Array::String(tokens).into());
    set("tokenizer.ggml.token_type", kinds.into());
    set("tokenizer.ggml.merges", Array::String(Vec::new()).into());
    set("tokenizer.ggml.eos_token_id", 256u32.into());
    writer.finish().expect("a file");
    let tokenizer = Tokenizer::from_gguf(&Gguf::open(&path).expect("a file")).expect("a tokenizer");
    let _ = std::fs::remove_file(&path); // the system cleans its temporary folder anyway
    tokenizer
}

fn sampling(c: &mut Criterion) {
    let (tokenizer, mut random) = (tokenizer(), Random(2));
    // The sum of a few uniform numbers is close to normal.
    let mut logit = || (0..6).map(|_| random.next() as f32 / (1u64 << 31) as f32).sum::<f32>() - 3.0;
    let logits: Vec<f32> = (0..TOKENS).map(|_| 3.0 * logit()).collect();
    let neutral = SamplerOptions { temperature: 1.0, top_k: 0, top_p: 1.0, min_p: 0.0, ..SamplerOptions::default() };
    let greedy = SamplerOptions { temperature: 0.0, ..SamplerOptions::default() };
    let mut group = c.benchmark_group("sampling, 128,000 tokens");
    for (name, options) in
        [("greedy", greedy.clone()), ("temperature 1", neutral), ("the tool's defaults", SamplerOptions::default())]
    {
        let mut sampler = Sampler::new(options).expect("options");
        group.bench_function(name, |b| b.iter(|| sampler.next(black_box(&logits)).expect("a token")));
    }
    for (name, options) in
        [("JSON schema, greedy", greedy), ("JSON schema, the tool's defaults", SamplerOptions::default())]
    {
        let mut sampler = Sampler::new(options).expect("options");
        sampler.set_constraint(Some(Constraint::json_schema(&tokenizer, SCHEMA).expect("a schema")));
        let mut tokens = 0;
        group.bench_function(name, |b| {
            b.iter(|| {
                // A text of at most 200 tokens, then the next one.
                if sampler.next(black_box(&logits)).is_err() || tokens == 200 {
                    sampler.begin(&[]);
                    tokens = 0;
                }
                tokens += 1;
            })
        });
    }
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    sampling(&mut criterion);
    criterion.final_summary();
}
