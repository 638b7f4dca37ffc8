//! Language models whose matrices have adapters to train.

use super::architectures;
use super::network::{Network, Results};
use super::shape::Shape;
use crate::package::Package;
use crate::placement::Placement;
use crate::weights::{DeviceMap, Tuned, Weights};
use crate::{Error, Result};
use tensorlib::{Backend, Tensor};

/// The architectures whose operations all have gradients, in GGUF files.
const TUNED: [&str; 3] = ["llama", "qwen2", "qwen3"];

/// A model that computes whole sequences, for training.
pub(crate) struct TunedNetwork(Network);

impl TunedNetwork {
    /// Loads a model from a GGUF file, with these adapters.
    pub(crate) fn load(package: Package, backend: &Backend, tuned: Tuned) -> Result<Self> {
        let settings = &package.settings;
        let name = settings.architecture();
        if settings.is_hub() {
            let message = "a folder: adapters are trained for GGUF files, whose rows may have another order";
            return Err(Error::unsupported(message).with_hint("`tensorlib convert` makes a GGUF file of it"));
        }
        if !TUNED.contains(&name) {
            let known = TUNED.join(", ");
            return Err(Error::unsupported(format!("architecture '{name}': adapters are trained for {known}")));
        }
        let (shape, names) = architectures::read(settings)?;
        check(&shape)?;
        let warnings = package.warnings.clone();
        let devices = DeviceMap::new(backend, &Placement::default());
        let weights = Weights::new(package.files, names, devices, None)?.with_tuned(tuned);
        let network = Network::load(&weights, shape, 1, (None, None), Results::Vocabulary)?;
        weights.finish(&warnings)?;
        Ok(TunedNetwork(network))
    }

    /// The most tokens of a sequence.
    pub(crate) fn context(&self) -> i64 {
        self.0.shape.context
    }

    /// The logits after each token of the sequences that are the columns of `ids`: [vocabulary, all tokens].
    pub(crate) fn logits(&self, ids: &Tensor) -> Result<Tensor> {
        self.0.sequence_logits(ids)
    }
}

/// Refuses parts of models that have no gradients.
fn check(shape: &Shape) -> Result<()> {
    match shape.experts.is_some() {
        true => Err(Error::unsupported("a model with experts: adapters are trained for models without them")),
        false => Ok(()),
    }
}
