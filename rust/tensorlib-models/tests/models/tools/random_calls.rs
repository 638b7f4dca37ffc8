//! Calls that models of random weights write under a constraint.

use super::calls::{bare, constraint, tools};
use super::templates::{family, Family};
use crate::common::tokenizers::{byte_pairs_with, decoder};
use crate::common::{backend, Folder};
use serde_json::Value as Json;
use tensorlib::DType;
use tensorlib_models::{
    generate, AnswerParser, CallOptions, Decoder, DecoderOptions, Ending, ParsedAnswer, Reasoning, Sampler,
    SamplerOptions, ToolChoice,
};

/// The answer of a model at a temperature of 1.5, and its ending.
fn answer(decoder: &Decoder, family: &Family, options: &CallOptions, seed: u64) -> (ParsedAnswer, Ending, String) {
    let tokenizer = decoder.tokenizer();
    let hot = SamplerOptions { temperature: 1.5, top_k: 0, top_p: 1.0, min_p: 0.0, seed, ..SamplerOptions::default() };
    let mut sampler = Sampler::new(hot).unwrap();
    sampler.set_constraint(Some(constraint(family, tokenizer, options)));
    let mut parser = AnswerParser::new(tokenizer, Some(family.format), &tools(), options.reasoning);
    let (mut session, mut parsed, mut text) =
        (decoder.session(DType::F32).unwrap(), ParsedAnswer::default(), String::new());
    let totals = generate(&mut session, &mut sampler, &[50], Some(500), &[], |piece| {
        parsed.extend(parser.push(piece.segments));
        piece.token.into_iter().for_each(|token| text += &tokenizer.decode(&[token], false));
        true
    })
    .unwrap();
    parsed.extend(parser.finish());
    (parsed, totals.ending, text)
}

fn check_arguments(parsed: &ParsedAnswer, text: &str) {
    for call in &parsed.tool_calls {
        let tools = tools();
        let schema = tools.get(&call.name).unwrap().parameters();
        let arguments: Json = serde_json::from_str(&call.arguments).unwrap_or_else(|e| panic!("{text:?}: {e}"));
        let validator = jsonschema::validator_for(schema).unwrap();
        let errors: Vec<String> = validator.iter_errors(&arguments).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{text:?}: {} {errors:?}", call.arguments);
    }
}

/// Generates with a model that has the family's tokens, or lacks them.
fn random_calls(whole: &Family, n: u64) {
    for family in [*whole, bare(whole)] {
        let name = format!("calls-{}-{}", family.name, family.controls.len());
        let vocabulary = byte_pairs_with(family.controls, family.texts);
        let options = DecoderOptions::new().context(600);
        let decoder = decoder(&Folder::new(&name), &vocabulary, &backend(), &options);
        let (mut n_whole, mut names) = (0, std::collections::BTreeSet::new());
        for seed in 0..n {
            let choice = match seed % 3 {
                0 => ToolChoice::Function("get-weather".into()),
                _ => ToolChoice::Required,
            };
            let options = CallOptions { choice, parallel: seed % 2 == 0, reasoning: Reasoning::None };
            let (parsed, ending, text) = answer(&decoder, &family, &options, seed);
            check_arguments(&parsed, &text);
            if ending == Ending::Length {
                continue;
            }
            n_whole += 1;
            let n_calls = parsed.tool_calls.len();
            assert!(n_calls >= 1 && (n_calls == 1 || options.parallel), "{}: {text:?}", family.name);
            assert_eq!(
                (parsed.content.as_str(), parsed.reasoning.is_empty() || family.name == "gpt-oss"),
                ("", true),
                "{text:?}"
            );
            assert!(seed % 3 > 0 || parsed.tool_calls.iter().all(|call| call.name == "get-weather"), "{text:?}");
            names.extend(parsed.tool_calls.into_iter().map(|call| call.name));
        }
        println!("{name}: {n_whole} of {n} answers are whole; calls of {names:?}");
        assert!(n_whole * 2 > n && names.len() > 1, "{name}: {n_whole} of {n}, {names:?}");
    }
}

#[test]
fn random_models_write_valid_calls() {
    for name in ["hermes", "qwen3-coder", "llama3", "mistral", "gpt-oss", "gemma4"] {
        random_calls(family(name), 24);
    }
}

#[test]
fn random_models_write_text_or_valid_calls() {
    for name in ["qwen2.5", "qwen3-coder", "mistral", "gemma4"] {
        let family = family(name);
        let vocabulary = byte_pairs_with(family.controls, family.texts);
        let options = DecoderOptions::new().context(600);
        let decoder = decoder(&Folder::new(&format!("auto-{name}")), &vocabulary, &backend(), &options);
        let (mut n_text, mut n_calls) = (0, 0);
        for seed in 0..24 {
            let (parsed, ending, text) = answer(&decoder, family, &CallOptions::default(), seed);
            check_arguments(&parsed, &text);
            let marker = match name {
                "mistral" => "[TOOL_CALLS]",
                "gemma4" => "<|tool_call>",
                _ => "<tool_call>",
            };
            let has_marker = text.contains(marker);
            if ending != Ending::Length {
                assert_eq!(has_marker, !parsed.tool_calls.is_empty(), "{text:?}");
                n_text += usize::from(!has_marker);
                n_calls += parsed.tool_calls.len();
            }
        }
        assert!(n_text > 0 && n_calls > 0, "{name}: {n_text} texts, {n_calls} calls");
    }
}
