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
pub const BETWEEN: &str = "\n\n";

/// What a token's text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A part of a message's header.
    Header,
    /// A part of a message.
    Message,
    /// The beginning of a message after another one that was shown.
    Next,
}

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

    /// Where a token is, and its text.
    pub fn take(&mut self, token: u32, text: &str) -> Place {
        let Some([start, channel, message]) = self.ids else { return Place::Message };
        if token == start || token == channel {
            self.head = Some(String::new());
            self.channel = None;
            return Place::Header;
        }
        match self.head.take() {
            Some(head) if token == message => {
                // Words after the channel's name describe the message's form.
                self.channel = head.split_whitespace().next().map(String::from);
                self.begins = self.shown;
                Place::Header
            }
            Some(head) => {
                self.head = Some(head + text);
                Place::Header
            }
            None if text.is_empty() => Place::Message,
            None => {
                self.shown = true;
                match std::mem::take(&mut self.begins) {
                    true => Place::Next,
                    false => Place::Message,
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
                let text = if is_mark { "" } else { token.as_str() };
                let place = channels.take(tokenizer.id(&token).unwrap(), text);
                if !text.is_empty() && place != Place::Header {
                    names.push(channels.channel().map(String::from));
                    all += if place == Place::Next { BETWEEN } else { "" };
                    all += text;
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
