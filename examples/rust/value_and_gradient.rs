//! The value of f(x) = a x^2 + b and its gradient. The nodes are made once; then x is rewritten and they are computed again.
//!
//!     cargo run --release --example value_and_gradient

use tensorlib::{Backend, Context, DType, Graph};

fn main() -> tensorlib::Result<()> {
    let cpu = Backend::cpu()?;
    let ctx = Context::new();
    let (a, b) = (ctx.tensor([1], &[3f32])?, ctx.tensor([1], &[2f32])?);
    let x = ctx.zeros(DType::F32, [1])?;

    let f = (&(&a * &x.sqr()?)? + &b)?;
    let gradients = f.gradients(&[&x])?; // one for each of the list: here df/dx
    let graph = Graph::new(&[&f, &gradients[0]])?;

    for value in [2f32, 0., -1.5, 10.] {
        x.write(&[value])?;
        graph.compute(&cpu)?;
        println!("x = {value}: f(x) = {}, df/dx = {}", f.get(&[0])?, gradients[0].get(&[0])?);
    }
    Ok(())
}
