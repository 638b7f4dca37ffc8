//! Finds the end of a JSON value.

/// How far a JSON string, array or object is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nesting {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
}

impl Nesting {
    /// Whether a string was begun and not ended.
    pub fn is_in_string(&self) -> bool {
        self.in_string
    }

    /// Reads a character. Returns whether it ends the value.
    pub fn push(&mut self, c: char) -> bool {
        if self.in_string {
            match c {
                _ if self.is_escaped => self.is_escaped = false,
                '\\' => self.is_escaped = true,
                '"' => {
                    self.in_string = false;
                    return self.depth == 0;
                }
                _ => {}
            }
            return false;
        }
        match c {
            '"' => self.in_string = true,
            '{' | '[' => self.depth += 1,
            '}' | ']' => {
                self.depth = self.depth.saturating_sub(1);
                return self.depth == 0;
            }
            _ => {}
        }
        false
    }
}
