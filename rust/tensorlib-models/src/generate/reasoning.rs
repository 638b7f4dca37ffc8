//! Where answers have reasoning.

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
}
