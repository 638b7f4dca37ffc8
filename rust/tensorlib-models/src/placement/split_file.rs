//! Reads PowerInfer's files that list which neurons of a model lie on the GPU. They are GGUF except for the first four
//! bytes. The I32 tensor `blk.N.gpu_idx` has a 1 for each neuron of layer N on the GPU and a 0 for each other one;
//! `blk.N.gpu_bucket`, which is optional, has the numbers of those on the GPU.

use crate::settings::read_text;
use crate::{Error, Result};
use std::path::Path;
use tensorlib::{DType, Gguf};

/// A layer's neurons, divided between two devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitLayer {
    /// The numbers of the neurons on the first device, ascending.
    pub hot: Vec<i32>,
    /// The total number of neurons.
    pub neurons: usize,
}

const MAGIC: &[u8] = b"PWRI";

/// Reads the layers of a file; `None` if it is not a file of this kind.
///
/// # Errors
/// [`ErrorKind::Io`](crate::ErrorKind); [`ErrorKind::Format`](crate::ErrorKind) naming the tensor, if the file is of
/// this kind but invalid.
pub fn read_split(path: impl AsRef<Path>) -> Result<Option<Vec<SplitLayer>>> {
    let path = path.as_ref();
    let mut bytes = read_text(path)?;
    if bytes.starts_with(MAGIC) {
        bytes[..4].copy_from_slice(b"GGUF");
    } else if !bytes.starts_with(b"GGUF") {
        return Ok(None);
    }
    Gguf::open_memory(bytes)
        .map_err(Error::from)
        .and_then(|file| layers(&file))
        .map(Some)
        .map_err(|e| e.about(path.display()))
}

fn layers(file: &Gguf) -> Result<Vec<SplitLayer>> {
    let mut layers = Vec::new();
    while let Some(flags) = numbers(file, &format!("blk.{}.gpu_idx", layers.len()))? {
        let layer = layers.len();
        if let Some(at) = flags.iter().position(|flag| !(0..=1).contains(flag)) {
            let message = format!("tensor 'blk.{layer}.gpu_idx': element {at} is {}: 0 and 1 are valid", flags[at]);
            return Err(Error::format(message));
        }
        let hot: Vec<i32> = (0..).zip(&flags).filter(|(_, flag)| **flag == 1).map(|(row, _)| row).collect();
        let name = format!("blk.{layer}.gpu_bucket");
        if numbers(file, &name)?.is_some_and(|bucket| bucket != hot) {
            let message = format!("tensor '{name}': the numbers of the ones in gpu_idx, ascending, are valid");
            return Err(Error::format(message));
        }
        layers.push(SplitLayer { hot, neurons: flags.len() });
    }
    match layers.is_empty() {
        true => Err(Error::format("tensor 'blk.0.gpu_idx' is missing: 0 or 1 for each neuron is expected")),
        false => Ok(layers),
    }
}

fn numbers(file: &Gguf, name: &str) -> Result<Option<Vec<i32>>> {
    let Some(info) = file.tensor_info(name) else { return Ok(None) };
    if info.dtype != DType::I32 || crate::files::dims(&info.shape).len() > 1 {
        let message = format!("tensor '{name}' is {:?} {}: one dimension of i32 is valid", info.shape, info.dtype);
        return Err(Error::format(message));
    }
    let number = |bytes: &[u8]| i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    Ok(Some(info.data.chunks_exact(4).map(number).collect()))
}
