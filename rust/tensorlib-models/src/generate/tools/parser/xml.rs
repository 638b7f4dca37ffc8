//! Reads calls as XML: `<function=NAME>`, then `<parameter=KEY>`, a line with the value and `</parameter>` for each
//! argument, and `</function>`.

use super::events::{CallStep, Sink};
use super::input::{Input, Marker, Next};
use super::json::Nesting;
use super::text::escaped;
use super::values::{self, Kind};
use serde_json::Value;

pub const FUNCTION: &str = "<function=";
pub const FUNCTION_END: &str = "</function>";
pub const PARAMETER: &str = "<parameter=";
pub const PARAMETER_END: &str = "</parameter>";

/// The longest name of a parameter.
const LONGEST_KEY: usize = 1000;

#[derive(Debug)]
enum Place {
    /// Before the function.
    Function,
    /// In the function's name.
    Name(String),
    /// Before a parameter or the end.
    Parameter,
    /// In a parameter's name.
    Key(String),
    Value(XmlValue),
}

/// A value so far.
#[derive(Debug)]
struct XmlValue {
    kind: Kind,
    /// Text that was not reported.
    held: String,
    /// Whether the line break before the value was read, or something else.
    has_begun: bool,
}

/// A call as XML.
#[derive(Debug)]
pub struct XmlCall {
    place: Place,
    /// All of it, with the markers before it.
    raw: String,
    name: String,
    /// Its index, once its name is known.
    index: Option<usize>,
    keys: Vec<String>,
}

impl XmlCall {
    /// A call before whose function this was read.
    pub fn new(raw: String) -> Self {
        XmlCall { place: Place::Function, raw, name: String::new(), index: None, keys: Vec::new() }
    }

    /// What may come next.
    pub fn markers(&self) -> &'static [Marker] {
        match &self.place {
            Place::Function => const { &[Marker::text(FUNCTION)] },
            Place::Parameter => const { &[Marker::text(PARAMETER), Marker::text(FUNCTION_END)] },
            Place::Value(_) => const { &[Marker::text(PARAMETER_END)] },
            Place::Name(_) | Place::Key(_) => &[],
        }
    }

    /// Reports the call as broken.
    pub fn give_up(self, sink: &mut Sink) {
        sink.broken(self.index, self.raw);
    }

    /// Reads what comes next.
    pub fn read(&mut self, next: Next, input: &mut Input, sink: &mut Sink) -> CallStep {
        match next {
            Next::Text(text) => self.text(&text, input, sink),
            Next::Control(text) => {
                input.unread_control(text);
                CallStep::Broken
            }
            Next::Marker(marker) => {
                self.raw += marker;
                self.marker(marker, sink)
            }
            Next::Nothing => CallStep::More,
        }
    }

    fn marker(&mut self, marker: &str, sink: &mut Sink) -> CallStep {
        if let Place::Value(value) = &mut self.place {
            if value.is_in_string() {
                value.push(marker);
                return CallStep::More;
            }
        }
        let place = std::mem::replace(&mut self.place, Place::Parameter);
        match (place, marker) {
            (_, FUNCTION) => self.place = Place::Name(String::new()),
            (_, PARAMETER) => self.place = Place::Key(String::new()),
            (_, FUNCTION_END) => {
                let Some(index) = self.index else { return CallStep::Broken };
                sink.arguments(index, if self.keys.is_empty() { "{}" } else { "}" });
                sink.end(index);
                return CallStep::Done;
            }
            (Place::Value(value), _) => {
                let rest = value.end();
                self.index.into_iter().for_each(|index| sink.arguments(index, &rest));
            }
            _ => {}
        }
        CallStep::More
    }

    fn text(&mut self, text: &str, input: &mut Input, sink: &mut Sink) -> CallStep {
        if let Place::Value(value) = &mut self.place {
            self.raw += text;
            let reported = value.push(text);
            self.index.into_iter().for_each(|index| sink.arguments(index, &reported));
            return CallStep::More;
        }
        for (at, c) in text.char_indices() {
            let is_read = match &mut self.place {
                Place::Name(name) | Place::Key(name) if c != '>' => {
                    name.push(c);
                    c != '\n' && name.len() <= LONGEST_KEY
                }
                Place::Name(_) | Place::Key(_) => true,
                _ => c.is_whitespace(),
            };
            if !is_read {
                input.unread(&text[at..]);
                return CallStep::Broken;
            }
            self.raw.push(c);
            if c == '>' {
                input.unread(&text[at + 1..]);
                return self.named(sink);
            }
        }
        CallStep::More
    }

    /// Ends a name of the function or of a parameter.
    fn named(&mut self, sink: &mut Sink) -> CallStep {
        match std::mem::replace(&mut self.place, Place::Parameter) {
            Place::Name(name) => {
                if sink.tools.get(&name).is_none() {
                    return CallStep::Broken;
                }
                self.index = Some(sink.start(&name));
                self.name = name;
            }
            Place::Key(key) => {
                let (Some(index), false) = (self.index, self.keys.contains(&key)) else { return CallStep::Broken };
                let parameters = sink.tools.get(&self.name).map(|tool| tool.parameters());
                let schema = parameters.and_then(|parameters| Some((parameters, values::property(parameters, &key)?)));
                let kind = schema.map_or(Kind::Json, |(parameters, schema)| values::kind(parameters, schema));
                let before = if self.keys.is_empty() { "{" } else { ", " };
                let quote = if kind == Kind::Text { "\"" } else { "" };
                sink.arguments(index, &format!("{before}{}: {quote}", Value::from(key.as_str())));
                self.keys.push(key);
                self.place = Place::Value(XmlValue { kind, held: String::new(), has_begun: false });
            }
            place => self.place = place,
        }
        CallStep::More
    }
}

impl XmlValue {
    /// Reads text, and returns the JSON that is certain.
    fn push(&mut self, text: &str) -> String {
        self.held += text;
        if !self.has_begun {
            if self.held.starts_with('\n') {
                self.held.remove(0);
            }
            self.has_begun = true;
        }
        // The line break before the end is no part of the value.
        let n = self.held.len() - usize::from(self.held.ends_with('\n'));
        match self.kind {
            Kind::Text => escaped(&self.held.drain(..n).collect::<String>()),
            _ => String::new(),
        }
    }

    /// Whether this is an array or object, and a string in it is open, which may have the text of the end.
    fn is_in_string(&self) -> bool {
        let text = self.held.trim_start();
        let mut nesting = Nesting::default();
        self.kind == Kind::Json && text.starts_with(['{', '[']) && {
            text.chars().for_each(|c| {
                nesting.push(c);
            });
            nesting.is_in_string()
        }
    }

    /// The rest of the JSON.
    fn end(mut self) -> String {
        if self.held.ends_with('\n') {
            self.held.pop();
        }
        match self.kind {
            Kind::Text => escaped(&self.held) + "\"",
            kind => values::json(&self.held, kind),
        }
    }
}
