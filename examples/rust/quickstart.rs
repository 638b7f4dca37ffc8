//! The first use: two tensors, a product, a graph, a table.

use tensorlib::{Backend, Context};

fn main() -> tensorlib::Result<()> {
    let cpu = Backend::cpu()?; // all cores
    let ctx = Context::new();
    let a = ctx.tensor([2, 4], &[2., 8., 5., 1., 4., 2., 8., 6.])?; // 4 rows of 2
    let b = ctx.tensor([2, 3], &[10., 5., 9., 9., 5., 4.])?;
    let c = a.mul_mat(&b)?; // [4, 3]; nothing is computed yet
    cpu.compute(&[&c])?; // builds a graph and runs it
    println!("{c}");
    Ok(())
}
