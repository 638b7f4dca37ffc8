//! Conversations as a model's own template writes them.

use crate::tokenizer::Tokenizer;
use crate::{Error, Result};
use minijinja::syntax::SyntaxConfig;
use minijinja::{context, Environment, ErrorKind as JinjaErrorKind, Value};

/// Steps of a template: a conversation of thousands of turns takes fewer.
const STEPS: u64 = 50_000_000;

/// One turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// `system`, `user` or `assistant`.
    pub role: &'static str,
    /// What was said.
    pub content: String,
}

/// A template, read.
pub struct Chat {
    environment: Environment<'static>,
    bos: String,
    eos: String,
}

impl Chat {
    /// The template of a tokenizer.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind) where it has none, [`ErrorKind::Format`](crate::ErrorKind) where it is no
    /// template, naming the line.
    pub fn new(tokenizer: &Tokenizer) -> Result<Self> {
        let Some(template) = tokenizer.chat_template() else {
            return Err(Error::unsupported(
                "the model has no chat template: it continues texts, and does not converse",
            ));
        };
        let mut environment = Environment::new();
        // As the library that models are made with reads them.
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|e| unreadable(&e))?);
        environment.set_fuel(Some(STEPS));
        // Templates are written for Python, whose texts and maps have methods.
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        let raise = |text: String| -> std::result::Result<Value, minijinja::Error> {
            Err(minijinja::Error::new(JinjaErrorKind::InvalidOperation, text))
        };
        environment.add_function("raise_exception", raise);
        environment.add_template_owned("chat", template.to_string()).map_err(|e| unreadable(&e))?;
        let token = |id: Option<u32>| id.and_then(|id| tokenizer.token(id)).unwrap_or_default().to_string();
        Ok(Chat { environment, bos: token(tokenizer.bos()), eos: token(tokenizer.eos()) })
    }

    /// The text of these turns, up to where the assistant's next one begins.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) where the template refuses them, with its reason (some know no system turn).
    pub fn text(&self, messages: &[Message]) -> Result<String> {
        let turns: Vec<Value> =
            messages.iter().map(|m| context! { role => m.role, content => m.content.as_str() }).collect();
        let values = context! {
            messages => turns,
            bos_token => self.bos.as_str(),
            eos_token => self.eos.as_str(),
            add_generation_prompt => true,
        };
        let template = self.environment.get_template("chat").map_err(|e| unreadable(&e))?;
        template.render(values).map_err(|e| Error::invalid(format!("chat template: {}", said(&e))))
    }
}

fn unreadable(error: &minijinja::Error) -> Error {
    Error::format(format!("chat template: {}", said(error)))
}

/// In one line.
fn said(error: &minijinja::Error) -> String {
    let line = error.line().map_or(String::new(), |line| format!(" in line {line}"));
    format!("{}{line}", error.detail().map_or_else(|| error.kind().to_string(), String::from))
}
