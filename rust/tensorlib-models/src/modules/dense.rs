//! The settings of a Dense module: a product, an activation, and perhaps the sum with what it started from.

use crate::settings::{Fields, Object};
use crate::{Error, Result};
use tensorlib::Tensor;

/// The fields of its config.json.
pub const FIELDS: Fields = Fields {
    known: &[
        "activation_function",
        "bias",
        "in_features",
        "module_input_name",
        "module_output_name",
        "out_features",
        "use_residual",
    ],
    only: &[],
};

/// The vector of a text, in the fields that name what a module reads and writes.
const VECTOR: &str = "sentence_embedding";
/// What the last module of a cross-encoder writes.
const SCORES: &str = "scores";

/// What a Dense module does.
#[derive(Clone, Debug)]
pub struct Dense {
    pub inputs: i64,
    pub outputs: i64,
    /// Whether the folder states that it has a bias; a GGUF file states nothing.
    pub bias: Option<bool>,
    pub activation: Activation,
    /// Its input is added to its result, after a product of its own if their widths differ.
    pub residual: bool,
    /// Its result are scores.
    pub scores: bool,
}

impl Dense {
    /// Reads a folder's settings.
    pub fn read(file: &Object) -> Result<Self> {
        let input = file.text_if("module_input_name")?.unwrap_or(VECTOR);
        let output = file.text_if("module_output_name")?.unwrap_or(input);
        if input != VECTOR {
            let message = format!("{}: module_input_name: is '{input}': {VECTOR} is known", file.path);
            return Err(Error::unsupported(message));
        }
        if ![VECTOR, SCORES].contains(&output) {
            let message = format!("{}: module_output_name: is '{output}': {VECTOR} and {SCORES} are known", file.path);
            return Err(Error::unsupported(message));
        }
        Ok(Dense {
            inputs: file.count("in_features")?,
            outputs: file.count("out_features")?,
            bias: Some(file.flag_if("bias")?.unwrap_or(true)),
            activation: Activation::read(file)?,
            residual: file.flag("use_residual")?,
            scores: output == SCORES,
        })
    }
}

/// The functions of PyTorch between products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    Identity,
    Tanh,
    Sigmoid,
    Relu,
    GeluErf,
    Silu,
}

impl Activation {
    /// The function that a folder names; without a name it is tanh.
    fn read(file: &Object) -> Result<Self> {
        let Some(name) = file.text_if("activation_function")? else { return Ok(Activation::Tanh) };
        Ok(match name.strip_prefix("torch.nn.").and_then(|name| name.rsplit('.').next()) {
            Some("Identity") => Activation::Identity,
            Some("Tanh") => Activation::Tanh,
            Some("Sigmoid") => Activation::Sigmoid,
            Some("ReLU") => Activation::Relu,
            Some("GELU") => Activation::GeluErf,
            Some("SiLU") => Activation::Silu,
            _ => {
                let known = "Identity, Tanh, Sigmoid, ReLU, GELU and SiLU of torch.nn are known";
                return Err(Error::unsupported(format!("{}: activation_function: is '{name}': {known}", file.path)));
            }
        })
    }

    /// The function of each element.
    pub fn forward(self, x: Tensor) -> Result<Tensor> {
        Ok(match self {
            Activation::Identity => x,
            Activation::Tanh => x.tanh()?,
            Activation::Sigmoid => x.sigmoid()?,
            Activation::Relu => x.relu()?,
            Activation::GeluErf => x.gelu_erf()?,
            Activation::Silu => x.silu()?,
        })
    }
}
