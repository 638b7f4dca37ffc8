//! Parts of tensors, for models that are divided over ranks.

use super::segments::{self, Segment};
use super::{check, nbytes, Files, HubName, Mode, Weights};
use crate::files::{SafeSet, Stored};
use crate::{Error, Result};
use std::ops::Range;
use tensorlib::nn::Linear;
use tensorlib::{DType, Tensor};

/// How many bytes are collected before they are written to a leaf.
const PIECE: usize = 4 << 20;

/// The elements of a tensor that lie in some ranges of one dimension, in this order. In dimension 0 the ranges consist of
/// whole blocks of the tensor's type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorPart {
    pub dim: usize,
    pub ranges: Vec<Range<i64>>,
}

impl TensorPart {
    /// Rows of a matrix.
    pub fn rows(ranges: impl IntoIterator<Item = Range<i64>>) -> Self {
        let mut all: Vec<Range<i64>> = Vec::new();
        for range in ranges {
            match all.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => all.push(range),
            }
        }
        TensorPart { dim: 1, ranges: all }
    }

    /// Columns of a matrix, whose product is a term of the sum over all ranks.
    pub fn columns(range: Range<i64>) -> Self {
        TensorPart { dim: 0, ranges: vec![range] }
    }

    /// How many indices of the dimension belong to the part.
    fn len(&self) -> i64 {
        self.ranges.iter().map(|range| range.end - range.start).sum()
    }

    /// The part's shape, if this is the whole tensor's.
    fn shape(&self, whole: &[i64]) -> Vec<i64> {
        let mut shape = whole.to_vec();
        shape[self.dim] = self.len();
        shape
    }

    /// Whether the part of a tensor of this shape is all of it.
    fn is_all(&self, whole: &[i64]) -> bool {
        self.ranges.len() == 1 && self.ranges[0] == (0..whole[self.dim])
    }

    /// The elements that follow each other in the whole tensor: their beginnings and ends.
    fn runs<'a>(&'a self, whole: &'a [i64]) -> impl Iterator<Item = Range<u64>> + 'a {
        let inside: i64 = whole[..self.dim].iter().product();
        let outside: i64 = whole[self.dim + 1..].iter().product();
        let element = move |index: i64| u64::try_from(index * inside).unwrap_or(0);
        let ranges = self.ranges.iter().filter(|range| !range.is_empty());
        (0..outside).flat_map(move |outer| {
            let first = outer * whole[self.dim];
            ranges.clone().map(move |range| element(first + range.start)..element(first + range.end))
        })
    }
}

impl Weights {
    /// The part of a tensor of this name and, as a whole, this shape, or all of it. Files are read only where the part lies,
    /// except those whose tensors are not stored as they are used: there the whole tensor is loaded for a moment.
    pub fn get_part(&self, name: &str, shape: &[i64], part: Option<&TensorPart>) -> Result<Tensor> {
        self.find_part(name, shape, part)?.ok_or_else(|| self.missing(name, shape))
    }

    /// [`Weights::get_part`] of a tensor that may be missing.
    pub fn find_part(&self, name: &str, shape: &[i64], part: Option<&TensorPart>) -> Result<Option<Tensor>> {
        let part = part.filter(|part| !part.is_all(shape) && self.mode.get() != Mode::Elsewhere);
        let Some(part) = part else { return self.find(name, shape) };
        let found = match &self.files {
            Files::Gguf(file) => {
                let there = self.gguf_name(name);
                match file.tensor_info(&there) {
                    Some(info) => {
                        check(&there, &info.shape, info.dtype.name(), shape)?;
                        self.taken.borrow_mut().insert(there);
                        let place = |element: u64| usize::try_from(nbytes(info.dtype, element)).unwrap_or(usize::MAX);
                        let read = |run: &Range<u64>, to: &mut Vec<u8>| {
                            to.extend_from_slice(&info.data[place(run.start)..place(run.end)]);
                            Ok(())
                        };
                        Some(self.load_part(name, (info.dtype, shape), part, read)?)
                    }
                    None => self.cut(name, shape, part)?,
                }
            }
            Files::Hub { set, entries, names } => {
                let find = |name: &str| entries.get(name).map(|i| &set.entries()[*i]);
                let of = (names.of)(name);
                let is_plain = matches!(of, HubName::One(_)) && names.quantization.ternary.is_none();
                let segments = if is_plain { segments::of(of, find, shape)? } else { Vec::new() };
                match segments.first() {
                    Some(segment) if !(names.less_one)(name) && self.is_stored(set, segment)? => {
                        let entry = segment.entry;
                        self.taken.borrow_mut().insert(entry.name.clone());
                        let place = |element: u64| entry.stored.nbytes(element);
                        let read = |run: &Range<u64>, to: &mut Vec<u8>| {
                            let (first, end) = (place(run.start), place(run.end));
                            to.extend(set.read(entry, first, usize::try_from(end - first).unwrap_or(usize::MAX))?);
                            Ok(())
                        };
                        Some(self.load_part(name, (entry.known_type()?, shape), part, read)?)
                    }
                    _ => self.cut(name, shape, part)?,
                }
            }
        };
        if let Some(leaf) = &found {
            self.keep(name, self.devices.device(name), leaf);
        }
        Ok(found)
    }

    /// Whether a folder's tensor is stored as it is used.
    fn is_stored(&self, set: &SafeSet, segment: &Segment) -> Result<bool> {
        Ok(matches!(segment.entry.stored, Stored::As(_)) && self.scales(set, segment.entry)?.is_none())
    }

    /// Makes a leaf of a part of a tensor with this type and shape. `read` appends the bytes of some elements.
    fn load_part(
        &self,
        name: &str,
        (stored, shape): (DType, &[i64]),
        part: &TensorPart,
        read: impl Fn(&Range<u64>, &mut Vec<u8>) -> Result<()>,
    ) -> Result<Tensor> {
        let (to, own) = (self.wanted(name, stored, shape).unwrap_or(stored), part.shape(shape));
        let is_whole = |end: i64| [stored, to].iter().all(|dtype| end % dtype.block_size() == 0);
        if part.dim == 0 && !part.ranges.iter().all(|range| is_whole(range.start) && is_whole(range.end)) {
            let message = format!("tensor '{name}' of {stored}: its blocks end elsewhere than those of the matrix");
            return Err(Error::unsupported(message).with_hint("open the model in one process"));
        }
        if self.is_shape_alone(own.iter().product(), name) {
            return self.shape_alone(name, to, &own);
        }
        let leaf = self.context_with_data(name).zeros(to, &own)?;
        leaf.set_name(name)?;
        let (mut at, mut collected) = (0, Vec::new());
        let mut write = |bytes: &mut Vec<u8>| -> Result<()> {
            let converted = match stored == to {
                true => std::mem::take(bytes),
                false => self.part_bytes(name, to, &stored.dequantize(&std::mem::take(bytes))?, row_of(&own))?,
            };
            leaf.write_bytes(at, &converted)?;
            at += converted.len();
            Ok(())
        };
        for run in part.runs(shape) {
            read(&run, &mut collected)?;
            if collected.len() >= PIECE {
                write(&mut collected)?;
            }
        }
        if !collected.is_empty() {
            write(&mut collected)?;
        }
        self.constant(leaf)
    }

    /// A part of a tensor that has to be loaded as a whole.
    fn cut(&self, name: &str, shape: &[i64], part: &TensorPart) -> Result<Option<Tensor>> {
        let Some(whole) = self.in_mode(Mode::Apart, || self.find(name, shape))? else { return Ok(None) };
        let (dtype, own) = (whole.dtype(), part.shape(shape));
        if self.is_shape_alone(own.iter().product(), name) {
            return self.shape_alone(name, dtype, &own).map(Some);
        }
        let place = |element: u64| usize::try_from(nbytes(dtype, element)).unwrap_or(usize::MAX);
        let read = |run: &Range<u64>, to: &mut Vec<u8>| {
            let n = to.len();
            to.resize(n + place(run.end) - place(run.start), 0);
            Ok(whole.read_bytes(place(run.start), &mut to[n..])?)
        };
        self.load_part(name, (dtype, shape), part, read).map(Some)
    }

    /// The elements in whose multiples columns of this matrix can be divided: a block of the type that it is stored in, or
    /// converted to.
    pub fn column_block(&self, name: &str) -> i64 {
        let of_files = match &self.files {
            Files::Gguf(file) => file.tensor_info(&self.gguf_name(name)).map_or(256, |info| info.dtype.block_size()),
            Files::Hub { names, .. } if names.quantization.ternary.is_some() => 256,
            Files::Hub { .. } => 1,
        };
        of_files.max(self.stored_as.map_or(1, DType::block_size))
    }

    /// [`Weights::linear`] with a part of the matrix, and of what is added to its products: for columns, only the first
    /// rank adds the bias.
    pub fn linear_part(&self, name: &str, inputs: i64, outputs: i64, part: Option<&TensorPart>) -> Result<Linear> {
        let shape = [inputs, outputs];
        let Some(part) = part.filter(|part| !part.is_all(&shape)) else { return self.linear(name, inputs, outputs) };
        let (matrix, bias) = (format!("{name}.weight"), format!("{name}.bias"));
        let adapters = self.adapters_of_part(&matrix, &shape, Some(part))?;
        let layer = self.matrix(self.get_part(&matrix, &shape, Some(part))?).with_adapters(adapters);
        Ok(Linear { bias: self.bias_part(&bias, &[outputs], part)?, ..layer })
    }

    /// The part of the bias that belongs to a part of a matrix, or of each matrix of a stack.
    pub fn bias_part(&self, name: &str, shape: &[i64], part: &TensorPart) -> Result<Option<Tensor>> {
        match part.dim {
            1 => self.find_part(name, shape, Some(&TensorPart { dim: 0, ranges: part.ranges.clone() })),
            _ if self.adds_biases => self.find(name, shape),
            _ => self.in_mode(Mode::Elsewhere, || self.find(name, shape)).map(|_| None),
        }
    }
}

fn row_of(shape: &[i64]) -> usize {
    usize::try_from(shape[0]).unwrap_or(0).max(1)
}
