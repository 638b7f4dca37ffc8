//! Which type a mix gives to a tensor.
//!
//! Values and down projections lose most by rounding, so the first and last eighth of the layers, and every third one
//! between, have more bits for them in the mixes `_M`. Queries and keys lose least. A model with 8 experts is large
//! next to its attention, so attention takes 8 bits there. Output and embeddings have rules of their own.

use super::model::Model;
use super::tensor::Role;
use super::Mix::{self, *};
use tensorlib::DType;

/// Chooses the types of a model's tensors, which come in the order of [`super::tensor::order`]: some rules count.
pub struct Chooser<'a> {
    mix: Mix,
    model: &'a Model,
    /// Whether columns have weights: without them some types lose too much.
    weighted: bool,
    values: usize,
    downs: usize,
    gates: usize,
    ups: usize,
}

impl<'a> Chooser<'a> {
    /// Begins with the first tensor.
    pub fn new(mix: Mix, model: &'a Model, weighted: bool) -> Self {
        Chooser { mix, model, weighted, values: 0, downs: 0, gates: 0, ups: 0 }
    }

    /// The type of the next matrix, before its rows are looked at. `row`: their length.
    pub fn next(&mut self, name: &str, row: usize) -> DType {
        let usual = self.mix.dtype();
        if matches!(self.mix, F32 | F16 | BF16) {
            return usual;
        }
        match Role::of(name) {
            Role::Output => self.output(row),
            Role::Embeddings if self.model.is_tied => self.output(row),
            Role::Embeddings => self.embeddings(),
            role if self.is_tiny() => self.tiny(role),
            Role::Value => self.value(),
            Role::Key => self.key(),
            Role::Query => self.of_few_bits(),
            Role::Down => self.down(name),
            Role::AttentionOutput => self.attention_output(),
            Role::Gate => {
                let at = self.position(self.gates, name);
                self.gates += 1;
                self.wide(at)
            }
            Role::Up => {
                let at = self.position(self.ups, name);
                self.ups += 1;
                self.wide(at)
            }
            Role::Other => usual,
        }
    }

    /// Mixes of 1 to 2.7 bits, with rules of their own.
    fn is_tiny(&self) -> bool {
        matches!(self.mix, IQ1_S | IQ1_M | IQ2_XXS | IQ2_XS | IQ2_S | IQ2_M)
    }

    /// The two largest of these.
    fn is_large_tiny(&self) -> bool {
        matches!(self.mix, IQ2_S | IQ2_M)
    }

    /// The layer's number. Experts of a layer may be tensors of their own, so there the name counts.
    fn position(&self, counted: usize, name: &str) -> usize {
        match self.model.experts > 1 {
            true => Model::layer(name).map_or(counted, |layer| layer as usize),
            false => counted,
        }
    }

    /// Whether a layer is one of the first eighth.
    fn is_early(&self, at: usize) -> bool {
        at < self.model.layers / 8
    }

    fn output(&self, row: usize) -> DType {
        let usual = self.mix.dtype();
        match self.mix {
            _ if row as i64 % usual.block_size() != 0 => DType::Q8_0,
            IQ3_XXS => DType::Q5_K,
            _ if self.is_tiny() => DType::Q5_K,
            Q8_0 => usual,
            _ => DType::Q6_K,
        }
    }

    fn embeddings(&self) -> DType {
        match self.mix {
            IQ2_XXS | IQ2_XS | IQ1_S | IQ1_M => DType::Q2_K,
            IQ2_S | IQ2_M | IQ3_XXS => DType::IQ3_S,
            TQ1_0 | TQ2_0 => DType::Q4_K,
            _ => self.mix.dtype(),
        }
    }

    fn tiny(&mut self, role: Role) -> DType {
        let usual = self.mix.dtype();
        let better = if self.is_large_tiny() { DType::IQ3_S } else { DType::Q2_K };
        match role {
            Role::Value if self.model.sharing >= 4 || self.model.experts >= 4 => DType::Q4_K,
            Role::Value => better,
            Role::Key if self.model.experts == 8 => DType::Q4_K,
            Role::Down => {
                self.downs += 1;
                // Counted even where experts are tensors of their own.
                match self.is_early(self.downs - 1) {
                    true => better,
                    false => usual,
                }
            }
            Role::AttentionOutput if self.model.experts == 8 => DType::Q5_K,
            Role::AttentionOutput if matches!(self.mix, IQ1_S | IQ1_M) => DType::IQ2_XXS,
            Role::AttentionOutput if self.is_large_tiny() => DType::IQ3_S,
            _ => usual,
        }
    }

    fn value(&mut self) -> DType {
        let at = self.values;
        self.values += 1;
        let few = self.model.sharing >= 4;
        let dtype = match self.mix {
            _ if self.model.experts == 8 => return DType::Q8_0,
            Q2_K if few => DType::Q4_K,
            Q2_K => DType::Q3_K,
            Q2_K_S | IQ3_XXS | IQ3_XS | IQ3_S if few => DType::Q4_K,
            IQ3_XXS if !self.weighted => DType::IQ3_S,
            IQ3_M => DType::Q4_K,
            Q3_K_M if at < 2 => DType::Q5_K,
            Q3_K_M => DType::Q4_K,
            Q3_K_L => DType::Q5_K,
            IQ4_NL | IQ4_XS if few => DType::Q5_K,
            Q4_K_M | Q5_K_M if has_more_bits(at, self.model.values) => DType::Q6_K,
            Q4_K_S if at < 4 => DType::Q5_K,
            _ => self.mix.dtype(),
        };
        match dtype {
            DType::Q3_K | DType::Q4_K if self.model.is_70b => DType::Q5_K,
            _ => dtype,
        }
    }

    fn key(&self) -> DType {
        match self.model.experts {
            8 => DType::Q8_0,
            _ => self.of_few_bits(),
        }
    }

    /// Queries and keys.
    fn of_few_bits(&self) -> DType {
        match self.mix {
            IQ3_XS => DType::IQ3_XXS,
            IQ3_XXS => DType::IQ2_S,
            _ => self.mix.dtype(),
        }
    }

    fn down(&mut self, name: &str) -> DType {
        let (at, layers) = (self.position(self.downs, name), self.model.layers);
        self.downs += 1;
        let (early, more) = (self.is_early(at), has_more_bits(at, layers));
        match self.mix {
            Q2_K => DType::Q3_K,
            Q2_K_S if early => DType::Q4_K,
            IQ3_XXS if !self.weighted && early => DType::Q4_K,
            IQ3_XXS if !self.weighted => DType::Q3_K,
            Q3_K_M if at < layers / 16 => DType::Q5_K,
            Q3_K_M => DType::Q4_K,
            IQ3_M if early || self.model.experts == 8 && more => DType::Q4_K,
            Q3_K_L => DType::Q5_K,
            Q4_K_M | Q5_K_M if more => DType::Q6_K,
            IQ4_NL | IQ4_XS if early && !self.weighted => DType::Q5_K,
            Q4_K_S if early => DType::Q5_K,
            Q4_0 if early && self.weighted => DType::Q4_1,
            Q5_0 if early && self.weighted => DType::Q5_1,
            _ => self.mix.dtype(),
        }
    }

    fn attention_output(&self) -> DType {
        match (self.model.experts, self.mix) {
            (8, Q2_K | Q3_K_S | Q3_K_M | Q4_K_S | Q4_K_M) => DType::Q5_K,
            (8, IQ3_XXS | IQ3_XS | IQ3_S | IQ3_M | IQ4_NL | IQ4_XS) => DType::Q5_K,
            (8, _) => self.mix.dtype(),
            (_, Q2_K) => DType::Q3_K,
            (_, IQ3_XXS) => DType::IQ3_S,
            (_, Q3_K_M | IQ3_M) => DType::Q4_K,
            (_, Q3_K_L) => DType::Q5_K,
            _ => self.mix.dtype(),
        }
    }

    /// Gates and ups.
    fn wide(&self, at: usize) -> DType {
        let layers = self.model.layers;
        match self.mix {
            IQ3_XS if at >= layers / 8 && at < 7 * layers / 8 => DType::IQ3_XXS,
            _ => self.mix.dtype(),
        }
    }
}

/// Whether a layer is one of those with more bits: the first and the last eighth, and every third between.
fn has_more_bits(at: usize, layers: usize) -> bool {
    let eighth = layers / 8;
    at < eighth || at >= 7 * layers / 8 || (at - eighth) % 3 == 2
}

/// The type for rows that are no whole blocks of `dtype`: one with blocks of 32 elements and about as many bits, or F16
/// for rows of any length.
pub fn fallback(dtype: DType, row: usize) -> DType {
    let fits = |dtype: DType| row as i64 % dtype.block_size() == 0;
    if fits(dtype) {
        return dtype;
    }
    let smaller = match dtype {
        DType::Q2_K | DType::Q3_K | DType::TQ1_0 | DType::TQ2_0 => DType::Q4_0,
        DType::Q4_K => DType::Q5_0,
        DType::Q5_K => DType::Q5_1,
        DType::Q6_K => DType::Q8_0,
        _ => DType::IQ4_NL,
    };
    if fits(smaller) {
        smaller
    } else {
        DType::F16
    }
}
