//! Samplers in plain code, from their formulas: lists of tokens with probabilities in double precision.

use std::collections::BTreeSet;
use tensorlib_models::SamplerOptions;

/// Random numbers from 0 to below 1: SplitMix64.
pub struct Uniform(pub u64);

impl Uniform {
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let a = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let b = (a ^ (a >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((b ^ (b >> 31)) >> 11) as f64 * 2f64.powi(-53)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() * n as f64) as usize
    }
}

/// A sampler as a sequence of steps over all tokens.
pub struct Oracle {
    pub options: SamplerOptions,
    pub tokens: Vec<u32>,
    /// The text of each token, for sequence breakers.
    pub texts: Vec<String>,
    pub random: Uniform,
    pub mu: f64,
}

fn softmax(logits: &[(u32, f64)]) -> Vec<f64> {
    let most = logits.iter().map(|x| x.1).fold(f64::NEG_INFINITY, f64::max);
    let all: Vec<f64> = logits.iter().map(|x| (x.1 - most).exp()).collect();
    let total: f64 = all.iter().sum();
    all.iter().map(|x| x / total).collect()
}

fn entropy(p: &[f64]) -> f64 {
    p.iter().map(|p| if *p > 0. { -p * p.ln() } else { 0. }).sum()
}

impl Oracle {
    pub fn new(options: &SamplerOptions, texts: Vec<String>) -> Self {
        let random = Uniform(options.seed);
        Oracle { mu: 2. * options.mirostat_tau, options: options.clone(), tokens: Vec::new(), texts, random }
    }

    fn window(&self, n: i32) -> &[u32] {
        let skipped = if n < 0 { 0 } else { self.tokens.len().saturating_sub(n as usize) };
        &self.tokens[skipped..]
    }

    fn penalise(&self, all: &mut [(u32, f64)]) {
        let o = &self.options;
        for (token, logit) in all {
            let n = self.window(o.repeat_last_n).iter().filter(|t| *t == token).count();
            if n > 0 {
                *logit *= if *logit > 0. { 1. / o.repeat_penalty } else { o.repeat_penalty };
                *logit -= n as f64 * o.frequency_penalty + o.presence_penalty;
            }
        }
    }

    /// Compares every pair for the longest repetition that ends at each position before the end.
    fn dry(&self, all: &mut [(u32, f64)]) {
        let o = &self.options;
        let tokens = self.window(o.dry_penalty_last_n);
        // Tokens from the last breaker on, by searching the text of the last n tokens for every n.
        let text =
            |n: usize| tokens[tokens.len() - n..].iter().map(|t| self.texts[*t as usize].as_str()).collect::<String>();
        let broken = |n: &usize| {
            let (inner, outer) = (text(*n).len(), text(tokens.len()));
            let begin = outer.len() - inner;
            o.dry_sequence_breakers
                .iter()
                .any(|b| (0..outer.len()).any(|at| outer[at..].starts_with(b.as_str()) && at + b.len() > begin))
        };
        let reach = match o.dry_sequence_breakers.is_empty() {
            true => tokens.len(),
            false => (0..=tokens.len()).take_while(|n| !broken(n)).last().unwrap_or(0),
        };
        for (token, logit) in all {
            let mut longest = 0;
            for at in 1..tokens.len() {
                if tokens[at] == *token {
                    let same = |n: &usize| tokens[at - n] == tokens[tokens.len() - n];
                    longest = longest.max((1..=at.min(reach)).take_while(same).count());
                }
            }
            if o.dry_multiplier > 0. && longest >= o.dry_allowed_length {
                let penalty = o.dry_multiplier * o.dry_base.powi((longest - o.dry_allowed_length) as i32);
                *logit -= penalty.min(f64::MAX);
            }
        }
    }

    /// The tokens left and their probabilities.
    pub fn distribution(&mut self, logits: &[f32]) -> Vec<(u32, f64)> {
        let o = self.options.clone();
        let mut all: Vec<(u32, f64)> = logits.iter().enumerate().map(|(i, x)| (i as u32, f64::from(*x))).collect();
        for (token, bias) in &o.logit_bias {
            all[*token as usize].1 += bias;
        }
        self.penalise(&mut all);
        self.dry(&mut all);
        all.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap()); // stable: equal ones keep their order
        if o.temperature == 0. || all[0].1.is_infinite() {
            return vec![(all[0].0, 1.)];
        }
        let impossible = all.iter().filter(|x| x.1 == f64::NEG_INFINITY).count();
        let possible = all.len() - impossible;
        if o.mirostat == 2 {
            all.truncate(possible);
            self.heat(&mut all);
            let p = softmax(&all);
            let kept = (1..all.len()).find(|i| -p[*i].log2() > self.mu).unwrap_or(all.len());
            all.truncate(kept);
            return all.iter().zip(softmax(&all)).map(|(x, p)| (x.0, p)).collect();
        }
        if o.top_k > 0 {
            all.truncate(o.top_k);
        }
        all.truncate(possible);
        if o.top_p < 1. {
            let p = softmax(&all);
            let enough = |n: &usize| p[..*n].iter().sum::<f64>() >= o.top_p;
            let n = p.len();
            all.truncate(if n > 1000 { running(&p, o.top_p) } else { (1..=n).find(enough).unwrap_or(n) });
        }
        let highest = softmax(&all)[0];
        let p = softmax(&all);
        all = all.iter().zip(p).filter(|(_, p)| p / highest >= o.min_p).map(|(x, _)| *x).collect();
        if o.typical_p < 1. {
            let p = softmax(&all);
            let h = entropy(&p);
            let mut by: Vec<(f64, usize)> = p.iter().enumerate().map(|(i, p)| ((-p.ln() - h).abs(), i)).collect();
            by.sort_by(|a, b| a.partial_cmp(b).unwrap());
            let sorted: Vec<f64> = by.iter().map(|(_, i)| p[*i]).collect();
            let kept: BTreeSet<usize> = by[..running(&sorted, o.typical_p)].iter().map(|(_, i)| *i).collect();
            all = kept.into_iter().map(|i| all[i]).collect();
        }
        if o.xtc_probability > 0. && self.random.next() < o.xtc_probability {
            let likely = softmax(&all).iter().filter(|p| **p >= o.xtc_threshold).count();
            if likely > 1 {
                all = all[likely - 1..].to_vec();
            }
        }
        self.heat(&mut all);
        all.iter().zip(softmax(&all)).map(|(x, p)| (x.0, p)).collect()
    }

    fn heat(&self, all: &mut Vec<(u32, f64)>) {
        let o = &self.options;
        let mut t = o.temperature;
        if o.dynatemp_range > 0. && all.len() > 1 {
            let (low, high) = ((t - o.dynatemp_range).max(0.), t + o.dynatemp_range);
            let share = (entropy(&softmax(all)) / (all.len() as f64).ln()).min(1.);
            t = low + (high - low) * share.powf(o.dynatemp_exponent);
        }
        if t == 0. {
            return all.truncate(1);
        }
        all.iter_mut().for_each(|x| x.1 /= t);
    }

    /// Records a token that was drawn with this probability.
    pub fn drawn(&mut self, token: u32, probability: f64) {
        self.tokens.push(token);
        self.mu -= self.options.mirostat_eta * (-probability.log2() - self.options.mirostat_tau);
    }
}

/// How many of these have at least this sum.
fn running(p: &[f64], least: f64) -> usize {
    let mut sum = 0.;
    let done = p.iter().position(|p| {
        sum += p;
        sum >= least
    });
    done.map_or(p.len(), |at| at + 1)
}
