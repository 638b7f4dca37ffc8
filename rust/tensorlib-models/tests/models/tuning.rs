//! Adapters that are trained: their gradients, what they learn, their files, and runs that go on.

use crate::common::architectures::{all, Model};
use crate::common::tiny::{Random, Tensors};
use crate::common::tokenizers::{byte_pairs, decoder};
use crate::common::{error, Folder};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use tensorlib::train::{schedule, OptimiserOptions, Samples};
use tensorlib::{Backend, Context, DType, Graph};
use tensorlib_models::{Decoder, DecoderOptions, Tuning, TuningOptions, TUNED_PARTS};

const PLAYS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/plays.gguf");

fn write_model(folder: &Folder, name: &str, dtype: DType) -> (PathBuf, Model, Tensors) {
    let model = all().into_iter().find(|model| model.name == name).unwrap();
    let tensors = model.spec.tensors(4, dtype);
    let path = folder.path("model.gguf");
    tensors.write_gguf(&path, &model.metadata());
    (path, model, tensors)
}

/// Two sequences of six tokens.
const IDS: [i32; 12] = [3, 10, 31, 5, 54, 56, 11, 41, 23, 18, 27, 1];
const LABELS: [u32; 12] = [10, 31, 5, 54, 56, 2, 41, 23, 18, 27, 1, 7];

/// The mean of -ln of the labels' probabilities by the model with this adapter, in double precision.
fn loss64(model: &Model, tensors: &Tensors, adapter: &Tensors, names: &[String], scale: f64) -> f64 {
    let mut merged = tensors.clone();
    names.iter().for_each(|name| merged.merge(name, adapter, scale));
    let mut sum = 0.0;
    for (ids, labels) in IDS.chunks(6).zip(LABELS.chunks(6)) {
        let ids: Vec<u32> = ids.iter().map(|id| *id as u32).collect();
        for (logits, label) in model.spec.logits(&merged, &ids).iter().zip(labels) {
            let all: f64 = logits.iter().map(|x| x.exp()).sum();
            sum += all.ln() - logits[*label as usize];
        }
    }
    sum / 12.0
}

#[test]
fn gradients_are_those_of_double_precision() {
    for name in ["llama", "qwen2", "qwen3"] {
        let folder = Folder::new(&format!("tuning-gradients-{name}"));
        let (path, model, tensors) = write_model(&folder, name, DType::F32);
        let cpu = Backend::cpu().unwrap();
        let options = TuningOptions { rank: 2, alpha: 3.0, context: 6, ..TuningOptions::default() };
        let tuning = Tuning::open(&path, &cpu, &options).unwrap();
        let parameters = tuning.parameters().tensors();
        assert_eq!(parameters.len(), 2 * TUNED_PARTS.len() * model.spec.layers);
        // Adapters that add something, so that both of their matrices have gradients.
        let (mut random, mut adapter) = (Random(9), Tensors::default());
        for parameter in &parameters {
            adapter.add(&mut random, &parameter.name(), &parameter.shape(), 0.0, 0.2, DType::F32);
            let values: Vec<f32> = adapter.get(&parameter.name()).iter().map(|x| *x as f32).collect();
            parameter.write_f32(&values).unwrap();
        }
        let names: Vec<String> =
            parameters.iter().filter_map(|p| p.name().strip_suffix(".lora_a").map(String::from)).collect();
        let ctx = Context::new();
        let ids = ctx.tensor_of([6, 2], &IDS).unwrap();
        let labels = ctx.tensor_of([12], &LABELS.map(|label| label as i32)).unwrap();
        let loss = tensorlib::nn::loss::cross_entropy(&tuning.logits(&ids).unwrap(), &labels).unwrap();
        let wanted: Vec<_> = parameters.iter().collect();
        let gradients = loss.gradients(&wanted).unwrap();
        let outputs: Vec<_> = std::iter::once(&loss).chain(&gradients).collect();
        Graph::new(&outputs).unwrap().compute(&cpu).unwrap();
        let scale = 3.0 / 2.0;
        let want = loss64(&model, &tensors, &adapter, &names, scale);
        assert!((f64::from(loss.to_f32_vec().unwrap()[0]) - want).abs() < 1e-5 * want);
        for (parameter, gradient) in parameters.iter().zip(&gradients) {
            let (name, found) = (parameter.name(), gradient.to_f32_vec().unwrap());
            let largest = found.iter().fold(0f32, |most, x| most.max(x.abs()));
            for at in [0, found.len() / 3, found.len() - 1] {
                const STEP: f64 = 1e-4;
                let values = adapter.get(&name).to_vec();
                let moved = |by: f64| {
                    let (mut changed, mut moved) = (adapter.clone(), values.clone());
                    moved[at] += by;
                    changed.set_values(&name, moved);
                    loss64(&model, &tensors, &changed, &names, scale)
                };
                // The second derivative's error is of the order of the step's square.
                let want = (moved(STEP) - moved(-STEP)) / (2.0 * STEP);
                let off = (f64::from(found[at]) - want).abs();
                assert!(off < 1e-4 * f64::from(largest) + 1e-7, "{name} {at}: {} and {want}", found[at]);
            }
        }
    }
}

/// Lines of the plays in capitals.
fn capitals(n: usize) -> String {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/plays.txt")).unwrap();
    let mut lines = text.lines().filter(|line| line.len() > 30).map(|line| line.to_ascii_uppercase());
    (0..n).map(|_| format!("{}\n", serde_json::json!({"text": lines.next().unwrap()}))).collect()
}

/// Trains an adapter of the plays' model, up to a step. Returns the losses and the adapter's bits.
fn train(checkpoint: Option<&Path>, last: u64) -> (Vec<f64>, Vec<u32>, Tuning) {
    let cpu = Backend::cpu().unwrap();
    let options = TuningOptions { rank: 4, context: 48, seed: 3, ..TuningOptions::default() };
    let tuning = Tuning::open(PLAYS, &cpu, &options).unwrap();
    let samples = tuning.samples(&capitals(24)).unwrap();
    let optimiser = OptimiserOptions::adamw(1e-2).clip_norm(1.0).build(tuning.parameters()).unwrap();
    let mut losses = Vec::new();
    let mut trainer = tuning.trainer(&cpu, optimiser).epochs(3).batch(4).seed(5);
    trainer = trainer.schedule(|step, total| schedule::cosine(step, 2, total, 0.1)).on_step(|report| {
        losses.push(report.loss);
        if report.step == last {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    if let Some(path) = checkpoint {
        trainer = trainer.checkpoint(path, 4);
    }
    trainer.fit(&samples).unwrap();
    drop(trainer);
    let bits = tuning.parameters().tensors().iter().flat_map(|t| t.to_f32_vec().unwrap()).map(f32::to_bits).collect();
    (losses, bits, tuning)
}

#[test]
fn a_quantised_model_learns_and_a_run_goes_on() {
    let folder = Folder::new("tuning-plays");
    let (losses, bits, tuning) = train(None, u64::MAX);
    assert!(losses.len() >= 18, "{}", losses.len());
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let (first, last) = (mean(&losses[..3]), mean(&losses[losses.len() - 3..]));
    assert!(last < 0.7 * first, "{first} at first, {last} in the end");
    // A run that a callback ended goes on after its last step.
    let checkpoint = folder.path("run.safetensors");
    train(Some(&checkpoint), 10);
    let (rest, resumed, _) = train(Some(&checkpoint), u64::MAX);
    assert_eq!(rest, losses[10..]);
    assert_eq!(resumed, bits);
    // The adapter's file gives the logits that the trained model has.
    let (file, cpu) = (folder.path("adapter.gguf"), Backend::cpu().unwrap());
    tuning.write(&file).unwrap();
    let tokens = tuning.tokenizer().encode("FIRST CITIZEN", false, false).unwrap();
    let ids: Vec<i32> = tokens.iter().map(|token| *token as i32).collect();
    let ctx = Context::new();
    let logits = tuning.logits(&ctx.tensor_of([ids.len() as i64, 1], &ids).unwrap()).unwrap();
    cpu.compute(&[&logits]).unwrap();
    let want: Vec<f64> = logits.to_f32_vec().unwrap().iter().map(|x| f64::from(*x)).collect();
    let open = |options: DecoderOptions| Decoder::open(PLAYS, &cpu, &options).unwrap();
    let got = open(DecoderOptions::new().adapter(&file, 1.0)).session(DType::F32).unwrap().feed_all(&tokens).unwrap();
    assert!(error(&got, &want) < 1e-5, "{:e}", error(&got, &want));
    let without = open(DecoderOptions::new()).session(DType::F32).unwrap().feed_all(&tokens).unwrap();
    assert!(error(&without, &want) > 1e-2);
}

#[test]
fn samples_of_lines() {
    let folder = Folder::new("tuning-samples");
    let mut vocabulary = byte_pairs();
    let template = "{% for m in messages %}<|im_start|>{{ m.role }}: {{ m.content }}<|im_end|>{% endfor %}\
        {% if add_generation_prompt %}<|im_start|>assistant: {% endif %}";
    vocabulary.push(("tokenizer.chat_template".into(), template.into()));
    let cpu = Backend::cpu().unwrap();
    drop(decoder(&folder, &vocabulary, &cpu, &DecoderOptions::new()));
    let options = TuningOptions { context: 16, targets: vec!["attn_v".into()], ..TuningOptions::default() };
    let tuning = Tuning::open(folder.path("model.gguf"), &cpu, &options).unwrap();
    let learned = |lines: &str| tuning.samples(lines).map(|samples| (samples.len(), samples.learned(), samples.cut()));
    // Four characters, three of which follow another, and the end.
    assert_eq!(learned(r#"{"text": "abcd"}"#).unwrap(), (1, 4, 0));
    assert_eq!(learned("{\"text\": \"abcd\"}\n\n{\"text\": \"xy\"}\n").unwrap(), (2, 6, 0));
    // 40 characters and the end in parts of 16: each token but the first is learned once.
    assert_eq!(learned(&format!(r#"{{"text": "{}"}}"#, "abcdefgh".repeat(5))).unwrap(), (3, 40, 0));
    assert_eq!(learned(r#"{"prompt": "abcd", "completion": "xyz"}"#).unwrap(), (1, 4, 0));
    assert_eq!(learned(&format!(r#"{{"prompt": "ab", "completion": "{}"}}"#, "x".repeat(40))).unwrap(), (1, 15, 1));
    let chat = r#"{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "bc"}]}"#;
    // "<|im_start|>user: a<|im_end|><|im_start|>assistant: " has 22 tokens: nothing of the answer fits into 16.
    assert!(learned(chat).unwrap_err().to_string().contains("nothing to learn"));
    let wide = Tuning::open(folder.path("model.gguf"), &cpu, &TuningOptions { context: 64, ..options }).unwrap();
    assert_eq!(wide.samples(chat).unwrap().learned(), 3);
    for (lines, words) in [
        ("", "nothing to learn"),
        ("{\"text\": \"abcd\"}\nno", "line 2: is no JSON"),
        (r#"{"text": 3}"#, "line 1: is none of"),
        (r#"{"prompt": "a"}"#, "is none of"),
        (r#"{"text": "a", "prompt": "b", "completion": "c"}"#, "is none of"),
        (r#"{"messages": [{"role": "user", "content": "a"}]}"#, "none of the role assistant"),
        (r#"{"messages": [{"role": "judge", "content": "a"}]}"#, "judge"),
        (r#"{"messages": [3]}"#, "an object with the texts"),
    ] {
        let error = wide.samples(lines).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    let samples = wide.samples(&"{\"text\": \"abcd\"}\n".repeat(10)).unwrap();
    let (rest, apart) = samples.clone().divide(0.2).unwrap();
    assert_eq!((rest.len(), apart.len()), (8, 2));
    assert!(samples.divide(1.0).is_err());
}

#[test]
fn what_is_refused() {
    let folder = Folder::new("tuning-refused");
    let cpu = Backend::cpu().unwrap();
    let usual = TuningOptions { context: 16, ..TuningOptions::default() };
    let refusal = |path: &Path, options: &TuningOptions| Tuning::open(path, &cpu, options).unwrap_err().to_string();
    let (path, ..) = write_model(&folder, "gemma2", DType::F32);
    assert!(refusal(&path, &usual).contains("architecture 'gemma2': adapters are trained for llama, qwen2, qwen3"));
    let (path, ..) = write_model(&folder, "llama with experts", DType::F32);
    assert!(refusal(&path, &usual).contains("with experts"));
    let (path, ..) = write_model(&folder, "llama", DType::F32);
    for (options, words) in [
        (TuningOptions { rank: 0, ..usual.clone() }, "a rank of 0"),
        (TuningOptions { alpha: f64::NAN, ..usual.clone() }, "an alpha of NaN"),
        (TuningOptions { context: 1, ..usual.clone() }, "a context of 1"),
        (TuningOptions { context: 1000, ..usual.clone() }, "up to the model's 256"),
        (TuningOptions { targets: vec![], ..usual.clone() }, "no matrices"),
        (TuningOptions { targets: vec!["attn_x".into()], ..usual.clone() }, "adapters of 'attn_x': attn_q"),
    ] {
        let error = refusal(&path, &options);
        assert!(error.contains(words), "{error}");
    }
}
