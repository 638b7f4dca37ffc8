//! Tells which characters of a template's block are in a quoted string.

/// The state of a scan from the beginning of a block.
#[derive(Default)]
pub struct Quotes {
    open: Option<char>,
    escaped: bool,
}

impl Quotes {
    /// Consumes the next character. Returns whether it is outside of quotes and not a quote itself.
    pub fn is_outside(&mut self, character: char) -> bool {
        match self.open {
            Some(_) if self.escaped => self.escaped = false,
            Some(_) if character == '\\' => self.escaped = true,
            Some(open) if character == open => self.open = None,
            Some(_) => {}
            None if character == '\'' || character == '"' => self.open = Some(character),
            None => return true,
        }
        false
    }
}
