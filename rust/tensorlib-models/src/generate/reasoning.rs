//! Where answers have reasoning.

use super::channels::{CHANNEL, CHANNEL_END};

pub const THINK: &str = "<think>";
pub const THINK_END: &str = "</think>";

/// Where an answer has the model's reasoning, aside from gpt-oss's channels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reasoning {
    /// Nowhere.
    #[default]
    None,
    /// It may begin with reasoning between `<think>` and `</think>`.
    Tagged,
    /// It begins with reasoning that ends at `</think>`: the prompt ends with `<think>`.
    Open,
    /// It may have reasoning between `<|channel>` with the line `thought` and `<channel|>`, also after text and calls
    /// (Gemma 4).
    Channel,
}

impl Reasoning {
    /// What reasoning begins and ends with.
    pub(super) fn marks(self) -> [&'static str; 2] {
        match self {
            Reasoning::Channel => [CHANNEL, CHANNEL_END],
            _ => [THINK, THINK_END],
        }
    }

    /// Whether an answer may begin with the mark.
    pub(super) fn may_begin(self) -> bool {
        matches!(self, Reasoning::Tagged | Reasoning::Channel)
    }
}
