//! Vocabularies of the model `rwkv`: tokens of bytes, of which the longest that fits is taken.

use crate::files::*;
use crate::random::{self, Random};
use serde_json::{json, Value as Json};
use tensorlib_models::tokenizer::Tokenizer;
use tensorlib_models::Result;

const FILE: &str = "rwkv_vocab_v20230424.txt";
const END: &str = "<|rwkv_tokenizer_end_of_text|>";

/// All bytes, and texts of which some begin as others do. Token i is the element i - 1.
fn tokens() -> Vec<Vec<u8>> {
    let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    let texts =
        ["\n\n", "th", "the", " the", "  ", "    ", "it's", "\\n", "\"'", "\u{e9}", "\u{4f60}", "\t\r\n", "<s>"];
    tokens.extend(texts.map(|text| text.as_bytes().to_vec()));
    // The beginning of a character, and the end of one with the beginning of another.
    tokens.push(vec![0xe4, 0xbd]);
    tokens.push(vec![0xa9, 0xe4]);
    let mut random = Random::new(3);
    while tokens.len() < 400 {
        let text = random::text(&mut random, 5).into_bytes();
        if !text.is_empty() && !tokens.contains(&text) {
            tokens.push(text);
        }
    }
    tokens
}

/// The ids of the longest tokens, by trying all.
fn slowly(tokens: &[Vec<u8>], text: &str) -> Vec<u32> {
    let (mut rest, mut ids) = (text.as_bytes(), Vec::new());
    while !rest.is_empty() {
        let fitting = (0..tokens.len()).filter(|i| rest.starts_with(&tokens[*i]));
        let longest = fitting.max_by_key(|i| tokens[*i].len()).unwrap();
        ids.push(longest as u32 + 1);
        rest = &rest[tokens[longest].len()..];
    }
    ids
}

/// Bytes as `repr` of Python writes them, by its rules.
fn python(bytes: &[u8]) -> (char, String) {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { '"' } else { '\'' };
    let one = |byte: &u8| match *byte {
        b'\\' => "\\\\".into(),
        9 => "\\t".into(),
        10 => "\\n".into(),
        13 => "\\r".into(),
        byte if char::from(byte) == quote => format!("\\{quote}"),
        byte if (32..127).contains(&byte) => char::from(byte).to_string(),
        byte => format!("\\x{byte:02x}"),
    };
    (quote, bytes.iter().map(one).collect())
}

fn gguf(tokens: &[Vec<u8>]) -> Metadata {
    let texts: Vec<String> = tokens.iter().map(|token| python(token).1).collect();
    let normal = texts.iter().map(|text| (text.as_str(), NORMAL));
    Metadata::new("rwkv")
        .tokens([("<s>", CONTROL)].into_iter().chain(normal).chain([("[PAD401]", UNUSED)]))
        .with("bos_token_id", 0u32)
        .with("eos_token_id", 0u32)
        .with("eot_token_id", 257u32)
}

/// The lines of the file, with texts and bytes as they are published.
fn lines(tokens: &[Vec<u8>]) -> String {
    let line = |(i, token): (usize, &Vec<u8>)| match std::str::from_utf8(token) {
        Ok(text) if token.len() > 1 || text.chars().all(|c| c.is_ascii_graphic()) => {
            let (quote, n) = (if text.contains('\'') && !text.contains('"') { '"' } else { '\'' }, token.len());
            let text = text.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t");
            let text = text.replace(quote, &format!("\\{quote}"));
            format!("{} {quote}{text}{quote} {n}\n", i + 1)
        }
        _ => {
            let (quote, text) = python(token);
            format!("{} b{quote}{text}{quote} {}\n", i + 1, token.len())
        }
    };
    tokens.iter().enumerate().map(line).collect()
}

fn folder(lines: &str, others: &[(&str, Json)]) -> Result<Tokenizer> {
    let folder = Folder::new();
    folder.write(FILE, lines);
    others.iter().for_each(|(name, json)| folder.write(name, &json.to_string()));
    Tokenizer::from_hub(&folder.0)
}

/// The settings that are published with the file.
fn settings() -> Json {
    json!({"bos_token": END, "eos_token": "\n\n", "pad_token": END, "unk_token": END, "add_bos_token": false,
           "tokenizer_class": "RwkvTokenizer", "use_fast": false, "chat_template": "{{ bos_token }}x{{ eos_token }}",
           "added_tokens_decoder": {"0": {"content": END, "lstrip": false, "normalized": false, "rstrip": false,
                                          "single_word": false, "special": true}}})
}

const TEXTS: [&str; 12] = [
    "",
    "the cat",
    "then  the    end",
    "it's \"'it's'\"",
    "a\\n\\b",
    "\n\n\n\t\r\n",
    "caf\u{e9} \u{4f60}\u{597d} \u{1f600}",
    "\u{e9}\u{4f60}",
    "<s> [PAD401] <|rwkv_tokenizer_end_of_text|>",
    "\u{0}\u{7f}",
    "    ",
    "thththth",
];

#[test]
fn the_longest_tokens_of_files_and_folders() {
    let tokens = tokens();
    let both = [gguf(&tokens).read().unwrap(), folder(&lines(&tokens), &[]).unwrap()];
    let mut random = Random::new(7);
    let more: Vec<String> = (0..200).map(|_| random::text(&mut random, 40)).collect();
    for text in TEXTS.into_iter().chain(more.iter().map(String::as_str)) {
        let want = slowly(&tokens, text);
        for tokenizer in &both {
            assert_eq!(tokenizer.encode(text, true, false).unwrap(), want, "{text:?}");
            assert_eq!(tokenizer.decode(&want, true), text, "{text:?}");
            let mut stream = tokenizer.stream();
            let parts: String = want.iter().map(|id| stream.push(*id)).collect();
            assert_eq!(parts + &stream.finish(), text);
        }
    }
    let [file, folder] = both;
    for id in 1..=400 {
        assert_eq!(file.token(id), folder.token(id), "{id}");
    }
    // A token that ends within a character.
    let cut = tokens.iter().position(|token| token == &[0xe4, 0xbd]).unwrap() as u32 + 1;
    assert_eq!(file.decode(&[cut], true), "\u{fffd}");
    assert_eq!(file.decode(&[cut, 0xa0 + 1], true), "\u{4f60}");
}

#[test]
fn the_end_of_texts_is_a_control_token() {
    let tokens = tokens();
    let file = gguf(&tokens).read().unwrap();
    assert_eq!((file.bos(), file.eos(), file.begins()), (Some(0), Some(0), None));
    assert!(file.is_end(0) && file.is_end(257) && file.is_control(0) && !file.is_control(257));
    let parsed = |tokenizer: &Tokenizer, text: &str| tokenizer.encode(text, false, true).unwrap();
    let a = u32::from(b'a') + 1;
    assert_eq!(parsed(&file, "a<s>a"), [a, 0, a]);
    assert_eq!(file.decode(&[a, 0], true), "a");
    let hub = folder(&lines(&tokens), &[("tokenizer_config.json", settings())]).unwrap();
    assert_eq!(hub.warnings(), [""; 0]);
    assert_eq!(parsed(&hub, &format!("a{END}a")), [a, 0, a]);
    assert_eq!((hub.bos(), hub.eos(), hub.pad(), hub.unknown()), (Some(0), Some(257), Some(0), Some(0)));
    assert_eq!(hub.begins(), None);
    let mut with_bos = settings();
    with_bos["add_bos_token"] = json!(true);
    with_bos["add_eos_token"] = json!(true);
    let hub = folder(&lines(&tokens), &[("tokenizer_config.json", with_bos)]).unwrap();
    assert_eq!((hub.begins(), hub.encode("a", true, false).unwrap()), (Some(0), vec![0, a]));
    assert!(hub.warnings()[0].contains("add_eos_token: is true, and the published tokenizer puts no token after"));
    let file = gguf(&tokens).with("add_bos_token", true).read().unwrap();
    assert_eq!(file.encode("a", true, false).unwrap(), [0, a]);
}

#[test]
fn added_tokens_of_folders() {
    let tokens = tokens();
    let token = |content: &str, special: bool| {
        json!({"content": content, "lstrip": false, "normalized": false, "rstrip": false, "single_word": false,
               "special": special})
    };
    let with = |id: &str, content: &str, special: bool| {
        let mut settings = settings();
        settings["added_tokens_decoder"][id] = token(content, special);
        folder(&lines(&tokens), &[("tokenizer_config.json", settings)])
    };
    let hub = with("403", "<|im_end|>", true).unwrap();
    assert_eq!(hub.encode("a<|im_end|>", false, true).unwrap(), [98, 403]);
    assert_eq!((hub.n_tokens(), hub.is_end(403), hub.is_control(403)), (404, true, true));
    // The published tokenizer takes a token for blank lines that no model was trained with.
    let hub = with("401", "\n\n", true).unwrap();
    assert_eq!(hub.encode("a\n\n", false, true).unwrap(), [98, 257]);
    assert!(hub.warnings()[0].contains(r#"token 401 is "\n\n", which is text, as token 257"#), "{:?}", hub.warnings());
    let error = with("300", "<|im_end|>", true).unwrap_err().to_string();
    assert!(error.contains("token 300 is \"<|im_end|>\": an id without a token"), "{error}");
    let hub = with("402", "cut out", false).unwrap();
    assert_eq!(hub.encode("a cut outa", false, false).unwrap(), [98, 33, 402, 98]);
}

#[test]
fn templates_that_files_name() {
    let tokens = tokens();
    let template = |text: &str| {
        gguf(&tokens).with("tokenizer.chat_template", text).read().unwrap().chat_template().unwrap().to_string()
    };
    assert_eq!(template("{{ bos_token }}"), "{{ bos_token }}");
    // Templates write the end of texts as folders do, and the file has another name for it.
    assert_eq!(template(&format!("{{{{ '{END}' }}}}User")), "{{ '<s>' }}User");
    assert!(template("rwkv-world").contains("Assistant:"));
}

#[test]
fn vocabularies_that_are_refused() {
    let tokens = tokens();
    let refused = |metadata: Metadata, words: &str| {
        let error = metadata.read().unwrap_err().to_string();
        assert!(error.contains(words), "{error}: {words}");
    };
    refused(gguf(&tokens[1..]), "tokenizer.ggml.tokens: no token for the byte 0x00, and none for what is unknown");
    let mut long = tokens.clone();
    long.push(vec![b'x'; 1025]);
    refused(gguf(&long), "tokenizer.ggml.tokens: token 401 has 1025 bytes: 1 to 1024 are valid");
    let texts: Vec<String> = tokens.iter().map(|token| python(token).1).chain(["\\x4".into()]).collect();
    let broken = Metadata::new("rwkv").tokens(texts.iter().map(|text| (text.as_str(), NORMAL)));
    refused(broken, r"token 400 is '\x4': \x with two digits");
    // A byte without a token is unknown if there is a token for that.
    let file = gguf(&tokens[1..]).with("unknown_token_id", 0u32).read().unwrap();
    assert_eq!(file.encode("\u{0}\u{1}", false, false).unwrap(), [0, 1]);
    let all = lines(&tokens);
    for (further, words) in [
        ("x 'a' 1", "line 401: the id of a token, 1 to 4194303, is expected"),
        ("0 'a' 1", "line 401: the id of a token"),
        ("99999999 'a' 1", "line 401: the id of a token"),
        ("401", "line 401: an id, a text in quotes and its number of bytes are expected"),
        ("401 'a'", "line 401: an id, a text in quotes"),
        ("401 a 1", "line 401: a: a text or bytes in quotes are expected"),
        ("401 '' 0", "line 401: '': a text or bytes"),
        ("401 'ab' 3", "line 401: 'ab' has 2 bytes, not 3"),
        ("7 'ab' 2", "line 401: token 7 is there already"),
    ] {
        let error = folder(&format!("{all}{further}\n"), &[]).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains(FILE), "{error}: {words}");
    }
    let error = folder("\n", &[]).unwrap_err().to_string();
    assert!(error.contains("has no tokens"), "{error}");
}
