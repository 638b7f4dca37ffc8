//! Grammars of answers with tool calls.

use super::{gemma, schema, xml, Constraint};
use crate::generate::reasoning::Reasoning;
use crate::generate::tools::parser::{gemma as gemma_text, harmony, text, xml as xml_text};
use crate::generate::tools::{CallOptions, Tool, ToolChoice, ToolFormat, Tools};
use crate::tokenizer::Tokenizer;
use crate::{Error, ErrorKind, Result};
use serde_json::Value;
use std::fmt::Write;

impl Constraint {
    /// An answer in this format whose calls are calls of these tools, with arguments that their schemas accept. Unless
    /// calls are required, text is free, up to the marker that begins a call. Reasoning is free.
    ///
    /// Arguments have the order of the schema's properties. Where a schema of parameters does not say
    /// `additionalProperties`, there are none. In [`ToolFormat::QwenXml`] strings are bare text, where `enum`, `const`,
    /// `minLength` and `maxLength` can be enforced; a value that may be a string or something else is a string or
    /// `null`.
    ///
    /// # Errors
    /// As [`Constraint::json_schema`], naming the tool; [`ErrorKind::Invalid`](crate::ErrorKind) if there are no tools,
    /// or none of the chosen name.
    pub fn tools(tokenizer: &Tokenizer, format: ToolFormat, tools: &Tools, options: &CallOptions) -> Result<Self> {
        let chosen: Vec<&Tool> = match &options.choice {
            ToolChoice::Function(name) => tools.iter().filter(|tool| tool.name() == name).collect(),
            _ => tools.iter().collect(),
        };
        if chosen.is_empty() {
            let names: Vec<&str> = tools.iter().map(Tool::name).collect();
            return Err(match &options.choice {
                ToolChoice::Function(name) => {
                    let name: String = name.chars().take(64).collect();
                    Error::invalid(format!("no tool is {name:?}: tools are {names:?}"))
                }
                _ => Error::invalid("calls need tools, and there are none"),
            });
        }
        let mut parameters = Vec::new();
        for tool in &chosen {
            let closed = closed(tool.parameters());
            let checked = schema::checked(closed.clone()).map(|_| closed);
            parameters.push(checked.map_err(|e| of(tool, &e))?);
        }
        let mut grammar = Grammar { tokenizer, rules: String::new() };
        let start = grammar.answer(format, &chosen, &parameters, options)?;
        let text = format!("start: {start}\n{}", grammar.rules);
        Self::lark(tokenizer, &text).map_err(|error| {
            // Says which of the schemas it is.
            let alone = |(tool, schema): (&&Tool, &Value)| {
                Self::json_schema(tokenizer, &schema.to_string()).err().map(|e| of(tool, &e))
            };
            let found = chosen.iter().zip(&parameters).find_map(alone);
            found.unwrap_or_else(|| renamed(&error, error.to_string().replacen("grammar: ", "tools: ", 1)))
        })
    }
}

/// The error of a tool's schema.
fn of(tool: &Tool, error: &Error) -> Error {
    renamed(error, format!("tool {}: {error}", tool.name()))
}

fn renamed(error: &Error, message: String) -> Error {
    match error.kind() {
        ErrorKind::Unsupported => Error::unsupported(message),
        _ => Error::invalid(message),
    }
}

/// The schema of an object without further properties, unless it says or needs otherwise.
fn closed(parameters: &Value) -> Value {
    let mut closed = parameters.clone();
    if let Some(schema) = closed.as_object_mut() {
        schema.entry("type").or_insert_with(|| "object".into());
        let combines = ["anyOf", "oneOf", "allOf", "$ref", "additionalProperties"];
        let is_known = |name: &Value| {
            let properties = schema.get("properties").and_then(Value::as_object);
            properties.is_some_and(|all| name.as_str().is_some_and(|name| all.contains_key(name)))
        };
        let required = schema.get("required").and_then(Value::as_array);
        if !combines.iter().any(|key| schema.contains_key(*key)) && required.is_none_or(|all| all.iter().all(is_known))
        {
            schema.insert("additionalProperties".into(), false.into());
        }
    }
    closed
}

/// A text in quotes.
pub(super) fn literal(text: &str) -> String {
    Value::from(text).to_string()
}

/// An expression that matches a text.
pub(super) fn pattern(text: &str) -> String {
    let escaped = |c: char| match c {
        c if c.is_ascii_alphanumeric() || !c.is_ascii() => c.to_string(),
        c => format!("\\x{{{:x}}}", u32::from(c)),
    };
    text.chars().map(escaped).collect()
}

/// Rules of a grammar.
struct Grammar<'a> {
    tokenizer: &'a Tokenizer,
    rules: String,
}

/// Any text.
const TEXT: &str = "TEXT: /(?s:.*)/\n";

impl Grammar<'_> {
    fn rule(&mut self, name: &str, body: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.rules, "{name}: {body}");
    }

    /// A control token, if the vocabulary has it as one.
    fn control(&self, text: &str) -> Option<String> {
        let id = self.tokenizer.id(text).filter(|id| self.tokenizer.is_control(*id))?;
        Some(format!("<[{id}]>"))
    }

    /// A marker: a control token or its text.
    fn marker(&self, text: &str) -> String {
        self.control(text).unwrap_or_else(|| literal(text))
    }

    /// The body of the first rule.
    fn answer(
        &mut self,
        format: ToolFormat,
        tools: &[&Tool],
        parameters: &[Value],
        options: &CallOptions,
    ) -> Result<String> {
        self.rules += TEXT;
        for (i, (tool, schema)) in tools.iter().zip(parameters).enumerate() {
            match format {
                ToolFormat::QwenXml => self.rules += &xml::arguments(i, schema).map_err(|e| of(tool, &e))?,
                ToolFormat::Gemma4 => {
                    let quote = self.control(gemma_text::QUOTE);
                    self.rules += &gemma::arguments(i, schema, quote.as_deref()).map_err(|e| of(tool, &e))?;
                }
                _ => self.rule(&format!("args_{i}"), &format!("%json {schema}")),
            }
        }
        let is_auto = options.choice == ToolChoice::Auto;
        if format == ToolFormat::Harmony {
            return Ok(self.harmony(tools, is_auto));
        }
        self.calls(format, tools, is_auto);
        let (calls, first) = self.several(format, options.parallel);
        let body = match is_auto {
            false => first,
            true => self.text_or(format, &calls, options.reasoning),
        };
        self.rule("body", &body);
        Ok(self.with_reasoning(options.reasoning, is_auto))
    }

    /// The rule `call`: a call after its marker.
    fn calls(&mut self, format: ToolFormat, tools: &[&Tool], is_auto: bool) {
        let arguments = if format == ToolFormat::Llama3 { "parameters" } else { "arguments" };
        let is_gemma = format == ToolFormat::Gemma4;
        let end = self.marker(if is_gemma { gemma_text::CALL_END } else { text::TOOL_CALL_END });
        let calls = tools.iter().enumerate().map(|(i, tool)| {
            let (name, json) = (tool.name(), format!("{{\"name\": \"{}\", \"{arguments}\": ", tool.name()));
            match format {
                ToolFormat::Hermes => {
                    format!("{} args_{i} {} {end}", literal(&format!("\n{json}")), literal("}\n"))
                }
                ToolFormat::QwenXml => {
                    let begin = literal(&format!("\n{}{name}>\n", xml_text::FUNCTION));
                    format!("{begin} args_{i} {} {end}", literal(&format!("{}\n", xml_text::FUNCTION_END)))
                }
                ToolFormat::Gemma4 => {
                    format!("{} args_{i} {end}", literal(&format!("{}{name}", gemma_text::BEFORE_NAME)))
                }
                // Spaces may follow reasoning, or be the beginning of text.
                ToolFormat::Llama3 if is_auto => format!(r#"/\s{{0,2}}{}/ args_{i} "}}""#, pattern(&json)),
                _ => format!("{} args_{i} \"}}\"", literal(&json)),
            }
        });
        let calls = calls.collect::<Vec<_>>().join(" | ");
        self.rule("call", &calls);
    }

    /// Calls after the first marker, and with it.
    fn several(&self, format: ToolFormat, parallel: bool) -> (String, String) {
        let more = |separator: &str, before: &str| match parallel {
            true => format!("call ({separator} {before} call)*"),
            false => "call".into(),
        };
        match format {
            ToolFormat::Mistral => {
                let calls = format!("\" \"? \"[\" {} \"]\"", more("\", \"", ""));
                (calls.clone(), format!("{} {calls}", self.marker(text::TOOL_CALLS)))
            }
            ToolFormat::Llama3 => {
                let tag = self.control(text::PYTHON_TAG).map_or(String::new(), |tag| format!("{tag}?"));
                (format!("{tag} call"), format!("{tag} call"))
            }
            ToolFormat::Gemma4 => {
                let marker = self.marker(gemma_text::CALL);
                let calls = more("", &marker);
                (calls.clone(), format!("{marker} {calls}"))
            }
            _ => {
                let marker = self.marker(text::TOOL_CALL);
                let calls = more("\"\\n\"", &marker);
                (calls.clone(), format!("{marker} {calls}"))
            }
        }
    }

    /// Text, or calls after text. `calls` are those after the marker.
    fn text_or(&mut self, format: ToolFormat, calls: &str, reasoning: Reasoning) -> String {
        if format == ToolFormat::Llama3 {
            // What the parser would read as a call.
            self.rule("PLAIN", r#"/(?s:.*)/ & ~/\s*\{\s*"name"\s*:(?s:.*)/"#);
            return format!("PLAIN | {calls}");
        }
        let marker = match format {
            ToolFormat::Mistral => text::TOOL_CALLS,
            ToolFormat::Gemma4 => gemma_text::CALL,
            _ => text::TOOL_CALL,
        };
        match self.control(marker) {
            Some(marker) => format!("TEXT | TEXT {marker} {calls}"),
            None => {
                // A marker within reasoning is none.
                let think = pattern(reasoning.marks()[0]);
                let but = if reasoning.may_begin() { format!(r" & ~/\s*{think}(?s:.*)/") } else { String::new() };
                self.rule("BEFORE_CALL", &format!("/(?s:.*){}/{but}", pattern(marker)));
                self.rule("before_call[lazy]", "BEFORE_CALL");
                format!("TEXT | before_call {calls}")
            }
        }
    }

    /// The rule `body`, with reasoning before it.
    fn with_reasoning(&mut self, reasoning: Reasoning, is_auto: bool) -> String {
        let marks = reasoning.marks();
        let [begin, end] = marks.map(|mark| self.control(mark));
        let to_end = format!("(?s:.*){}", pattern(marks[1]));
        match &end {
            Some(end) => self.rule("thought", &format!("TEXT {end}")),
            None => self.rule("thought[lazy]", &format!("/{to_end}/")),
        }
        // Reasoning that does not end.
        let mut endless = None;
        match (&begin, end) {
            (None, None) => self.rule("tagged[lazy]", &format!(r"/\s*{}{to_end}/", pattern(marks[0]))),
            (begin, _) => {
                let begin = begin.clone().unwrap_or_else(|| literal(marks[0]));
                self.rule("tagged", &format!("{begin} thought"));
                endless = Some(format!("{begin} TEXT"));
            }
        }
        let or_endless = |before: &str| endless.map_or(String::new(), |endless| format!(" | {before} {endless}"));
        // Free text may begin with spaces anyway.
        let space = r"/\n{1,2}/?";
        match reasoning {
            Reasoning::None => "body".into(),
            // Within text only a control token is a mark.
            Reasoning::Channel if is_auto && begin.is_some() => {
                format!("(TEXT tagged)* (body{})", or_endless("TEXT"))
            }
            Reasoning::Tagged | Reasoning::Channel if is_auto => format!("tagged? body{}", or_endless("")),
            Reasoning::Tagged | Reasoning::Channel => format!("(tagged {space})? body"),
            Reasoning::Open if is_auto => "TEXT | thought body".into(),
            Reasoning::Open => format!("thought {space} body"),
        }
    }

    /// An answer of gpt-oss: messages, then one that the user sees or a call.
    fn harmony(&mut self, tools: &[&Tool], is_auto: bool) -> String {
        let [start, channel, message, constrain, end] =
            [harmony::START, harmony::CHANNEL, harmony::MESSAGE, harmony::CONSTRAIN, harmony::END]
                .map(|m| self.marker(m));
        let is_text = self.control(harmony::END).is_none();
        // Where the call's end is a token that ends an answer, it follows by itself.
        let is_end = self.tokenizer.id(harmony::CALL).is_some_and(|id| self.tokenizer.is_end(id));
        let call_end = if is_end { String::new() } else { self.marker(harmony::CALL) };
        let calls: Vec<String> = tools
            .iter()
            .enumerate()
            .map(|(i, tool)| {
                let to = format!("{}{}", harmony::RECIPIENT, tool.name());
                let json = format!("{constrain}? \"json\" {message} args_{i} {call_end}");
                let after = literal(&format!("commentary {to} "));
                format!("{channel} {after} {json} | {} {channel} \"commentary \" {json}", literal(&format!(" {to}")))
            })
            .collect();
        self.rule("call", &calls.join(" | "));
        if is_text {
            self.rule("ended[lazy]", &format!("/(?s:.*){}/", pattern(harmony::END)));
        } else {
            self.rule("ended", &format!("TEXT {end}"));
        }
        let kinds = if is_auto { "(\"analysis\" | \"commentary\" | \"final\")" } else { "\"analysis\"" };
        self.rule("before", &format!("{channel} {kinds} {message} ended {start} \"assistant\""));
        if is_auto {
            let form = format!("(\" \"? {constrain} /[a-z]+/)?");
            self.rule("last", &format!("{channel} {kinds} {form} {message} TEXT"));
        }
        format!("before* {}", if is_auto { "(last | call)" } else { "call" })
    }
}
