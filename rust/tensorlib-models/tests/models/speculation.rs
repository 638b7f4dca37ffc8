//! Texts by speculation are those without it.

use crate::common::architectures::all;
use crate::common::{backend, Folder};
use std::path::Path;
use tensorlib::{Array, DType, Value};
use tensorlib_models::{
    generate, generate_speculating, Decoder, DecoderOptions, Drafts, Ending, Piece, Sampler, SamplerOptions, Session,
    Speculation, SpeculationOptions, Totals,
};

fn options(context: usize) -> DecoderOptions {
    DecoderOptions::new().reproducible(backend().device() == "cpu").context(context)
}

/// A model with random weights of this seed.
fn model(folder: &Folder, name: &str, seed: u64, context: usize) -> Decoder {
    let model = all().into_iter().find(|model| model.name == name).unwrap();
    let path = folder.path(&format!("{name}-{seed}.gguf"));
    model.spec.tensors(seed, DType::Q8_0).write_gguf(&path, &model.metadata());
    Decoder::open(&path, &backend(), &options(context)).unwrap()
}

fn opened(folder: &Folder, name: &str, context: usize) -> Decoder {
    model(folder, name, 8, context)
}

/// Prompt lookup where it pays.
fn lookup() -> Speculation {
    Speculation::new(&SpeculationOptions::default()).unwrap()
}

/// Drafts of this many tokens wherever there are any.
fn always(length: usize) -> SpeculationOptions {
    SpeculationOptions { p_min: 0.0, length: Some(length) }
}

fn drafting(options: &SpeculationOptions, decoder: &Decoder, draft: &Decoder) -> Speculation {
    Speculation::with_draft(options, decoder, draft.session(DType::F16).unwrap()).unwrap()
}

/// A text that repeats itself.
fn prompt(n: u32) -> Vec<u32> {
    (0..n).map(|i| (i % 9 * 5 + 4) % 61).collect()
}

/// A text without a repetition of two tokens, up to 59 tokens.
fn varied(n: u32) -> Vec<u32> {
    (0..n).map(|i| (i * 7 + 3) % 59 + 1).map(|token| if token == 2 { 60 } else { token }).collect()
}

/// No token ends the text.
fn endless(decoder: &Decoder, temperature: f64) -> SamplerOptions {
    let ends = (0..61).filter(|token| decoder.tokenizer().is_end(*token)).map(|token| (token, f64::NEG_INFINITY));
    SamplerOptions { temperature, logit_bias: ends.collect(), logprobs: Some(0), ..SamplerOptions::default() }
}

/// The text, its tokens and the totals of a generation in a session.
fn go_on(
    session: &mut Session,
    options: &SamplerOptions,
    prompt: &[u32],
    limit: Option<usize>,
    stops: &[String],
    speculation: Option<&mut Speculation>,
) -> (String, Vec<u32>, Totals) {
    let mut sampler = Sampler::new(options.clone()).unwrap();
    let (mut text, mut tokens) = (String::new(), Vec::new());
    let show = |piece: Piece| {
        text += piece.text;
        tokens.extend(piece.token);
        assert_eq!(piece.logprobs.is_some(), piece.token.is_some());
        true
    };
    let totals = match speculation {
        Some(speculation) => generate_speculating(session, &mut sampler, prompt, limit, stops, speculation, show),
        None => generate(session, &mut sampler, prompt, limit, stops, show),
    };
    (text, tokens, totals.unwrap())
}

/// Generates in new sessions with and without speculation, and compares all that there is.
fn same(
    decoder: &Decoder,
    options: &SamplerOptions,
    prompt: &[u32],
    (limit, stops): (Option<usize>, &[String]),
    speculation: &mut Speculation,
) -> Totals {
    let [mut plain, mut speculating] = [(); 2].map(|()| decoder.session(DType::F16).unwrap());
    let want = go_on(&mut plain, options, prompt, limit, stops, None);
    let got = go_on(&mut speculating, options, prompt, limit, stops, Some(&mut *speculation));
    let what = format!("temperature {}, seed {}, limit {limit:?}", options.temperature, options.seed);
    assert_eq!((&got.0, &got.1), (&want.0, &want.1), "{what}");
    assert_eq!((&got.2.ending, got.2.tokens), (&want.2.ending, want.2.tokens), "{what}");
    assert_eq!(speculating.tokens(), plain.tokens(), "{what}");
    assert_eq!((want.2.drafted, got.2.drafted), ((0, 0), speculation.drafts().all()), "{what}");
    // What comes next is the same, too.
    if plain.position() < decoder.context() {
        assert_eq!(speculating.feed(&[5]).unwrap(), plain.feed(&[5]).unwrap(), "{what}");
    }
    got.2
}

/// Lengths of prompts, limits and stops.
fn cases() -> Vec<(u32, Option<usize>, Vec<String>)> {
    let stops = vec!["e".to_string(), "qx".to_string()];
    vec![
        (40, Some(90), vec![]),
        (3, Some(60), stops),
        (100, None, vec![]),
        (30, Some(1), vec![]),
        (30, Some(0), vec![]),
        (30, Some(3), vec![]),
    ]
}

fn sum(all: &mut (usize, usize), more: (usize, usize)) {
    *all = (all.0 + more.0, all.1 + more.1);
}

#[test]
fn the_text_is_the_same() {
    if backend().device() != "cpu" {
        return; // reproducible kernels are the CPU's
    }
    let mut drafted = (0, 0);
    for name in ["llama", "gemma3", "qwen3moe", "qwen35"] {
        let folder = Folder::new(&format!("speculation-{name}"));
        let decoder = opened(&folder, name, 230);
        for temperature in [0.0, 0.5, 1.5] {
            for seed in 0..2 {
                let options = SamplerOptions { temperature, seed, logprobs: Some(1), ..SamplerOptions::default() };
                for (n, limit, stops) in cases() {
                    same(&decoder, &options, &prompt(n), (limit, &stops), &mut lookup());
                    let mut speculation = Speculation::new(&always(3)).unwrap();
                    same(&decoder, &options, &prompt(n), (limit, &stops), &mut speculation);
                    sum(&mut drafted, speculation.drafts().lookup);
                }
            }
        }
    }
    // Random models repeat themselves at a temperature of 0, so some drafts are right, and at 1.5 some are not.
    assert!(drafted.0 > drafted.1 && drafted.1 > 0, "{drafted:?}");
}

#[test]
fn a_draft_model_does_not_change_the_text() {
    if backend().device() != "cpu" {
        return;
    }
    for name in ["llama", "gemma3", "qwen3moe", "qwen35"] {
        let folder = Folder::new(&format!("speculation-draft-{name}"));
        let (decoder, other) = (opened(&folder, name, 230), model(&folder, name, 9, 230));
        let (mut equal, mut foreign) = ((0, 0), (0, 0));
        for temperature in [0.0, 1.0] {
            for (n, limit, stops) in cases() {
                let options = SamplerOptions { temperature, logprobs: Some(1), ..SamplerOptions::default() };
                for (draft, all) in [(&decoder, &mut equal), (&other, &mut foreign)] {
                    let mut speculation = drafting(&always(4), &decoder, draft);
                    same(&decoder, &options, &prompt(n), (limit, &stops), &mut speculation);
                    sum(all, speculation.drafts().model);
                    assert!(speculation.draft_error().is_none());
                    let mut adaptive = drafting(&SpeculationOptions::default(), &decoder, draft);
                    same(&decoder, &options, &prompt(n), (limit, &stops), &mut adaptive);
                }
            }
        }
        assert!(equal.1 > 0 && foreign.0 > 20 && foreign.1 * 4 < foreign.0, "{name}: {equal:?}, {foreign:?}");
    }
}

#[test]
fn drafts_of_the_model_itself_are_right() {
    if backend().device() != "cpu" {
        return;
    }
    let folder = Folder::new("speculation-itself");
    let decoder = opened(&folder, "llama", 230);
    let mut speculation = drafting(&always(5), &decoder, &decoder);
    let totals = same(&decoder, &endless(&decoder, 0.0), &varied(40), (Some(150), &[]), &mut speculation);
    let Drafts { model, model_time, .. } = speculation.drafts();
    assert!(model.0 > 0 && model.0 == model.1 && !model_time.is_zero(), "{:?}", speculation.drafts());
    assert_eq!(totals.tokens, 150);
    // Each draft takes as long as what it saves, so there are none but for some attempts.
    let mut adaptive = drafting(&SpeculationOptions { p_min: 0.0, length: None }, &decoder, &decoder);
    same(&decoder, &endless(&decoder, 1.0), &varied(40), (Some(180), &[]), &mut adaptive);
    assert!(adaptive.drafts().model.0 < 60, "{:?}", adaptive.drafts());
    // A draft ends where the draft model is not certain.
    let mut certain = drafting(&SpeculationOptions { p_min: 1.0, ..always(5) }, &decoder, &decoder);
    same(&decoder, &endless(&decoder, 1.0), &varied(40), (Some(100), &[]), &mut certain);
    assert!(certain.drafts().model.0 == 0 && !certain.drafts().model_time.is_zero(), "{:?}", certain.drafts());
}

#[test]
fn texts_longer_than_the_drafts_context_go_on() {
    let folder = Folder::new("speculation-context");
    let (decoder, short) = (opened(&folder, "llama", 230), model(&folder, "llama", 8, 64));
    let run = |prompt: &[u32]| {
        let mut speculation = drafting(&always(4), &decoder, &short);
        let mut session = decoder.session(DType::F16).unwrap();
        let totals = go_on(&mut session, &endless(&decoder, 1.0), prompt, None, &[], Some(&mut speculation)).2;
        assert_eq!((totals.ending, session.position()), (Ending::Context, 230));
        assert!(speculation.draft_error().is_none());
        (speculation.drafts().model.0, speculation.draft_session().unwrap().position())
    };
    let (drafted, position) = run(&varied(40));
    assert!(drafted > 0 && (60..=64).contains(&position), "{drafted} {position}");
    assert_eq!(run(&prompt(100)), (0, 0));
    if backend().device() == "cpu" {
        let mut speculation = drafting(&always(4), &decoder, &short);
        same(&decoder, &endless(&decoder, 0.0), &varied(50), (Some(100), &[]), &mut speculation);
    }
}

#[test]
fn the_draft_follows_sessions_and_turns() {
    if backend().device() != "cpu" {
        return;
    }
    let folder = Folder::new("speculation-turns");
    let decoder = opened(&folder, "llama", 230);
    for temperature in [0.0, 1.0] {
        let options = endless(&decoder, temperature);
        let mut speculation = drafting(&always(3), &decoder, &decoder);
        let [mut plain, mut session] = [(); 2].map(|()| decoder.session(DType::F16).unwrap());
        // Turns; where a position is given, the caller goes back to it first.
        for (back, turn) in [(None, 30), (None, 5), (Some(20), 12), (None, 1), (Some(0), 25), (Some(40), 3)] {
            if let Some(position) = back {
                plain.rewind(position);
                session.rewind(position);
            }
            let want = go_on(&mut plain, &options, &varied(turn), Some(20), &[], None);
            let got = go_on(&mut session, &options, &varied(turn), Some(20), &[], Some(&mut speculation));
            assert_eq!((got.0, got.1), (want.0, want.1));
            assert_eq!(session.tokens(), plain.tokens());
            // The last drafts may go beyond the text, and the last token of a draft is not computed.
            let draft = speculation.draft_session().unwrap().tokens();
            let common = draft.iter().zip(session.tokens()).take_while(|(a, b)| a == b).count();
            assert!(common + 6 >= session.position(), "{common} of {}", session.position());
        }
        // Another session of the model, in between.
        same(&decoder, &options, &varied(10), (Some(30), &[]), &mut speculation);
        let want = go_on(&mut plain, &options, &[7], Some(9), &[], None);
        let got = go_on(&mut session, &options, &[7], Some(9), &[], Some(&mut speculation));
        assert_eq!(got.1, want.1);
        assert!(speculation.drafts().model.0 > 0);
    }
}

#[test]
fn a_draft_model_that_fails_ends_drafts_only() {
    let folder = Folder::new("speculation-damaged");
    let decoder = opened(&folder, "llama", 230);
    let llama = all().into_iter().find(|model| model.name == "llama").unwrap();
    let mut tensors = llama.spec.tensors(8, DType::F32);
    let norm = tensors.all.get_mut("output_norm.weight").unwrap();
    norm.bytes[..4].copy_from_slice(&f32::NAN.to_le_bytes());
    let path = folder.path("damaged.gguf");
    tensors.write_gguf(&path, &llama.metadata());
    let damaged = Decoder::open(&path, &backend(), &options(230)).unwrap();
    let mut speculation = drafting(&always(4), &decoder, &damaged);
    for _ in 0..2 {
        let mut session = decoder.session(DType::F16).unwrap();
        let sampler = endless(&decoder, 1.0);
        let totals = go_on(&mut session, &sampler, &varied(40), Some(50), &[], Some(&mut speculation)).2;
        assert_eq!((totals.tokens, totals.ending, speculation.drafts().model), (50, Ending::Length, (0, 0)));
        let error = speculation.draft_error().unwrap().to_string();
        assert!(error.contains("NaN") && error.contains("position 40"), "{error}");
    }
}

/// A decoder whose vocabulary has n tokens, with the kinds and texts that `change` makes.
fn with_vocabulary(folder: &Folder, n: usize, change: impl Fn(&mut Vec<String>, &mut Vec<i32>)) -> Decoder {
    let llama = all().into_iter().find(|model| model.name == "llama").unwrap();
    let mut metadata = llama.metadata();
    let (mut tokens, mut kinds) = (Vec::new(), Vec::new());
    for (key, value) in &metadata {
        match (key.as_str(), value) {
            ("tokenizer.ggml.tokens", Value::Array(Array::String(all))) => tokens = all[..n].to_vec(),
            ("tokenizer.ggml.token_type", Value::Array(Array::I32(all))) => kinds = all[..n].to_vec(),
            _ => {}
        }
    }
    change(&mut tokens, &mut kinds);
    metadata.retain(|(key, _)| !["tokens", "token_type", "scores"].iter().any(|end| key.ends_with(end)));
    let scores: Vec<f32> = (0..n).map(|i| -(i as f32)).collect();
    let all = [("tokens", tokens.into()), ("token_type", kinds.into()), ("scores", scores.into())];
    metadata.extend(all.map(|(key, value): (&str, Value)| (format!("tokenizer.ggml.{key}"), value)));
    let path = folder.path("vocabulary.gguf");
    llama.spec.tensors(8, DType::Q8_0).write_gguf(Path::new(&path), &metadata);
    Decoder::open(&path, &backend(), &options(230)).unwrap()
}

#[test]
fn another_vocabulary_is_refused() {
    let folder = Folder::new("speculation-vocabulary");
    let whole = opened(&folder, "llama", 230);
    let refused = |decoder: &Decoder, draft: &Decoder| {
        let draft = draft.session(DType::F16).unwrap();
        let error = Speculation::with_draft(&SpeculationOptions::default(), decoder, draft).unwrap_err();
        assert!(error.hint().is_some());
        error.to_string()
    };
    let renamed = with_vocabulary(&folder, 61, |tokens, _| tokens[9] = "xyz".into());
    let message = refused(&whole, &renamed);
    assert!(
        message.contains("token 9 is \"f\" (text) in the model and \"xyz\" (text) in the draft model"),
        "{message}"
    );
    let control = with_vocabulary(&folder, 61, |_, kinds| kinds[10] = 3);
    assert!(refused(&control, &whole).contains("token 10 is \"g\" (control) in the model and \"g\" (text)"));
    let shorter = with_vocabulary(&folder, 58, |_, _| ());
    let message = refused(&whole, &shorter);
    assert!(message.contains("token 58 is"), "{message}");
    assert!(message.contains("missing in the draft model; the model has 61 tokens, the draft model 58"), "{message}");
    assert!(refused(&shorter, &whole).contains("token 58 is missing in the model"));
    // Unused tokens at the end are no difference. The model draws them here, and the draft model may not draft them.
    let padded = with_vocabulary(&folder, 61, |tokens, kinds| {
        (tokens[58], tokens[59], tokens[60]) = ("[PAD58]".into(), "[PAD59]".into(), "[PAD60]".into());
        kinds[58..].fill(5);
    });
    for (decoder, draft) in [(&padded, &shorter), (&shorter, &padded), (&padded, &padded)] {
        let mut speculation = drafting(&always(3), decoder, draft);
        let sampler = endless(decoder, 2.0);
        let mut session = decoder.session(DType::F16).unwrap();
        let totals = go_on(&mut session, &sampler, &varied(20), Some(60), &[], Some(&mut speculation)).2;
        assert_eq!(totals.tokens, 60);
        assert!(speculation.drafts().model.0 > 0 && speculation.draft_error().is_none());
        let drafted = speculation.draft_session().unwrap().tokens();
        let is_common = |token: &u32| *token < 58 || decoder.tokenizer().n_tokens() == draft.tokenizer().n_tokens();
        assert!(drafted.iter().all(is_common), "{drafted:?}");
    }
}

#[test]
fn a_speculation_is_for_its_model() {
    let folder = Folder::new("speculation-model");
    let (decoder, other) = (opened(&folder, "llama", 64), model(&folder, "llama", 9, 64));
    let mut speculation = drafting(&always(3), &decoder, &other);
    let mut session = other.session(DType::F16).unwrap();
    let mut sampler = Sampler::new(endless(&other, 0.0)).unwrap();
    let refused =
        generate_speculating(&mut session, &mut sampler, &varied(5), Some(3), &[], &mut speculation, |_| true);
    assert!(refused.unwrap_err().to_string().contains("drafts for another model"));
    assert_eq!(session.position(), 0);
}

#[test]
fn a_full_context_and_an_interruption_end_it() {
    let folder = Folder::new("speculation-ends");
    let decoder = opened(&folder, "llama", 64);
    let options = endless(&decoder, 0.0);
    let mut session = decoder.session(DType::F16).unwrap();
    let (_, tokens, totals) = go_on(&mut session, &options, &prompt(40), None, &[], Some(&mut lookup()));
    assert_eq!((totals.ending, tokens.len(), session.position()), (Ending::Context, 25, 64));
    for mut speculation in [lookup(), drafting(&always(4), &decoder, &decoder)] {
        for stop_after in [1, 5, 12] {
            let mut session = decoder.session(DType::F16).unwrap();
            let mut sampler = Sampler::new(options.clone()).unwrap();
            let mut shown = Vec::new();
            let show = |piece: Piece| {
                shown.extend(piece.token);
                shown.len() < stop_after
            };
            let totals =
                generate_speculating(&mut session, &mut sampler, &prompt(40), None, &[], &mut speculation, show)
                    .unwrap();
            assert_eq!((totals.ending, totals.tokens), (Ending::Interrupted, stop_after));
            // The last one shown is not computed yet.
            assert_eq!(session.tokens()[40..], shown[..stop_after - 1]);
        }
    }
}

#[test]
fn a_long_prompt_is_interrupted_in_the_draft_model_too() {
    let folder = Folder::new("speculation-prompt");
    let decoder = opened(&folder, "llama", 1200);
    let mut speculation = drafting(&always(4), &decoder, &decoder);
    // 512 tokens and 88 of the model, then as many of the draft model.
    for (parts, position, of_draft) in [(1, 512, 0), (2, 600, 512)] {
        let mut session = decoder.session(DType::F16).unwrap();
        let mut sampler = Sampler::new(SamplerOptions::default()).unwrap();
        let mut calls = 0;
        let show = |piece: Piece| {
            assert!(piece.token.is_none() && piece.text.is_empty());
            calls += 1;
            calls < parts
        };
        let totals =
            generate_speculating(&mut session, &mut sampler, &prompt(600), None, &[], &mut speculation, show).unwrap();
        assert_eq!((totals.ending, totals.tokens, calls), (Ending::Interrupted, 0, parts));
        assert_eq!((session.position(), speculation.draft_session().unwrap().position()), (position, of_draft));
    }
}
