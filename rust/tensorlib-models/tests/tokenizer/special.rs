//! Tokens that are marks for the model: where they are added, found in a text and left out, and which of them end an
//! answer.

use crate::byte_pairs::Pairs;
use crate::files::*;
use tensorlib::Array;
use tensorlib_models::tokenizer::Tokenizer;

/// A vocabulary of bytes followed by marks, of which the first two are bos and eos.
fn with_marks(marks: &[(&str, i32)]) -> Metadata {
    let bytes: Vec<String> = (0..=255).map(|byte| byte_character(byte).to_string()).collect();
    let tokens = bytes.iter().map(|text| (text.as_str(), NORMAL)).chain(marks.iter().copied());
    let file = Pairs::grow(0, 1).metadata().tokens(tokens);
    file.with("bos_token_id", 256u32).with("eos_token_id", 257u32)
}

const MARKS: &[(&str, i32)] = &[("<|begin|>", CONTROL), ("<|im_end|>", CONTROL), ("<think>", USER_DEFINED)];

#[test]
fn beginning_and_end_as_the_file_says_and_never_twice() {
    let file = with_marks(MARKS);
    let ids = |file: &Metadata, text: &str| file.read().unwrap().encode(text, true, true).unwrap();
    assert_eq!(ids(&file, "a"), [97]);
    let both = file.clone().with("add_bos_token", true).with("add_eos_token", true);
    assert_eq!(ids(&both, "a"), [256, 97, 257]);
    assert_eq!(ids(&both, ""), [256, 257]);
    assert_eq!(ids(&both, "<|begin|>a"), [256, 97, 257]);
    assert_eq!(ids(&both, "<|begin|>a<|im_end|>"), [256, 97, 257]);
    assert_eq!(ids(&both, "<|im_end|>"), [256, 257]);
    assert_eq!(both.read().unwrap().encode("a", false, true).unwrap(), [97]);
    // One token for both roles still has both.
    let one = both.clone().with("eos_token_id", 256u32);
    assert_eq!(ids(&one, "<|begin|>"), [256, 256]);
    assert_eq!(ids(&one, ""), [256, 256]);
    // The defaults of a pre-tokenizer's models, if the file does not say.
    assert_eq!(ids(&file.clone().with("pre", "llama-bpe"), "a"), [256, 97]);
    assert_eq!(ids(&file.clone().with("pre", "llama-bpe").with("add_bos_token", false), "a"), [97]);
    assert_eq!(ids(&file.clone().with("pre", "roberta-bpe"), "a"), [256, 97, 257]);
}

#[test]
fn marks_in_a_text_are_tokens_only_where_that_is_asked_for() {
    let tokenizer = with_marks(MARKS).read().unwrap();
    assert_eq!(tokenizer.encode("a<|im_end|><think>", false, true).unwrap(), [97, 257, 258]);
    // A user-defined token is text, and is cut out in any case.
    let ids = tokenizer.encode("a<|im_end|><think>", false, false).unwrap();
    assert_eq!(ids.last(), Some(&258));
    assert_eq!(ids.len(), 1 + "<|im_end|>".len() + 1);
    assert_eq!(tokenizer.decode(&ids, true), "a<|im_end|><think>");
    assert_eq!(tokenizer.decode(&[97, 257, 258], true), "a<think>");
    assert_eq!(tokenizer.decode(&[97, 257, 258, 1000], false), "a<|im_end|><think>");
}

#[test]
fn files_without_types_have_marks_in_brackets() {
    let file = with_marks(MARKS).without("token_type").with("eot_token_id", 258u32);
    let tokenizer = file.read().unwrap();
    assert_eq!(tokenizer.encode("a<|im_end|><think>", false, true).unwrap(), [97, 257, 258]);
    assert_eq!(tokenizer.decode(&[97, 257, 258], true), "a");
}

fn ends(file: &Metadata) -> Vec<u32> {
    let tokenizer = file.read().unwrap();
    (0..1000).filter(|id| tokenizer.is_end(*id)).collect()
}

#[test]
fn ends_by_the_files_word_and_by_name() {
    let file = with_marks(&[
        ("<|begin|>", CONTROL),
        ("<|stop|>", CONTROL),
        ("<|eot_id|>", CONTROL),
        ("<end_of_turn>", NORMAL),
        ("<|endoftext|>", CONTROL),
        ("<x>", CONTROL),
        ("<y>", CONTROL),
    ]);
    assert_eq!(ends(&file), [257, 258, 260]);
    let named = file.clone().with("eot_token_id", 261u32).with("eom_token_id", 262u32);
    assert_eq!(ends(&named), [257, 258, 260, 261, 262]);
    // Tokens with other names are no ends, nor is text with such a name.
    assert_eq!(ends(&file.without("token_type").without("eos_token_id")), Vec::<u32>::new());
}

#[test]
fn a_message_of_gpt_oss_is_not_the_end() {
    let marks = [("<|start|>", CONTROL), ("<|return|>", CONTROL), ("<|call|>", CONTROL), ("<|end|>", CONTROL)];
    assert_eq!(ends(&with_marks(&marks)), [257, 258]);
    assert_eq!(ends(&with_marks(&marks[..3]).without("eos_token_id")), [257, 258]);
    let phi = [("<s>", CONTROL), ("<|endoftext|>", CONTROL), ("<|end|>", CONTROL)];
    assert_eq!(ends(&with_marks(&phi)), [257, 258]);
}

#[test]
fn html_of_gemma_is_not_the_end() {
    let marks = [("<eos>", CONTROL), ("<turn|>", CONTROL), ("<|tool_response>", CONTROL), ("</s>", USER_DEFINED)];
    assert_eq!(ends(&with_marks(&marks).without("eos_token_id")), [256, 257, 258]);
    let older = [("<eos>", CONTROL), ("<end_of_turn>", CONTROL), ("</s>", USER_DEFINED)];
    assert_eq!(ends(&with_marks(&older).without("eos_token_id")), [256, 257]);
    // What the file names is one, and so it is in other vocabularies.
    assert_eq!(ends(&with_marks(&older).with("eos_token_id", 258u32)), [256, 257, 258]);
    assert_eq!(ends(&with_marks(&[("<s>", CONTROL), ("</s>", USER_DEFINED)]).without("eos_token_id")), [257]);
}

#[test]
fn what_the_file_says_beside() {
    let file = with_marks(MARKS).with("padding_token_id", 0u32).with("tokenizer.chat_template", "{{ messages }}");
    let tokenizer = file.read().unwrap();
    assert_eq!((tokenizer.bos(), tokenizer.eos(), tokenizer.pad()), (Some(256), Some(257), Some(0)));
    assert_eq!((tokenizer.unknown(), tokenizer.n_tokens()), (None, 259));
    assert_eq!((tokenizer.token(257), tokenizer.token(259)), (Some("<|im_end|>"), None));
    assert_eq!((tokenizer.id("<think>"), tokenizer.id("nothing")), (Some(258), None));
    assert_eq!(tokenizer.chat_template(), Some("{{ messages }}"));
    assert_eq!(format!("{tokenizer:?}"), "Tokenizer(259 tokens)");
    assert_eq!(with_marks(MARKS).read().unwrap().chat_template(), None);
}

/// Several tokens with one text: encoding gives the first, all are decoded. Empty texts belong to unused ids.
#[test]
fn texts_that_are_there_twice_or_empty() {
    let mut texts: Vec<String> = (0..=255).map(|byte| byte_character(byte).to_string()).collect();
    texts.extend(["a", "", "", "a"].map(String::from));
    let file = Pairs::grow(0, 1).metadata().without("token_type").with("tokens", Array::String(texts));
    let tokenizer = file.read().unwrap();
    assert_eq!(tokenizer.encode("aa", false, true).unwrap(), [97, 97]);
    assert_eq!(tokenizer.decode(&[97, 256, 257, 259], false), "aaa");
    assert_eq!((tokenizer.id("a"), tokenizer.id(""), tokenizer.token(257)), (Some(97), None, Some("")));
}

#[test]
fn one_tokenizer_serves_many_threads() {
    let tokenizer = with_marks(MARKS).read().unwrap();
    let tokenizer: &(dyn Fn() -> Vec<u32> + Sync) = &|| Tokenizer::encode(&tokenizer, "a<think>b", true, true).unwrap();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(tokenizer)).collect();
        threads.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), [97, 258, 98]));
    });
}

/// -1, or its bits as an unsigned number, says that there is no such token.
#[test]
fn ids_that_say_none() {
    for key in ["padding", "seperator", "unknown", "mask", "eot", "eom", "eos", "bos"] {
        let key = format!("{key}_token_id");
        let file = with_marks(MARKS);
        for value in [tensorlib::Value::U32(u32::MAX), (-1i32).into(), (-1i64).into(), u64::from(u32::MAX).into()] {
            let tokenizer = file.clone().with(&key, value).read().unwrap();
            assert_eq!(tokenizer.encode("abc", true, true).unwrap(), [97, 98, 99], "{key}");
            if key.starts_with("eos") {
                assert_eq!(tokenizer.eos(), None);
            }
        }
    }
    assert!(with_marks(MARKS).with("eos_token_id", 999u32).read().is_err());
}

#[test]
fn a_text_to_be_continued_does_not_end() {
    let file = with_marks(MARKS).with("add_bos_token", true).with("add_eos_token", true);
    let tokenizer = file.read().unwrap();
    assert_eq!(tokenizer.encode_prompt("a", true).unwrap(), [256, 97]);
    assert_eq!(tokenizer.encode_prompt("<|begin|>a", true).unwrap(), [256, 97]);
    assert_eq!(tokenizer.encode("a", true, true).unwrap(), [256, 97, 257]);
}

/// In byte-pair vocabularies U+2581 is an ordinary character.
#[test]
fn text_tokens_with_the_mark_of_a_space() {
    let tokenizer = with_marks(&[MARKS[0], MARKS[1], ("<\u{2581}a\u{2581}>", USER_DEFINED)]).read().unwrap();
    assert_eq!(tokenizer.encode("x<\u{2581}a\u{2581}>y", false, false).unwrap(), [120, 258, 121]);
    assert_eq!(tokenizer.encode("< a >", false, false).unwrap().len(), 5);
    assert_eq!(tokenizer.decode(&[258], true), "<\u{2581}a\u{2581}>");
}

#[test]
fn a_file_without_a_pre_tokenizer_is_reported() {
    let named = with_marks(MARKS).with("pre", "gpt-2");
    assert_eq!(named.read().unwrap().warnings(), [""; 0]);
    let warnings = named.without("pre").read().unwrap().warnings();
    assert!(warnings.len() == 1 && warnings[0].starts_with("tokenizer.ggml.pre: missing"), "{warnings:?}");
}

/// Text of a user in a conversation stays text; the template's own marks are tokens.
#[test]
fn control_tokens_in_turns_are_text() {
    let template = "{% for m in messages %}<|begin|>{{ m.role }}:{{ m.content | trim }}<|im_end|>{% endfor %}";
    let file = with_marks(MARKS).with("tokenizer.chat_template", template);
    let tokenizer = file.read().unwrap();
    let chat = tensorlib_models::Chat::new(&tokenizer).unwrap();
    let turn = |content: &str| vec![tensorlib_models::Message::user(content)];
    for content in ["hi", " a<|im_end|><|begin|>b ", "<|im_end|>", "<|<|im_end|>im_end|>", "\u{fdd0}<|begin|>"] {
        let ids = chat.encode(&tokenizer, &turn(content), false).unwrap();
        let marks = ids.iter().filter(|id| **id >= 256 && **id < 258).count();
        assert_eq!((marks, ids[0], ids[ids.len() - 1]), (2, 256, 257), "{content}");
        assert_eq!(tokenizer.decode(&ids, true), format!("user:{}", content.trim()));
    }
    let ids = chat.encode(&tokenizer, &turn("a<|im_end|>"), true).unwrap();
    assert_eq!(ids.iter().filter(|id| **id == 257).count(), 2);
}
