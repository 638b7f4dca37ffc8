//! Stops: texts that end an answer.

use std::collections::VecDeque;

/// A part of an answer as the model wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// Text, including that of the headers of gpt-oss's messages.
    Text(String),
    /// A control token, as the vocabulary writes it.
    Control(String),
}

/// What a run of an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// A control token: stops are found in it, but it is not shown.
    Control,
    /// A header's text: it is not shown, and has no stops.
    Header,
    /// Text between two messages, which the model did not write.
    Separator,
}

/// Text that can be shown, and the segments that it consists of.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Shown {
    pub text: String,
    pub segments: Vec<Segment>,
}

/// A generated answer, which holds back what may be the beginning of a stop.
pub struct Stops {
    stops: Vec<String>,
    /// The text of the runs, without headers.
    held: String,
    /// What is held, and how many bytes of each run were taken.
    runs: VecDeque<(Kind, String, usize)>,
}

impl Stops {
    /// Looks for these stops; empty ones are ignored.
    pub fn new<'a>(stops: impl Iterator<Item = &'a String>) -> Self {
        let stops = stops.filter(|stop| !stop.is_empty()).cloned().collect();
        Stops { stops, held: String::new(), runs: VecDeque::new() }
    }

    /// Adds runs. Returns what can be shown, and the stop that was found; nothing from the stop on is shown.
    pub fn push(&mut self, runs: &[(Kind, &str)]) -> (Shown, Option<String>) {
        for (kind, text) in runs.iter().filter(|(_, text)| !text.is_empty()) {
            if *kind != Kind::Header {
                self.held.push_str(text);
            }
            self.runs.push_back((*kind, text.to_string(), 0));
        }
        let found = self.stops.iter().filter_map(|stop| self.held.find(stop.as_str()).map(|at| (at, stop)));
        if let Some((at, stop)) = found.min_by_key(|(at, stop)| (*at, std::cmp::Reverse(stop.len()))) {
            let stop = stop.clone();
            return (self.take(at), Some(stop));
        }
        let may_begin = |at: &usize| self.stops.iter().any(|stop| stop.starts_with(&self.held[*at..]));
        let keep = self.held.char_indices().map(|(at, _)| at).find(may_begin).unwrap_or(self.held.len());
        (self.take(keep), None)
    }

    /// The first n bytes of the held text.
    fn take(&mut self, mut n: usize) -> Shown {
        self.held.drain(..n);
        let mut shown = Shown::default();
        while let Some((kind, text, taken)) = self.runs.front_mut() {
            let rest = text.len() - *taken;
            let takes = if *kind == Kind::Header { rest } else { rest.min(n) };
            if takes == 0 {
                break;
            }
            let part = &text[*taken..*taken + takes];
            *taken += takes;
            if *kind != Kind::Header {
                n -= takes;
            }
            if matches!(kind, Kind::Text | Kind::Separator) {
                shown.text.push_str(part);
            }
            match kind {
                Kind::Text | Kind::Header => shown.segments.push(Segment::Text(part.into())),
                // A part of it is no token.
                Kind::Control if takes == rest => shown.segments.push(Segment::Control(text.clone())),
                _ => {}
            }
            if takes < rest {
                break;
            }
            self.runs.pop_front();
        }
        shown
    }

    /// What was held back.
    pub fn finish(&mut self) -> Shown {
        self.take(self.held.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stops(texts: &[&str]) -> Stops {
        Stops::new(texts.iter().map(|s| s.to_string()).collect::<Vec<_>>().iter())
    }

    /// The text that can be shown after a run, and the stop that was found.
    fn push(held: &mut Stops, kind: Kind, text: &str) -> (String, Option<String>) {
        let (shown, stop) = held.push(&[(kind, text)]);
        (shown.text, stop)
    }

    /// The shown text of an answer in these pieces, and the stop that ended it.
    fn shown(texts: &[&str], pieces: &[&str]) -> (String, Option<String>) {
        let mut all = String::new();
        let mut held = stops(texts);
        for piece in pieces {
            let (text, stop) = push(&mut held, Kind::Text, piece);
            all += &text;
            if stop.is_some() {
                return (all, stop);
            }
        }
        (all + &held.finish().text, None)
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
        let mut held = stops(&["\n\n"]);
        assert_eq!(push(&mut held, Kind::Text, "one\n"), ("one".into(), None));
        assert_eq!(push(&mut held, Kind::Text, "two"), ("\ntwo".into(), None));
    }

    #[test]
    fn stops_are_found_in_what_is_not_shown() {
        use Kind::{Control, Text};
        let mut held = stops(&["<u>", "c<e>d"]);
        assert_eq!(push(&mut held, Text, "ab"), ("ab".into(), None));
        assert_eq!(push(&mut held, Control, "<b>"), (String::new(), None));
        assert_eq!(push(&mut held, Text, "xc"), ("x".into(), None));
        assert_eq!(push(&mut held, Control, "<e>"), (String::new(), None));
        assert_eq!(push(&mut held, Text, "f"), ("cf".into(), None));
        assert_eq!(push(&mut held, Text, "c"), (String::new(), None));
        assert_eq!(push(&mut held, Control, "<u>"), ("c".into(), Some("<u>".into())));
        for last in [Text, Control] {
            let mut held = stops(&["c<e>d"]);
            push(&mut held, Text, "ac");
            push(&mut held, Control, "<e>");
            match last {
                Text => assert_eq!(push(&mut held, Text, "d"), (String::new(), Some("c<e>d".into()))),
                _ => assert_eq!(held.finish().text, "c"),
            }
        }
    }

    #[test]
    fn segments_are_what_the_model_wrote() {
        use Kind::{Control, Header, Separator, Text};
        let text = |text: &str| Segment::Text(text.into());
        let control = |text: &str| Segment::Control(text.into());
        let mut held = stops(&["e>x", "final"]);
        let (shown, stop) = held.push(&[(Text, "ab"), (Control, "<e>"), (Header, "final"), (Separator, "--")]);
        // The token is not complete while it may begin a stop, nor is what follows it.
        assert_eq!((shown.text.as_str(), stop), ("ab--", None));
        assert_eq!(shown.segments, [text("ab"), control("<e>"), text("final")]);
        let (shown, _) = held.push(&[(Text, "c"), (Control, "<e>")]);
        assert_eq!(shown.segments, [text("c")]);
        let (shown, _) = held.push(&[(Header, "h"), (Text, "y")]);
        assert_eq!((shown.text.as_str(), shown.segments), ("y", vec![control("<e>"), text("h"), text("y")]));
        held.push(&[(Control, "<e>")]);
        let (shown, stop) = held.push(&[(Text, "x")]);
        assert_eq!((shown, stop.as_deref()), (Shown::default(), Some("e>x")));
    }
}
