//! Loads the values of leafs: converted, scaled, or as they are stored.

use super::scales::Scales;
use super::segments::{expert_names, Segment, Transposed};
use super::{check, Files, Weights};
use crate::files::{pieces, Entry, SafeSet};
use crate::{Error, Result};
use tensorlib::{DType, Gguf, Tensor};

/// The number of bytes, or floats, of a tensor that are read at a time.
const PIECE: usize = 4 << 20;
/// F32 values of at least this are rounded to infinity in F16.
const F16_END: f32 = 65520.0;

impl Weights {
    /// Loads a stack of experts' matrices from a GGUF file that has a tensor for each expert, as older files do, or gates
    /// and what they are multiplied with in one.
    pub(super) fn find_experts(&self, file: &Gguf, name: &str, shape: &[i64]) -> Result<Option<Tensor>> {
        let Some(names) = expert_names(file, name) else { return self.find_half(file, name, shape) };
        let (part_shape, count) = (&shape[..shape.len() - 1], names.len() as i64);
        if shape.last() != Some(&count) {
            let wanted = shape.last().copied().unwrap_or(0);
            return Err(Error::format(format!("tensor '{}' and its like: there are {count} of {wanted}", names[0])));
        }
        let infos: Vec<_> = names.iter().filter_map(|name| file.tensor_info(name)).collect();
        let stored = infos[0].dtype;
        for (name, info) in names.iter().zip(&infos) {
            check(name, &info.shape, info.dtype.name(), part_shape)?;
            if info.dtype != stored {
                let message = format!("tensor '{name}' is {}, '{}' {stored}: one type is valid", info.dtype, names[0]);
                return Err(Error::format(message));
            }
        }
        self.taken.borrow_mut().extend(names);
        self.stack(name, stored, shape, infos.iter().map(|info| info.data)).map(Some)
    }

    /// Loads the gates or the other half of a GGUF file's stack, in which each expert has both in one matrix.
    pub(super) fn find_half(&self, file: &Gguf, name: &str, shape: &[i64]) -> Result<Option<Tensor>> {
        let (fused, second) = match name.split_once(".ffn_gate_exps.") {
            Some((layer, end)) => (format!("{layer}.ffn_gate_up_exps.{end}"), false),
            None => match name.split_once(".ffn_up_exps.") {
                Some((layer, end)) => (format!("{layer}.ffn_gate_up_exps.{end}"), true),
                None => return Ok(None),
            },
        };
        let (Some(info), [inputs, outputs, experts]) = (file.tensor_info(&fused), shape) else { return Ok(None) };
        check(&fused, &info.shape, info.dtype.name(), &[*inputs, 2 * outputs, *experts])?;
        self.taken.borrow_mut().insert(fused);
        let of_expert = info.data.len() / usize::try_from(*experts).unwrap_or(1);
        let halves = info.data.chunks_exact(of_expert).map(|both| {
            let (gate, up) = both.split_at(of_expert / 2);
            if second {
                up
            } else {
                gate
            }
        });
        self.stack(name, info.dtype, shape, halves).map(Some)
    }

    /// Loads a leaf from stored parts that follow each other in its last dimension.
    fn stack<'a>(
        &self,
        name: &str,
        stored: DType,
        shape: &[i64],
        parts: impl Iterator<Item = &'a [u8]>,
    ) -> Result<Tensor> {
        let leaf = match self.is_shape_alone(shape.iter().product(), name) {
            true => self.shape_alone(name, stored, shape)?,
            false => {
                let to = self.wanted(name, stored, shape).unwrap_or(stored);
                let leaf = self.context_with_data(name).zeros(to, shape)?;
                leaf.set_name(name)?;
                let mut at = 0;
                for part in parts {
                    at += self.write_as(&leaf, at, part, stored)?;
                }
                self.constant(leaf)?
            }
        };
        self.keep(name, self.devices.device(name), &leaf);
        Ok(leaf)
    }

    /// Writes stored rows to a leaf, which may have another type, from this byte on. Returns how many bytes that took.
    pub(super) fn write_as(&self, leaf: &Tensor, at: usize, data: &[u8], stored: DType) -> Result<usize> {
        let to = leaf.dtype();
        let converted = match stored == to {
            true => None,
            false => Some(to.quantize(&stored.dequantize(data)?, leaf.shape()[0] as usize, None)?),
        };
        let bytes = converted.as_deref().unwrap_or(data);
        leaf.write_bytes(at, bytes)?;
        Ok(bytes.len())
    }

    /// Loads a leaf from one segment, or from several that are stacked in the last dimension.
    pub(super) fn load(
        &self,
        set: &SafeSet,
        name: &str,
        segments: &[Segment],
        shape: &[i64],
        plus: f32,
    ) -> Result<Tensor> {
        let first = segments[0].entry;
        let scales = segments.iter().map(|segment| self.scales(set, segment.entry)).collect::<Result<Vec<_>>>()?;
        let is_scaled = scales.iter().any(Option::is_some);
        let stored = if is_scaled { DType::F32 } else { first.known_type()? };
        let changed = is_scaled || plus != 0.0 || !matches!(first.stored, crate::files::Stored::As(_));
        let dtype = if plus != 0.0 { DType::F32 } else { self.wanted(name, stored, shape).unwrap_or(stored) };
        if self.is_shape_alone(shape.iter().product(), name) {
            return self.shape_alone(name, dtype, shape);
        }
        let leaf = self.context_with_data(name).zeros(dtype, shape)?;
        leaf.set_name(name)?;
        let mut at = 0;
        for (Segment { entry, first, elements, transposed }, scales) in segments.iter().zip(&scales) {
            let row = entry.row().max(1);
            if let Some(Transposed { size, half }) = transposed {
                let matrices = usize::try_from(elements / size.max(&1)).unwrap_or(0);
                for mut piece in pieces(*elements, row, matrices, usize::try_from(*size).unwrap_or(usize::MAX)) {
                    piece.start += first;
                    let mut values = self.values(set, entry, &piece)?;
                    if let Some(scales) = scales {
                        scales.apply(piece.start, &mut values);
                    }
                    let inputs = values.len() / row;
                    let all = match half {
                        None => 0..values.len(),
                        Some(0) => 0..values.len() / 2,
                        Some(_) => values.len() / 2..values.len(),
                    };
                    let turned: Vec<f32> = all.map(|i| values[i % inputs * row + i / inputs]).collect();
                    let bytes = self.part_bytes(name, dtype, &turned, inputs)?;
                    leaf.write_bytes(at, &bytes)?;
                    at += bytes.len();
                }
            } else if changed || dtype != stored {
                for mut piece in pieces(*elements, row, 1, PIECE.max(row)) {
                    piece.start += first;
                    let mut values = self.values(set, entry, &piece)?;
                    if let Some(scales) = scales {
                        scales.apply(piece.start, &mut values);
                    }
                    values.iter_mut().for_each(|v| *v += plus);
                    let bytes = self.part_bytes(name, dtype, &values, piece.row)?;
                    leaf.write_bytes(at, &bytes)?;
                    at += bytes.len();
                }
            } else {
                let (start, n) = (entry.stored.nbytes(*first), entry.stored.nbytes(*elements));
                for piece in pieces(n, 1, 1, PIECE) {
                    leaf.write_bytes(at, &set.read(entry, start + piece.start, piece.n)?)?;
                    at += piece.n;
                }
            }
        }
        self.constant(leaf)
    }

    /// The scales of an entry, if the folder has any.
    pub(super) fn scales(&self, set: &SafeSet, entry: &Entry) -> Result<Option<Scales>> {
        let Files::Hub { entries, names, .. } = &self.files else { return Ok(None) };
        let find = |name: &str| entries.get(name).map(|i| &set.entries()[*i]);
        let found = Scales::find(set, entry, find, names.quantization)?;
        Ok(found.map(|(name, scales)| {
            self.taken.borrow_mut().insert(name);
            scales
        }))
    }

    pub(super) fn values(&self, set: &SafeSet, entry: &Entry, piece: &crate::files::Piece) -> Result<Vec<f32>> {
        let n = usize::try_from(entry.stored.nbytes(piece.n as u64)).unwrap_or(usize::MAX);
        entry.stored.decode(&set.read(entry, entry.stored.nbytes(piece.start), n)?)
    }

    /// Encodes on the host, because the leaf may be on a device.
    pub(super) fn part_bytes(&self, name: &str, dtype: DType, values: &[f32], row: usize) -> Result<Vec<u8>> {
        check_range(name, dtype, values)?;
        if self.devices.part(name).device() == "cpu" {
            return Ok(self.devices.part(name).quantize(dtype, values, row, None)?);
        }
        Ok(dtype.quantize(values, row, None)?)
    }
}

/// Refuses values that a conversion to F16 would make infinite.
pub fn check_range(name: &str, to: DType, values: &[f32]) -> Result<()> {
    let beyond = |x: &&f32| x.is_finite() && x.abs() >= F16_END;
    match values.iter().find(beyond).filter(|_| to == DType::F16) {
        Some(x) => {
            let message = format!("tensor '{name}' holds {x}, which f16 does not: up to 65504 is valid");
            Err(Error::unsupported(message).with_hint("take bf16 or q8_0, or the weights as they are stored"))
        }
        None => Ok(()),
    }
}
