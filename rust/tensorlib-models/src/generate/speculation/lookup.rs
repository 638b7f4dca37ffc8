//! Prompt lookup: drafts of what followed the last tokens where these occurred before.

use super::NEWEST;
use std::collections::HashMap;

/// Drafts follow the last 4 tokens where these occurred before, else the last 3, else 2.
const LONGEST: usize = 4;
const SHORTEST: usize = 2;

/// Proposes the next tokens of a text, and records how many of its proposals were right, whether they were computed or
/// not.
#[derive(Debug)]
pub(super) struct Lookup {
    /// Where the last tokens occurred before: the position after each sequence of tokens, by its [`key`].
    after: [HashMap<u128, usize>; LONGEST - SHORTEST + 1],
    /// The number of tokens whose sequences are in `after`.
    known: usize,
    /// The last proposal, and the position of its first token.
    proposed: (usize, Vec<u32>),
    /// The average share of proposed tokens that were right.
    pub(super) right: f64,
}

impl Lookup {
    pub(super) fn new() -> Self {
        let after = [(); LONGEST - SHORTEST + 1].map(|()| HashMap::new());
        Lookup { after, known: 0, proposed: (0, Vec::new()), right: 0.5 }
    }

    /// At most `most` tokens that may follow these. `tokens` grows from call to call.
    pub(super) fn propose(&mut self, tokens: &[u32], most: usize) -> &[u32] {
        self.compare(tokens);
        self.learn(tokens);
        let found = (SHORTEST..=LONGEST.min(tokens.len()))
            .rev()
            .find_map(|length| self.after[length - SHORTEST].get(&key(&tokens[tokens.len() - length..])).copied());
        let proposal = found.map_or(&[][..], |at| &tokens[at..tokens.len().min(at + most)]);
        self.proposed = (tokens.len(), proposal.to_vec());
        &self.proposed.1
    }

    /// At most `most` tokens of the last proposal.
    pub(super) fn proposed(&self, most: usize) -> Vec<u32> {
        self.proposed.1.iter().take(most).copied().collect()
    }

    /// Compares the last proposal with the tokens that came.
    fn compare(&mut self, tokens: &[u32]) {
        let (at, proposal) = &self.proposed;
        let Some(came) = tokens.get(*at..) else { return };
        for (token, came) in proposal.iter().zip(came) {
            self.right += NEWEST * (f64::from(u8::from(token == came)) - self.right);
            if token != came {
                break;
            }
        }
    }

    /// Remembers what followed each sequence of tokens.
    fn learn(&mut self, tokens: &[u32]) {
        for end in self.known.max(SHORTEST)..tokens.len() {
            for length in SHORTEST..=LONGEST.min(end) {
                self.after[length - SHORTEST].insert(key(&tokens[end - length..end]), end);
            }
        }
        self.known = self.known.max(tokens.len());
    }
}

/// A number for up to 4 tokens; those of equally many tokens differ.
fn key(tokens: &[u32]) -> u128 {
    tokens.iter().fold(0, |key, token| key << 32 | u128::from(*token))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proposals_are_what_followed_the_longest_known_end() {
        let mut lookup = Lookup::new();
        let text = [1, 2, 3, 4, 5, 9, 3, 4, 7, 8, 3, 4];
        // The last occurrence of 3, 4 counts.
        assert_eq!(lookup.propose(&text, 8), [7, 8, 3, 4]);
        assert_eq!(lookup.propose(&text, 2), [7, 8]);
        // 2, 3, 4 is longer than 3, 4.
        let longer = [&text[..], &[2, 3, 4]].concat();
        assert_eq!(lookup.propose(&longer, 3), [5, 9, 3]);
        let unknown = [&longer[..], &[6]].concat();
        assert!(lookup.propose(&unknown, 8).is_empty());
        assert!(Lookup::new().propose(&[], 8).is_empty());
        assert!(Lookup::new().propose(&[1, 1], 0).is_empty());
    }

    #[test]
    fn the_share_of_right_tokens_follows_the_text() {
        let (mut repeats, mut differs) = (Lookup::new(), Lookup::new());
        let (mut text, mut other) = (vec![1, 2, 3, 4, 5, 6], vec![1, 2]);
        for i in 0..40 {
            repeats.propose(&text, 7);
            text.push(text[i]);
            // 1, 2 is followed by another token each time.
            differs.propose(&other, 7);
            other.extend([10 + i as u32, 1, 2]);
        }
        assert!(repeats.right > 0.99 && differs.right < 0.01, "{} {}", repeats.right, differs.right);
        // Two of three tokens came, then another one; what follows that does not count.
        let mut some = Lookup::new();
        let text = [1, 2, 3, 4, 5, 1, 2];
        assert_eq!(some.propose(&text, 3), [3, 4, 5]);
        some.propose(&[&text[..], &[3, 4, 9, 9]].concat(), 3);
        let want = [1.0, 1.0, 0.0].iter().fold(0.5, |right, came| right + NEWEST * (came - right));
        assert_eq!(some.right, want);
    }
}
