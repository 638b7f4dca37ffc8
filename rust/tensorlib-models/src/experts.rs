//! Products with the matrices of experts, of which each token uses some.

use crate::Result;
use tensorlib::{Attr, Tensor};

/// The product of each column of x and the matrix that its index selects; -1 gives zeros.
pub fn product(matrices: &Tensor, x: &Tensor, ids: &Tensor, exact: bool) -> Result<Tensor> {
    Ok(match exact {
        true => x.context().op("mul_mat_id", &[matrices, x, ids], &[("exact", Attr::Ints(vec![1]))])?,
        false => matrices.mul_mat_id(x, ids)?,
    })
}

/// What each token has for its experts, [elements, used, tokens], times their shares, [used, tokens].
pub fn weighted(of_experts: &Tensor, shares: &Tensor) -> Result<Tensor> {
    let [used, n] = [0, 1].map(|i| shares.shape()[i]);
    Ok((of_experts * &shares.reshape([1, used, n])?)?)
}

/// The sum of the results of each token's experts, [width, used, tokens].
pub fn sum(results: &Tensor) -> Result<Tensor> {
    let [width, used, n] = [0, 1, 2].map(|i| results.shape()[i]);
    let mut sum = results.narrow(1, 0, 1)?.cont()?;
    for i in 1..used {
        sum = (&sum + &results.narrow(1, i, 1)?)?;
    }
    Ok(sum.reshape([width, n])?)
}
