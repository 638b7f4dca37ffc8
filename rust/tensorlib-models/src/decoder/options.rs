//! How a language model is opened.

use super::agreement;
use super::division::Division;
use super::network::{Network, Results};
use super::shape::Shape;
use crate::activity::Activity;
use crate::package::Package;
use crate::placement::Placement;
use crate::weights::{Adapter, DeviceMap, HubNames, Weights};
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tensorlib::{Backend, DType, Group};

/// Options for opening a decoder.
#[derive(Clone, Debug, Default)]
pub struct DecoderOptions {
    pub(super) stored_as: Option<DType>,
    pub(super) exact: bool,
    pub(super) reproducible: bool,
    pub(super) context: usize,
    pub(super) adapters: Vec<(PathBuf, f64)>,
    pub(super) placement: Placement,
    pub(super) expert_slots: usize,
    pub(super) activity: Option<Arc<Activity>>,
    pub(super) results: Results,
    pub(super) group: Option<Group>,
}

impl DecoderOptions {
    /// The defaults: weights as they are stored, and the model's own context up to 4,096 tokens.
    pub fn new() -> Self {
        Self::default()
    }

    /// Converts matrices to this type when they are loaded: a float type or a quantised type such as Q8_0. Quantised
    /// matrices are converted too. A matrix whose rows are not whole blocks of the type stays as it is.
    #[must_use]
    pub fn stored_as(mut self, dtype: DType) -> Self {
        self.stored_as = Some(dtype);
        self
    }

    /// Forbids products that round activations to fewer bits, as those with quantised weights do.
    #[must_use]
    pub fn exact(mut self, exact: bool) -> Self {
        self.exact = exact;
        self
    }

    /// Makes logits independent of how tokens are grouped: a prompt that is fed at once, in parts, token by token, or
    /// after [`Session::rewind`](crate::Session::rewind) or [`Session::restore`](crate::Session::restore) gives equal
    /// bits. Without it, that holds only for parts that end at multiples of [`PROMPT_BLOCK`](crate::PROMPT_BLOCK).
    /// Prompts are slower, and a token's logits hardly. On CPUs only, without [`DecoderOptions::expert_slots`] and
    /// [`DecoderOptions::with_activity`].
    #[must_use]
    pub fn reproducible(mut self, reproducible: bool) -> Self {
        self.reproducible = reproducible;
        self
    }

    /// The most tokens of a session; 0: the model's own number, at most 4,096. Some models rotate positions differently
    /// beyond the context that they were trained for, so this is set when the model is opened.
    #[must_use]
    pub fn context(mut self, tokens: usize) -> Self {
        self.context = tokens;
        self
    }

    /// Adds an adapter (LoRA) to those given before: a GGUF file for a GGUF model, PEFT's folder for a hub folder. Its
    /// addition to each matrix is multiplied by its own alpha / rank and by `scale`.
    #[must_use]
    pub fn adapter(mut self, path: impl AsRef<Path>, scale: f64) -> Self {
        self.adapters.push((path.as_ref().to_path_buf(), scale));
        self
    }

    /// The device of a joined backend on which each tensor lies ([`fit`](crate::fit)); by default all lie on the first.
    /// A layer's keys and values lie on the device of the matrix that makes its keys.
    #[must_use]
    pub fn placement(mut self, placement: Placement) -> Self {
        self.placement = placement;
        self
    }

    /// Keeps copies of the `slots` most recently used experts of each layer on the first device, in each session, for
    /// layers whose experts lie on another device. The other experts are computed where they lie. 0: no copies.
    #[must_use]
    pub fn expert_slots(mut self, slots: usize) -> Self {
        self.expert_slots = slots;
        self
    }

    /// Skips feed-forward neurons that stay below the activity's thresholds for a token: fewer weights are read, and
    /// results change by as much as the thresholds allow. With [`Tested::Positive`](crate::Tested::Positive) they do
    /// not change. The model's down projections have to be transposed (`tensorlib transpose-down`).
    #[must_use]
    pub fn with_activity(mut self, activity: Activity) -> Self {
        self.activity = Some(Arc::new(activity));
        self
    }

    /// Divides the model over the ranks of a group. Each rank opens the same files with the same options and loads its part:
    /// some heads of attention, some neurons of feed-forward blocks, and the rows of some tokens. Blocks that cannot be
    /// divided, such as those with states, lie on one rank each. All ranks then make the same calls with the same tokens, one
    /// at a time, and each of them gets all logits.
    ///
    /// Logits differ from those of one process by rounding, because sums are added in another order. Sessions of such a
    /// decoder cannot be saved, and tokens not drafted. A group of one rank changes nothing. Not with
    /// [`DecoderOptions::placement`], [`DecoderOptions::expert_slots`] and [`DecoderOptions::with_activity`].
    #[must_use]
    pub fn group(mut self, group: &Group) -> Self {
        self.group = Some(group.clone());
        self
    }

    /// Has the model's head make the logits, if it has one.
    pub(crate) fn with_head(mut self) -> Self {
        self.results = Results::Head;
        self
    }

    /// Has sessions give the vectors from which logits would be computed.
    pub(crate) fn with_vectors(mut self) -> Self {
        self.results = Results::Vectors;
        self
    }

    /// The activity given to [`DecoderOptions::with_activity`].
    pub fn activity(&self) -> Option<&Activity> {
        self.activity.as_deref()
    }

    /// The group, if it has several ranks.
    pub(super) fn ranks(&self) -> Option<&Group> {
        self.group.as_ref().filter(|group| group.size() > 1)
    }

    /// Refuses options that do not go together.
    pub(super) fn check(&self, backend: &Backend) -> Result<()> {
        let refused = |message: String| Err(Error::unsupported(message).with_hint("leave out one of them"));
        if self.ranks().is_some() {
            let has_several = backend.devices().len() > 1;
            let others = [
                (has_several, "several devices in one process"),
                (self.expert_slots > 0, "copies of experts"),
                (self.activity.is_some(), "an activity, by which neurons are left out"),
            ];
            if let Some((_, other)) = others.iter().find(|(is_set, _)| *is_set) {
                return refused(format!("a model that is divided over the ranks of a group, with {other}"));
            }
        }
        if !self.reproducible {
            return Ok(());
        }
        if let Some(device) = backend.devices().into_iter().find(|device| !device.starts_with("cpu")) {
            return refused(format!("reproducible results on {device}: CPUs alone have them"));
        }
        if self.expert_slots > 0 {
            return refused(
                "reproducible results with copies of experts, whose products may have another order".into(),
            );
        }
        match self.activity {
            Some(_) => refused("reproducible results with an activity, by which neurons are left out".into()),
            None => Ok(()),
        }
    }

    pub(super) fn load(
        &self,
        package: Package,
        mut shape: Shape,
        names: HubNames,
        devices: &DeviceMap,
    ) -> Result<(Weights, Network)> {
        let context = match self.context {
            0 => usize::try_from(shape.context).unwrap_or(0).min(4096),
            n => n,
        };
        let trained = shape.rope.reach(shape.context);
        if context as i64 > trained {
            package.warnings.add(format!(
                "a context of {context} tokens: the model was trained for {trained}, and later ones may make no sense"
            ));
        }
        let activity = self.activity.as_deref();
        if let Some(activity) = activity {
            let (layers, neurons) = shape.neurons()?;
            activity.check(package.settings.architecture(), layers, neurons)?;
        }
        let (adapters, warnings) = (self.adapters.iter(), package.warnings.clone());
        let adapters = adapters
            .map(|(path, scale)| Adapter::open(path, *scale, &package.settings, &names, devices))
            .collect::<Result<Vec<_>>>()?;
        for adapter in adapters.iter().filter(|adapter| adapter.prefix().is_some()) {
            let what = "adapter.lora.prompt_prefix: a text before each text, which language models are not given";
            warnings.add(format!("{}: {what}", adapter.path()));
        }
        let weights = Weights::new(package.files, names, devices.clone(), self.stored_as)?;
        let mut weights = weights.exact(self.exact).with_adapters(adapters);
        if let Some(group) = self.ranks() {
            let backend = devices.part("");
            let digest = agreement::digest(package.settings.architecture(), &shape, self, &weights)?;
            agreement::check(group, backend, &digest)?;
            shape.division = Some(Division::new(&weights, &shape, (group.rank(), group.size()))?);
            weights = weights.adding_biases(group.rank() == 0);
        }
        let network = Network::load(&weights, shape, context, (activity, self.ranks().cloned()), self.results)?;
        weights.finish(&warnings)?;
        Ok((weights, network))
    }
}
