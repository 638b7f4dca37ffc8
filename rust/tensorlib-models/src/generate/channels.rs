//! Splits an answer in the format of gpt-oss into messages:
//! `<|channel|>analysis<|message|>...<|end|><|start|>assistant<|channel|>final<|message|>...`. The text before
//! `<|message|>` names the message's channel and is not shown.

use crate::tokenizer::Tokenizer;

/// Tracks the message and channel that tokens belong to.
pub struct Channels {
    /// `<|start|>`, `<|channel|>` and `<|message|>`, if the vocabulary has them.
    ids: Option<[u32; 3]>,
    /// The header of a message so far.
    head: Option<String>,
    channel: Option<String>,
    /// Whether any text was shown.
    shown: bool,
    /// Whether another message was shown before this one, which has no text yet.
    begins: bool,
}

/// The text shown between two messages.
const BETWEEN: &str = "\n\n";

impl Channels {
    pub fn new(tokenizer: &Tokenizer) -> Self {
        let control = |name: &str| tokenizer.id(name).filter(|id| tokenizer.is_control(*id));
        let ids = ["<|start|>", "<|channel|>", "<|message|>"].map(control);
        let ids = match ids {
            [Some(start), Some(channel), Some(message)] => Some([start, channel, message]),
            _ => None,
        };
        Channels { ids, head: None, channel: None, shown: false, begins: false }
    }

    /// The channel of the current message, if it has one.
    pub fn channel(&self) -> Option<&str> {
        self.channel.as_deref()
    }

    /// The part of a token's text that is shown.
    pub fn take(&mut self, token: u32, text: String) -> String {
        let Some([start, channel, message]) = self.ids else { return text };
        if token == start || token == channel {
            self.head = Some(String::new());
            self.channel = None;
            return String::new();
        }
        match self.head.take() {
            Some(head) if token == message => {
                // Words after the channel's name describe the message's form.
                self.channel = head.split_whitespace().next().map(String::from);
                self.begins = self.shown;
                String::new()
            }
            Some(head) => {
                self.head = Some(head + &text);
                String::new()
            }
            None if text.is_empty() => text,
            None => {
                self.shown = true;
                match std::mem::take(&mut self.begins) {
                    true => format!("{BETWEEN}{text}"),
                    false => text,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tensorlib::{Array, Gguf, GgufWriter};

    /// A vocabulary of marks, then letters.
    fn tokenizer(marks: &[&str]) -> Tokenizer {
        let path = std::env::temp_dir().join(format!("tensorlib-channels-{}-{}.gguf", std::process::id(), marks.len()));
        let letters = ('a'..='z').map(String::from).chain([" ".into()]);
        let tokens: Vec<String> = marks.iter().map(|mark| mark.to_string()).chain(letters).collect();
        let kinds: Vec<i32> = (0..tokens.len()).map(|i| if i < marks.len() { 3 } else { 1 }).collect();
        let mut writer = GgufWriter::create(&path).unwrap();
        writer.set("tokenizer.ggml.model", "gpt2").unwrap();
        writer.set("tokenizer.ggml.pre", "gpt-2").unwrap();
        writer.set("tokenizer.ggml.tokens", Array::String(tokens)).unwrap();
        writer.set("tokenizer.ggml.token_type", kinds).unwrap();
        writer.set("tokenizer.ggml.merges", Array::String(Vec::new())).unwrap();
        writer.finish().unwrap();
        let tokenizer = Tokenizer::from_gguf(&Gguf::open(&path).unwrap()).unwrap();
        std::fs::remove_file(&path).unwrap();
        tokenizer
    }

    /// The shown text of an answer, and each text's channel.
    fn shown(marks: &[&str], answer: &[&str]) -> (String, Vec<Option<String>>) {
        let tokenizer = tokenizer(marks);
        let (mut channels, mut all, mut names) = (Channels::new(&tokenizer), String::new(), Vec::new());
        for part in answer {
            let is_mark = marks.contains(part);
            let tokens = if is_mark { vec![part.to_string()] } else { part.chars().map(String::from).collect() };
            for token in tokens {
                let text = if is_mark { String::new() } else { token.clone() };
                let text = channels.take(tokenizer.id(&token).unwrap(), text);
                if !text.is_empty() {
                    names.push(channels.channel().map(String::from));
                    all += &text;
                }
            }
        }
        names.dedup();
        (all, names)
    }

    #[test]
    fn messages_are_apart_and_heads_are_no_text() {
        let marks = ["<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>"];
        let answer = [
            "<|channel|>",
            "analysis",
            "<|message|>",
            "think",
            "<|end|>",
            "<|start|>",
            "assistant",
            "<|channel|>",
            "final json",
            "<|message|>",
            "yes",
            "<|return|>",
        ];
        let names = vec![Some("analysis".to_string()), Some("final".into())];
        assert_eq!(shown(&marks, &answer), ("think\n\nyes".into(), names));
        assert_eq!(shown(&marks, &["plain"]), ("plain".into(), vec![None]));
        // In other vocabularies nothing starts a header.
        assert_eq!(shown(&["<|start|>"], &["<|start|>", "ab"]), ("ab".into(), vec![None]));
    }
}
