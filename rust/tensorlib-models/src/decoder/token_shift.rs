//! What each token has of the one before it, which layers of RWKV mix with its own.

use super::run::Run;
use crate::{Error, Result};
use tensorlib::Tensor;

/// The differences between the columns of x before each token's and its own, [width, tokens]; before the first token of a
/// sequence there are zeros. Stores the last column for the next run of this part of the layer.
pub fn changes(run: &Run, part: (usize, usize), x: &Tensor) -> Result<Tensor> {
    let Some(states) = &run.states else { return Err(Error::internal("a recurrent layer without states")) };
    let before = states.of_groups(1, |group| {
        let read = run.read_columns(part, (states, group), x)?;
        Ok(read.narrow(1, 0, group.tokens)?.cont()?.reshape([x.shape()[0], group.tokens * group.sequences()])?)
    })?;
    Ok((&before - x)?)
}
