//! Texts to learn, as sequences of tokens of one length.

use crate::generate::{Chat, ChatOptions, Message, Role};
use crate::settings::parse_json;
use crate::tokenizer::Tokenizer;
use crate::{Error, Result};
use serde_json::Value as Json;
use tensorlib::train::{Form, Forms, Random, Samples, Slot};

/// A sequence: its tokens, and which of them are learned.
#[derive(Clone, Debug, Default)]
struct Sequence {
    tokens: Vec<i32>,
    is_learned: Vec<bool>,
}

impl Sequence {
    fn add(&mut self, tokens: &[u32], is_learned: bool) {
        self.tokens.extend(tokens.iter().map(|token| *token as i32));
        self.is_learned.resize(self.tokens.len(), is_learned);
    }
}

/// Samples of a [`Tuning`](crate::Tuning): inputs are tokens, targets are the tokens after them and 1 for each that is
/// learned, otherwise 0.
#[derive(Clone, Debug)]
pub struct TuningSamples {
    sequences: Vec<Sequence>,
    /// Tokens of an input.
    context: usize,
    cut: usize,
}

impl TuningSamples {
    /// How many texts were longer than the context, and lost their end. Texts without a prompt are divided instead.
    pub fn cut(&self) -> usize {
        self.cut
    }

    /// The number of tokens that are learned.
    pub fn learned(&self) -> usize {
        // Nothing comes before the first token.
        self.sequences.iter().map(|sequence| sequence.is_learned[1..].iter().filter(|learned| **learned).count()).sum()
    }

    /// Sets apart a share of the samples, at least one of two or more: each n-th of them.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for a share that is not between 0 and 1, or fewer than two samples.
    pub fn divide(mut self, share: f64) -> Result<(Self, Self)> {
        if !(share > 0.0 && share < 1.0) {
            return Err(Error::invalid(format!("a share of {share}: a number between 0 and 1 is valid")));
        }
        if self.sequences.len() < 2 {
            return Err(Error::invalid("one sample cannot be divided: two or more are valid"));
        }
        let every = ((1.0 / share).round() as usize).clamp(2, self.sequences.len());
        let mut apart = TuningSamples { sequences: Vec::new(), context: self.context, cut: 0 };
        let mut number = 0;
        self.sequences.retain(|sequence| {
            number += 1;
            let stays = number % every != 0;
            if !stays {
                apart.sequences.push(sequence.clone());
            }
            stays
        });
        Ok((self, apart))
    }
}

impl Samples for TuningSamples {
    fn len(&self) -> usize {
        self.sequences.len()
    }

    fn forms(&self) -> Forms {
        let n = vec![self.context as i64];
        Forms { inputs: vec![Form::i32(n.clone())], targets: vec![Form::i32(n.clone()), Form::f32(n)] }
    }

    fn write(
        &self,
        number: usize,
        _: Option<&mut Random>,
        inputs: &mut [Slot<'_>],
        targets: &mut [Slot<'_>],
    ) -> tensorlib::Result<()> {
        let Sequence { tokens, is_learned } = &self.sequences[number];
        let n = tokens.len() - 1;
        if let ([Slot::I32(input)], [Slot::I32(labels), Slot::F32(weights)]) = (inputs, targets) {
            // Tokens after the end are seen by none before it, and nothing is learned of them.
            input.fill(0);
            labels.fill(0);
            weights.fill(0.0);
            input[..n].copy_from_slice(&tokens[..n]);
            labels[..n].copy_from_slice(&tokens[1..]);
            weights[..n].iter_mut().zip(&is_learned[1..]).for_each(|(w, learned)| *w = f32::from(u8::from(*learned)));
        }
        Ok(())
    }
}

/// The samples of JSON lines.
pub fn read(tokenizer: &Tokenizer, lines: &str, context: usize) -> Result<TuningSamples> {
    let mut samples = TuningSamples { sequences: Vec::new(), context, cut: 0 };
    for (number, line) in (1..).zip(lines.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let about = |e: Error| e.about(format_args!("line {number}"));
        let json = parse_json(line.as_bytes()).map_err(|e| about(Error::format(format!("is no JSON: {e}"))))?;
        let (sequence, may_divide) = sequence_of(tokenizer, &json).map_err(about)?;
        samples.take(sequence, may_divide);
    }
    match samples.sequences.is_empty() {
        true => Err(Error::invalid("there is nothing to learn: one line with two tokens or more is valid")),
        false => Ok(samples),
    }
}

impl TuningSamples {
    /// Adds a sequence, in parts if it may be divided. Parts of which nothing is learned are left out.
    fn take(&mut self, sequence: Sequence, may_divide: bool) {
        let most = self.context + 1;
        let is_long = sequence.tokens.len() > most;
        self.cut += usize::from(is_long && !may_divide);
        // A part begins with the last token of the one before it, so that each token is learned once.
        let parts = (0..sequence.tokens.len().saturating_sub(1)).step_by(self.context);
        for first in parts.take(if may_divide { usize::MAX } else { 1 }) {
            let end = (first + most).min(sequence.tokens.len());
            let is_learned = sequence.is_learned[first..end].to_vec();
            if is_learned[1..].contains(&true) {
                self.sequences.push(Sequence { tokens: sequence.tokens[first..end].to_vec(), is_learned });
            }
        }
    }
}

/// The sequence of a line, and whether it may be divided.
fn sequence_of(tokenizer: &Tokenizer, json: &Json) -> Result<(Sequence, bool)> {
    let mut made = Sequence::default();
    let end: Vec<u32> = tokenizer.eos().into_iter().collect();
    match (json["text"].as_str(), json["prompt"].as_str(), json["completion"].as_str(), json["messages"].as_array()) {
        (Some(text), None, None, None) => {
            made.add(&tokenizer.encode_prompt(text, false)?, true);
            made.add(&end, true);
            Ok((made, true))
        }
        (None, Some(prompt), Some(completion), None) => {
            made.add(&tokenizer.encode_prompt(prompt, false)?, false);
            made.add(&tokenizer.encode(completion, false, false)?, true);
            made.add(&end, true);
            Ok((made, false))
        }
        (None, None, None, Some(list)) => Ok((of_messages(tokenizer, list)?, false)),
        _ => Err(Error::format("is none of {\"text\"}, {\"prompt\", \"completion\"} and {\"messages\"}, with texts")),
    }
}

/// A conversation in the model's template. The assistant's messages are learned, with what ends them.
fn of_messages(tokenizer: &Tokenizer, list: &[Json]) -> Result<Sequence> {
    let messages: Vec<Message> = list.iter().map(message).collect::<Result<_>>()?;
    let chat = Chat::new(tokenizer)?;
    let tokens = |messages: &[Message], add_generation_prompt: bool| -> Result<Vec<u32>> {
        let options = ChatOptions { add_generation_prompt, ..ChatOptions::default() };
        Ok(chat.prompt(tokenizer, messages, &options)?.tokens)
    };
    let whole = tokens(&messages, false)?;
    let mut made = Sequence::default();
    for (i, _) in messages.iter().enumerate().filter(|(_, message)| message.role == Role::Assistant) {
        let (before, after) = (tokens(&messages[..i], true)?, tokens(&messages[..=i], false)?);
        if !after.starts_with(&before) || !whole.starts_with(&after) || before.len() < made.tokens.len() {
            let what = format!("messages: the template changes what it wrote before message {}", i + 1);
            return Err(Error::unsupported(what + ", so that its tokens are not known")
                .with_hint("give each answer of the assistant a line of its own"));
        }
        made.add(&whole[made.tokens.len()..before.len()], false);
        made.add(&whole[before.len()..after.len()], true);
    }
    match made.tokens.is_empty() {
        true => Err(Error::format("messages: has none of the role assistant, which would be learned")),
        false => Ok(made),
    }
}

fn message(json: &Json) -> Result<Message> {
    let (Some(role), Some(content)) = (json["role"].as_str(), json["content"].as_str()) else {
        return Err(Error::format("messages: an object with the texts role and content is expected"));
    };
    Ok(Message::new(role.parse()?, content))
}
