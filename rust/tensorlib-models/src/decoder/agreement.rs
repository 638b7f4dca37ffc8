//! Whether the ranks of a group have opened the same model with the same options.

use super::fingerprint::text;
use super::shape::Shape;
use super::DecoderOptions;
use crate::weights::Weights;
use crate::{Error, Result};
use sha2::{Digest, Sha256};
use tensorlib::{Backend, Context, Group};

/// What all ranks must have alike: SHA-256 over the architecture, the settings that graphs depend on, the options, and the files'
/// tensors.
pub fn digest(architecture: &str, shape: &Shape, options: &DecoderOptions, weights: &Weights) -> Result<[u8; 32]> {
    let mut hash = Sha256::new();
    text(&mut hash, &format!("{} {architecture} {shape:?}", env!("CARGO_PKG_VERSION")));
    let DecoderOptions { stored_as, exact, reproducible, context, adapters, results, .. } = options;
    let scales: Vec<f64> = adapters.iter().map(|(_, scale)| *scale).collect();
    text(&mut hash, &format!("{stored_as:?} {exact} {reproducible} {context} {scales:?} {results:?}"));
    weights.describe(&mut |described, sample| {
        text(&mut hash, described);
        hash.update(sample);
    })?;
    Ok(hash.finalize().into())
}

/// Fails on all ranks if one has another digest than the first.
pub fn check(group: &Group, backend: &Backend, digest: &[u8; 32]) -> Result<()> {
    let own = Context::on(backend).tensor_of([digest.len() as i64, 1], digest)?;
    let all = own.all_gather(1, group)?.eval(backend)?.to_vec::<u8>()?;
    match all.chunks_exact(digest.len()).position(|other| other != &all[..digest.len()]) {
        None => Ok(()),
        Some(rank) => {
            let message = format!("rank {rank} has opened another model than rank 0, or with other options");
            Err(Error::invalid(message).with_hint("all ranks of a group open the same files in the same way"))
        }
    }
}
