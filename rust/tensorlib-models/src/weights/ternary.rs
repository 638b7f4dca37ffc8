//! Matrices of three values and a scale in folders (Ma and others, The Era of 1-bit LLMs, 2024): -1, 0 and 1 times the mean
//! of magnitudes. Files have these values, four in a byte, or weights that become them.

use super::scales::QUANTIZATION;
use super::{check, Files, HubName, Weights};
use crate::files::{pieces, Entry, SafeSet};
use crate::settings::{shown, Settings};
use crate::{Error, Result};
use serde_json::Value as Json;
use tensorlib::{DType, Tensor};

/// The number of values in a byte.
const IN_BYTE: usize = 4;
/// The number of weights that are read at a time.
const PIECE: usize = 1 << 22;

/// What the folder's matrices are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ternary {
    /// Weights that are rounded to three values.
    Rounded,
    /// Values, four in a byte, and a scale that multiplies them.
    Packed,
    /// Values, four in a byte, and a scale that divides them.
    PackedDivided,
}

impl Ternary {
    /// Reads `quantization_config`.
    pub fn read(config: &Json, settings: &Settings) -> Result<Self> {
        let unsupported = |what: &str, known: &str| {
            let name = settings.name(QUANTIZATION);
            let message = format!("{name}.{what}: is {}: {known} supported", shown(&config[what]));
            Err(Error::unsupported(message))
        };
        if config["use_rms_norm"].as_bool() == Some(true) {
            return unsupported("use_rms_norm", "false is");
        }
        let modules = &config["modules_to_not_convert"];
        let is_head = |list: &Vec<Json>| list.iter().all(|module| module == "lm_head");
        if !modules.is_null() && !modules.as_array().is_some_and(is_head) {
            return unsupported("modules_to_not_convert", "null and [\"lm_head\"] are");
        }
        match (config["quantization_mode"].as_str(), config["linear_class"].as_str()) {
            (Some("online"), _) => Ok(Ternary::Rounded),
            (None | Some("offline"), Some("autobitlinear")) => Ok(Ternary::Packed),
            (None | Some("offline"), None | Some("bitlinear")) => Ok(Ternary::PackedDivided),
            (None | Some("offline"), _) => unsupported("linear_class", "bitlinear and autobitlinear are"),
            _ => unsupported("quantization_mode", "online and offline are"),
        }
    }
}

impl Weights {
    /// The matrix of this name, if such matrices of layers have three values and the folder has it.
    pub(super) fn find_ternary(&self, name: &str, shape: &[i64]) -> Result<Option<Tensor>> {
        let Files::Hub { set, entries, names } = &self.files else { return Ok(None) };
        let (Some(kind), [inputs, outputs]) = (names.quantization.ternary, shape) else { return Ok(None) };
        let HubName::One(candidates) = (names.of)(name) else { return Ok(None) };
        let entry = candidates.iter().find_map(|name| entries.get(name)).map(|i| &set.entries()[*i]);
        let Some(entry) = entry.filter(|_| name.starts_with("blk.") && name.ends_with(".weight")) else {
            return Ok(None);
        };
        self.taken.borrow_mut().insert(entry.name.clone());
        let block = DType::TQ2_0.block_size();
        let to = if inputs % block == 0 { DType::TQ2_0 } else { DType::F32 };
        if self.is_shape_alone(inputs * outputs, name) {
            return self.shape_alone(name, to, shape).map(Some);
        }
        let (row, rows) = (usize::try_from(*inputs).unwrap_or(0), usize::try_from(*outputs).unwrap_or(0));
        let values = match kind {
            Ternary::Rounded => self.rounded(set, entry, shape)?,
            Ternary::Packed | Ternary::PackedDivided => {
                let scale = self.ternary_scale(set, entry)?;
                unpacked(set, entry, [row, rows], if kind == Ternary::Packed { scale } else { 1.0 / scale })?
            }
        };
        let leaf = self.context_with_data(name).zeros(to, shape)?;
        leaf.set_name(name)?;
        leaf.write_bytes(0, &self.part_bytes(name, to, &values, row)?)?;
        self.constant(leaf).map(Some)
    }

    /// The scale of packed values.
    fn ternary_scale(&self, set: &SafeSet, entry: &Entry) -> Result<f32> {
        let Files::Hub { entries, .. } = &self.files else { return Err(Error::internal("a scale of a GGUF file")) };
        let name = format!("{}_scale", entry.name);
        let scale = entries.get(&name).map(|i| &set.entries()[*i]);
        let scale = scale.ok_or_else(|| Error::format(format!("tensor '{name}' is missing: [1] is expected")))?;
        check(&name, &scale.shape, scale.type_name.clone(), &[1])?;
        scale.known_type()?;
        self.taken.borrow_mut().insert(name.clone());
        let bytes = set.read(scale, 0, usize::try_from(scale.stored.nbytes(1)).unwrap_or(0))?;
        let value = scale.stored.decode(&bytes)?.first().copied().unwrap_or(0.0);
        match value.is_finite() && value != 0.0 {
            true => Ok(value),
            false => {
                Err(Error::format(format!("tensor '{name}' holds {value}: a finite number other than 0 is valid")))
            }
        }
    }

    /// Weights rounded to -1, 0 and 1 times the mean of their magnitudes.
    fn rounded(&self, set: &SafeSet, entry: &Entry, shape: &[i64]) -> Result<Vec<f32>> {
        check(&entry.name, &entry.shape, entry.type_name.clone(), shape)?;
        entry.known_type()?;
        let mut values = Vec::new();
        for piece in pieces(entry.elements(), entry.row().max(1), 1, PIECE.max(entry.row())) {
            values.extend(self.values(set, entry, &piece)?);
        }
        let sum: f64 = values.iter().map(|value| f64::from(value.abs())).sum();
        let scale = ((sum / values.len().max(1) as f64) as f32).max(1e-5);
        values.iter_mut().for_each(|value| *value = (*value / scale).round_ties_even().clamp(-1.0, 1.0) * scale);
        Ok(values)
    }
}

/// Values times a scale: byte r of a column has row r in its lowest bits, and then rows a quarter of all further each.
fn unpacked(set: &SafeSet, entry: &Entry, [row, rows]: [usize; 2], scale: f32) -> Result<Vec<f32>> {
    let quarter = rows.div_ceil(IN_BYTE);
    check(&entry.name, &entry.shape, entry.type_name.clone(), &[row as i64, quarter as i64])?;
    if entry.type_name != "u8" {
        let message = format!("tensor '{}' is {}: u8, four values in a byte, is expected", entry.name, entry.type_name);
        return Err(Error::unsupported(message));
    }
    let bytes = set.read(entry, 0, row * quarter)?;
    let mut values = Vec::with_capacity(row * rows);
    for i in 0..rows {
        let (part, first) = (i / quarter, i % quarter * row);
        for byte in &bytes[first..first + row] {
            let code = byte >> (2 * part) & 3;
            if code == 3 {
                let message = format!("tensor '{}' has the code 3: 0, 1 and 2 are valid", entry.name);
                return Err(Error::format(message));
            }
            values.push((f32::from(code) - 1.0) * scale);
        }
    }
    Ok(values)
}
