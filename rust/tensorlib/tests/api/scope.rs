//! Scopes: temporaries that do not stay.

use std::panic::{catch_unwind, AssertUnwindSafe};
use tensorlib::{Backend, BackendOptions, Context, Result};

fn cpu() -> Backend {
    BackendOptions::new().threads(1).open("cpu").unwrap()
}

#[test]
fn ten_thousand_steps_take_the_memory_of_one() {
    let (cpu, ctx) = (cpu(), Context::new());
    let weights = ctx.tensor([4], &[1f32, 2., 3., 4.]).unwrap();
    let used = ctx.used_memory();
    let mut sum = 0.;
    for step in 0..10_000 {
        let y: Result<f32> = cpu.scope(|temporary| {
            let x = temporary.tensor([4], &[step as f32; 4])?;
            (&weights * &weights + &weights.mul(&x)?)?.sum(..)?.eval(&cpu)?.get(&[0])
        });
        sum += y.unwrap();
    }
    assert!(sum > 0.);
    assert_eq!(ctx.used_memory(), used);
    // The weights are as before.
    assert_eq!(weights.to_vec::<f32>().unwrap(), [1., 2., 3., 4.]);
}

#[test]
fn what_is_returned_outlives_the_scope() {
    let (cpu, ctx) = (cpu(), Context::new());
    let a = ctx.tensor([2], &[1f32, 2.]).unwrap();
    let (sum, temporary) = cpu.scope(|temporary| ((&a + &a).unwrap(), temporary.clone()));
    assert_eq!(sum.context().id(), temporary.id());
    drop(temporary);
    assert_eq!(sum.eval(&cpu).unwrap().to_vec::<f32>().unwrap(), [2., 4.]);
}

#[test]
fn the_innermost_scope_counts_and_ends_with_a_panic() {
    let (cpu, ctx) = (cpu(), Context::new());
    let a = ctx.tensor([2], &[1f32, 2.]).unwrap();
    let loss = a.sqr().unwrap().sum(..).unwrap();
    cpu.scope(|outer| {
        let inside = |expected: &Context| assert_eq!((&a + &a).unwrap().context().id(), expected.id());
        inside(outer);
        cpu.scope(inside);
        inside(outer);
        let panics = catch_unwind(AssertUnwindSafe(|| cpu.scope(|_| panic!("on purpose"))));
        assert!(panics.is_err());
        inside(outer);
        // Operands that were made later keep their context, and `within` chooses one.
        let young = Context::new();
        let b = young.tensor([2], &[1f32, 2.]).unwrap();
        assert_eq!((&a + &b).unwrap().context().id(), young.id());
        assert_eq!(ctx.within(|| &a + &a).unwrap().context().id(), ctx.id());
        inside(outer);
        // Views and functions of one operand too.
        assert_eq!(a.reshape([1, 2]).unwrap().context().id(), outer.id());
        assert_eq!(a.neg().unwrap().context().id(), outer.id());
        assert_eq!(loss.gradients(&[&a]).unwrap()[0].context().id(), outer.id());
        // Other threads are outside.
        std::thread::scope(|threads| {
            threads.spawn(|| assert_eq!((&a + &a).unwrap().context().id(), ctx.id()));
        });
    });
    assert_eq!((&a + &a).unwrap().context().id(), ctx.id());
}
