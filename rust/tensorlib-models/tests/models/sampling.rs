//! Samplers, compared with plain code in double precision (`common/sampling.rs`).

use crate::common::sampling::{Oracle, Uniform};
use crate::common::tiny::vocabulary;
use crate::common::{tokenizers, Folder};
use tensorlib_models::tokenizer::Tokenizer;
use tensorlib_models::{Error, ErrorKind, Logits, LogitsProcessor, Result, Sampler, SamplerOptions};

/// No sampler at all.
fn none() -> SamplerOptions {
    SamplerOptions { temperature: 1.0, top_k: 0, top_p: 1.0, min_p: 0.0, seed: 3, ..SamplerOptions::default() }
}

/// Kinds of logits: spread out, many equal, some impossible, one certain, all equal, all impossible but one.
const KINDS: usize = 6;

fn logits(kind: usize, n: usize, random: &mut Uniform) -> Vec<f32> {
    let one = random.below(n);
    let mut value = |i: usize| {
        let x = (random.next() + random.next() + random.next() - 1.5) as f32;
        match kind {
            0 => 6. * x,
            1 => (4. * x).round(),
            2 if random.next() < 0.4 && i != one => f32::NEG_INFINITY,
            3 if i == one => f32::INFINITY,
            4 => -1.25,
            5 if i != one => f32::NEG_INFINITY,
            _ => 4. * x,
        }
    };
    (0..n).map(&mut value).collect()
}

/// Compares a distribution with the oracle's: the same tokens, and probabilities up to rounding (sums of 50,000 terms in
/// different orders, exponents up to 100).
fn same(got: &[(u32, f64)], want: &[(u32, f64)], what: &str) {
    let sorted = |all: &[(u32, f64)]| {
        let mut all = all.to_vec();
        all.sort_by_key(|x| x.0);
        all
    };
    let (got, want) = (sorted(got), sorted(want));
    let tokens = |all: &[(u32, f64)]| all.iter().map(|x| x.0).collect::<Vec<_>>();
    assert_eq!(tokens(&got), tokens(&want), "{what}");
    for (g, w) in got.iter().zip(&want) {
        assert!((g.1 - w.1).abs() <= 1e-11 * w.1.max(1e-3), "{what}: {g:?} {w:?}");
    }
}

/// Draws tokens from random logits and compares each distribution.
fn compare(options: &SamplerOptions, sizes: &[usize], steps: usize, history: &[u32]) {
    for n in sizes {
        for kind in 0..KINDS {
            let texts = (0..*n).map(|_| String::new()).collect();
            let mut random = Uniform(1000 * kind as u64 + *n as u64);
            let options = SamplerOptions { dry_sequence_breakers: Vec::new(), ..options.clone() };
            let (mut sampler, mut oracle) = (Sampler::new(options.clone()).unwrap(), Oracle::new(&options, texts));
            let before: Vec<u32> = history.iter().map(|t| t % *n as u32).collect();
            sampler.remember(&before);
            oracle.tokens.extend(before);
            for step in 0..steps {
                let logits = logits(kind, *n, &mut random);
                let what = format!("{options:?}, {n} tokens, kind {kind}, step {step}");
                let want = oracle.distribution(&logits);
                same(&sampler.distribution(&logits).unwrap(), &want, &what);
                if options.xtc_probability > 0. {
                    // Another draw would exclude other tokens.
                    let token = want[random.below(want.len())].0;
                    sampler.remember(&[token]);
                    oracle.tokens.push(token);
                    continue;
                }
                let token = sampler.next(&logits).unwrap();
                let drawn = want.iter().find(|x| x.0 == token);
                let probability = drawn.unwrap_or_else(|| panic!("{what}: {token}")).1;
                assert!(probability > 0., "{what}: {token}");
                match certain(&logits, &options) {
                    true => oracle.tokens.push(token),
                    false => oracle.drawn(token, probability),
                }
            }
        }
    }
}

/// Whether a token is drawn without a random number.
fn certain(logits: &[f32], options: &SamplerOptions) -> bool {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    options.temperature == 0. || most.is_infinite()
}

const SIZES: [usize; 3] = [1, 2, 61];

#[test]
fn each_sampler_alone() {
    let o = none;
    let mut all = vec![o(), SamplerOptions::default(), SamplerOptions { temperature: 0.0, ..o() }];
    all.extend([0.01, 0.5, 2.0, 1e6].map(|temperature| SamplerOptions { temperature, ..o() }));
    all.extend([1, 2, 7, 61, 100].map(|top_k| SamplerOptions { top_k, ..o() }));
    all.extend([0.0, 0.1, 0.5, 0.99, 1.0].map(|top_p| SamplerOptions { top_p, ..o() }));
    all.extend([0.02, 0.3, 1.0].map(|min_p| SamplerOptions { min_p, ..o() }));
    all.extend([0.0, 0.2, 0.7, 0.999].map(|typical_p| SamplerOptions { typical_p, ..o() }));
    for (xtc_probability, xtc_threshold) in [(1.0, 0.05), (0.5, 0.1), (1.0, 0.0), (1.0, 0.6), (1.0, 1.0)] {
        all.push(SamplerOptions { xtc_probability, xtc_threshold, ..o() });
    }
    for (dynatemp_range, dynatemp_exponent) in [(0.5, 1.0), (3.0, 1.0), (0.5, 2.5), (1.0, 0.0)] {
        all.push(SamplerOptions { dynatemp_range, dynatemp_exponent, ..o() });
    }
    for (mirostat_tau, mirostat_eta) in [(5.0, 0.1), (1.0, 1.0), (0.0, 0.5), (3.0, 0.0)] {
        all.push(SamplerOptions { mirostat: 2, mirostat_tau, mirostat_eta, ..SamplerOptions::default() });
    }
    for options in all {
        compare(&options, &SIZES, 12, &[]);
    }
}

#[test]
fn penalties_count_the_last_tokens() {
    let history: Vec<u32> = (0..90).map(|i| i * i % 17).collect();
    for repeat_last_n in [-1, 0, 1, 20, 64, 1000] {
        for (repeat_penalty, presence_penalty, frequency_penalty) in
            [(1.3, 0.0, 0.0), (0.8, 0.0, 0.0), (1.0, 0.7, 0.0), (1.0, 0.0, 0.2), (1.1, -0.5, 0.1), (1.0, 0.0, -1.0)]
        {
            let options =
                SamplerOptions { repeat_last_n, repeat_penalty, presence_penalty, frequency_penalty, ..none() };
            compare(&options, &SIZES, 6, &history);
        }
    }
}

#[test]
fn repetitions_are_penalised_by_their_length() {
    let mut random = Uniform(6);
    for (n, dry_penalty_last_n) in [(0, -1), (1, -1), (80, -1), (80, 30), (80, 2), (80, 0)] {
        // Few different tokens, so that they repeat; and one run of a single token.
        let history: Vec<u32> = (0..n).map(|i| if i < n - 5 { random.below(3) as u32 } else { 1 }).collect();
        for (dry_multiplier, dry_base, dry_allowed_length) in
            [(0.8, 1.75, 2), (0.3, 1.0, 1), (2.0, 4.0, 5), (1.0, 1e6, 1)]
        {
            let options = SamplerOptions { dry_multiplier, dry_base, dry_allowed_length, dry_penalty_last_n, ..none() };
            compare(&options, &SIZES, 8, &history);
        }
    }
}

#[test]
fn samplers_together() {
    let mut random = Uniform(77);
    for seed in 0..60 {
        let mut pick = |choices: &[f64]| choices[random.below(choices.len())];
        let options = SamplerOptions {
            temperature: pick(&[0.5, 1.0, 2.0]),
            dynatemp_range: pick(&[0.0, 0.4]),
            dynatemp_exponent: pick(&[1.0, 2.0]),
            top_k: pick(&[0.0, 5.0, 40.0]) as usize,
            top_p: pick(&[0.8, 0.95, 1.0]),
            min_p: pick(&[0.0, 0.05]),
            typical_p: pick(&[0.9, 1.0]),
            xtc_probability: pick(&[0.0, 0.5]),
            mirostat: pick(&[0.0, 0.0, 2.0]) as u32,
            repeat_penalty: pick(&[1.0, 1.2]),
            presence_penalty: pick(&[0.0, 0.3]),
            frequency_penalty: pick(&[0.0, 0.1]),
            dry_multiplier: pick(&[0.0, 0.8]),
            dry_allowed_length: 1,
            logit_bias: vec![(0, pick(&[0.0, 2.5, -3.0]))],
            seed,
            ..SamplerOptions::default()
        };
        compare(&options, &SIZES, 10, &[1, 2, 1, 2, 0]);
    }
}

#[test]
fn large_vocabularies() {
    let large = [50_000];
    let o = SamplerOptions::default;
    compare(&o(), &large, 2, &[]);
    compare(
        &SamplerOptions { typical_p: 0.9, xtc_probability: 1.0, xtc_threshold: 1e-4, top_k: 0, top_p: 1.0, ..o() },
        &large,
        1,
        &[],
    );
    compare(&SamplerOptions { mirostat: 2, dynatemp_range: 0.3, ..o() }, &large, 2, &[]);
    compare(
        &SamplerOptions { top_p: 0.7, min_p: 0.0, top_k: 0, repeat_penalty: 1.5, presence_penalty: 0.1, ..o() },
        &large,
        1,
        &[4, 9],
    );
}

/// The texts that this crate drew before it had more samplers than the first four.
#[test]
fn seeds_keep_their_texts() {
    let o = SamplerOptions::default;
    let want: [(SamplerOptions, [u32; 40]); 3] = [
        (SamplerOptions { seed: 7, ..o() }, GOLDEN_0),
        (
            SamplerOptions { seed: 8, temperature: 1.7, top_k: 0, top_p: 0.9, min_p: 0.0, repeat_penalty: 1.3, ..o() },
            GOLDEN_1,
        ),
        (
            SamplerOptions { seed: 9, temperature: 2.0, top_k: 0, top_p: 1.0, min_p: 0.01, repeat_penalty: 1.1, ..o() },
            GOLDEN_2,
        ),
    ];
    let mut state = 5u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1u64 << 24) as f32
    };
    for (options, want) in want {
        let mut sampler = Sampler::new(options).unwrap();
        sampler.remember(&[1, 2, 3]);
        let drawn = (0..40).map(|_| {
            let logits: Vec<f32> = (0..300).map(|_| 12.0 * random() - 6.0).collect();
            sampler.next(&logits).unwrap()
        });
        assert_eq!(drawn.collect::<Vec<_>>(), want);
    }
}

const GOLDEN_0: [u32; 40] = [
    238, 202, 213, 287, 145, 103, 286, 27, 166, 25, 168, 220, 181, 44, 192, 15, 39, 122, 83, 207, 259, 198, 4, 33, 180,
    172, 295, 197, 199, 228, 33, 159, 259, 57, 25, 92, 136, 102, 27, 236,
];
const GOLDEN_1: [u32; 40] = [
    116, 288, 296, 34, 7, 226, 53, 282, 29, 277, 30, 81, 155, 240, 98, 281, 181, 156, 76, 204, 299, 42, 115, 33, 250,
    89, 214, 21, 148, 35, 120, 199, 31, 159, 234, 40, 263, 277, 153, 243,
];
const GOLDEN_2: [u32; 40] = [
    86, 166, 202, 130, 264, 85, 250, 57, 269, 77, 12, 89, 114, 152, 194, 290, 122, 224, 75, 31, 51, 162, 277, 204, 56,
    37, 205, 100, 73, 43, 170, 284, 289, 90, 243, 228, 101, 113, 70, 277,
];

/// A tokenizer with tokens that have, begin and continue breakers.
fn broken(folder: &Folder) -> (Tokenizer, Vec<String>) {
    let texts =
        ["<unk>", "<s>", "</s>", "a", "b", "c", "\n", "a\n", "\nb", ": x", "E", "N", "D", "aEN", "ND", "ENDb", "DE"];
    let mut metadata = vocabulary(texts.len());
    metadata[1].1 = texts.map(String::from).to_vec().into();
    (tokenizers::tokenizer(folder, &metadata), texts.map(String::from).to_vec())
}

#[test]
fn breakers_end_repetitions() {
    let folder = Folder::new("sampling-breakers");
    let (tokenizer, texts) = broken(&folder);
    let mut random = Uniform(12);
    let (mut penalised, mut spared) = (0, 0);
    for round in 0..400 {
        let breakers: &[&str] =
            [&["\n", ":", "\"", "*"][..], &["END"], &["ENDb", "N"], &["b\n", "a"], &["a\nb"]][round % 5];
        let options = SamplerOptions {
            dry_multiplier: 0.8,
            dry_allowed_length: 1 + random.below(2),
            dry_penalty_last_n: [-1, 9, 20][random.below(3)],
            dry_sequence_breakers: breakers.iter().map(|b| b.to_string()).collect(),
            ..none()
        };
        let n = random.below(40);
        let history: Vec<u32> = (0..n).map(|_| 3 + random.below(texts.len() - 3) as u32).collect();
        // The second half repeats the first.
        let history = [&history[..], &history].concat();
        let mut sampler = Sampler::with_tokenizer(options.clone(), &tokenizer).unwrap();
        let mut oracle = Oracle::new(&options, texts.clone());
        sampler.remember(&history);
        oracle.tokens.extend(&history);
        let logits = vec![0.0f32; texts.len()];
        let want = oracle.distribution(&logits);
        same(&sampler.distribution(&logits).unwrap(), &want, &format!("{breakers:?} {history:?}"));
        if want.iter().any(|x| x.1 != want[0].1) {
            penalised += 1;
        } else {
            spared += 1;
        }
    }
    assert!(penalised > 100 && spared > 50, "{penalised} {spared}");
    // Without a tokenizer, breakers cannot be found.
    let options = SamplerOptions { dry_multiplier: 0.8, ..none() };
    let error = Sampler::new(options).unwrap_err().to_string();
    assert!(error.contains("dry_sequence_breakers") && error.contains("with_tokenizer"), "{error}");
}

#[test]
fn options_out_of_range_are_named() {
    let o = SamplerOptions::default;
    for (options, words) in [
        (SamplerOptions { temperature: -1.0, ..o() }, "temperature: is -1: 0 to 1000000 is valid"),
        (SamplerOptions { temperature: f64::NAN, ..o() }, "temperature: is NaN: 0 to"),
        (SamplerOptions { dynatemp_range: -0.1, ..o() }, "dynatemp_range: is -0.1: 0 to"),
        (SamplerOptions { dynatemp_exponent: f64::INFINITY, ..o() }, "dynatemp_exponent: is inf: 0 to"),
        (SamplerOptions { top_p: 1.5, ..o() }, "top_p: is 1.5: 0 to 1 is valid"),
        (SamplerOptions { min_p: -0.1, ..o() }, "min_p: is -0.1: 0 to 1 is valid"),
        (SamplerOptions { typical_p: 1.1, ..o() }, "typical_p: is 1.1: 0 to 1 is valid"),
        (SamplerOptions { xtc_probability: 2.0, ..o() }, "xtc_probability: is 2: 0 to 1 is valid"),
        (SamplerOptions { xtc_threshold: -1.0, ..o() }, "xtc_threshold: is -1: 0 to 1 is valid"),
        (SamplerOptions { mirostat: 1, ..o() }, "mirostat: is 1: 0 (off) and 2 are valid"),
        (SamplerOptions { mirostat_tau: -1.0, ..o() }, "mirostat_tau: is -1: 0 to 100 is valid"),
        (SamplerOptions { mirostat_eta: 1.5, ..o() }, "mirostat_eta: is 1.5: 0 to 1 is valid"),
        (SamplerOptions { repeat_last_n: -2, ..o() }, "repeat_last_n: is -2: -1 (all tokens), 0 (none) and more"),
        (SamplerOptions { repeat_penalty: 0.0, ..o() }, "repeat_penalty: is 0: 0.001 to 1000 is valid"),
        (SamplerOptions { presence_penalty: 101.0, ..o() }, "presence_penalty: is 101: -100 to 100 is valid"),
        (SamplerOptions { frequency_penalty: f64::NAN, ..o() }, "frequency_penalty: is NaN: -100 to"),
        (SamplerOptions { dry_multiplier: -1.0, ..o() }, "dry_multiplier: is -1: 0 to"),
        (SamplerOptions { dry_base: 0.5, ..o() }, "dry_base: is 0.5: 1 to"),
        (SamplerOptions { dry_allowed_length: 0, ..o() }, "dry_allowed_length: is 0: 1 or more"),
        (SamplerOptions { dry_penalty_last_n: -5, ..o() }, "dry_penalty_last_n: is -5: -1"),
        (SamplerOptions { dry_sequence_breakers: vec!["".into()], ..o() }, "dry_sequence_breakers: has an empty text"),
        (SamplerOptions { logit_bias: vec![(3, f64::NAN)], ..o() }, "logit_bias: is NaN for token 3"),
        (SamplerOptions { logit_bias: vec![(3, f64::INFINITY)], ..o() }, "logit_bias: is inf for token 3"),
    ] {
        let error = Sampler::new(options).unwrap_err();
        assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains(words), "{error}");
    }
}

#[test]
fn biased_tokens_are_banned_or_certain() {
    let biased =
        |logit_bias: &[(u32, f64)]| Sampler::new(SamplerOptions { logit_bias: logit_bias.to_vec(), ..none() }).unwrap();
    let ban = f64::NEG_INFINITY;
    let mut sampler = biased(&[(1, ban), (2, -2.0), (0, 1.0)]);
    let got = sampler.distribution(&[0.0, f32::INFINITY, 3.0]).unwrap();
    same(&got, &[(0, 0.5), (2, 0.5)], "a banned token was certain");
    let error = biased(&[(0, ban), (1, ban)]).next(&[0.0, 1.0]).unwrap_err().to_string();
    assert!(error.contains("no token is left to draw"), "{error}");
    let error = biased(&[(0, ban)]).next(&[0.0, f32::NEG_INFINITY]).unwrap_err().to_string();
    assert!(error.contains("no token is left to draw"), "{error}");
    let error = biased(&[(2, 1.0)]).next(&[0.0, 1.0]).unwrap_err().to_string();
    assert!(error.contains("logit_bias: no token 2: 0 to 1 are valid"), "{error}");
}

/// A processor from a function.
struct With<F>(F);

impl<F: FnMut(&[u32], &mut Logits) -> Result<()>> LogitsProcessor for With<F> {
    fn apply(&mut self, tokens: &[u32], logits: &mut Logits) -> Result<()> {
        self.0(tokens, logits)
    }
}

fn with(change: impl FnMut(&[u32], &mut Logits) -> Result<()> + Send + 'static) -> Sampler {
    let mut sampler = Sampler::new(none()).unwrap();
    sampler.add(With(change));
    sampler
}

#[test]
fn processors_run_in_order_and_see_the_sequence() {
    let mut sampler = with(|tokens, logits| {
        assert_eq!(tokens, [5, 6]);
        logits.retain(|c| c.token % 2 == 0);
        Ok(())
    });
    sampler.add(With(|_: &[u32], logits: &mut Logits| {
        assert_eq!(logits.candidates().iter().map(|c| c.token).collect::<Vec<_>>(), [0, 2, 4]);
        logits.set(1, 100.0); // was removed
        logits.update(4, |logit| logit + 1.0);
        logits.set(0, f64::NEG_INFINITY);
        Ok(())
    }));
    sampler.begin(&[9, 9]);
    sampler.begin(&[5]);
    sampler.remember(&[6]);
    let want = [(2, 1.0 / (1.0 + 1f64.exp())), (4, 1.0 / (1.0 + (-1f64).exp()))];
    same(&sampler.distribution(&[1.0; 5]).unwrap(), &want, "two processors");
}

#[test]
fn processors_that_leave_nothing_end_generation() {
    let said = |mut sampler: Sampler| sampler.next(&[1.0, 2.0]).unwrap_err().to_string();
    let nothing = said(with(|_, logits| {
        logits.retain(|_| false);
        Ok(())
    }));
    assert!(nothing.contains("no token is left to draw"), "{nothing}");
    let impossible = said(with(|_, logits| {
        logits.map(|_| f64::NEG_INFINITY);
        Ok(())
    }));
    assert!(impossible.contains("no token is left to draw"), "{impossible}");
    let nan = said(with(|_, logits| {
        logits.set(1, f64::NAN);
        Ok(())
    }));
    assert!(nan.contains("logits processor 0: made the logit of token 1 NaN"), "{nan}");
    let own = said(with(|_, _| Err(Error::invalid("mine"))));
    assert!(own.contains("mine"), "{own}");
}
