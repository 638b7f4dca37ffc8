//! Folders as hubs lay them out, and what is wrong with some.

use crate::byte_pairs::Pairs;
use crate::files::*;
use serde_json::{json, Value as Json};
use tensorlib_models::tokenizer::Tokenizer;

fn added(id: u32, content: &str, special: bool) -> Json {
    json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
           "normalized": false, "special": special})
}

/// A vocabulary of bytes with tokens after it.
fn with_tokens(tokens: &[Json]) -> Json {
    let mut json = Pairs::grow(0, 1).json();
    json["added_tokens"] = tokens.into();
    json
}

fn marks() -> Json {
    with_tokens(&[
        added(256, "<s>", true),
        added(257, "</s>", true),
        added(258, "<|im_end|>", true),
        added(259, "<think>", false),
    ])
}

fn config(config: Json) -> Tokenizer {
    hub(&marks(), &[("tokenizer_config.json", config)]).unwrap()
}

#[test]
fn settings_beside_the_tokenizer() {
    let tokenizer = config(json!({"bos_token": "<s>", "eos_token": {"content": "</s>"}, "chat_template": "{{ x }}"}));
    assert_eq!((tokenizer.bos(), tokenizer.eos(), tokenizer.pad()), (Some(256), Some(257), None));
    assert_eq!(tokenizer.encode("a", true, false).unwrap(), [97]);
    assert_eq!(tokenizer.chat_template(), Some("{{ x }}"));
    assert_eq!(
        (tokenizer.n_tokens(), tokenizer.token(258), tokenizer.id("<think>")),
        (260, Some("<|im_end|>"), Some(259))
    );
    assert_eq!((0..300).filter(|id| tokenizer.is_end(*id)).collect::<Vec<_>>(), [257, 258]);

    let map = json!({"bos_token": "<s>", "pad_token": "</s>"});
    let tokenizer = hub(&marks(), &[("special_tokens_map.json", map)]).unwrap();
    assert_eq!((tokenizer.bos(), tokenizer.eos(), tokenizer.pad()), (Some(256), None, Some(257)));

    for (eos, ends) in
        [(json!(97), vec![97, 257, 258]), (json!([98, 99]), vec![98, 99, 257, 258]), (json!(null), vec![257, 258])]
    {
        let generation = json!({"eos_token_id": eos});
        let tokenizer = hub(&marks(), &[("generation_config.json", generation)]).unwrap();
        assert_eq!((0..300).filter(|id| tokenizer.is_end(*id)).collect::<Vec<_>>(), ends);
    }
}

#[test]
fn beginning_and_end_as_the_settings_say() {
    let roles = |mut settings: Json| {
        settings["bos_token"] = json!("<s>");
        settings["eos_token"] = json!("</s>");
        config(settings)
    };
    // transformers 5 does not look at these two where there is a tokenizer.json.
    let both = roles(json!({"add_bos_token": true, "add_eos_token": true}));
    assert_eq!(both.encode("a", true, true).unwrap(), [97]);
    let warnings = both.warnings();
    assert!(
        warnings[0].contains("add_bos_token: is true") && warnings[1].contains("add_eos_token: is true"),
        "{warnings:?}"
    );

    let mut json = marks();
    json["post_processor"] = json!({"type": "RobertaProcessing", "sep": ["</s>", 257], "cls": ["<s>", 256],
                                    "trim_offsets": true, "add_prefix_space": false});
    let around = hub(&json, &[]).unwrap();
    assert_eq!(around.encode("a", true, false).unwrap(), [256, 97, 257]);
    assert_eq!(around.encode("<s>a</s>", true, true).unwrap(), [256, 97, 257]);
    assert_eq!(around.encode("", true, true).unwrap(), [256, 257]);
    assert_eq!(around.encode("a", false, true).unwrap(), [97]);
    // What is to be continued does not end.
    assert_eq!(around.encode_prompt("a", true).unwrap(), [256, 97]);
    assert_eq!(around.encode_prompt("<s>a", true).unwrap(), [256, 97]);
    let without = json!({"bos_token": "<s>", "add_bos_token": false});
    let tokenizer = hub(&json, &[("tokenizer_config.json", without)]).unwrap();
    assert_eq!(tokenizer.encode("a", true, false).unwrap(), [256, 97, 257]);
    assert!(tokenizer.warnings()[0].contains("add_bos_token: is false"), "{:?}", tokenizer.warnings());
}

#[test]
fn templates_of_conversations() {
    let several = json!([{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]);
    assert_eq!(config(json!({"chat_template": several})).chat_template(), Some("d"));
    let folder = Folder::new();
    folder.write("tokenizer.json", &marks().to_string());
    folder.write("tokenizer_config.json", &json!({"chat_template": "old"}).to_string());
    folder.write("chat_template.jinja", "new");
    assert_eq!(Tokenizer::from_hub(&folder.0).unwrap().chat_template(), Some("new"));
}

#[test]
fn tokens_beside_the_model() {
    // Spaces that a token takes with it, ids with gaps, and a token that only the settings have.
    let mut end = added(300, "<end>", true);
    end["lstrip"] = json!(true);
    end["rstrip"] = json!(true);
    let settings = json!({"added_tokens_decoder": {"400": {"content": "<late>", "single_word": false, "lstrip": false,
        "rstrip": false, "normalized": false, "special": false}}});
    let tokenizer = hub(&with_tokens(&[end]), &[("tokenizer_config.json", settings)]).unwrap();
    assert_eq!(tokenizer.encode("a <end>\n b<late>", false, true).unwrap(), [97, 300, 98, 400]);
    assert_eq!(tokenizer.encode("<late>", false, false).unwrap(), [400]);
    assert_eq!((tokenizer.n_tokens(), tokenizer.token(299), tokenizer.token(300)), (401, Some(""), Some("<end>")));
    assert_eq!(tokenizer.decode(&[97, 300, 299, 400], false), "a<end><late>");
    assert_eq!(tokenizer.decode(&[97, 300, 299, 400], true), "a<late>");
}

#[test]
fn decoders() {
    let mut json = json!({"version": "1.0", "pre_tokenizer": {"type": "WhitespaceSplit"},
        "model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "ab": 1, "c</w>": 2, "\u{2581}d": 3}}});
    let decoded = |json: &Json, ids: &[u32]| hub(json, &[]).unwrap().decode(ids, false);
    assert_eq!(hub(&json, &[]).unwrap().encode("ab x", false, false).unwrap(), [1, 0]);
    assert_eq!(decoded(&json, &[1, 0, 1]), "ab ? ab");
    json["decoder"] = json!({"type": "BPEDecoder", "suffix": "</w>"});
    assert_eq!(decoded(&json, &[1, 2, 1, 2]), "abc abc");
    json["decoder"] =
        json!({"type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": "always", "split": true});
    assert_eq!(decoded(&json, &[3, 1, 3]), "dab d");
    json["decoder"] = json!({"type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": "never", "split": true});
    assert_eq!(decoded(&json, &[3, 1, 3]), " dab d");
    json["decoder"] = json!({"type": "Sequence", "decoders": [{"type": "Fuse"},
        {"type": "Replace", "pattern": {"String": "</w>"}, "content": "!"}]});
    assert_eq!(decoded(&json, &[1, 2]), "abc!");
    json["decoder"] = json!({"type": "WordPiece", "prefix": "c", "cleanup": false});
    assert_eq!(decoded(&json, &[1, 2, 0]), "ab</w> ?");
}

/// Files that are refused, and words of the error.
fn wrong_files() -> Vec<(Json, &'static [&'static str])> {
    let changed = |change: &dyn Fn(&mut Json)| {
        let mut json = marks();
        change(&mut json);
        json
    };
    let precompiled = |bytes: &str| json!({"type": "Precompiled", "precompiled_charsmap": bytes});
    vec![
        (json!({}), &["model"]),
        (json!([]), &["model"]),
        (changed(&|json| json["model"] = json!(null)), &["model"]),
        (changed(&|json| json["model"]["type"] = json!("Other")), &["model"]),
        (changed(&|json| json["model"]["merges"] = json!(["a xyz"])), &["model", "xyz"]),
        // The crate panics at these: a merge that is longer than every token, and a prefix longer than the piece.
        (changed(&|json| json["model"]["merges"] = json!(["aa bb", "a b"])), &["model"]),
        (
            changed(&|json| {
                json["model"] = json!({"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a b"]});
            }),
            &["model", "contradicts itself"],
        ),
        (changed(&|json| json["model"]["vocab"]["x"] = json!(4_000_000_000u32)), &["id 4000000000"]),
        (changed(&|json| json["model"]["vocab"]["x"] = json!(-1)), &["model"]),
        (changed(&|json| json["added_tokens"][0]["id"] = json!("x")), &["added_tokens", "element 0", "'id'"]),
        (changed(&|json| json["added_tokens"][1]["special"] = json!(3)), &["added_tokens", "element 1"]),
        (changed(&|json| json["decoder"] = json!({"type": "CTC"})), &["decoder", "'CTC'", "ByteLevel"]),
        (
            changed(&|json| json["decoder"] = json!({"type": "Strip", "content": "x", "start": 1, "stop": 0})),
            &["Strip"],
        ),
        (
            changed(&|json| json["decoder"] = json!({"type": "Replace", "pattern": {"Regex": "x"}, "content": ""})),
            &["Replace of a regular expression"],
        ),
        (changed(&|json| json["pre_tokenizer"] = json!({"type": "Other"})), &["pre_tokenizer"]),
        (
            changed(&|json| {
                json["pre_tokenizer"] =
                    json!({"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated", "invert": false});
            }),
            &["pre_tokenizer"],
        ),
        (changed(&|json| json["normalizer"] = precompiled("AA==")), &["precompiled_charsmap"]),
        (changed(&|json| json["normalizer"] = precompiled("/////wAAAAAA")), &["precompiled_charsmap", "9 bytes"]),
        (
            changed(&|json| {
                json["normalizer"] = json!({"type": "Sequence", "normalizers": [precompiled("/////wAAAAAA")]})
            }),
            &["precompiled_charsmap", "9 bytes"],
        ),
        (
            changed(&|json| {
                json["post_processor"] = json!({"type": "BertProcessing", "sep": ["</s>", 9999], "cls": ["<s>", 256]});
            }),
            &["post_processor", "no token 9999"],
        ),
    ]
}

#[test]
fn what_is_wrong_is_named() {
    for (json, words) in wrong_files() {
        let error = hub(&json, &[]).expect_err(words[0]).to_string();
        for word in words {
            assert!(error.contains(word), "'{word}' is not in: {error}");
        }
    }
    for (name, contents, words) in [
        ("generation_config.json", json!({"eos_token_id": "x"}), ["generation_config.json", "eos_token_id"]),
        ("generation_config.json", json!({"suppress_tokens": 3}), ["suppress_tokens", "a list of ids"]),
        ("generation_config.json", json!({"suppress_tokens": ["x"]}), ["suppress_tokens", "a list of ids"]),
        ("generation_config.json", json!({"suppress_tokens": [1, -1]}), ["suppress_tokens", "no token -1"]),
        ("generation_config.json", json!({"suppress_tokens": [99999]}), ["suppress_tokens", "no token 99999"]),
        ("tokenizer_config.json", json!({"added_tokens_decoder": {"x": {}}}), ["added_tokens_decoder", "'x'"]),
        ("tokenizer_config.json", json!({"added_tokens_decoder": {"1": {}}}), ["added_tokens_decoder", "content"]),
    ] {
        let error = hub(&marks(), &[(name, contents)]).unwrap_err().to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    }
}

#[test]
fn files_that_cannot_be_read() {
    let folder = Folder::new();
    let error = Tokenizer::from_hub(&folder.0).unwrap_err();
    assert!(error.kind() == tensorlib_models::ErrorKind::Io && error.to_string().contains("tokenizer.json"), "{error}");
    folder.write("tokenizer.json", "{\"version\": ");
    let error = Tokenizer::from_hub(&folder.0).unwrap_err().to_string();
    assert!(error.contains("tokenizer.json") && error.contains("line 1"), "{error}");
}

/// Where generation_config.json does not mention it, config.json says what ends an answer; stops are texts.
#[test]
fn all_ways_to_mark_an_end() {
    let ends = |files: &[(&str, Json)]| {
        let tokenizer = hub(&marks(), files).unwrap();
        (0..300).filter(|id| tokenizer.is_end(*id)).collect::<Vec<u32>>()
    };
    assert_eq!(ends(&[("config.json", json!({"eos_token_id": 97}))]), [97, 257, 258]);
    let nested = json!({"eos_token_id": [97, -1, null], "text_config": {"eos_token_id": 98}});
    assert_eq!(ends(&[("config.json", nested.clone())]), [97, 98, 257, 258]);
    let generation = json!({"eos_token_id": null, "temperature": 0.6});
    assert_eq!(ends(&[("config.json", nested), ("generation_config.json", generation)]), [257, 258]);
    let tokenizer = hub(&marks(), &[("generation_config.json", json!({"stop_strings": ["###", "\n\n"]}))]).unwrap();
    assert_eq!(tokenizer.stops(), ["###", "\n\n"]);
    assert!(hub(&marks(), &[("generation_config.json", json!({"stop_strings": 3}))]).is_err());
}

#[test]
fn tokens_that_the_model_never_writes() {
    let suppressed = |value: Json| {
        let generation = json!({"suppress_tokens": value});
        hub(&marks(), &[("generation_config.json", generation)]).unwrap().suppressed().to_vec()
    };
    assert_eq!(suppressed(json!([9, 4, 9])), [4, 9]);
    assert!(suppressed(json!([])).is_empty() && suppressed(json!(null)).is_empty());
    assert!(hub(&marks(), &[]).unwrap().suppressed().is_empty());
}

#[test]
fn fields_of_tokenizer_files() {
    let mut json = marks();
    json["model"]["dropout"] = json!(0.1);
    assert!(hub(&json, &[]).unwrap_err().to_string().contains("model: dropout: is 0.1: 0 is supported"));
    json["model"]["dropout"] = json!(null);
    let split = json!({"split_special_tokens": true});
    let error = hub(&json, &[("tokenizer_config.json", split)]).unwrap_err().to_string();
    assert!(error.contains("split_special_tokens: is true"), "{error}");
    let odd =
        [("tokenizer_config.json", json!({"odd": 1})), ("generation_config.json", json!({"forced_decoder_ids": [1]}))];
    let warnings = hub(&json, &odd).unwrap().warnings();
    assert!(
        warnings[0].ends_with("ignored: odd") && warnings[1].ends_with("ignored: forced_decoder_ids"),
        "{warnings:?}"
    );
}

/// The crate's own cut at words is Oniguruma's as well.
#[test]
fn whitespace_cuts_words_as_oniguruma_does() {
    let mut json = marks();
    json["pre_tokenizer"] = json!({"type": "Sequence", "pretokenizers": [
        {"type": "Whitespace"}, {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]});
    let tokenizer = hub(&json, &[]).unwrap();
    // Spaces are left out, and all else stays, in parts that are told by nothing else here.
    assert_eq!(tokenizer.encode("a b", false, false).unwrap(), [97, 98]);
    assert_eq!(tokenizer.encode("x\u{bd}", false, false).unwrap().len(), 3);
}
