//! Networks and losses as functions: inputs to outputs, and outputs with targets to a loss.

use crate::nn::{invalid, Module, Pass};
use crate::{Result, Tensor};

/// Computes a batch's outputs from its inputs.
pub(super) type Forward<'a> = &'a (dyn Fn(&[Tensor], &Pass) -> Result<Vec<Tensor>> + 'a);

/// Computes a tensor of one element from a batch's outputs and targets.
pub(super) type Loss<'a> = &'a (dyn Fn(&[Tensor], &[Tensor]) -> Result<Tensor> + 'a);

/// Applies a module, which takes one input and gives one output.
pub(super) fn forward_of<M: Module + ?Sized>(model: &M, inputs: &[Tensor], pass: &Pass) -> Result<Vec<Tensor>> {
    let input = only(inputs, "a module", "inputs")?;
    Ok(vec![model.forward(input, pass)?])
}

/// Applies a loss of one output and one target.
pub(super) fn loss_of(
    loss: impl Fn(&Tensor, &Tensor) -> Result<Tensor>,
) -> impl Fn(&[Tensor], &[Tensor]) -> Result<Tensor> {
    move |outputs, targets| loss(only(outputs, "this loss", "outputs")?, only(targets, "this loss", "targets")?)
}

fn only<'t>(tensors: &'t [Tensor], reader: &str, what: &str) -> Result<&'t Tensor> {
    match tensors {
        [tensor] => Ok(tensor),
        _ => {
            let n = tensors.len();
            Err(invalid(format!(
                "Trainer: samples of {n} {what}, of which {reader} reads one: Trainer::from_fn, evaluate_fn and predict_fn take any number"
            )))
        }
    }
}
