//! Texts that end an answer.

/// Text on its way, of which what may be the beginning of a stop is held back.
pub struct Stops {
    stops: Vec<String>,
    held: String,
}

impl Stops {
    /// For these stops; an empty one is none.
    pub fn new(stops: &[String]) -> Self {
        Stops { stops: stops.iter().filter(|stop| !stop.is_empty()).cloned().collect(), held: String::new() }
    }

    /// Takes more text in. What can be shown of it, and the stop that it has run into: text from there on is not shown.
    pub fn push(&mut self, text: &str) -> (String, Option<String>) {
        self.held.push_str(text);
        let found = self.stops.iter().filter_map(|stop| self.held.find(stop.as_str()).map(|at| (at, stop)));
        if let Some((at, stop)) = found.min_by_key(|(at, stop)| (*at, std::cmp::Reverse(stop.len()))) {
            let stop = stop.clone();
            self.held.truncate(at);
            return (std::mem::take(&mut self.held), Some(stop));
        }
        let may_begin = |at: &usize| self.stops.iter().any(|stop| stop.starts_with(&self.held[*at..]));
        let keep = self.held.char_indices().map(|(at, _)| at).find(may_begin).unwrap_or(self.held.len());
        let rest = self.held.split_off(keep);
        (std::mem::replace(&mut self.held, rest), None)
    }

    /// What was held back.
    pub fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that is shown of a text that comes in these pieces, and what ended it.
    fn shown(stops: &[&str], pieces: &[&str]) -> (String, Option<String>) {
        let mut all = String::new();
        let mut held = Stops::new(&stops.iter().map(|s| s.to_string()).collect::<Vec<_>>());
        for piece in pieces {
            let (text, stop) = held.push(piece);
            all += &text;
            if stop.is_some() {
                return (all, stop);
            }
        }
        (all + &held.finish(), None)
    }

    #[test]
    fn text_ends_before_a_stop() {
        let end = |s: &str| Some(s.to_string());
        assert_eq!(shown(&["END"], &["a", "b E", "N", "D c"]), ("ab ".into(), end("END")));
        assert_eq!(shown(&["END"], &["a EN", "x", "E"]), ("a ENxE".into(), None));
        assert_eq!(shown(&["aab"], &["a", "a", "a", "b"]), ("a".into(), end("aab")));
        assert_eq!(shown(&["b", "ab"], &["xa", "b"]), ("x".into(), end("ab")));
        assert_eq!(shown(&["ö!"], &["schö", "n ö", "!"]), ("schön ".into(), end("ö!")));
        assert_eq!(shown(&[], &["a", "b"]), ("ab".into(), None));
        assert_eq!(shown(&[""], &["a"]), ("a".into(), None));
    }

    #[test]
    fn what_cannot_be_a_stop_is_shown_at_once() {
        let mut held = Stops::new(&["\n\n".to_string()]);
        assert_eq!(held.push("one\n"), ("one".into(), None));
        assert_eq!(held.push("two"), ("\ntwo".into(), None));
    }
}
