//! The file of `--activity`: which neurons of a language model are computed, and how they are divided between devices.

use crate::args::Neurons;
use crate::failure::{Exit, Failure, Outcome};
use crate::model::ranks::Ranks;
use tensorlib_models::{read_split, Activity, DecoderOptions, SplitLayer};

/// Options for opening a language model.
#[derive(Clone)]
pub struct LoadOptions {
    /// All options except the placement of tensors.
    pub options: DecoderOptions,
    /// Each layer's neurons on the first device, if a file lists them.
    pub split: Option<Vec<SplitLayer>>,
}

impl LoadOptions {
    /// These options, with the file of `--activity`.
    pub fn new(options: DecoderOptions, neurons: &Neurons) -> Outcome<Self> {
        let Some(path) = &neurons.activity else { return Ok(LoadOptions { options, split: None }) };
        if let Some(split) = read_split(path)? {
            return Ok(LoadOptions { options, split: Some(split) });
        }
        Ok(LoadOptions { options: options.with_activity(Activity::read(path)?), split: None })
    }

    /// These options for a model that several processes compute, if there are several.
    pub fn on_ranks(self, ranks: &Ranks) -> Self {
        match ranks.group() {
            Some(group) => LoadOptions { options: self.options.group(group), ..self },
            None => self,
        }
    }

    /// Fails for a division without two devices.
    pub fn check_devices(&self, devices: usize) -> Outcome<()> {
        if self.split.is_none() || devices > 1 {
            return Ok(());
        }
        let message = "--activity: the file divides neurons over two devices, and there is one";
        Err(Failure::new(Exit::Usage, message).hint("name two with --device, as --device cuda:0,cpu"))
    }
}
