//! What is trained and evaluated: inputs to outputs, and outputs with targets to a loss.

use crate::nn::{invalid, Module, Pass};
use crate::{Result, Tensor};

/// A batch's outputs by its inputs.
pub(super) type Forward<'a> = &'a (dyn Fn(&[Tensor], &Pass) -> Result<Vec<Tensor>> + 'a);

/// A tensor of one element by a batch's outputs and targets.
pub(super) type Loss<'a> = &'a (dyn Fn(&[Tensor], &[Tensor]) -> Result<Tensor> + 'a);

/// A module takes one input and gives one output.
pub(super) fn forward_of<M: Module + ?Sized>(model: &M, inputs: &[Tensor], pass: &Pass) -> Result<Vec<Tensor>> {
    let input = only(inputs, "a module", "inputs")?;
    Ok(vec![model.forward(input, pass)?])
}

/// A loss of one output takes one target.
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
