//! Computes the modules after the pooling.

use super::dense::{Activation, Dense};
use super::list::{Kind, Module, ModuleList};
use crate::files::Source;
use crate::warnings::Warnings;
use crate::weight_memory::{Memory, WeightMemory};
use crate::weights::{DeviceMap, HubName, HubNames, Loaded, Weights};
use crate::{Error, Result};
use std::path::Path;
use tensorlib::nn::{LayerNorm, Linear, Module as _, Pass};
use tensorlib::{Backend, Context, DType, Gguf, Graph, Tensor};

/// PyTorch's number that is added to variances and lengths.
const NORM_EPS: f64 = 1e-5;
const LENGTH_EPS: f64 = 1e-12;

/// A module's weights.
enum Step {
    Dense { of: Dense, linear: Linear, residual: Option<Linear> },
    LayerNorm(LayerNorm),
    Normalize,
}

/// The modules after the pooling, which make a vector of a text's pooled one.
pub(crate) struct Tail {
    steps: Vec<Step>,
    outputs: usize,
    loaded: Vec<Loaded>,
    weight_memory: WeightMemory,
    backend: Backend,
}

/// How weights are loaded.
pub(crate) struct Loading<'a> {
    pub devices: DeviceMap,
    pub stored_as: Option<DType>,
    pub exact: bool,
    pub backend: &'a Backend,
    pub warnings: &'a Warnings,
}

impl Tail {
    /// Loads the modules of a list, for vectors of `width` elements; `None` if there are none with weights. `file` is
    /// the model's own, if it is one of GGUF.
    pub fn load(list: &ModuleList, file: Option<&Gguf>, width: i64, loading: &Loading) -> Result<Option<Self>> {
        // Vectors get the length 1 at the end anyway.
        if list.modules.iter().all(|module| matches!(module.kind, Kind::Normalize)) {
            return Ok(None);
        }
        let (mut steps, mut width) = (Vec::new(), width);
        let (mut loaded, mut contexts) = (Vec::new(), Vec::new());
        for module in &list.modules {
            let Some(inputs) = module.inputs() else {
                steps.push(Step::Normalize);
                continue;
            };
            let place = module.place();
            if inputs != width {
                let message = format!("{place}: takes vectors of {inputs} elements: it gets {width}");
                return Err(Error::format(message));
            }
            let weights = module.weights(file, loading)?;
            let step = module.load(&weights).map_err(|e| e.about(&place))?;
            match module.file {
                Some(_) => weights.finish(loading.warnings)?,
                None => weights.freeze(),
            }
            if let Step::Dense { of, .. } = &step {
                width = of.outputs;
            }
            loaded.extend(weights.loaded());
            contexts.extend_from_slice(weights.contexts());
            steps.push(step);
        }
        let weight_memory = WeightMemory::new(loaded.clone(), &contexts, loading.backend);
        let outputs = usize::try_from(width).unwrap_or(0);
        Ok(Some(Tail { steps, outputs, loaded, weight_memory, backend: loading.backend.clone() }))
    }

    /// Loads the product with a file's only matrix `weight` and its `bias`, through a rectifier if `rectified`. `name` is
    /// that of its tensors.
    pub fn of_file(file: &Path, name: &str, width: i64, rectified: bool, loading: &Loading) -> Result<Self> {
        let entries = opened(file)?.entries();
        let outputs = entries.iter().find(|entry| entry.name == "weight").and_then(|entry| entry.shape.get(1).copied());
        let activation = if rectified { Activation::Relu } else { Activation::Identity };
        let outputs = outputs.unwrap_or(1);
        let dense = Dense { inputs: width, outputs, bias: Some(true), activation, residual: false, scores: false };
        let module = Module { kind: Kind::Dense(dense), name: name.into(), file: Some(file.into()), prefix: "" };
        let list = ModuleList { modules: vec![module], ..ModuleList::default() };
        Self::load(&list, None, width, loading)?.ok_or_else(|| Error::internal("a module without weights"))
    }

    /// The number of elements of a result.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// The loaded tensors.
    pub fn loaded(&self) -> &[Loaded] {
        &self.loaded
    }

    /// This memory with that of the modules' weights.
    pub fn with_memory(&self, memory: Memory) -> Memory {
        self.weight_memory.added_to(memory)
    }

    /// The results for these vectors.
    ///
    /// # Errors
    /// `ErrorKind::Invalid` for a result that is not finite; errors of the engine.
    pub fn apply(&self, vectors: &[Vec<f64>]) -> Result<Vec<Vec<f64>>> {
        let Some(first) = vectors.first() else { return Ok(Vec::new()) };
        // Products with quantised weights round a single column differently, so it is doubled.
        let columns = vectors.len().max(2);
        let mut values: Vec<f32> = vectors.iter().flatten().map(|x| *x as f32).collect();
        if vectors.len() == 1 {
            values.extend(first.iter().map(|x| *x as f32));
        }
        let ctx = Context::on(&self.backend);
        let mut x = ctx.tensor_of([first.len() as i64, columns as i64], &values)?;
        for step in &self.steps {
            x = step.forward(&x)?;
        }
        let graph = Graph::new(&[&x])?;
        self.weight_memory.keep(|| Ok(graph.compute(&self.backend)?))?;
        self.weight_memory.give_back();
        let found = x.to_vec::<f32>()?;
        if let Some(value) = found.iter().find(|x| !x.is_finite()) {
            let because = self.weight_memory.not_finite().map_or(String::new(), |weight| format!("; {weight}"));
            return Err(Error::invalid(format!(
                "a module after the pooling makes {value}, which is no vector{because}"
            ))
            .with_hint("a weight is damaged, or values are beyond F32's range"));
        }
        let rows = found.chunks_exact(self.outputs.max(1)).take(vectors.len());
        Ok(rows.map(|row| row.iter().map(|x| f64::from(*x)).collect()).collect())
    }
}

impl Step {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let pass = Pass::evaluation();
        Ok(match self {
            Step::Dense { of, linear, residual } => {
                let y = of.activation.forward(linear.forward(x, &pass)?)?;
                match (of.residual, residual) {
                    (true, Some(residual)) => (&y + &residual.forward(x, &pass)?)?,
                    (true, None) => (&y + x)?,
                    (false, _) => y,
                }
            }
            Step::LayerNorm(norm) => norm.forward(x, &pass)?,
            Step::Normalize => x.l2_norm(LENGTH_EPS)?,
        })
    }
}

impl Module {
    /// The width of the vectors that it takes, if it has weights.
    fn inputs(&self) -> Option<i64> {
        match &self.kind {
            Kind::Dense(dense) => Some(dense.inputs),
            Kind::LayerNorm(width) => Some(*width),
            Kind::Normalize => None,
        }
    }

    /// Where its weights are, for messages.
    fn place(&self) -> String {
        match &self.file {
            Some(file) => file.display().to_string(),
            None => self.name.clone(),
        }
    }

    /// Its weights: those of its file, or the model's own.
    fn weights(&self, model: Option<&Gguf>, loading: &Loading) -> Result<Weights> {
        let source = match (&self.file, model) {
            (Some(file), _) => opened(file)?,
            (None, Some(model)) => Source::Gguf(model.clone()),
            (None, None) => return Err(Error::internal("a module without a file")),
        };
        Ok(Weights::new(source, names(self.name.clone(), self.prefix), loading.devices.clone(), loading.stored_as)?
            .exact(loading.exact))
    }

    fn load(&self, weights: &Weights) -> Result<Step> {
        let name = &self.name;
        Ok(match &self.kind {
            Kind::Normalize => Step::Normalize,
            Kind::LayerNorm(width) => Step::LayerNorm(weights.layer_norm(name, *width, NORM_EPS)?),
            Kind::Dense(dense) => {
                let linear = weights.linear(name, dense.inputs, dense.outputs)?;
                if let Some(said) = dense.bias.filter(|said| *said != linear.bias.is_some()) {
                    let (tensor, is) =
                        (weights.called(&format!("{name}.bias")), if said { "missing" } else { "there" });
                    return Err(Error::format(format!(
                        "tensor '{tensor}' is {is}, and config.json says of it: {said}"
                    )));
                }
                let residual = match dense.residual && dense.inputs != dense.outputs {
                    true => Some(weights.linear(&format!("{name}_residual"), dense.inputs, dense.outputs)?),
                    false => None,
                };
                Step::Dense { of: dense.clone(), linear, residual }
            }
        })
    }
}

/// The tensors of a module's file.
fn opened(file: &Path) -> Result<Source> {
    if file.exists() {
        return Source::open(file);
    }
    Err(Error::no_file(format!("{}: does not exist: it has the weights of a module", file.display()))
        .with_hint("weights of PyTorch (pytorch_model.bin) are programs: convert them to safetensors before"))
}

/// PyTorch's names of a module's tensors, which begin with `prefix`.
fn names(module: String, prefix: &'static str) -> HubNames {
    HubNames::new(move |name| {
        let rest = name.strip_prefix(&module).unwrap_or(name);
        let part = rest.strip_prefix('.').unwrap_or(rest);
        HubName::One(vec![match rest.strip_prefix("_residual") {
            Some(end) => format!("residual{end}"),
            None => format!("{prefix}{part}"),
        }])
    })
}
