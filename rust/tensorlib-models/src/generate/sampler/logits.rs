//! The tokens that may be drawn, with their logits.

use super::draw::{sum, FEW};
use super::exponential::exp;
use super::highest::highest;
use std::cmp::Ordering;

/// From this many candidates for each one to select, looking at the best of a block first is faster.
const BLOCK: usize = 64;

/// A token that may be drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The token.
    pub token: u32,
    /// Its logit: a number, or an infinite value.
    pub logit: f64,
}

/// The tokens that may be drawn, with their logits: what samplers change, one after the other.
///
/// A sampler lowers or raises logits ([`Logits::set`], [`Logits::map`]) or removes tokens ([`Logits::retain`]). Removed
/// tokens cannot come back. Candidates are in the order of their tokens until a sampler sorts them, so a token is found
/// without a search while none was removed, and by bisection then.
#[derive(Clone, Debug, PartialEq)]
pub struct Logits {
    candidates: Vec<Candidate>,
    order: Order,
    /// The highest logit, if it is known.
    most: Option<f64>,
}

/// The order of the candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// Ascending tokens.
    Token,
    /// Descending logits, and ascending tokens where these are equal.
    Logit,
    Unknown,
}

/// The more likely token first; of equally likely ones, the first.
fn likelier(a: &Candidate, b: &Candidate) -> Ordering {
    b.logit.total_cmp(&a.logit).then(a.token.cmp(&b.token))
}

/// A token with its logit. Adding 0 turns -0 into 0, which is equal but comes first in the total order.
fn candidate((token, logit): (usize, &f32)) -> Candidate {
    Candidate { token: token as u32, logit: if logit.is_nan() { f64::NEG_INFINITY } else { f64::from(*logit) + 0.0 } }
}

/// The highest logit; -infinity without candidates.
fn most(candidates: &[Candidate]) -> f64 {
    highest(candidates, f64::NEG_INFINITY, |c| c.logit)
}

impl Logits {
    /// A candidate for each logit. NaN is less than everything else.
    pub fn new(logits: &[f32]) -> Self {
        Self::in_memory(Vec::new(), logits)
    }

    /// As [`Logits::new`], in memory of other candidates.
    pub(super) fn in_memory(mut candidates: Vec<Candidate>, logits: &[f32]) -> Self {
        candidates.clear();
        candidates.extend(logits.iter().enumerate().map(candidate));
        Logits { candidates, order: Order::Token, most: None }
    }

    /// As [`Logits::in_memory`], with the tokens that may be drawn alone.
    pub(crate) fn allowed(
        mut candidates: Vec<Candidate>,
        logits: &[f32],
        mut is_allowed: impl FnMut(u32) -> bool,
    ) -> Self {
        candidates.clear();
        candidates.extend(logits.iter().enumerate().map(candidate).filter(|c| is_allowed(c.token)));
        Logits { candidates, order: Order::Token, most: None }
    }

    /// The candidates' memory.
    pub(super) fn into_candidates(self) -> Vec<Candidate> {
        self.candidates
    }

    /// The tokens that may be drawn.
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    /// The number of tokens that may be drawn.
    pub fn len(&self) -> usize {
        self.candidates.len()
    }

    /// Whether no token may be drawn.
    pub fn is_empty(&self) -> bool {
        self.candidates.is_empty()
    }

    /// The logit of a token, if it may be drawn.
    pub fn get(&self, token: u32) -> Option<f64> {
        self.find(token).map(|at| self.candidates[at].logit)
    }

    /// Changes the logit of a token. A token that may not be drawn stays out.
    pub fn set(&mut self, token: u32, logit: f64) {
        self.update(token, |_| logit);
    }

    /// Changes the logit of a token, from its current one. A token that may not be drawn stays out.
    pub fn update(&mut self, token: u32, change: impl FnOnce(f64) -> f64) {
        if let Some(at) = self.find(token) {
            let logit = &mut self.candidates[at].logit;
            *logit = change(*logit);
            self.forget_logit_order();
        }
    }

    /// Changes all logits.
    pub fn map(&mut self, mut change: impl FnMut(Candidate) -> f64) {
        self.candidates.iter_mut().for_each(|c| c.logit = change(*c));
        self.forget_logit_order();
    }

    /// Keeps the tokens for which `keep` returns `true`, in their order.
    pub fn retain(&mut self, keep: impl FnMut(&Candidate) -> bool) {
        self.most = None;
        self.candidates.retain(keep);
    }

    /// The most likely token; of equally likely ones, the first.
    pub fn most_likely(&self) -> Option<Candidate> {
        match self.order {
            Order::Logit => self.candidates.first().copied(),
            _ => self.candidates.iter().copied().reduce(|best, c| if likelier(&c, &best).is_lt() { c } else { best }),
        }
    }

    fn forget_logit_order(&mut self) {
        self.most = None;
        if self.order == Order::Logit {
            self.order = Order::Unknown;
        }
    }

    fn find(&self, token: u32) -> Option<usize> {
        if self.order != Order::Token {
            return self.candidates.iter().position(|c| c.token == token);
        }
        if self.candidates.get(token as usize).is_some_and(|c| c.token == token) {
            return Some(token as usize);
        }
        self.candidates.binary_search_by_key(&token, |c| c.token).ok()
    }

    /// Puts the most likely tokens first.
    pub(super) fn sort(&mut self) {
        if self.order != Order::Logit {
            self.candidates.sort_unstable_by(likelier);
            self.order = Order::Logit;
        }
    }

    /// Removes all but the n most likely tokens, without sorting all of them.
    pub(super) fn select(&mut self, n: usize) {
        if n < self.candidates.len() {
            if self.order != Order::Logit {
                self.remove_unlikely(n);
                if n < self.candidates.len() {
                    self.candidates.select_nth_unstable_by(n, likelier);
                }
                self.order = Order::Unknown;
            }
            self.candidates.truncate(n);
        }
    }

    /// Removes most of a large vocabulary, but none of the n most likely tokens. At least n candidates are as likely as
    /// the n-th of the blocks' best ones.
    fn remove_unlikely(&mut self, n: usize) {
        if n == 0 || n >= self.candidates.len() / (4 * BLOCK) {
            return;
        }
        let mut best: Vec<f64> = self.candidates.chunks(BLOCK).map(most).collect();
        let (_, least, _) = best.select_nth_unstable_by(n - 1, |a, b| b.total_cmp(a));
        let least = *least;
        self.candidates.retain(|c| c.logit >= least);
    }

    /// Sorts as many of the most likely tokens as have this share of all probabilities, and removes the others.
    pub(super) fn keep_share(&mut self, share: f64) {
        let (most, total) = (self.most(), self.total());
        let weight = |c: &Candidate| (c.logit - most).exp() / total;
        let mut n = 64;
        while n < self.candidates.len() && self.order != Order::Logit {
            self.candidates.select_nth_unstable_by(n, likelier);
            if self.candidates[..n].iter().map(weight).sum::<f64>() >= share {
                self.candidates.truncate(n);
                break;
            }
            n *= 8;
        }
        if self.order != Order::Logit {
            self.order = Order::Unknown;
        }
        self.sort();
        let mut sum = 0.0;
        let within = self.candidates.iter().take_while(|c| {
            let before = sum;
            sum += weight(c);
            before < share
        });
        let kept = within.count().max(1);
        self.candidates.truncate(kept);
    }

    /// Removes the candidates from a position on.
    pub(super) fn truncate(&mut self, n: usize) {
        self.candidates.truncate(n);
    }

    /// Removes tokens with a logit of -infinity.
    pub(super) fn remove_impossible(&mut self) {
        // A count, because a search that can end early is not made of vector instructions.
        let impossible = self.candidates.iter().filter(|c| c.logit == f64::NEG_INFINITY).count();
        if impossible > 0 {
            self.candidates.retain(|c| c.logit > f64::NEG_INFINITY);
        }
    }

    /// Removes the first n candidates.
    pub(super) fn remove_first(&mut self, n: usize) {
        self.most = None;
        self.candidates.drain(..n);
    }

    /// Subtracts the highest logit from all, and divides the differences. A temperature of 1 changes no probability, so
    /// logits stay as they are.
    pub(super) fn scale(&mut self, temperature: f64) {
        let most = self.most();
        if temperature == 1.0 {
            self.most = Some(most);
            return;
        }
        self.candidates.iter_mut().for_each(|c| c.logit = (c.logit - most) / temperature);
        self.most = Some(0.0);
    }

    /// The highest logit; -infinity without candidates.
    pub(super) fn most(&self) -> f64 {
        match (self.order, self.most) {
            (_, Some(most)) => most,
            (Order::Logit, _) => self.candidates.first().map_or(f64::NEG_INFINITY, |c| c.logit),
            _ => most(&self.candidates),
        }
    }

    /// Finds the highest logit, and keeps it until logits change.
    pub(super) fn find_most(&mut self) -> f64 {
        let most = self.most();
        self.most = Some(most);
        most
    }

    /// The probabilities of the candidates, divided by the highest one.
    pub(super) fn weights(&self) -> impl Iterator<Item = f64> + Clone + '_ {
        let most = self.most();
        self.candidates.iter().map(move |c| (c.logit - most).exp())
    }

    /// Adds the numbers of [`Logits::weights`] to a list, in single precision: many tokens need no more.
    pub(super) fn rough_weights(&self, weights: &mut Vec<f64>) {
        const PART: usize = 32;
        let most = self.most();
        weights.reserve(self.candidates.len());
        // Blocks of a constant size become vector instructions.
        let parts = self.candidates.chunks_exact(PART);
        let rest = parts.remainder();
        for part in parts {
            let mut differences = [0.0f32; PART];
            differences.iter_mut().zip(part).for_each(|(x, c)| *x = (c.logit - most) as f32);
            differences.iter_mut().for_each(|x| *x = exp(*x));
            weights.extend(differences.map(f64::from));
        }
        weights.extend(rest.iter().map(|c| f64::from(exp((c.logit - most) as f32))));
    }

    /// The sum of all weights.
    fn total(&self) -> f64 {
        if self.len() <= FEW {
            return self.weights().sum();
        }
        let mut weights = Vec::new();
        self.rough_weights(&mut weights);
        sum(&weights)
    }

    /// The probabilities of the candidates.
    pub(super) fn probabilities(&self) -> impl Iterator<Item = f64> + '_ {
        let total: f64 = self.weights().sum();
        self.weights().map(move |weight| weight / total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_in_every_order() {
        let mut logits = Logits::new(&[1.0, 4.0, f32::NAN, 3.0, 4.0, 0.0]);
        assert_eq!((logits.get(2), logits.get(6)), (Some(f64::NEG_INFINITY), None));
        logits.retain(|c| c.token != 0);
        assert_eq!((logits.get(0), logits.get(3), logits.get(5)), (None, Some(3.0), Some(0.0)));
        logits.sort();
        let tokens = |logits: &Logits| logits.candidates().iter().map(|c| c.token).collect::<Vec<_>>();
        assert_eq!(tokens(&logits), [1, 4, 3, 5, 2]);
        logits.set(5, 9.0);
        logits.set(0, 9.0); // was removed
        assert_eq!((logits.get(5), logits.most_likely().unwrap().token), (Some(9.0), 5));
        logits.select(3);
        logits.sort();
        assert_eq!(tokens(&logits), [5, 1, 4]);
        logits.map(|c| -c.logit);
        assert_eq!(logits.most_likely(), Some(Candidate { token: 1, logit: -4.0 }));
    }
}
