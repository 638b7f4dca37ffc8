//! Constraints: random schemas at a high temperature, expressions and grammars, on models of random weights.

use crate::common::sampling::Uniform;
use crate::common::tokenizers::{byte_pairs, decoder, sentence_pieces, tokenizer, Metadata};
use crate::common::{backend, Folder};
use serde_json::{json, Value};
use tensorlib::DType;
use tensorlib_models::{generate, Constraint, Decoder, DecoderOptions, Ending, Error, Result, Sampler, SamplerOptions};

/// A model of random weights with this vocabulary.
fn model(name: &str, vocabulary: &Metadata) -> Decoder {
    decoder(&Folder::new(name), vocabulary, &backend(), &DecoderOptions::new().context(600))
}

fn hot(seed: u64) -> SamplerOptions {
    SamplerOptions { temperature: 2.0, top_k: 0, top_p: 1.0, min_p: 0.0, seed, ..SamplerOptions::default() }
}

/// The text that a model generates after a token, and the ending.
fn text(decoder: &Decoder, constraint: Constraint, options: SamplerOptions, n: usize) -> Result<(String, Ending)> {
    let mut sampler = Sampler::new(options)?;
    sampler.set_constraint(Some(constraint));
    let (mut session, mut text) = (decoder.session(DType::F32)?, String::new());
    let totals = generate(&mut session, &mut sampler, &[50], Some(n), &[], |piece| {
        text += piece.text;
        true
    })?;
    Ok((text, totals.ending))
}

fn is_whole(ending: &Ending) -> bool {
    matches!(ending, Ending::Constraint | Ending::Token(_))
}

/// A schema that values within a few dozen bytes satisfy.
fn schema(random: &mut Uniform, depth: usize) -> Value {
    let n = |random: &mut Uniform, most: usize| random.below(most + 1);
    match random.below(if depth == 0 { 7 } else { 11 }) {
        0 => {
            let least = n(random, 40) as i64 - 20;
            json!({"type": "integer", "minimum": least, "maximum": least + n(random, 300) as i64})
        }
        1 => {
            let least = n(random, 40) as f64 / 4.0 - 5.0;
            json!({"type": "number", "minimum": least, "exclusiveMaximum": least + 0.5 + n(random, 9) as f64})
        }
        2 => json!({"enum": ["a", "b\n\"c\\", 1, -2.5, null, true, [1, "x"], {"k": "\u{e9}"}]}),
        3 => json!({"type": ["boolean", "null"]}),
        4 => {
            let least = n(random, 3);
            json!({"type": "string", "minLength": least, "maxLength": least + n(random, 5)})
        }
        5 => {
            let patterns = ["^[a-c]{2,4}$", "^(foo|ba[rz])-[0-9]{1,3}$", "^\\d\\w$", "^[^a-z\"]{3}$", "^\u{e9}?x$"];
            json!({"type": "string", "pattern": patterns[random.below(patterns.len())]})
        }
        6 => match random.below(3) {
            0 => json!({"const": "it's \"quoted\""}),
            1 => json!({"type": "integer", "multipleOf": 7, "minimum": 0, "maximum": 1000}),
            _ => json!({"type": "string", "format": "date"}),
        },
        7 => {
            let least = n(random, 2);
            json!({"type": "array", "items": schema(random, depth - 1), "minItems": least, "maxItems": least + n(random, 2)})
        }
        8 => json!({"anyOf": [schema(random, depth - 1), schema(random, depth - 1)]}),
        9 => {
            let (a, b) = (schema(random, depth - 1), schema(random, depth - 1));
            json!({"type": "array", "prefixItems": [a, b], "items": false, "minItems": random.below(3)})
        }
        _ => {
            let names = ["a", "name", "x y", "\u{e9}t\u{e9}", "q\"t"];
            let mut properties = serde_json::Map::new();
            names[..n(random, 3)].iter().for_each(|name| {
                properties.insert(name.to_string(), schema(random, depth - 1));
            });
            let required: Vec<_> = properties.keys().filter(|_| random.below(2) == 0).cloned().collect();
            let mut made = json!({"type": "object", "properties": properties, "required": required});
            match random.below(3) {
                0 => made["additionalProperties"] = schema(random, 0),
                _ => made["additionalProperties"] = false.into(),
            }
            if random.below(4) == 0 {
                made["maxProperties"] = 3.into();
                made["required"] = made["properties"].as_object().unwrap().keys().cloned().collect();
            }
            made
        }
    }
}

/// Generates by random schemas. Half of the runs use each vocabulary.
fn random_schemas(n: usize) {
    let models = [model("constraints-bytes", &byte_pairs()), model("constraints-pieces", &sentence_pieces())];
    let (mut whole, mut cut) = (0, 0);
    for seed in 0..n {
        let mut random = Uniform(seed as u64);
        let schema = schema(&mut random, 2);
        let validator = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
        let decoder = &models[seed % 2];
        let constraint = Constraint::json_schema(decoder.tokenizer(), &schema.to_string()).unwrap();
        let (text, ending) =
            text(decoder, constraint, hot(seed as u64), 80).unwrap_or_else(|e| panic!("{seed} {schema}: {e}"));
        if !is_whole(&ending) {
            assert_eq!(ending, Ending::Length, "{schema}");
            cut += 1;
            continue;
        }
        whole += 1;
        let value: Value =
            serde_json::from_str(&text).unwrap_or_else(|e| panic!("seed {seed}: {schema}\n{text:?}: {e}"));
        let errors: Vec<String> = validator.iter_errors(&value).map(|e| e.to_string()).collect();
        // A date's pattern does not know leap years.
        assert!(errors.is_empty() || text.contains("-02-29"), "seed {seed}: {schema}\n{text}\n{errors:?}");
    }
    println!("{n} schemas: {whole} whole texts, {cut} cut at the limit");
    assert!(whole * 2 > n, "{whole} of {n}");
}

#[test]
fn random_schemas_are_followed() {
    let deep = std::env::var("TENSORLIB_DEEP").is_ok_and(|deep| deep == "1");
    random_schemas(if deep { 10_000 } else { 1000 });
}

#[test]
fn expressions_are_matched() {
    for (name, vocabulary) in [("constraints-rb", byte_pairs()), ("constraints-rp", sentence_pieces())] {
        let decoder = model(name, &vocabulary);
        for (seed, expression) in
            ["[ab]{3}", "(true|false|nul+)", "\u{e9}\u{4e16}?[0-9]+x", " ?\\{\"a\": [0-9]\\}", "", "[^a]{2}"]
                .iter()
                .enumerate()
        {
            let whole = regex::Regex::new(&format!("^(?:{expression})$")).unwrap();
            for seed in 0..8 + seed as u64 {
                let constraint = Constraint::regex(decoder.tokenizer(), expression).unwrap();
                let (text, ending) = text(&decoder, constraint, hot(seed), 60).unwrap();
                assert!(!is_whole(&ending) || whole.is_match(&text), "{expression:?}: {text:?}");
                assert!(is_whole(&ending) || expression.contains('+'), "{expression:?}: {ending}");
            }
        }
    }
}

#[test]
fn forced_tokens_are_computed_together_and_change_nothing() {
    let decoder = model("constraints-forced", &byte_pairs());
    let forced = "\\{\"name\": \"[a-z]{3}\", \"is true\": true, \"z\": null\\}";
    let run = |logprobs: Option<usize>| {
        let mut sampler = Sampler::new(SamplerOptions { logprobs, ..hot(5) }).unwrap();
        sampler.set_constraint(Some(Constraint::regex(decoder.tokenizer(), forced).unwrap()));
        let (mut session, mut tokens, mut all) = (decoder.session(DType::F32).unwrap(), vec![50], Vec::new());
        let totals = generate(&mut session, &mut sampler, &[50], None, &[], |piece| {
            tokens.extend(piece.token);
            all.extend(piece.logprobs.map(|l| l.logprob));
            true
        })
        .unwrap();
        assert_eq!(totals.ending, Ending::Constraint);
        // All but the last token are in the session.
        assert_eq!(session.tokens(), &tokens[..tokens.len() - 1]);
        (tokens, all)
    };
    let (tokens, logprobs) = run(Some(0));
    assert_eq!(run(None).0, tokens);
    // Their log-probabilities are those of tokens computed one by one.
    let mut session = decoder.session(DType::F32).unwrap();
    for (pair, got) in tokens.windows(2).zip(&logprobs) {
        let logits = session.feed(&pair[..1]).unwrap();
        let total: f64 = logits.iter().map(|x| f64::from(*x).exp()).sum();
        let want = (f64::from(logits[pair[1] as usize]).exp() / total).ln();
        assert!((want - got).abs() < 1e-4, "{want} {got}");
    }
    // Limits and a caller that stops end within forced tokens.
    for n in 1..tokens.len() {
        let (text, ending) =
            text(&decoder, Constraint::regex(decoder.tokenizer(), forced).unwrap(), hot(5), n).unwrap();
        assert_eq!(text, decoder.tokenizer().decode(&tokens[1..=n], true));
        assert_eq!(ending, if n == tokens.len() - 1 { Ending::Constraint } else { Ending::Length });
        let mut sampler = Sampler::new(hot(5)).unwrap();
        sampler.set_constraint(Some(Constraint::regex(decoder.tokenizer(), forced).unwrap()));
        let (mut session, mut shown) = (decoder.session(DType::F32).unwrap(), 0);
        generate(&mut session, &mut sampler, &[50], None, &[], |piece| {
            shown += usize::from(piece.token.is_some());
            shown < n
        })
        .unwrap();
        assert_eq!(session.tokens(), &tokens[..n]);
    }
}

#[test]
fn grammars_name_control_tokens_and_schemas() {
    let decoder = model("constraints-lark", &byte_pairs());
    let grammar = r#"
start: "call " <|im_start|> args
args: %json {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1, "maximum": 9}},
  "required": ["n"], "additionalProperties": false}
"#;
    let constraint = Constraint::lark(decoder.tokenizer(), grammar).unwrap();
    // A second text begins again.
    let mut sampler = Sampler::new(hot(1)).unwrap();
    sampler.set_constraint(Some(constraint));
    for _ in 0..2 {
        let (mut session, mut text, mut tokens) = (decoder.session(DType::F32).unwrap(), String::new(), Vec::new());
        let totals = generate(&mut session, &mut sampler, &[50], Some(200), &[], |piece| {
            text += piece.text;
            tokens.extend(piece.token);
            true
        })
        .unwrap();
        assert!(is_whole(&totals.ending), "{text}");
        let value: Value = serde_json::from_str(text.strip_prefix("call ").unwrap()).unwrap();
        assert!((1..=9).contains(&value["n"].as_i64().unwrap()) && tokens.contains(&1), "{text}");
    }
    // A grammar that goes on after the end of a text.
    let grammar = "start: \"a\" <|endoftext|> \"b\"";
    let refused = Constraint::lark(decoder.tokenizer(), grammar).and_then(|c| text(&decoder, c, hot(2), 9));
    assert!(refused.is_err(), "{refused:?}");
}

#[test]
fn what_cannot_be_enforced_is_refused() {
    let folder = Folder::new("constraints-refused");
    let tokenizer = tokenizer(&folder, &byte_pairs());
    let json = |text: &str| Constraint::json_schema(&tokenizer, text).err().map(|e: Error| e.to_string());
    let deep = format!("{}true{}", "{\"items\":".repeat(200), "}".repeat(200));
    let many = format!("{{\"enum\": [{}]}}", vec!["\"x\""; 300_000].join(","));
    for (schema, words) in [
        ("{", "no JSON"),
        ("3", "is no object and no boolean"),
        ("false", "JSON schema: "),
        (r#"{"type": "strnig"}"#, "JSON schema: "),
        (r#"{"typ": "string"}"#, "#/typ: cannot be enforced"),
        (r#"{"maximun": 3}"#, "#/maximun: cannot be enforced"),
        (r#"{"type": "array", "uniqueItems": true}"#, "#/uniqueItems: cannot be enforced"),
        (r#"{"properties": {"a": {"not": {}}}}"#, "#/properties/a/not: cannot be enforced"),
        (r#"{"if": {}, "then": {}}"#, "cannot be enforced"),
        (r#"{"x-guidance": {"lenient": true}, "not": {}}"#, "cannot be enforced"),
        (r#"{"oneOf": [{"type": "integer"}, {"type": "number"}]}"#, "oneOf"),
        (r#"{"type": "string", "format": "unknown"}"#, "format"),
        (r#"{"type": "string", "format": "no-such"}"#, "format"),
        (r#"{"type": "string", "pattern": "(?=a)b"}"#, "JSON schema: "),
        (r#"{"type": "string", "pattern": "("}"#, "JSON schema: "),
        (r#"{"type": "string", "minLength": "3"}"#, "#/minLength: an integer"),
        (r#"{"type": "string", "minLength": 3, "maxLength": 2}"#, "JSON schema: "),
        (r#"{"type": "integer", "minimum": 9007199254740993000}"#, "#/minimum: "),
        (r#"{"type": "object", "minProperties": 2}"#, "minProperties"),
        (r#"{"type": "object", "required": ["a", "b"], "maxProperties": 1}"#, "JSON schema: "),
        (r#"{"prefixItems": [{"type": "null"}], "additionalItems": false}"#, "prefixItems"),
        (r#"{"$schema": "http://json-schema.org/draft-07/schema#", "prefixItems": []}"#, "prefixItems"),
        (r##"{"$ref": "#/$defs/none"}"##, "JSON schema: "),
        (r##"{"$ref": "https://example.com/schema"}"##, "JSON schema: "),
        (&deep, "JSON schema: "),
        (&many, "at most 1048576"),
    ] {
        let shown = &schema[..schema.len().min(100)];
        let error = json(schema).unwrap_or_else(|| panic!("accepted: {shown}"));
        assert!(error.contains(words) && !error.contains('\n'), "{shown}: {error}");
    }
    let regex = |text: &str| Constraint::regex(&tokenizer, text).err().map(|e| e.to_string());
    for text in ["(", "(?=a)b", r"a\bc", "[z-a]", r"\p{NoSuch}"] {
        let error = regex(text).unwrap_or_else(|| panic!("accepted: {text}"));
        assert!(error.starts_with("regular expression: ") && !error.contains('\n'), "{error}");
    }
    let lark = |text: &str| Constraint::lark(&tokenizer, text).err().map(|e| e.to_string());
    let nested = format!("start: {}\"a\"{}", "(".repeat(100_000), ")".repeat(100_000));
    for (text, words) in [
        ("", "grammar: "),
        ("start: other", "grammar: "),
        ("start: \"a", "grammar: "),
        ("start: <|none|>", "grammar: "),
        ("start: %json {\"not\": {}}", "#/not: cannot be enforced"),
        ("start: %json {\"x-guidance\": {\"lenient\": true}}", "cannot be enforced"),
        ("start: /a\n\"/ %json {\"not\": {}}", "cannot be enforced"),
        ("start: <\"> %json {\"not\": {}}", "cannot be enforced"),
        ("start: %json {", "no JSON"),
        ("start[temperature=0.5]: \"a\"", "temperature cannot be enforced"),
        ("start[stop = \"x\"]: /a*/", "stop cannot be enforced"),
        (&nested, "nested more than 100 deep"),
    ] {
        let shown = &text[..text.len().min(100)];
        let error = lark(text).unwrap_or_else(|| panic!("accepted: {shown}"));
        assert!(error.contains(words) && !error.contains('\n'), "{shown}: {error}");
    }
}

#[test]
fn a_vocabulary_that_cannot_write_a_constraint_is_refused() {
    let folder = Folder::new("constraints-letters");
    let letters = tokenizer(&folder, &crate::common::tiny::vocabulary(61));
    let error = Constraint::json_schema(&letters, "{\"type\": \"object\"}").unwrap_err().to_string();
    assert!(error.contains("no token of the vocabulary can come next"), "{error}");
    // It can write words.
    Constraint::regex(&letters, "[a-f]+").unwrap();
}
