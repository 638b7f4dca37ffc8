//! Text as it is generated.

use crate::byte_pairs::Pairs;
use crate::files::*;
use crate::random::{self, Random};
use tensorlib_models::tokenizer::Tokenizer;

/// Feeds ids one by one; only whole characters come out.
fn streamed(tokenizer: &Tokenizer, ids: &[u32]) -> (Vec<String>, String) {
    let mut stream = tokenizer.stream();
    let parts = ids.iter().map(|id| stream.push(*id)).collect();
    (parts, stream.finish())
}

#[test]
fn a_stream_gives_the_text_whole() {
    let tokenizer = Pairs::grow(200, 21).metadata().read().unwrap();
    for text in random::texts(22, 300, 40) {
        let ids = tokenizer.encode(&text, false, false).unwrap();
        let (parts, rest) = streamed(&tokenizer, &ids);
        assert_eq!((parts.concat(), rest), (text, String::new()));
    }
}

/// Ids that are not text: a stream and decoding give the same result.
#[test]
fn broken_bytes_are_those_of_decoding() {
    let tokenizer = Pairs::grow(0, 1).metadata().read().unwrap();
    let mut random = Random::new(23);
    // Bytes that begin a character, continue one, and are never part of one.
    let bytes =
        [0x41u8, 0x80, 0xbf, 0xc0, 0xc3, 0xa9, 0xe2, 0x82, 0xac, 0xed, 0xa0, 0xf0, 0x9f, 0x91, 0xa9, 0xf4, 0xff];
    for _ in 0..500 {
        let ids: Vec<u32> = (0..random.below(12)).map(|_| u32::from(random.pick(&bytes))).collect();
        let (parts, rest) = streamed(&tokenizer, &ids);
        let raw: Vec<u8> = ids.iter().map(|id| *id as u8).collect();
        assert_eq!(format!("{}{rest}", parts.concat()), String::from_utf8_lossy(&raw), "{raw:x?}");
        assert_eq!(tokenizer.decode(&ids, true), String::from_utf8_lossy(&raw));
    }
}

#[test]
fn characters_come_when_they_are_whole() {
    let tokenizer = Pairs::grow(0, 1).metadata().read().unwrap();
    let ids: Vec<u32> = "é👩".bytes().map(u32::from).collect();
    let (parts, rest) = streamed(&tokenizer, &ids);
    assert_eq!(parts, ["", "é", "", "", "", "👩"]);
    assert_eq!(rest, "");
    // An incomplete character, then another one, then nothing.
    let (parts, rest) = streamed(&tokenizer, &[0xf0, 0x9f, 0x41, 0xe2, 0x82]);
    assert_eq!(parts, ["", "", "\u{fffd}A", "", ""]);
    assert_eq!(rest, "\u{fffd}");
}

#[test]
fn control_tokens_only_where_they_are_asked_for() {
    let tokens = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("\u{2581}a", NORMAL), ("b", NORMAL), ("<0xC3>", BYTE)];
    let file = Metadata::new("llama").tokens(tokens).with("scores", vec![0f32; 5]);
    let tokenizer = file.read().unwrap();
    let mut stream = tokenizer.stream();
    let ids = [1, 2, 3, 1, 2, 99, 4, 1, 3];
    // A stream continues a text, so the first space stays.
    assert_eq!(ids.map(|id| stream.push(id)), ["", " a", "b", "", " a", "", "", "", "\u{fffd}b"]);
    let mut stream = tokenizer.stream().show_special();
    assert_eq!([1, 2].map(|id| stream.push(id)), ["<s>", " a"]);
    assert_eq!(tokenizer.decode(&ids, true), "ab a\u{fffd}b");
    assert_eq!(tokenizer.decode(&[2, 1, 2], false), "a<s> a");
}
