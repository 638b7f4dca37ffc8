//! How often each neuron of a model's feed-forward blocks is active, and the file format for it.
//!
//! A file is JSON, or safetensors if its name ends in `.safetensors`:
//!
//! ```text
//! {"architecture": "llama", "tested": "gate", "tokens": 4096, "layers": [{"threshold": 0.02, "frequencies": [0.9, ..]}, ..]}
//! ```
//!
//! Safetensors files have `blk.N.frequencies` and `blk.N.threshold`, F32, and everything else as metadata.

use crate::files::{SafeSet, Stored};
use crate::settings::read_json;
use crate::{Error, Result};
use serde_json::{json, Value as Json};
use std::path::Path;
use tensorlib::{safetensors, Context, DType};

/// The value that is compared with a threshold to decide whether a neuron is active. A tie is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tested {
    /// The sign of the gate: active above 0, for models with ReLU.
    Positive,
    /// The magnitude of the activated gate (CATS).
    Gate,
    /// The magnitude of the down projection's input: the activated gate times the up projection (TEAL).
    Hidden,
}

impl Tested {
    /// All kinds of tests.
    pub const ALL: [Tested; 3] = [Tested::Positive, Tested::Gate, Tested::Hidden];

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Tested::Positive => "positive",
            Tested::Gate => "gate",
            Tested::Hidden => "hidden",
        }
    }

    fn named(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|tested| tested.name() == name);
        found.ok_or_else(|| Error::format(format!("'tested' is '{name}': positive, gate and hidden are valid")))
    }
}

/// The activity of a layer's neurons.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerActivity {
    /// A neuron is active from this value on; 0 for [`Tested::Positive`].
    pub threshold: f32,
    /// For each neuron, the fraction of tokens in which it was active, from 0 to 1.
    pub frequencies: Vec<f32>,
}

/// How often each neuron of a model is active on a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Activity {
    architecture: String,
    tested: Tested,
    tokens: u64,
    layers: Vec<LayerActivity>,
}

impl Activity {
    /// The activity counted on a text.
    pub(crate) fn new(architecture: &str, tested: Tested, tokens: u64, layers: Vec<LayerActivity>) -> Self {
        Activity { architecture: architecture.to_string(), tested, tokens, layers }
    }

    /// The architecture of the measured model.
    pub fn architecture(&self) -> &str {
        &self.architecture
    }

    /// The value that was compared with the thresholds.
    pub fn tested(&self) -> Tested {
        self.tested
    }

    /// The number of tokens in the text.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// The layers' activities, in the order of the layers.
    pub fn layers(&self) -> &[LayerActivity] {
        &self.layers
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind), [`ErrorKind::Format`](crate::ErrorKind) naming the invalid entry.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let read = match is_safetensors(path) {
            true => Self::of_safetensors(&SafeSet::open(path)?),
            false => Self::of_json(&read_json(path)?),
        };
        read.and_then(Self::checked).map_err(|e| e.about(path.display()))
    }

    /// Writes a file: safetensors if its name ends so, otherwise JSON. The file appears under its name only when it is
    /// complete.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind), [`ErrorKind::Memory`](crate::ErrorKind).
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        if is_safetensors(path) {
            return self.write_safetensors(path);
        }
        let layers: Vec<Json> = self.layers.iter().map(layer_json).collect();
        let (architecture, tested, tokens) = (&self.architecture, self.tested.name(), self.tokens);
        let text = json!({ "architecture": architecture, "tested": tested, "tokens": tokens, "layers": layers });
        let unfinished = path.with_extension("unfinished");
        let written =
            std::fs::write(&unfinished, format!("{text}\n")).and_then(|()| std::fs::rename(&unfinished, path));
        written.map_err(|e| {
            let _ = std::fs::remove_file(&unfinished); // it may not exist
            Error::io(path, "written", &e)
        })
    }

    fn write_safetensors(&self, path: &Path) -> Result<()> {
        let ctx = Context::new();
        let mut leafs = Vec::new();
        for (i, layer) in self.layers.iter().enumerate() {
            let frequencies = ctx.tensor([layer.frequencies.len() as i64], &layer.frequencies)?;
            frequencies.set_name(&format!("blk.{i}.frequencies"))?;
            let threshold = ctx.tensor([1], &[layer.threshold])?;
            threshold.set_name(&format!("blk.{i}.threshold"))?;
            leafs.extend([frequencies, threshold]);
        }
        let tokens = self.tokens.to_string();
        let texts = [("architecture", &*self.architecture), ("tested", self.tested.name()), ("tokens", &tokens)];
        Ok(safetensors::write(path, &leafs.iter().collect::<Vec<_>>(), &texts)?)
    }

    fn of_json(json: &Json) -> Result<Self> {
        let text = |key: &str| json.get(key).and_then(Json::as_str).ok_or_else(|| missing(key, "a text"));
        let layers = json.get("layers").and_then(Json::as_array).ok_or_else(|| missing("layers", "an array"))?;
        let layer = |(i, layer): (usize, &Json)| {
            let number = |value: Option<&Json>| value.and_then(Json::as_f64).map(|x| x as f32);
            let numbers = layer.get("frequencies").and_then(Json::as_array);
            let frequencies = numbers.and_then(|all| all.iter().map(|x| number(Some(x))).collect::<Option<Vec<f32>>>());
            let read = number(layer.get("threshold")).zip(frequencies);
            let (threshold, frequencies) =
                read.ok_or_else(|| missing(&format!("layers[{i}]"), "a 'threshold' and an array 'frequencies'"))?;
            Ok(LayerActivity { threshold, frequencies })
        };
        Ok(Activity {
            architecture: text("architecture")?.into(),
            tested: Tested::named(text("tested")?)?,
            tokens: json.get("tokens").and_then(Json::as_u64).ok_or_else(|| missing("tokens", "a whole number"))?,
            layers: layers.iter().enumerate().map(layer).collect::<Result<_>>()?,
        })
    }

    fn of_safetensors(set: &SafeSet) -> Result<Self> {
        let texts = set.metadata();
        let text = |key: &str| texts.get(key).ok_or_else(|| missing(key, "a text in the metadata"));
        let floats = |name: String| -> Result<Option<Vec<f32>>> {
            let Some(entry) = set.entries().iter().find(|entry| entry.name == name) else { return Ok(None) };
            if entry.stored != Stored::As(DType::F32) || entry.dims().len() > 1 {
                return Err(Error::format(format!("tensor '{name}': one dimension of f32 is valid")));
            }
            let bytes = set.read(entry, 0, usize::try_from(entry.nbytes).unwrap_or(usize::MAX))?;
            Ok(Some(DType::F32.dequantize(&bytes)?))
        };
        let mut layers = Vec::new();
        while let Some(frequencies) = floats(format!("blk.{}.frequencies", layers.len()))? {
            let name = format!("blk.{}.threshold", layers.len());
            let threshold = floats(name.clone())?.and_then(|all| all.first().copied());
            let threshold = threshold.ok_or_else(|| missing(&name, "a tensor of one number"))?;
            layers.push(LayerActivity { threshold, frequencies });
        }
        Ok(Activity {
            architecture: text("architecture")?.clone(),
            tested: Tested::named(text("tested")?)?,
            tokens: text("tokens")?.parse().map_err(|_| missing("tokens", "a whole number"))?,
            layers,
        })
    }

    fn checked(self) -> Result<Self> {
        if self.layers.is_empty() {
            return Err(Error::format("it has no layers: at least one is valid"));
        }
        for (i, layer) in self.layers.iter().enumerate() {
            if !(layer.threshold >= 0.0 && layer.threshold.is_finite()) {
                let message = format!("layer {i} has a threshold of {}: numbers from 0 on are valid", layer.threshold);
                return Err(Error::format(message));
            }
            if let Some(at) = layer.frequencies.iter().position(|f| !(0.0..=1.0).contains(f)) {
                let found = layer.frequencies[at];
                return Err(Error::format(format!("layer {i}, neuron {at}: a frequency of {found}: 0 to 1 is valid")));
            }
        }
        Ok(self)
    }

    /// Checks that this activity fits a model of this architecture, with `layers` layers of `neurons` neurons each.
    pub(crate) fn check(&self, architecture: &str, layers: usize, neurons: usize) -> Result<()> {
        let of = |what: String| {
            let message = format!("the activity is of another model: {what}");
            Err(Error::invalid(message).with_hint("measure this model's: `tensorlib activity`"))
        };
        if self.architecture != architecture {
            return of(format!("of architecture '{}', this one is '{architecture}'", self.architecture));
        }
        if self.layers.len() != layers {
            return of(format!("it has {} layers, this one {layers}", self.layers.len()));
        }
        match self.layers.iter().position(|layer| layer.frequencies.len() != neurons) {
            Some(i) => {
                let found = self.layers[i].frequencies.len();
                of(format!("its layer {i} has {found} neurons, this one's {neurons}"))
            }
            None => Ok(()),
        }
    }
}

fn layer_json(layer: &LayerActivity) -> Json {
    json!({ "threshold": layer.threshold, "frequencies": layer.frequencies })
}

fn missing(what: &str, expected: &str) -> Error {
    Error::format(format!("'{what}': {expected} is expected"))
}

fn is_safetensors(path: &Path) -> bool {
    path.extension().is_some_and(|end| end.eq_ignore_ascii_case("safetensors"))
}
