//! Conversations, written by a model's own template.

use super::guarded;
use super::template::Template;
use crate::tokenizer::Tokenizer;
use crate::{Error, Result};
use minijinja::{context, Value};
use std::collections::BTreeMap;
use std::fmt;

/// One turn of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// `system`, `user` or `assistant`.
    pub role: &'static str,
    /// The text of the turn.
    pub content: String,
}

/// A parsed template.
pub struct Chat {
    template: Template,
    /// Special tokens, by the names that templates use.
    special: Vec<(&'static str, String)>,
}

impl fmt::Debug for Chat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chat").field("special", &self.special).finish_non_exhaustive()
    }
}

impl Chat {
    /// Parses the template of a tokenizer.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind) if the tokenizer has no template,
    /// [`ErrorKind::Format`](crate::ErrorKind) if it is not valid, naming the line.
    pub fn new(tokenizer: &Tokenizer) -> Result<Self> {
        let Some(template) = tokenizer.chat_template() else {
            return Err(Error::unsupported(
                "the model has no chat template: it continues texts, and does not converse",
            ));
        };
        let token = |name, id: Option<u32>| Some((name, id.and_then(|id| tokenizer.token(id))?.to_string()));
        let special = [
            token("bos_token", tokenizer.bos()),
            token("eos_token", tokenizer.eos()),
            token("pad_token", tokenizer.pad()),
            token("unk_token", tokenizer.unknown()),
        ];
        Ok(Chat { template: Template::new(template)?, special: special.into_iter().flatten().collect() })
    }

    /// The tokens of these turns, up to the start of the assistant's next turn. Control tokens written out in a turn's
    /// text stay text, unless `parse_special` is set, which lets a turn end another's.
    ///
    /// # Errors
    /// As [`Chat::text`] and [`Tokenizer::encode`].
    pub fn encode(&self, tokenizer: &Tokenizer, messages: &[Message], parse_special: bool) -> Result<Vec<u32>> {
        if parse_special {
            return tokenizer.encode_prompt(&self.text(messages)?, true);
        }
        let texts = messages.iter().map(|message| message.content.as_str());
        let Some(mark) = guarded::mark(texts) else {
            return Err(Error::invalid("the texts have all characters from U+FDD0 to U+FDEF, which stand for nothing"));
        };
        let marked: Vec<Message> = messages
            .iter()
            .map(|m| Message { role: m.role, content: guarded::with_marks(&m.content, mark, tokenizer) })
            .collect();
        tokenizer.encode_marked(&self.text(&marked)?, mark)
    }

    /// The text of these turns, up to the start of the assistant's next turn.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) if the template refuses them, with its reason (some templates have no
    /// system turn).
    pub fn text(&self, messages: &[Message]) -> Result<String> {
        let turns: Vec<Value> =
            messages.iter().map(|m| context! { role => m.role, content => m.content.as_str() }).collect();
        let mut values: BTreeMap<&str, Value> = BTreeMap::new();
        values.extend(self.special.iter().map(|(name, text)| (*name, Value::from(text.as_str()))));
        values.extend([
            ("messages", Value::from(turns)),
            ("tools", Value::from(())),
            ("documents", Value::from(())),
            ("add_generation_prompt", Value::from(true)),
        ]);
        self.template.render(Value::from(values))
    }
}
