//! Splits an answer that has channels into messages, whose headers are not shown.
//!
//! - gpt-oss: `<|channel|>analysis<|message|>...<|end|><|start|>assistant<|channel|>final<|message|>...`. The text before
//!   `<|message|>` names the message's channel.
//! - Gemma 4: `<|channel>thought\n...<channel|>...`. The line after `<|channel>` names the channel, and the answer is in
//!   none.

use crate::tokenizer::Tokenizer;

pub const CHANNEL: &str = "<|channel>";
pub const CHANNEL_END: &str = "<channel|>";

/// Tracks the message and channel that tokens belong to.
pub struct Channels {
    marks: Marks,
    /// The header of a message so far.
    head: Option<String>,
    channel: Option<String>,
    /// Whether any text was shown.
    shown: bool,
    /// Whether another message was shown before this one, which has no text yet.
    begins: bool,
}

/// The control tokens around headers.
enum Marks {
    /// The vocabulary has none.
    None,
    /// `<|start|>`, `<|channel|>` and `<|message|>`.
    Messages([u32; 3]),
    /// `<|channel>` and `<channel|>`.
    Channel([u32; 2]),
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
        let messages = ["<|start|>", "<|channel|>", "<|message|>"].map(control);
        let marks = match (messages, [CHANNEL, CHANNEL_END].map(control)) {
            ([Some(start), Some(channel), Some(message)], _) => Marks::Messages([start, channel, message]),
            (_, [Some(begin), Some(end)]) => Marks::Channel([begin, end]),
            _ => Marks::None,
        };
        Channels { marks, head: None, channel: None, shown: false, begins: false }
    }

    /// The channel of the current message, if it has one.
    pub fn channel(&self) -> Option<&str> {
        self.channel.as_deref()
    }

    /// Where a token is, and its text.
    pub fn take(&mut self, token: u32, text: &str) -> Place {
        let (is_begin, is_end) = match self.marks {
            Marks::None => return Place::Message,
            Marks::Messages([start, channel, message]) => (token == start || token == channel, token == message),
            Marks::Channel([begin, end]) => (token == begin, token == end),
        };
        if is_begin {
            self.head = Some(String::new());
            self.channel = None;
            return Place::Header;
        }
        let is_message = matches!(self.marks, Marks::Messages(_));
        match self.head.take() {
            Some(head) if is_message && is_end => {
                self.name(&head);
                Place::Header
            }
            Some(head) if !is_end => {
                let head = head + text;
                match !is_message && head.contains('\n') {
                    true => self.name(&head),
                    false => self.head = Some(head),
                }
                Place::Header
            }
            _ if is_end && !is_message => {
                self.channel = None;
                self.begins = self.shown;
                Place::Header
            }
            _ if text.is_empty() => Place::Message,
            _ => {
                self.shown = true;
                match std::mem::take(&mut self.begins) {
                    true => Place::Next,
                    false => Place::Message,
                }
            }
        }
    }

    /// Ends a header. Words after the channel's name describe the message's form.
    fn name(&mut self, head: &str) {
        self.channel = head.split_whitespace().next().map(String::from);
        self.begins = self.shown;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tensorlib::{Array, Gguf, GgufWriter};

    /// A vocabulary of marks, then letters.
    fn tokenizer(marks: &[&str]) -> Tokenizer {
        let path = std::env::temp_dir().join(format!("tensorlib-channels-{}-{}.gguf", std::process::id(), marks.len()));
        let letters = ('a'..='z').map(String::from).chain([" ".into(), "\u{10a}".into()]);
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
                let text = token.replace('\u{10a}', "\n");
                let text = if is_mark { "" } else { text.as_str() };
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

    #[test]
    fn a_channel_ends_where_the_answer_begins() {
        let marks = [CHANNEL, CHANNEL_END, "<turn|>", "<|tool_call>"];
        let thought = |between: &[&str]| shown(&marks, between);
        let both = vec![Some("thought".to_string()), None];
        assert_eq!(
            thought(&[CHANNEL, "thought\u{10a}", "i see\u{10a}", CHANNEL_END, "yes", "<turn|>"]),
            ("i see\n\n\nyes".into(), both)
        );
        assert_eq!(thought(&[CHANNEL, "thought\u{10a}", CHANNEL_END, "yes"]), ("yes".into(), vec![None]));
        assert_eq!(thought(&[CHANNEL, "thought", CHANNEL_END, "yes"]), ("yes".into(), vec![None]));
        assert_eq!(thought(&["a", CHANNEL_END, "b"]), ("a\n\nb".into(), vec![None]));
        // A second channel after a call, and one that does not end.
        let several = thought(&["a", "<|tool_call>", "b", CHANNEL, "thought\u{10a}", "c"]);
        assert_eq!(several, ("ab\n\nc".into(), vec![None, Some("thought".into())]));
    }
}
