//! Rotations as GGUF files state them.

use super::{Factors, Rope, ATTENTION, BASE, BETA_FAST, BETA_SLOW, DIMS, FACTOR, KIND, TRAINED};
use crate::settings::Keys;

impl Rope {
    /// Whether pairs are neighbours.
    pub fn is_of_neighbours(&self) -> bool {
        !self.neox
    }

    /// The number of a head's elements that turn.
    pub fn turning(&self) -> i64 {
        self.dims
    }

    /// Whether YaRN stretches the context and leaves rotated values as they are.
    pub fn keeps_magnitude(&self) -> bool {
        self.yarn && (self.attention * (1.0 - 0.1 * self.scale.ln()) - 1.0).abs() < 1e-9
    }

    /// The base of the frequencies.
    pub fn base(&self) -> f64 {
        self.base
    }

    /// Adds the keys that a GGUF file has for this rotation. Factors of frequencies are tensors there.
    pub fn add_keys(&self, keys: &mut Keys) {
        keys.number(BASE, self.base);
        keys.count(DIMS, self.dims);
        if self.yarn {
            keys.set(KIND, "yarn");
            keys.number(FACTOR, 1.0 / self.scale);
            keys.count(TRAINED, self.trained);
            keys.number(BETA_FAST, self.beta_fast);
            keys.number(BETA_SLOW, self.beta_slow);
        } else if self.scale != 1.0 {
            keys.set(KIND, "linear");
            keys.number(FACTOR, 1.0 / self.scale);
        }
        if let Factors::LongAndShort { trained, .. } = &self.factors {
            keys.count(TRAINED, *trained);
        }
        if self.attention != 1.0 {
            keys.number(ATTENTION, self.attention);
        }
    }

    /// The tensors of frequency factors that a GGUF file has for this rotation.
    pub fn factor_tensors(&self) -> Vec<(&'static str, Vec<f32>)> {
        let narrow = |list: &[f64]| list.iter().map(|x| *x as f32).collect();
        match &self.factors {
            Factors::None | Factors::InFile { .. } => Vec::new(),
            Factors::Are(list) => vec![("rope_freqs.weight", list.clone())],
            Factors::LongAndShort { long, short, .. } => {
                let both = [("rope_factors_long.weight", long), ("rope_factors_short.weight", short)];
                both.into_iter().filter_map(|(name, list)| Some((name, narrow(list.as_ref()?)))).collect()
            }
        }
    }

    /// This rotation without what GGUF files state by tensors.
    pub fn without_tensors(self) -> Self {
        Rope { neox: true, factors: Factors::None, ..self }
    }
}
