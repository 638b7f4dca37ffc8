//! Options of what a text must be.

use crate::failure::{Exit, Failure, Outcome};
use crate::model::text_of;
use clap::Args;
use std::path::{Path, PathBuf};
use tensorlib_models::tokenizer::Tokenizer;
use tensorlib_models::Constraint;

/// What the text must be. At most one of these is given.
#[derive(Args)]
#[group(multiple = false)]
#[command(next_help_heading = "Constraints")]
pub struct Constraints {
    /// Generate JSON that this schema accepts: JSON that begins with {, or a file; - is standard input
    #[arg(long, value_name = "FILE|JSON")]
    pub json_schema: Option<String>,
    /// Generate a match of this regular expression
    #[arg(long, value_name = "R")]
    pub regex: Option<String>,
    /// Generate a text of the grammar in FILE, in llguidance's variant of Lark; - is standard input
    #[arg(long, value_name = "FILE")]
    pub grammar: Option<PathBuf>,
}

impl Constraints {
    /// The constraint for a model with this tokenizer, if one was asked for.
    pub fn read(&self, tokenizer: &Tokenizer) -> Outcome<Option<Constraint>> {
        let made = if let Some(schema) = &self.json_schema {
            let schema =
                if schema.trim_start().starts_with('{') { schema.clone() } else { text_of(Path::new(schema))? };
            Constraint::json_schema(tokenizer, &schema)
        } else if let Some(expression) = &self.regex {
            Constraint::regex(tokenizer, expression)
        } else if let Some(path) = &self.grammar {
            Constraint::lark(tokenizer, &text_of(path)?)
        } else {
            return Ok(None);
        };
        made.map(Some).map_err(|e| Failure { exit: Exit::Refused, ..e.into() })
    }
}
