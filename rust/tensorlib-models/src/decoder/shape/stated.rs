//! What a folder states about its tensors.

use crate::decoder::keys::*;
use crate::settings::{Key, Settings};
use crate::weights::Weights;
use crate::{Error, Result};

/// Statements of a folder about its tensors, which have to be true.
#[derive(Clone, Debug, Default)]
pub struct Stated {
    pub attention_bias: Option<bool>,
    /// The bias of the matrix after attention.
    pub output_bias: Option<bool>,
    pub ffn_bias: Option<bool>,
    /// Biases of convolutions, and of the matrices before and after those of LFM2.
    pub convolution_bias: Option<bool>,
    /// Biases of the first and the last matrix of Mamba's layers.
    pub mamba_bias: Option<[bool; 2]>,
    pub norm_bias: Option<bool>,
    /// Whether the embeddings make the logits.
    pub tied: Option<bool>,
    pub vocabulary: Option<i64>,
}

impl Stated {
    /// States of all matrices of a layer whether they have biases.
    pub fn set_biases(&mut self, biases: Option<bool>) {
        self.attention_bias = biases;
        self.output_bias = biases;
        self.ffn_bias = biases;
    }

    pub(super) fn read(settings: &Settings) -> Result<Self> {
        let flag = |key: Key| settings.inner_first(key).and_then(|value| value.as_bool());
        Ok(Stated {
            attention_bias: settings.flag_if(ATTENTION_BIAS)?,
            output_bias: None,
            convolution_bias: None,
            mamba_bias: None,
            norm_bias: None,
            ffn_bias: settings.flag_if(FFN_BIAS)?,
            tied: flag(TIED),
            vocabulary: settings.inner_first(VOCABULARY).and_then(|value| value.as_i64()),
        })
    }

    /// Refuses a bias that exists although the folder denies it, or is missing although the folder states it.
    pub fn check_bias(stated: Option<bool>, weights: &Weights, name: &str) -> Result<()> {
        let is_there = weights.shape_of(name).is_some();
        match stated {
            Some(said) if said != is_there => {
                let (name, is) = (weights.called(name), if is_there { "there" } else { "missing" });
                Err(Error::format(format!("tensor '{name}' is {is}, and config.json says of such biases: {said}")))
            }
            _ => Ok(()),
        }
    }
}
