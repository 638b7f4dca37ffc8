//! Counts how often each neuron of a model is active in a text.

use crate::activity::{Activity, LayerActivity, Tested};
use crate::decoder::PROMPT_BLOCK;
use crate::{Decoder, Error, Result};
use tensorlib::DType;

/// Magnitudes are counted by their first bits: 8 of the exponent and 9 of the fraction, so magnitudes in a bin differ
/// by at most 1/512.
const BINS: usize = 1 << 17;
const BITS_LEFT: u32 = 14;

impl Activity {
    /// Runs tokens through a model, in windows of up to 512, and counts active neurons. `tested`: what to compare;
    /// `None` chooses the gate's sign for models with ReLU, otherwise the gate's magnitude. Each layer's threshold is
    /// one that `share` of its neurons reach over all tokens, accurate to 1/512 of the threshold. Finding it takes a
    /// second run, except for [`Tested::Positive`]. `progress(tokens done, of all)` is called after each window;
    /// `false` stops.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for no tokens, a share outside 0 to 1, or a stop;
    /// [`ErrorKind::Unsupported`](crate::ErrorKind) for a model with experts, or one opened with an activity; as
    /// [`Session::feed`](crate::Session::feed).
    pub fn measure(
        decoder: &Decoder,
        tokens: &[u32],
        tested: Option<Tested>,
        share: f64,
        mut progress: impl FnMut(usize, usize) -> bool,
    ) -> Result<Self> {
        if !(share > 0.0 && share <= 1.0) {
            return Err(Error::invalid(format!("a share of {share}: above 0 and up to 1 is valid")));
        }
        if tokens.is_empty() {
            return Err(Error::invalid("no tokens: at least one is valid"));
        }
        let (layers, neurons) = decoder.neurons()?;
        let tested = tested.unwrap_or(if decoder.has_relu() { Tested::Positive } else { Tested::Gate });
        let all = if tested == Tested::Positive { tokens.len() } else { 2 * tokens.len() };
        let mut runs = Runs { decoder, tokens, tested, done: 0, all, progress: &mut progress };
        let thresholds = match tested {
            Tested::Positive => vec![0.0; layers],
            _ => runs.thresholds(share, layers, neurons)?,
        };
        let counts = runs.counts(&thresholds, neurons)?;
        let n = tokens.len() as f64;
        let layers = thresholds.into_iter().zip(counts).map(|(threshold, counts)| LayerActivity {
            threshold,
            frequencies: counts.into_iter().map(|count| (count as f64 / n) as f32).collect(),
        });
        Ok(Activity::new(decoder.architecture(), tested, tokens.len() as u64, layers.collect()))
    }
}

/// Runs the tokens through the model, several times.
struct Runs<'a> {
    decoder: &'a Decoder,
    tokens: &'a [u32],
    tested: Tested,
    /// The tokens done, in all runs so far.
    done: usize,
    /// The tokens of all runs.
    all: usize,
    progress: &'a mut dyn FnMut(usize, usize) -> bool,
}

impl Runs<'_> {
    /// One run, which calls `take(layer, values of its neurons for each token)`.
    fn run(&mut self, take: &mut dyn FnMut(usize, &[f32])) -> Result<()> {
        let mut session = self.decoder.session(DType::F32)?;
        let mut wrong = None;
        for part in self.tokens.chunks(PROMPT_BLOCK.min(self.decoder.context())) {
            session.rewind(0);
            session.feed_observed(part, self.tested, &mut |layer, values| {
                if wrong.is_none() && values.iter().any(|v| !v.is_finite()) {
                    wrong = Some(layer);
                }
                take(layer, values);
            })?;
            if let Some(layer) = wrong {
                return Err(session.not_finite(&format!("neurons of layer {layer} are not finite")));
            }
            self.done += part.len();
            if !(self.progress)(self.done, self.all) {
                return Err(Error::invalid(format!("stopped after {} of {} tokens", self.done, self.all)));
            }
        }
        Ok(())
    }

    /// For each layer the magnitude that `share` of its neurons reach over all tokens.
    fn thresholds(&mut self, share: f64, layers: usize, neurons: usize) -> Result<Vec<f32>> {
        let mut bins = vec![vec![0u64; BINS]; layers];
        self.run(&mut |layer, values| {
            values.iter().for_each(|v| bins[layer][(v.abs().to_bits() >> BITS_LEFT) as usize] += 1);
        })?;
        let wanted = share * (self.tokens.len() * neurons) as f64;
        Ok(bins.iter().map(|bins| largest(bins, wanted)).collect())
    }

    /// For each layer and neuron the number of tokens that it is active in.
    fn counts(&mut self, thresholds: &[f32], neurons: usize) -> Result<Vec<Vec<u64>>> {
        let tested = self.tested;
        let mut counts = vec![vec![0u64; neurons]; thresholds.len()];
        self.run(&mut |layer, values| {
            let threshold = thresholds[layer];
            for of_token in values.chunks_exact(neurons) {
                for (count, v) in counts[layer].iter_mut().zip(of_token) {
                    let active = if tested == Tested::Positive { *v > 0.0 } else { v.abs() >= threshold };
                    *count += u64::from(active);
                }
            }
        })?;
        Ok(counts)
    }
}

/// The lower bound of the bins that hold the `wanted` largest values.
fn largest(bins: &[u64], wanted: f64) -> f32 {
    let mut above = 0;
    let first = bins.iter().rposition(|count| {
        above += count;
        above as f64 >= wanted
    });
    f32::from_bits((first.unwrap_or(0) as u32) << BITS_LEFT)
}

#[cfg(test)]
mod tests {
    use super::{largest, BINS, BITS_LEFT};

    #[test]
    fn a_share_of_values_is_above_its_threshold() {
        let values: Vec<f32> = (0..10_000).map(|i| (i as f32 * 0.37).sin().powi(3)).collect();
        let mut bins = vec![0; BINS];
        values.iter().for_each(|v| bins[(v.abs().to_bits() >> BITS_LEFT) as usize] += 1);
        for share in [0.01, 0.1, 0.5, 0.9, 1.0] {
            let threshold = largest(&bins, share * 10_000.0);
            let n = |t: f32| values.iter().filter(|v| v.abs() >= t).count() as f64 / 10_000.0;
            assert!(n(threshold) >= share && n(threshold * 1.00196) <= share + 1e-9, "{share}: {threshold}");
        }
    }
}
