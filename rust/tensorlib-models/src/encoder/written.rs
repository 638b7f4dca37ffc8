//! The GGUF form of an encoder's folder.

use super::architectures;
use super::options::EncoderOptions;
use super::shape::{Activation, Positions, Shape, EPS, FFN, HEADS, LAYERS, POSITIONS, WIDTH};
use super::Encoder;
use crate::convert::{check_same, pooling, settled, Order, Plan, Planned, Reading};
use crate::norm::NormKind;
use crate::package::Package;
use crate::placement::Placement;
use crate::settings::{Key, Keys};
use crate::weights::{names_of_task, DeviceMap, HubNames, Loaded};
use crate::{Error, Result};
use tensorlib::{Backend, Value};

const CAUSAL: Key = Key("attention.causal", "");
const ROOT_EPS: Key = Key("attention.layer_norm_rms_epsilon", "");

impl Shape {
    /// The keys that most architectures have.
    fn keys(&self) -> Keys {
        let mut keys = Keys::default();
        keys.count(LAYERS, self.layers);
        keys.count(POSITIONS, self.max_tokens);
        keys.count(WIDTH, self.width);
        keys.count(FFN, self.ffn);
        keys.count(HEADS, self.heads);
        keys.number(if self.norm == NormKind::Layer { EPS } else { ROOT_EPS }, self.eps);
        keys.flag(CAUSAL, false);
        keys
    }
}

/// What a GGUF file of this folder has.
///
/// # Errors
/// As [`Encoder::open`]; [`ErrorKind::Unsupported`](crate::ErrorKind) for a model that GGUF files do not express.
pub(crate) fn plan(package: Package, backend: &Backend) -> Result<Plan> {
    let settings = package.settings.clone();
    let written = architectures::written(&settings)?;
    let (shape, names) = architectures::read(&settings)?;
    if shape.classifier.is_some() && settings.classifies_texts()? == Some(true) {
        let name = settings.architecture();
        return Err(Error::unsupported(format!(
            "{name}: is a classifier of texts: its head is not written to GGUF files"
        )));
    }
    let of_vectors = pooling(&package, shape.pooling, shape.max_tokens)?;
    let options = EncoderOptions::new();
    let devices = DeviceMap::new(backend, &Placement::default()).outline();
    let (encoder, weights) = Encoder::with_weights(package, backend, &options, devices)?;

    let mut keys = shape.keys();
    (written.keys)(&shape, &settings, &mut keys)?;
    keys.extend(of_vectors.unwrap_or_default());
    let (keys, file) =
        settled(written.name, keys, &[], architectures::shape, |settings| architectures::read(settings).map(drop))?;
    check_same(&comparable(&shape, &file), &comparable(&file, &file), written.name)?;
    let tensors = weights.loaded().iter().map(|loaded| planned(loaded, &shape, &names)).collect();
    let vocabulary = i64::try_from(encoder.vocabulary()).unwrap_or(0);
    let tasks = shape.tasks.map_or(Vec::new(), |tasks| tasks.names);
    Ok(Plan { architecture: written.name, keys, whole: Vec::new(), tensors, names, vocabulary, tasks })
}

/// What the GGUF file of an adapter for a task of this folder has.
///
/// # Errors
/// As [`plan`]; [`ErrorKind::Invalid`](crate::ErrorKind) for a task that the folder does not have.
pub(crate) fn plan_of_task(package: Package, task: &str, backend: &Backend) -> Result<Plan> {
    let written = architectures::written(&package.settings)?;
    let (shape, names) = architectures::read(&package.settings)?;
    let devices = DeviceMap::new(backend, &Placement::default()).outline();
    let (encoder, weights) = Encoder::with_weights(package, backend, &EncoderOptions::new().task(task), devices)?;
    let tasks = shape.tasks.ok_or_else(|| Error::internal("a task of a model without tasks"))?;
    let number = tasks.number(task).ok_or_else(|| Error::internal("a task that is not known"))?;
    let mut whole: Vec<(String, Value)> = vec![
        ("general.type".into(), "adapter".into()),
        ("adapter.type".into(), "lora".into()),
        ("adapter.lora.alpha".into(), Value::F32(tasks.alpha as f32)),
        ("adapter.lora.task_name".into(), task.into()),
    ];
    let instruction = tasks.instructions[number].clone();
    whole.push(("adapter.lora.prompt_prefix".into(), instruction.into()));
    let loaded = weights.loaded_by_adapters().into_iter().flat_map(|(_, loaded)| loaded);
    let plain = |of: Loaded| Planned::plain(of.name, of.tensor.shape(), of.tensor.dtype());
    Ok(Plan {
        architecture: written.name,
        keys: Vec::new(),
        whole,
        tensors: loaded.map(plain).collect(),
        names: names_of_task(&names, number as u64, i64::try_from(tasks.names.len()).unwrap_or(0)),
        vocabulary: i64::try_from(encoder.vocabulary()).unwrap_or(0),
        tasks: Vec::new(),
    })
}

/// A shape without what GGUF files say by their tensors, or leave to the reader of those.
fn comparable(shape: &Shape, file: &Shape) -> Shape {
    let mut made = shape.clone();
    made.classifier = None;
    // Files of their own have these.
    made.tasks = None;
    if let Positions::Rows { rows, first } = &mut made.positions {
        (*rows, *first) = (*rows - *first, 0);
    }
    if matches!(file.activation, Activation::GatedIfStored(_)) {
        made.activation = file.activation;
    }
    made
}

/// A tensor of the GGUF file.
fn planned(loaded: &Loaded, shape: &Shape, names: &HubNames) -> Planned {
    let (name, extents) = (loaded.name.clone(), loaded.tensor.shape());
    let mut made = Planned::plain(name.clone(), extents.clone(), loaded.tensor.dtype());
    made.name = (names.in_gguf)(&name).unwrap_or(name);
    // The rows before that of the first token belong to padding.
    if let (Positions::Rows { rows, first: first @ 1.. }, "position_embd.weight") =
        (&shape.positions, loaded.name.as_str())
    {
        let range = |n: i64| usize::try_from(n).unwrap_or(0);
        made.order = Order::Rows((range(*first)..range(*rows)).collect());
        made.shape = vec![extents[0], rows - first];
        made.reading = Reading::Tensor { name: loaded.name.clone(), shape: extents };
    }
    made
}
