//! Reads an answer as the model writes it: text, reasoning and calls.

mod envelope;
mod events;
pub(in crate::generate) mod gemma;
pub(in crate::generate) mod harmony;
mod input;
mod json;
pub(in crate::generate) mod text;
pub(in crate::generate) mod values;
pub(in crate::generate) mod xml;

use super::{ToolFormat, Tools};
use crate::generate::reasoning::Reasoning;
use crate::generate::stops::Segment;
use crate::tokenizer::Tokenizer;
use events::Sink;
pub use events::{AnswerEvent, ParsedAnswer, ParsedCall};
use harmony::Harmony;
use input::Input;
use text::TextReader;

/// Divides an answer into text for the user, reasoning, and calls, as it is generated.
///
/// The events do not depend on how the answer was cut into pieces, except that texts come in parts. What only looks
/// like the beginning of a call is text. So are calls that are broken, and those of functions that are no tools. A
/// constraint (`Constraint::tools`, feature `grammar`) keeps the model from writing them.
///
/// ```no_run
/// # fn main() -> tensorlib_models::Result<()> {
/// # let decoder: tensorlib_models::Decoder = todo!();
/// # let (mut session, mut sampler, options): (_, _, tensorlib_models::ChatOptions) = todo!();
/// use tensorlib_models::{generate, AnswerParser, Chat, Message, ParsedAnswer};
/// let tokenizer = decoder.tokenizer();
/// let chat = Chat::new(tokenizer)?;
/// let prompt = chat.prompt(tokenizer, &[Message::user("What is the weather in Oslo?")], &options)?;
/// let format = Some(chat.tool_format()?);
/// let mut parser = AnswerParser::new(tokenizer, format, &options.tools, prompt.reasoning);
/// let mut answer = ParsedAnswer::default();
/// generate(&mut session, &mut sampler, &prompt.tokens, None, &[], |piece| {
///     answer.extend(parser.push(piece.segments));
///     true
/// })?;
/// answer.extend(parser.finish());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct AnswerParser {
    input: Input,
    reader: Reader,
    sink: Sink,
}

#[derive(Debug)]
enum Reader {
    Text(TextReader),
    Harmony(Harmony),
}

impl AnswerParser {
    /// For the answer to a prompt with these tools. Without a format or tools there are no calls.
    pub fn new(tokenizer: &Tokenizer, format: Option<ToolFormat>, tools: &Tools, reasoning: Reasoning) -> Self {
        let reader = match format {
            Some(ToolFormat::Harmony) => Reader::Harmony(Harmony::new(tokenizer)),
            _ => Reader::Text(TextReader::new(tokenizer, format.filter(|_| !tools.is_empty()), reasoning)),
        };
        AnswerParser { input: Input::default(), reader, sink: Sink::new(tools.clone()) }
    }

    /// Reads what the model wrote next, and returns what it completes.
    pub fn push(&mut self, segments: &[Segment]) -> Vec<AnswerEvent> {
        segments.iter().for_each(|segment| self.input.push(segment));
        self.read();
        self.sink.take()
    }

    /// Ends the answer, and returns the rest.
    pub fn finish(&mut self) -> Vec<AnswerEvent> {
        self.input.finish();
        self.read();
        match &mut self.reader {
            Reader::Text(reader) => reader.finish(&mut self.sink),
            Reader::Harmony(reader) => reader.finish(&mut self.sink),
        }
        self.sink.finish();
        self.sink.take()
    }

    fn read(&mut self) {
        let (input, sink) = (&mut self.input, &mut self.sink);
        match &mut self.reader {
            Reader::Text(reader) => while reader.step(input, sink) {},
            Reader::Harmony(reader) => while reader.step(input, sink) {},
        }
    }
}
