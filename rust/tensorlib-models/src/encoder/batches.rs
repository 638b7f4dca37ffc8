//! Decides which lines are computed together.

use std::ops::Range;

/// Tokens of a batch: enough columns for products at full speed, and few enough to keep a layer's activations small.
const TOKENS: usize = 4096;

/// Lines of one length, which follow each other in the batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Tokens of each line.
    pub length: usize,
    /// The number of lines.
    pub lines: usize,
    /// Tokens of the batch before these lines.
    pub start: usize,
}

/// Lines that are computed together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The lines' numbers, in the order of their tokens.
    pub lines: Vec<usize>,
    /// These lines grouped by length.
    pub groups: Vec<Group>,
}

impl Batch {
    /// The number of tokens.
    pub fn tokens(&self) -> usize {
        self.groups.iter().map(|group| group.length * group.lines).sum()
    }

    /// Doubles the token of a batch of a single token. Products with quantised weights round a single column
    /// differently, and a line's vector must not depend on the other lines.
    pub fn with_two_columns(mut self) -> Self {
        if let ([line], [group]) = (&self.lines[..], &mut self.groups[..]) {
            if group.length == 1 {
                group.lines = 2;
                self.lines = vec![*line; 2];
            }
        }
        self
    }

    /// The number of each line, and the range of its tokens.
    pub fn places(&self) -> impl Iterator<Item = (usize, Range<usize>)> + '_ {
        let ranges = self.groups.iter().flat_map(|group| {
            (0..group.lines).map(move |i| {
                let start = group.start + i * group.length;
                start..start + group.length
            })
        });
        self.lines.iter().copied().zip(ranges)
    }
}

/// Batches of lines of these lengths, longest first, so that the first batch takes the most memory. Lines without
/// tokens are in no batch.
pub fn batches(lengths: &[usize]) -> Vec<Batch> {
    let mut order: Vec<usize> = (0..lengths.len()).filter(|line| lengths[*line] > 0).collect();
    order.sort_by_key(|line| std::cmp::Reverse(lengths[*line]));
    let mut all: Vec<Batch> = Vec::new();
    for line in order {
        let length = lengths[line];
        if all.last().is_none_or(|batch| batch.tokens() + length > TOKENS) {
            all.push(Batch { lines: Vec::new(), groups: Vec::new() });
        }
        if let Some(batch) = all.last_mut() {
            let start = batch.tokens();
            match batch.groups.last_mut().filter(|group| group.length == length) {
                Some(group) => group.lines += 1,
                None => batch.groups.push(Group { length, lines: 1, start }),
            }
            batch.lines.push(line);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_its_tokens_once() {
        let lengths: Vec<usize> = (0..300).map(|i| (i * 37) % 61).chain([5000, 4096, 1]).collect();
        let mut seen = vec![false; lengths.len()];
        for batch in batches(&lengths) {
            assert!(batch.tokens() <= TOKENS || batch.lines.len() == 1);
            let mut end = 0;
            for (line, range) in batch.places() {
                assert_eq!((range.start, range.len()), (end, lengths[line]));
                assert!(!std::mem::replace(&mut seen[line], true));
                end = range.end;
            }
            assert_eq!(end, batch.tokens());
        }
        assert!(seen.iter().zip(&lengths).all(|(seen, length)| *seen == (*length > 0)));
    }
}
