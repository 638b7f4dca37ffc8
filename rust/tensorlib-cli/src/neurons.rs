//! Which neurons of a language model are computed, and how they are divided over devices: what `--activity` names.

use crate::args::Neurons;
use crate::failure::{Exit, Failure, Outcome};
use tensorlib_models::{read_split, Activity, DecoderOptions, SplitLayer};

/// How a language model is to be opened.
#[derive(Clone)]
pub struct LoadOptions {
    /// All but where its tensors lie.
    pub options: DecoderOptions,
    /// Of each layer the neurons on the first device, where a file says it.
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

    /// A division takes two devices.
    pub fn check_devices(&self, devices: usize) -> Outcome<()> {
        if self.split.is_none() || devices > 1 {
            return Ok(());
        }
        let message = "--activity: the file divides neurons over two devices, and there is one";
        Err(Failure::new(Exit::Usage, message).hint("name two with --device, as --device cuda:0,cpu"))
    }
}
