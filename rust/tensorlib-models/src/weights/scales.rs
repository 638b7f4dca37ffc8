//! 8-bit weights in folders, whose values are multiplied by scales in separate tensors.

use super::Ternary;
use crate::files::{pieces, scale_of, Entry, SafeSet, Stored};
use crate::settings::{shown, Key, Settings};
use crate::{Error, Result};
use serde_json::Value as Json;

pub(super) const QUANTIZATION: Key = Key("", "quantization_config");

/// How config.json describes the storage of weights.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quantization {
    /// Whether 8-bit floats must have scales.
    expected: bool,
    /// Rows and columns of the blocks with a scale each, if scales apply to blocks.
    block: Option<[i64; 2]>,
    /// How matrices of layers have three values.
    pub ternary: Option<Ternary>,
}

impl Quantization {
    /// Reads `quantization_config`; only 8-bit floats with scales are supported.
    pub fn read(settings: &Settings) -> Result<Self> {
        let Some(config) = settings.inner_first(QUANTIZATION).filter(|config| !config.is_null()) else {
            return Ok(Self::default());
        };
        let unsupported = |what: &str, value: &Json| {
            let message =
                format!("{}.{what}: is {}: 8-bit floats are known", settings.name(QUANTIZATION), shown(value));
            Err(Error::unsupported(message)
                .with_hint("take the model as its maker publishes it in bf16, or a GGUF file"))
        };
        match config["quant_method"].as_str() {
            Some("fp8" | "fbgemm_fp8") => {}
            Some("compressed-tensors") => {
                for (name, group) in config["config_groups"].as_object().into_iter().flatten() {
                    let weights = &group["weights"];
                    if weights["num_bits"] != 8 || weights["type"] != "float" {
                        return unsupported(&format!("config_groups.{name}.weights"), weights);
                    }
                }
            }
            Some("modelopt") if config["quant_algo"] == "FP8" => {}
            Some("bitnet") => {
                return Ok(Quantization { ternary: Some(Ternary::read(&config, settings)?), ..Self::default() })
            }
            _ => return unsupported("quant_method", &config["quant_method"]),
        }
        let size = |i: usize| config["weight_block_size"][i].as_i64().filter(|n| *n > 0);
        let block = size(0).zip(size(1)).map(|(rows, columns)| [rows, columns]);
        Ok(Quantization { expected: true, block, ternary: None })
    }
}

/// The scales of a matrix.
pub struct Scales {
    /// The scales of the blocks, row by row.
    values: Vec<f32>,
    /// Rows and columns of a block.
    block: [u64; 2],
    /// Blocks per row.
    columns: u64,
    /// Elements per row and rows of the matrix, which are the same for all matrices of a stack.
    row: u64,
    rows: u64,
    /// The number of scales per matrix of a stack.
    stride: u64,
}

impl Scales {
    /// Finds the scales of an entry in the files. `find` finds an entry by name.
    pub fn find<'a>(
        set: &SafeSet,
        entry: &Entry,
        find: impl Fn(&str) -> Option<&'a Entry>,
        quantization: Quantization,
    ) -> Result<Option<(String, Self)>> {
        let Some(name) = scale_of(&entry.name, |name| find(name).is_some()) else {
            if quantization.expected && matches!(entry.stored, Stored::Fp8(_)) {
                let message = format!("tensor '{}' is {}, and its scales are missing", entry.name, entry.type_name);
                return Err(Error::format(message));
            }
            return Ok(None);
        };
        let Some(scale) = find(&name) else { return Ok(None) };
        scale.known_type()?;
        let mut values = Vec::new();
        for piece in pieces(scale.elements(), scale.row().max(1), 1, 1 << 20) {
            let n = usize::try_from(scale.stored.nbytes(piece.n as u64)).unwrap_or(usize::MAX);
            values.extend(scale.stored.decode(&set.read(scale, scale.stored.nbytes(piece.start), n)?)?);
        }
        if let Some(bad) = values.iter().find(|value| !value.is_finite()) {
            return Err(Error::format(format!("tensor '{name}' holds {bad}: finite scales are valid")));
        }
        let fits = Self::laid_out(entry, scale, values, quantization);
        fits.map(|scales| Some((name, scales)))
    }

    fn laid_out(entry: &Entry, scale: &Entry, values: Vec<f32>, quantization: Quantization) -> Result<Self> {
        let dimension = |shape: &[i64], i: usize| shape.get(i).map_or(1, |n| u64::try_from(*n).unwrap_or(0)).max(1);
        let (row, rows) = (dimension(&entry.shape, 0), dimension(&entry.shape, 1));
        let (n, one) = (values.len() as u64, Scales { values, block: [rows, row], columns: 1, row, rows, stride: 0 });
        if n == 1 {
            return Ok(one);
        }
        let stack = entry.shape[2.min(entry.shape.len())..].iter().product::<i64>().max(1);
        let shape = [dimension(&scale.shape, 0), dimension(&scale.shape, 1)];
        let sizes = match quantization.block {
            Some([rows, columns]) => [rows as u64, columns as u64],
            None => [rows.div_ceil(shape[1]), row.div_ceil(shape[0])],
        };
        let stride = n / u64::try_from(stack).unwrap_or(1);
        // A scale per row, in either of two shapes; or a scale per block.
        let (block, columns) = match shape {
            [a, b] if a * b == rows && stride == rows && (a == 1 || b == 1) => ([1, row], 1),
            [a, b] if a == row.div_ceil(sizes[1]) && b == rows.div_ceil(sizes[0]) && stride == a * b => (sizes, a),
            _ if scale.dims().len() <= 1 && stride == 1 => ([rows, row], 1),
            _ => {
                let (name, other) = (&scale.name, &entry.name);
                let message =
                    format!("tensor '{name}' is {:?} and has the scales of '{other}', {:?}", scale.shape, entry.shape);
                return Err(Error::unsupported(message + ": one for all, for each row or for each block is known"));
            }
        };
        Ok(Scales { block, columns, stride, ..one })
    }

    /// Multiplies values by their scales; the first value is element `start` of the tensor. Runs with the same scale
    /// are multiplied together.
    pub fn apply(&self, start: u64, values: &mut [f32]) {
        let per_matrix = self.row * self.rows;
        let (mut element, mut rest) = (start, values);
        while !rest.is_empty() {
            let (matrix, column, row) = (element / per_matrix, element % self.row, element % per_matrix / self.row);
            let run = (self.block[1] - column % self.block[1]).min(self.row - column);
            let at = matrix * self.stride + row / self.block[0] * self.columns + column / self.block[1];
            let scale = self.values[usize::try_from(at).unwrap_or(0)];
            let (now, later) = rest.split_at_mut(usize::try_from(run).unwrap_or(usize::MAX).min(rest.len()));
            now.iter_mut().for_each(|value| *value *= scale);
            (element, rest) = (element + run, later);
        }
    }
}
