//! A model's fingerprint, equal for the same weights and settings and different for any other model that people have;
//! and a description of what computes it.

use super::network::Network;
use super::DecoderOptions;
use crate::weights::{Loaded, Weights};
use crate::Result;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use tensorlib::Backend;

/// Bytes of each end and of the middle of a tensor that count. Whole tensors would be read from the disk twice.
const SAMPLED: usize = 256;

/// SHA-256 over the architecture, the settings that graphs depend on, and the names, types, shapes and sampled bytes of
/// all tensors, in hexadecimal digits.
pub fn of(architecture: &str, network: &Network, weights: &Weights) -> Result<String> {
    let mut hash = Sha256::new();
    // Some models rotate differently in long contexts.
    let is_long = network.shape.rope.has_long_factors(network.context as i64);
    text(&mut hash, &format!("{architecture} {is_long} {:?}", network.shape));
    weights.loaded().iter().try_for_each(|loaded| add(&mut hash, loaded))?;
    for (factor, tensors) in &weights.loaded_by_adapters() {
        hash.update(factor.to_le_bytes());
        tensors.iter().try_for_each(|loaded| add(&mut hash, loaded))?;
    }
    Ok(digits(hash))
}

/// What computes the model, in words: equal descriptions compute equal bits.
pub fn computed(options: &DecoderOptions, backend: &Backend, weights: &Weights) -> String {
    let (version, devices, isa) = (env!("CARGO_PKG_VERSION"), backend.devices().join(" and "), backend.isa());
    let mut words = format!("tensorlib {version} on {devices} ({isa})");
    for (word, is_set) in [("exact", options.exact), ("reproducible", options.reproducible)] {
        if is_set {
            words += ", ";
            words += word;
        }
    }
    if let Some(group) = options.ranks() {
        let _ = write!(words, ", rank {} of {}", group.rank(), group.size()); // a string takes everything
    }
    let mut hash = Sha256::new();
    if backend.devices().len() > 1 {
        let _ = write!(words, ", {} expert slots", options.expert_slots); // a string takes everything
        for Loaded { name, device, .. } in &weights.loaded() {
            text(&mut hash, &format!("{name} {device}"));
        }
        let _ = write!(words, ", placement {}", &digits(std::mem::take(&mut hash))[..16]);
    }
    if let Some(activity) = &options.activity {
        text(&mut hash, &format!("{activity:?}"));
        let _ = write!(words, ", activity {}", &digits(hash)[..16]);
    }
    words
}

/// A digest in hexadecimal digits.
pub fn digits(hash: Sha256) -> String {
    hash.finalize().iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}"); // a string takes everything
        digits
    })
}

/// Adds a text and its end.
pub fn text(hash: &mut Sha256, text: &str) {
    hash.update(text.as_bytes());
    hash.update([0]);
}

fn add(hash: &mut Sha256, Loaded { name, tensor, .. }: &Loaded) -> Result<()> {
    text(hash, &format!("{name} {} {:?}", tensor.dtype(), tensor.shape()));
    let n = tensor.nbytes();
    let mut bytes = [0; SAMPLED];
    let sample = &mut bytes[..SAMPLED.min(n)];
    for at in [0, (n - sample.len()) / 2, n - sample.len()] {
        tensor.read_bytes(at, sample)?;
        hash.update(&*sample);
    }
    Ok(())
}
