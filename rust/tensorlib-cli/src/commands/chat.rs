//! Conversations in a model's own template.

use crate::args::Generate;
use crate::failure::{Exit, Failure, Outcome};
use tensorlib_models::tokenizer::Tokenizer;
use tensorlib_models::{Chat, ChatOptions, Message};

/// Whether a prompt is a user's turn.
pub fn is_chat(options: &Generate) -> bool {
    options.chat || options.system.is_some() || options.chat_template_kwargs.is_some()
}

/// The messages before a conversation.
pub fn system(options: &Generate) -> Vec<Message> {
    options.system.iter().map(Message::system).collect()
}

/// The tokens of these messages, up to the start of the answer.
pub fn tokens(chat: &Chat, tokenizer: &Tokenizer, messages: &[Message], options: &Generate) -> Outcome<Vec<u32>> {
    let variables = options.chat_template_kwargs.clone().unwrap_or_default();
    if let Some(name) = variables.keys().find(|name| !chat.names(name)) {
        let message = format!("--chat-template-kwargs: the model's template has no variable {name:?}");
        return Err(Failure::new(Exit::Refused, message).hint("name one that the template has"));
    }
    let chat_options = ChatOptions { variables, parse_special: options.special, ..ChatOptions::default() };
    Ok(chat.prompt(tokenizer, messages, &chat_options)?.tokens)
}
