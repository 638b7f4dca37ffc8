//! A model's tensors as leafs, by their GGUF names.

mod adapter;
mod device_map;
mod heads;
mod hub_names;
mod layers;
mod left;
mod load;
mod parts;
mod rearranged;
mod scales;
mod segments;
mod tasks;
mod ternary;
mod tuned;

pub use adapter::Adapter;
pub use device_map::{DeviceMap, Rows};
pub use heads::HeadRows;
pub use hub_names::{HubName, HubNames, Slice, Stack};
pub use parts::TensorPart;
pub use scales::Quantization;
pub use tasks::{names as names_of_task, Tasks};
pub use ternary::Ternary;
pub use tuned::Tuned;

use crate::files::{dims, is_elementwise, nbytes, SafeSet, Source};
use crate::placement::Placed;
use crate::warnings::Warnings;
use crate::{Error, Result};
use hub_names::way_of_naming;
pub use load::check_range;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use tensorlib::{Context, DType, Gguf, Kind, Tensor};

/// A loaded tensor, or some rows of it.
#[derive(Clone)]
pub struct Loaded {
    /// Its name in GGUF.
    pub name: String,
    /// The number of its device.
    pub device: usize,
    pub tensor: Tensor,
}

impl Loaded {
    /// The device that it lies on, and its bytes there.
    pub fn placed(&self) -> Placed {
        Placed { name: self.name.clone(), device: self.device, bytes: self.tensor.nbytes() }
    }
}

enum Files {
    Gguf(Gguf),
    Hub { set: SafeSet, entries: HashMap<String, usize>, names: HubNames },
}

/// Where leafs are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// In the model's contexts.
    Kept,
    /// Each in a context of its own, for a caller that keeps something else.
    Apart,
    /// On another rank: here, large leafs have shapes alone.
    Elsewhere,
}

/// The tensors of one model, as constant leafs.
pub struct Weights {
    files: Files,
    /// [`HubNames::in_gguf`].
    gguf_name: fn(&str) -> Option<String>,
    devices: DeviceMap,
    /// A context on each device.
    contexts: Vec<Context>,
    stored_as: Option<DType>,
    loaded: RefCell<Vec<Loaded>>,
    /// The files' names of the tensors found so far.
    taken: RefCell<HashSet<String>>,
    adapters: Vec<Adapter>,
    /// Whether no product may round what it multiplies with a matrix.
    exact: bool,
    /// The matrices that get adapters to train.
    tuned: Option<Tuned>,
    mode: Cell<Mode>,
    /// Contexts without memory, for leafs that other ranks have.
    elsewhere: Vec<Context>,
    /// Whether this rank is the one that adds biases to sums over the ranks.
    adds_biases: bool,
}

impl Weights {
    /// Reads tensors from these files. `stored_as` is the type that matrices are converted to when they are loaded.
    pub fn new(source: Source, names: HubNames, devices: DeviceMap, stored_as: Option<DType>) -> Result<Self> {
        if let Some(to) = stored_as.filter(|to| !matches!(to.kind(), Kind::Floating | Kind::Weight)) {
            return Err(Error::invalid(format!(
                "weights stored as {to}: floats, and blocks of weights as q8_0, are valid"
            )));
        }
        let gguf_name = names.in_gguf;
        let files = match source {
            Source::Gguf(file) => Files::Gguf(file),
            Source::Safetensors(set) => {
                let entries = set.entries().iter().enumerate().map(|(i, e)| (e.name.clone(), i)).collect();
                Files::Hub { set, entries, names }
            }
        };
        let contexts = devices.contexts("weights")?;
        let elsewhere = devices.clone().outline().contexts("weights of other ranks")?;
        let (loaded, taken) = (RefCell::default(), RefCell::default());
        let adapters = Vec::new();
        Ok(Weights {
            files,
            gguf_name,
            devices,
            contexts,
            stored_as,
            loaded,
            taken,
            adapters,
            exact: false,
            tuned: None,
            mode: Cell::new(Mode::Kept),
            elsewhere,
            adds_biases: true,
        })
    }

    /// For one of several ranks: says whether it is the one that adds biases to sums over the ranks.
    pub fn adding_biases(mut self, adds_biases: bool) -> Self {
        self.adds_biases = adds_biases;
        self
    }

    /// Whether what is loaded lies on another rank.
    pub fn is_elsewhere(&self) -> bool {
        self.mode.get() == Mode::Elsewhere
    }

    /// Loads what another rank has: checks it, and takes no memory for large tensors.
    pub fn elsewhere<T>(&self, load: impl FnOnce() -> Result<T>) -> Result<T> {
        self.in_mode(Mode::Elsewhere, load)
    }

    fn in_mode<T>(&self, mode: Mode, load: impl FnOnce() -> Result<T>) -> Result<T> {
        // What is elsewhere stays there.
        let before = self.mode.get();
        self.mode.set(if before == Mode::Elsewhere { before } else { mode });
        let loaded = load();
        self.mode.set(before);
        loaded
    }

    /// Adds adapters, which apply to matrices loaded later.
    pub fn with_adapters(mut self, adapters: Vec<Adapter>) -> Self {
        self.adapters = adapters;
        self
    }

    /// Call it when all tensors are loaded: freezes the contexts, and checks that neither the model nor an adapter has
    /// tensors left that matter.
    pub fn finish(&self, warnings: &Warnings) -> Result<()> {
        self.freeze();
        left::check(self.left(), &self.taken.borrow(), self.is_hub(), warnings)?;
        self.adapters.iter().try_for_each(Adapter::finish)
    }

    /// Call it when all tensors are loaded: nothing can be added then.
    pub fn freeze(&self) {
        self.contexts.iter().for_each(Context::freeze);
    }

    /// The contexts of all leafs, one on each device.
    pub fn contexts(&self) -> &[Context] {
        &self.contexts
    }

    /// The context of the device that a tensor of this name goes to.
    fn context(&self, name: &str) -> &Context {
        let contexts = if self.mode.get() == Mode::Elsewhere { &self.elsewhere } else { &self.contexts };
        &contexts[self.devices.device(name)]
    }

    /// The context for a leaf with data. An outline's own contexts allocate nothing, so there each such leaf gets a
    /// context of its own.
    fn context_with_data(&self, name: &str) -> Context {
        match self.devices.is_outline() || self.devices.is_singly() || self.mode.get() != Mode::Kept {
            true => Context::on(self.devices.part(name)),
            false => self.context(name).clone(),
        }
    }

    /// Makes a leaf of these values, which the files do not have.
    pub fn made(&self, values: &[f32]) -> Result<Tensor> {
        let leaf = self.contexts[0].zeros(DType::F32, [values.len() as i64])?;
        if !self.devices.is_outline() {
            leaf.write(values)?;
        }
        Ok(leaf)
    }

    /// [`Weights::made`] for a matrix.
    pub fn made_as(&self, values: &[f32], shape: &[i64]) -> Result<Tensor> {
        let leaf = self.contexts[0].zeros(DType::F32, shape)?;
        leaf.write(values)?;
        Ok(leaf)
    }

    /// Whether large tensors have shapes alone.
    pub fn is_outline(&self) -> bool {
        self.devices.is_outline() || self.mode.get() == Mode::Elsewhere
    }

    /// A small tensor of this name and shape as F32, with its last dimension first: [last, all others].
    pub fn transposed(&self, name: &str, shape: &[i64]) -> Result<Tensor> {
        let stored = self.get(name, shape)?;
        let last = shape.last().copied().unwrap_or(1);
        let others = shape[..shape.len().saturating_sub(1)].iter().product::<i64>();
        let (columns, rows) = (usize::try_from(others).unwrap_or(0), usize::try_from(last).unwrap_or(0));
        let leaf = self.context_with_data(name).zeros(DType::F32, [last, others])?;
        if !self.is_shape_alone(last * others, name) {
            let values = stored.to_f32_vec()?;
            let turned: Vec<f32> = (0..columns)
                .flat_map(|column| (0..rows).map(move |row| row * columns + column))
                .map(|i| values[i])
                .collect();
            leaf.write(&turned)?;
        }
        self.constant(leaf)
    }

    /// As [`DeviceMap::neurons`].
    pub fn neurons(&self, layer: usize, count: i64) -> Result<Option<[Rows; 2]>> {
        self.devices.neurons(layer, count)
    }

    /// The tensor of this name and shape, or some of its rows. Rows can be read from GGUF files only.
    pub fn rows(&self, name: &str, shape: &[i64], rows: Option<&Rows>) -> Result<Tensor> {
        let Some(rows) = rows else { return self.get(name, shape) };
        let Files::Gguf(file) = &self.files else {
            return Err(Error::unsupported(format!("tensor '{name}': rows of it alone are read from GGUF files")));
        };
        let Some(info) = file.tensor_info(name) else {
            return Err(self.missing(name, shape));
        };
        check(name, &info.shape, info.dtype.name(), shape)?;
        self.taken.borrow_mut().insert(name.to_string());
        let (from, to) = (info.dtype, self.wanted(name, info.dtype, shape).unwrap_or(info.dtype));
        let ctx = &self.contexts[rows.device];
        let leaf = ctx.zeros(to, [shape[0], rows.numbers.len() as i64])?;
        leaf.set_name(name)?;
        if self.devices.is_outline() {
            self.keep(name, rows.device, &leaf);
            return Ok(leaf);
        }
        let row_bytes = usize::try_from(nbytes(from, shape[0] as u64)).unwrap_or(0);
        let mut at = 0;
        for run in rows.numbers.chunk_by(|a, b| a + 1 == *b) {
            let first = run[0] as usize * row_bytes;
            let data = &info.data[first..first + run.len() * row_bytes];
            at += self.write_as(&leaf, at, data, from)?;
        }
        let leaf = self.constant(leaf)?;
        self.keep(name, rows.device, &leaf);
        Ok(leaf)
    }

    fn keep(&self, name: &str, device: usize, leaf: &Tensor) {
        if self.mode.get() == Mode::Kept {
            self.loaded.borrow_mut().push(Loaded { name: name.to_string(), device, tensor: leaf.clone() });
        }
    }

    /// Forgets the tensors found so far. With [`DeviceMap::singly`] the memory of those that nobody else has is freed.
    pub fn forget(&self) {
        self.loaded.borrow_mut().clear();
    }

    /// All tensors found so far, each once.
    pub fn loaded(&self) -> Vec<Loaded> {
        self.loaded.borrow().clone()
    }

    /// The tensor of this name and shape; fails if it is missing.
    pub fn get(&self, name: &str, shape: &[i64]) -> Result<Tensor> {
        self.find(name, shape)?.ok_or_else(|| self.missing(name, shape))
    }

    /// An error about a tensor that the files do not have.
    fn missing(&self, name: &str, shape: &[i64]) -> Error {
        Error::format(format!("tensor '{}' is missing: {shape:?} is expected", self.called(name)))
    }

    /// The tensor of this name and shape, if it exists.
    pub fn find(&self, name: &str, shape: &[i64]) -> Result<Option<Tensor>> {
        let leaf = match &self.files {
            Files::Gguf(file) => {
                let there = self.gguf_name(name);
                let Some(info) = file.tensor_info(&there) else { return self.find_experts(file, name, shape) };
                check(&there, &info.shape, info.dtype.name(), shape)?;
                self.taken.borrow_mut().insert(there.clone());
                match self.is_shape_alone(info.shape.iter().product(), name) {
                    true => self.shape_alone(name, info.dtype, shape)?,
                    false => self.converted(name, file.tensor(&self.context_with_data(name), &there)?)?,
                }
            }
            Files::Hub { set, entries, names } => {
                if let Some(leaf) = self.find_ternary(name, shape)? {
                    self.keep(name, self.devices.device(name), &leaf);
                    return Ok(Some(leaf));
                }
                let find = |name: &str| entries.get(name).map(|i| &set.entries()[*i]);
                let segments = segments::of((names.of)(name), find, shape)?;
                if segments.is_empty() {
                    return Ok(None);
                }
                self.taken.borrow_mut().extend(segments.iter().map(|segment| segment.entry.name.clone()));
                let plus = if (names.less_one)(name) { 1.0 } else { 0.0 };
                self.load(set, name, &segments, shape, plus)?
            }
        };
        self.keep(name, self.devices.device(name), &leaf);
        Ok(Some(leaf))
    }

    /// Calls `take` for each tensor of the files and of the adapters' files, with its name, type and shape, and some of its
    /// bytes.
    pub fn describe(&self, take: &mut dyn FnMut(&str, &[u8])) -> Result<()> {
        /// Bytes of each end of a tensor.
        const SAMPLED: usize = 256;
        match &self.files {
            Files::Gguf(file) => file.tensors().for_each(|info| {
                let ends =
                    [&info.data[..SAMPLED.min(info.data.len())], &info.data[info.data.len().saturating_sub(SAMPLED)..]];
                take(&format!("{} {} {:?}", info.name, info.dtype, info.shape), &ends.concat());
            }),
            Files::Hub { set, .. } => {
                for entry in set.entries() {
                    let (all, n) = (entry.nbytes, (SAMPLED as u64).min(entry.nbytes));
                    let sample = |first: u64| set.read(entry, first, SAMPLED.min(usize::try_from(n).unwrap_or(0)));
                    let ends = [sample(0)?, sample(all - n)?].concat();
                    take(&format!("{} {} {:?}", entry.name, entry.type_name, entry.shape), &ends);
                }
            }
        }
        self.adapters.iter().try_for_each(|adapter| adapter.describe(take))
    }

    /// The adapters' tensors found so far, and the factor of each adapter.
    pub fn loaded_by_adapters(&self) -> Vec<(f64, Vec<Loaded>)> {
        self.adapters.iter().map(Adapter::loaded).collect()
    }

    /// Leaves out a tensor that the model has no use for.
    pub fn leave(&self, name: &str) {
        self.taken.borrow_mut().insert(self.called(name));
    }

    /// Leaves out the tensors of a layer.
    pub fn leave_layer(&self, layer: i64) {
        let (prefix, inside) = (format!("blk.{layer}."), format!("layers.{layer}."));
        let is_of_layer = |name: &String| match self.is_hub() {
            true => name.contains(&inside),
            false => name.starts_with(&prefix),
        };
        let names = self.left().into_iter().filter(is_of_layer);
        let names: Vec<String> = names.collect();
        self.taken.borrow_mut().extend(names);
    }

    /// The tensors of the files that were not asked for.
    pub fn left(&self) -> Vec<String> {
        let taken = self.taken.borrow();
        let all: Vec<String> = match &self.files {
            Files::Gguf(file) => file.tensors().map(|t| t.name.to_string()).collect(),
            Files::Hub { set, .. } => set.entries().iter().map(|e| e.name.clone()).collect(),
        };
        all.into_iter().filter(|name| !taken.contains(name)).collect()
    }

    /// Whether the files are a hub folder's.
    pub fn is_hub(&self) -> bool {
        matches!(self.files, Files::Hub { .. })
    }

    /// The name of a tensor in a GGUF file: the architecture's, unless the file has the usual one.
    fn gguf_name(&self, name: &str) -> String {
        let has_usual = matches!(&self.files, Files::Gguf(file) if file.tensor_info(name).is_some());
        (self.gguf_name)(name).filter(|_| !has_usual).unwrap_or_else(|| name.to_string())
    }

    /// The files' name of a tensor, for messages.
    pub fn called(&self, name: &str) -> String {
        match &self.files {
            Files::Gguf(_) => self.gguf_name(name),
            Files::Hub { names, entries, .. } => match (names.of)(name) {
                HubName::One(all) => {
                    let first = all.first().cloned().unwrap_or_else(|| name.to_string());
                    all.get(way_of_naming(names, entries)).cloned().unwrap_or(first)
                }
                HubName::Stack(stack) => (stack.of)(0).into_iter().next().unwrap_or_else(|| name.to_string()),
                HubName::Rows { names: all, .. } | HubName::Slice(Slice { names: all, .. }) => {
                    all.get(way_of_naming(names, entries)).or(all.first()).cloned().unwrap_or_else(|| name.to_string())
                }
            },
        }
    }

    /// The shape of a tensor, if it exists.
    pub fn shape_of(&self, name: &str) -> Option<Vec<i64>> {
        match &self.files {
            Files::Gguf(file) => file.tensor_info(&self.gguf_name(name)).map(|info| info.shape),
            Files::Hub { set, entries, names } => {
                let shape = |name: &str| entries.get(name).map(|i| set.entries()[*i].shape.clone());
                match (names.of)(name) {
                    HubName::One(all) | HubName::Rows { names: all, .. } => all.iter().find_map(|name| shape(name)),
                    HubName::Slice(Slice { names: all, .. }) => all
                        .iter()
                        .find_map(|name| shape(name))
                        .map(|of_all| of_all.split_last().map_or(Vec::new(), |(_, of_one)| of_one.to_vec())),
                    HubName::Stack(Stack { of, .. }) => {
                        let shape_of = |i: usize| of(i).iter().find_map(|name| shape(name));
                        let count = (0..).take_while(|i| shape_of(*i).is_some()).count() as i64;
                        shape_of(0).map(|of_one| [&of_one[..], &[count]].concat())
                    }
                }
            }
        }
    }

    /// The number of rows of the token embeddings, which is the size of the vocabulary.
    pub fn vocabulary(&self, width: i64) -> Result<i64> {
        let name = "token_embd.weight";
        let shape = self.shape_of(name);
        let shape = shape.ok_or_else(|| Error::format(format!("tensor '{}' is missing", self.called(name))))?;
        match shape[..] {
            [columns, rows] if columns == width && rows > 0 => Ok(rows),
            _ => {
                let message = format!("tensor '{}' is {shape:?}: [{width}, tokens] is expected", self.called(name));
                Err(Error::format(message))
            }
        }
    }

    /// Small tensors are always loaded, because models compute with their values.
    fn is_shape_alone(&self, elements: i64, name: &str) -> bool {
        const LARGE: i64 = 1 << 12;
        self.is_outline() && elements >= LARGE && !is_elementwise(name)
    }

    fn shape_alone(&self, name: &str, stored: DType, shape: &[i64]) -> Result<Tensor> {
        let leaf = self.context(name).zeros(self.wanted(name, stored, shape).unwrap_or(stored), shape)?;
        leaf.set_name(name)?;
        Ok(leaf)
    }

    /// The type that a matrix is converted to.
    fn wanted(&self, name: &str, stored: DType, shape: &[i64]) -> Option<DType> {
        let is_matrix = shape.len() > 1 && stored.kind() != Kind::Integer && !is_elementwise(name);
        self.stored_as.filter(|to| is_matrix && *to != stored && shape[0] % to.block_size() == 0)
    }

    fn converted(&self, name: &str, leaf: Tensor) -> Result<Tensor> {
        match self.wanted(name, leaf.dtype(), &leaf.shape()) {
            Some(to) => {
                if to == DType::F16 {
                    check_range(name, to, &leaf.to_f32_vec()?)?;
                }
                self.constant(self.devices.part(name).quantize_tensor(&leaf, to, None)?)
            }
            None => Ok(leaf),
        }
    }

    fn constant(&self, leaf: Tensor) -> Result<Tensor> {
        leaf.set_constant()?;
        Ok(leaf)
    }
}

fn check(name: &str, found: &[i64], dtype: String, expected: &[i64]) -> Result<()> {
    if dims(found) == dims(expected) {
        return Ok(());
    }
    let message = format!("tensor '{name}' is {found:?} {dtype}: {expected:?} is expected by the model's settings");
    Err(Error::format(message).with_hint("settings and tensors are not of one model, or of two versions of it"))
}
