//! Chat templates, one per feature of the language, compared with Jinja2 in the environment that transformers sets up:
//! trimmed blocks, loop controls, its own tojson, raise_exception, strftime_now and `generation`. `data/templates.json`
//! holds the templates and Jinja2 3.1.6's texts, or its errors.

use crate::common::Folder;
use serde_json::Value as Json;
use tensorlib_models::tokenizer::Tokenizer;
use tensorlib_models::{Chat, ChatOptions, Message};

fn tokenizer(template: &str) -> Tokenizer {
    let folder = Folder::new("templates");
    let token = |id: usize, text: &str| {
        serde_json::json!({"id": id, "content": text, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
                           "special": true})
    };
    let json = serde_json::json!({
        "version": "1.0", "truncation": null, "padding": null, "normalizer": null, "pre_tokenizer": {"type": "Whitespace"},
        "added_tokens": [token(0, "<unk>"), token(1, "<s>"), token(2, "</s>")], "post_processor": null, "decoder": null,
        "model": {"type": "WordLevel", "vocab": {"<unk>": 0, "<s>": 1, "</s>": 2, "x": 3}, "unk_token": "<unk>"}
    });
    let settings =
        serde_json::json!({"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "chat_template": template});
    std::fs::write(folder.path("tokenizer.json"), json.to_string()).unwrap();
    std::fs::write(folder.path("tokenizer_config.json"), settings.to_string()).unwrap();
    Tokenizer::from_hub(folder.path("tokenizer.json").parent().unwrap()).unwrap()
}

fn turns() -> Vec<Message> {
    vec![
        Message::system("Be <b>kind</b> & \"short\"."),
        Message::user("  it's é\nok? "),
        Message::assistant("Yes."),
        Message::user("x"),
    ]
}

#[test]
fn templates_make_the_texts_of_jinja2() {
    let table: Vec<Json> = serde_json::from_str(include_str!("../data/templates.json")).unwrap();
    assert!(table.len() > 70);
    let mut wrong = Vec::new();
    for case in &table {
        let template = case["template"].as_str().unwrap();
        let made = Chat::new(&tokenizer(template)).and_then(|chat| chat.text(&turns(), &ChatOptions::default()));
        match (made, case["text"].as_str(), case["error"].as_str()) {
            (Ok(text), Some(wanted), _) if text == wanted => {}
            (Err(error), None, Some(words)) if error.to_string().contains(words) => {}
            (made, wanted, error) => {
                wrong.push(format!("{template}\n   is     {made:?}\n   wanted {wanted:?} {error:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), table.len(), wrong.join("\n"));
}
