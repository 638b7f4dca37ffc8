//! Stops: texts that end an answer.

use std::ops::Range;

/// Generated text, which holds back what may be the beginning of a stop.
pub struct Stops {
    stops: Vec<String>,
    held: String,
    /// The ranges of control tokens' text, in which stops are found but which is not shown.
    hidden: Vec<Range<usize>>,
}

impl Stops {
    /// Looks for these stops; empty ones are ignored.
    pub fn new<'a>(stops: impl Iterator<Item = &'a String>) -> Self {
        let stops = stops.filter(|stop| !stop.is_empty()).cloned().collect();
        Stops { stops, held: String::new(), hidden: Vec::new() }
    }

    /// Adds the text of a control token, as [`Stops::push`] does.
    pub fn push_hidden(&mut self, text: &str) -> (String, Option<String>) {
        let start = self.held.len();
        self.hidden.push(start..start + text.len());
        self.push(text)
    }

    /// Adds text. Returns the text that can be shown, and the stop that was found; text from the stop on is not shown.
    pub fn push(&mut self, text: &str) -> (String, Option<String>) {
        self.held.push_str(text);
        let found = self.stops.iter().filter_map(|stop| self.held.find(stop.as_str()).map(|at| (at, stop)));
        if let Some((at, stop)) = found.min_by_key(|(at, stop)| (*at, std::cmp::Reverse(stop.len()))) {
            let stop = stop.clone();
            return (self.take(at), Some(stop));
        }
        let may_begin = |at: &usize| self.stops.iter().any(|stop| stop.starts_with(&self.held[*at..]));
        let keep = self.held.char_indices().map(|(at, _)| at).find(may_begin).unwrap_or(self.held.len());
        (self.take(keep), None)
    }

    /// The first n bytes of the held text, without hidden text.
    fn take(&mut self, n: usize) -> String {
        let rest = self.held.split_off(n);
        let taken = std::mem::replace(&mut self.held, rest);
        let (mut shown, mut at) = (String::with_capacity(n), 0);
        for range in &self.hidden {
            shown.push_str(taken.get(at..range.start.min(n)).unwrap_or_default());
            at = at.max(range.end.min(n));
        }
        shown.push_str(taken.get(at..).unwrap_or_default());
        self.hidden.retain_mut(|range| {
            *range = range.start.saturating_sub(n)..range.end.saturating_sub(n);
            range.end > 0
        });
        shown
    }

    /// The text that was held back.
    pub fn finish(&mut self) -> String {
        self.take(self.held.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shown text of an answer in these pieces, and the stop that ended it.
    fn shown(stops: &[&str], pieces: &[&str]) -> (String, Option<String>) {
        let mut all = String::new();
        let mut held = Stops::new(stops.iter().map(|s| s.to_string()).collect::<Vec<_>>().iter());
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
        let mut held = Stops::new(["\n\n".to_string()].iter());
        assert_eq!(held.push("one\n"), ("one".into(), None));
        assert_eq!(held.push("two"), ("\ntwo".into(), None));
    }

    #[test]
    fn stops_are_found_in_what_is_not_shown() {
        let mut held = Stops::new(["<u>".to_string(), "c<e>d".to_string()].iter());
        assert_eq!(held.push("ab"), ("ab".into(), None));
        assert_eq!(held.push_hidden("<b>"), (String::new(), None));
        assert_eq!(held.push("xc"), ("x".into(), None));
        assert_eq!(held.push_hidden("<e>"), (String::new(), None));
        assert_eq!(held.push("f"), ("cf".into(), None));
        assert_eq!(held.push("c"), (String::new(), None));
        assert_eq!(held.push_hidden("<u>"), ("c".into(), Some("<u>".into())));
        let mut held = Stops::new(["c<e>d".to_string()].iter());
        held.push("ac");
        held.push_hidden("<e>");
        assert_eq!(held.push("d"), (String::new(), Some("c<e>d".into())));
        let mut held = Stops::new(["c<e>d".to_string()].iter());
        held.push("c");
        held.push_hidden("<e>");
        assert_eq!(held.finish(), "c");
    }
}
