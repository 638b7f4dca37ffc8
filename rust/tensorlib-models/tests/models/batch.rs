//! Texts generated together are those that are generated alone.

use crate::common::architectures::all;
use crate::common::{backend, Folder};
use std::collections::HashMap;
use tensorlib::DType;
use tensorlib_models::{
    generate, Batch, Decoder, DecoderOptions, Ending, ErrorKind, Logits, LogitsProcessor, Sampler, SamplerOptions,
    SequenceId, SequencesOptions, Task, Totals, Update,
};

fn on_cpu() -> bool {
    backend().device() == "cpu"
}

fn opened(folder: &Folder, name: &str, context: usize) -> Decoder {
    let model = all().into_iter().find(|model| model.name == name).unwrap();
    let path = folder.path("model.gguf");
    model.spec.tensors(8, DType::Q8_0).write_gguf(&path, &model.metadata());
    let options = DecoderOptions::new().reproducible(on_cpu()).context(context);
    Decoder::open(&path, &backend(), &options).unwrap()
}

fn prompt(n: u32, seed: u32) -> Vec<u32> {
    (0..n).map(|i| (i * i * 7 + i * seed + 3) % 61).collect()
}

fn sampler(temperature: f64, seed: u64) -> Sampler {
    Sampler::new(SamplerOptions { temperature, seed, repeat_penalty: 1.1, ..SamplerOptions::default() }).unwrap()
}

fn task(prompt: Vec<u32>, temperature: f64, seed: u64, limit: Option<usize>, stops: &[&str]) -> Task {
    let stops = stops.iter().map(|stop| (*stop).to_string()).collect();
    Task { prompt, sampler: sampler(temperature, seed), limit, stops }
}

/// A prompt, a temperature, a limit, and stops.
type Case = (Vec<u32>, f64, Option<usize>, &'static [&'static str]);

/// What a task has shown.
#[derive(Default)]
struct Shown {
    text: String,
    tokens: Vec<u32>,
    totals: Option<Totals>,
    error: Option<tensorlib_models::Error>,
}

fn run(batch: &mut Batch) -> HashMap<SequenceId, Shown> {
    let mut all: HashMap<SequenceId, Shown> = HashMap::new();
    while !batch.is_empty() {
        batch
            .step(|id, update| {
                let shown = all.entry(id).or_default();
                assert!(shown.totals.is_none() && shown.error.is_none(), "{id}: an update after the last one");
                match update {
                    Update::Piece(piece) => {
                        shown.text += piece.text;
                        shown.tokens.extend(piece.token);
                    }
                    Update::Ended(totals) => shown.totals = Some(totals),
                    Update::Failed(error) => shown.error = Some(error),
                }
                true
            })
            .unwrap();
    }
    all
}

#[test]
fn texts_are_those_that_tasks_have_alone() {
    if !on_cpu() {
        return; // reproducible kernels are the CPU's
    }
    for (name, cache) in [("llama", DType::F16), ("gemma3", DType::F32), ("qwen3moe", DType::F16)] {
        let folder = Folder::new(&format!("batch-{name}"));
        let decoder = opened(&folder, name, 200);
        for (pool, together) in [(0, 16), (6 * 64, 3)] {
            let options = SequencesOptions { cache, tokens: pool, together, prompt_tokens: 50 };
            let mut batch = Batch::new(&decoder, &options).unwrap();
            let cases: Vec<Case> = vec![
                (prompt(5, 1), 0.0, Some(20), &[]),
                (prompt(90, 2), 0.9, Some(30), &[]),
                (prompt(3, 3), 1.5, Some(40), &["e", "zz"]),
                (prompt(120, 4), 0.0, None, &[]),
                (prompt(90, 2), 0.9, Some(30), &["a"]),
                (prompt(1, 5), 0.7, Some(0), &[]),
                (prompt(2, 5), 0.7, Some(1), &[]),
            ];
            let ids: Vec<SequenceId> = cases
                .iter()
                .enumerate()
                .map(|(i, (prompt, temperature, limit, stops))| {
                    batch.add(task(prompt.clone(), *temperature, i as u64, *limit, stops)).unwrap()
                })
                .collect();
            assert_eq!(batch.len(), cases.len());
            let mut shown = run(&mut batch);
            for (i, (prompt, temperature, limit, stops)) in cases.iter().enumerate() {
                let (mut text, mut tokens) = (String::new(), Vec::new());
                let stops: Vec<String> = stops.iter().map(|stop| (*stop).to_string()).collect();
                let mut session = decoder.session(cache).unwrap();
                let mut sampler = sampler(*temperature, i as u64);
                let want = generate(&mut session, &mut sampler, prompt, *limit, &stops, |piece| {
                    text += piece.text;
                    tokens.extend(piece.token);
                    true
                })
                .unwrap();
                let got = shown.remove(&ids[i]).unwrap();
                let what = format!("{name}, task {i}, pool of {pool}");
                let totals = got.totals.unwrap_or_else(|| panic!("{what}: {:?}", got.error));
                assert_eq!((got.text, got.tokens), (text, tokens), "{what}");
                assert_eq!((totals.ending, totals.tokens), (want.ending, want.tokens), "{what}");
                assert_eq!(totals.prompt_tokens + totals.cached_tokens, prompt.len(), "{what}");
            }
            assert!(shown.is_empty());
        }
    }
}

/// Fails at the third token.
struct Third(usize);

impl LogitsProcessor for Third {
    fn apply(&mut self, _: &[u32], logits: &mut Logits) -> tensorlib_models::Result<()> {
        self.0 += 1;
        if self.0 == 3 {
            logits.map(|_| f64::NAN);
        }
        Ok(())
    }
}

#[test]
fn what_happens_to_one_task_does_not_happen_to_others() {
    let folder = Folder::new("batch-failures");
    let decoder = opened(&folder, "llama", 100);
    let mut batch = Batch::new(&decoder, &SequencesOptions::default()).unwrap();
    let fine = batch.add(task(prompt(5, 1), 0.0, 1, Some(12), &[])).unwrap();
    let mut failing = task(prompt(6, 1), 0.0, 1, Some(12), &[]);
    failing.sampler.add(Third(0));
    let failing = batch.add(failing).unwrap();
    let stopped = batch.add(task(prompt(7, 1), 0.0, 1, Some(12), &[])).unwrap();
    // Without the tokens that end a text.
    let endless = |n| {
        let tokenizer = decoder.tokenizer();
        let ends = (0..61).filter(|token| tokenizer.is_end(*token)).map(|token| (token, f64::NEG_INFINITY));
        let options = SamplerOptions { temperature: 0.0, logit_bias: ends.collect(), ..Default::default() };
        Task { sampler: Sampler::new(options).unwrap(), ..task(prompt(n, 1), 0.0, 1, None, &[]) }
    };
    let cancelled = batch.add(endless(8)).unwrap();
    let full = batch.add(endless(98)).unwrap();
    let mut last: HashMap<SequenceId, String> = HashMap::new();
    for step in 0.. {
        if batch.is_empty() {
            break;
        }
        if step == 4 {
            assert!(batch.cancel(cancelled) && !batch.cancel(cancelled));
        }
        batch
            .step(|id, update| {
                assert!(step < 4 || id != cancelled, "an update after it was cancelled");
                match update {
                    Update::Piece(_) => return id != stopped,
                    Update::Ended(totals) => last.insert(id, totals.ending.to_string()),
                    Update::Failed(error) => last.insert(id, error.to_string()),
                };
                true
            })
            .unwrap();
    }
    assert_eq!(last[&fine], Ending::Length.to_string());
    assert!(last[&failing].contains("logits processor 0"), "{}", last[&failing]);
    assert_eq!(last[&stopped], Ending::Interrupted.to_string());
    assert_eq!(last[&full], Ending::Context.to_string());
    assert_eq!(last.len(), 4);
    assert_eq!(batch.sequences().counts(), (0, 0));
    // Bad tasks are refused before anything is computed.
    let refused = batch.add(task(vec![], 0.0, 1, None, &[])).unwrap_err();
    assert_eq!((refused.kind(), batch.len()), (ErrorKind::Invalid, 0));
}

#[test]
fn a_text_that_outgrows_the_pool_fails_and_says_so() {
    let folder = Folder::new("batch-pool");
    let decoder = opened(&folder, "llama", 200);
    let options = SequencesOptions { tokens: 64, ..Default::default() };
    let mut batch = Batch::new(&decoder, &options).unwrap();
    let id = batch.add(task(prompt(60, 1), 0.0, 1, None, &[])).unwrap();
    let shown = run(&mut batch).remove(&id).unwrap();
    let error = shown.error.unwrap().to_string();
    assert_eq!(error, "a sequence of 65 tokens: the pool has room for 64");
    assert_eq!(shown.tokens.len(), 5);
}

#[cfg(feature = "grammar")]
#[test]
fn texts_follow_constraints_as_they_do_alone() {
    use tensorlib_models::Constraint;
    let folder = Folder::new("batch-constraints");
    let options = DecoderOptions::new().reproducible(on_cpu());
    let decoder =
        crate::common::tokenizers::decoder(&folder, &crate::common::tokenizers::byte_pairs(), &backend(), &options);
    let schema = r#"{"type": "object", "properties": {"name": {"enum": ["Romeo", "Juliet"]}}, "required": ["name"],
        "additionalProperties": false}"#;
    let constraints = [
        Constraint::regex(decoder.tokenizer(), "(aye|nay){2}").unwrap(),
        Constraint::regex(decoder.tokenizer(), "my lord").unwrap(),
        Constraint::json_schema(decoder.tokenizer(), schema).unwrap(),
    ];
    for logprobs in [None, Some(2)] {
        let mut batch = Batch::new(&decoder, &SequencesOptions::default()).unwrap();
        let sampler = |i: usize| {
            let options = SamplerOptions { temperature: 2.0, seed: i as u64, logprobs, ..SamplerOptions::default() };
            let mut sampler = Sampler::new(options).unwrap();
            sampler.set_constraint(Some(constraints[i % 3].clone()));
            sampler
        };
        let limit = |i: usize| if i == 7 { Some(2) } else { Some(200) };
        let ids: Vec<SequenceId> = (0..9)
            .map(|i| {
                let task = Task { prompt: prompt(4, i as u32), sampler: sampler(i), limit: limit(i), stops: vec![] };
                batch.add(task).unwrap()
            })
            .collect();
        let mut shown = run(&mut batch);
        for (i, id) in ids.iter().enumerate() {
            let (mut text, mut session) = (String::new(), decoder.session(DType::F16).unwrap());
            let want = generate(&mut session, &mut sampler(i), &prompt(4, i as u32), limit(i), &[], |piece| {
                text += piece.text;
                true
            })
            .unwrap();
            let got = shown.remove(id).unwrap();
            let totals = got.totals.unwrap_or_else(|| panic!("task {i}: {:?}", got.error));
            assert!(!text.is_empty());
            if on_cpu() {
                assert_eq!((got.text, totals.ending, totals.tokens), (text, want.ending, want.tokens), "task {i}");
            }
        }
    }
}
