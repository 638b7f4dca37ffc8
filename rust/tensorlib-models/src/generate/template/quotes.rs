//! Which characters of a template's block stand in a quoted text.

/// The state of a scan from the beginning of a block on.
#[derive(Default)]
pub struct Quotes {
    open: Option<char>,
    escaped: bool,
}

impl Quotes {
    /// Takes the next character. Whether it stands outside of quotes and is none itself.
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
