//! Renders chat templates as transformers does: Jinja2 with some functions, filters and a tag in addition.

mod json;
mod marks;
mod percent;
mod python;
mod quotes;
mod source;

use crate::{Error, Result};
use jiff::fmt::strtime::{BrokenDownTime, Config};
use jiff::Zoned;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Kwargs;
use minijinja::{Environment, ErrorKind as JinjaErrorKind, Value};

pub use marks::MARKS;

/// The limit of steps for a template; a conversation of thousands of turns takes fewer.
const STEPS: u64 = 50_000_000;
/// The template's name.
const NAME: &str = "chat";

type Rendered<T> = std::result::Result<T, minijinja::Error>;

/// A parsed template.
pub struct Template(Environment<'static>);

impl Template {
    /// Parses a template.
    pub fn new(text: &str) -> Result<Self> {
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|e| unreadable(&e))?);
        environment.set_fuel(Some(STEPS));
        minijinja_contrib::add_to_environment(&mut environment);
        // Templates are written for Python, whose strings and dicts have methods.
        environment.set_unknown_method_callback(python::method);
        environment.set_formatter(python::show);
        environment.add_function("raise_exception", raise_exception);
        environment.add_function("strftime_now", strftime_now);
        environment.add_function(percent::FUNCTION, percent::remainder);
        environment.add_filter("tojson", tojson);
        environment.add_filter("center", python::center);
        environment.add_filter("truncate", python::truncate);
        environment.add_function("cycler", python::cycler);
        environment.add_test("callable", python::is_callable);
        environment.add_template_owned(NAME, source::prepared(text)).map_err(|e| unreadable(&e))?;
        Ok(Template(environment))
    }

    /// Renders the template with these values.
    pub fn render(&self, values: Value) -> Result<String> {
        let template = self.0.get_template(NAME).map_err(|e| unreadable(&e))?;
        template.render(values).map_err(|e| Error::invalid(format!("chat template: {}", said(&e))))
    }
}

fn raise_exception(text: String) -> Rendered<Value> {
    Err(minijinja::Error::new(JinjaErrorKind::InvalidOperation, text))
}

/// The machine's local time, in a format of C's strftime.
fn strftime_now(format: &str) -> Rendered<String> {
    let time = BrokenDownTime::from(&Zoned::now());
    let text = time.to_string_with_config(&Config::new().lenient(true), format);
    text.map_err(|e| minijinja::Error::new(JinjaErrorKind::InvalidOperation, format!("strftime_now: {e}")))
}

/// Like Python's json.dumps without escapes for characters beyond ASCII.
fn tojson(value: &Value, arguments: Kwargs) -> Rendered<Value> {
    let style = json::Style::read(&arguments)?;
    arguments.assert_all_used()?;
    Ok(Value::from_safe_string(json::dumps(value, &style)?))
}

fn unreadable(error: &minijinja::Error) -> Error {
    Error::format(format!("chat template: {}", said(error)))
}

/// An error's message in one line.
fn said(error: &minijinja::Error) -> String {
    let line = error.line().map_or(String::new(), |line| format!(" in line {line}"));
    format!("{}{line}", error.detail().map_or_else(|| error.kind().to_string(), String::from))
}
