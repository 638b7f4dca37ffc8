//! Custom operations: closures over slices, their errors and panics, gradients, and how long they live.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;
use tensorlib::{
    Backend, BackendOptions, Context, CustomGradient, CustomOp, CustomSlice, DType, Error, Result, Tensor,
};

fn cpu(threads: usize) -> Backend {
    BackendOptions::new().threads(threads).open("cpu").unwrap()
}

fn double(slice: &mut CustomSlice<'_>) -> Result<()> {
    let (x, range) = (slice.operand::<f32>(0)?, slice.range());
    for (y, x) in slice.result::<f32>()?.iter_mut().zip(&x[range]) {
        *y = 2.0 * x;
    }
    Ok(())
}

fn message(error: Error) -> String {
    error.to_string()
}

#[test]
fn slices_cover_the_result() -> Result<()> {
    for threads in [1, 2, 8] {
        let ctx = Context::new();
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = calls.clone();
        let op = CustomOp::builder("index").slice_unit(10).cost(1e6).build(move |slice| {
            counted.fetch_add(1, Ordering::Relaxed);
            assert!(slice.thread() < threads);
            assert_eq!(slice.shape(), [7, 30]);
            let range = slice.range();
            assert_eq!(range.start % 10, 0);
            for (y, i) in slice.result::<i64>()?.iter_mut().zip(range) {
                *y += i as i64; // of zeros
            }
            Ok(())
        })?;
        let t = ctx.zeros(DType::I64, [7, 30])?;
        let y = op.apply(&[&t])?.eval(&cpu(threads))?;
        assert_eq!(y.to_vec::<i64>()?, (0..210).collect::<Vec<i64>>());
        assert!(calls.load(Ordering::Relaxed) >= if threads == 1 { 1 } else { 2 });
    }
    Ok(())
}

#[test]
fn operands_have_types_shapes_and_strides() -> Result<()> {
    let ctx = Context::new();
    let a = ctx.tensor([3, 2], &[1., 2., 3., 4., 5., 6.])?;
    let op = CustomOp::builder("pick").shape(|of| Ok((DType::F64, vec![of[0].shape[0]]))).build(|slice| {
        assert_eq!(
            (slice.n_operands(), slice.operand_dtype(0)?, slice.operand_shape(0)?),
            (2, DType::F32, &[2i64, 3][..])
        );
        assert!(message(slice.operand::<f32>(0).unwrap_err()).contains("not contiguous"));
        assert!(matches!(slice.operand::<i32>(0), Err(Error::TypeMismatch(_))));
        assert!(message(slice.operand::<f32>(2).unwrap_err()).contains("there is no operand 2"));
        assert!(message(slice.get::<f32>(0, &[2, 0]).unwrap_err()).contains("no element"));
        assert!(slice.get::<f32>(0, &[0, 0, 0, 0, 1]).is_err());
        assert!(matches!(slice.result::<f32>(), Err(Error::TypeMismatch(_))));
        let mask = slice.operand::<bool>(1)?.to_vec();
        let picked: Vec<f64> = (0..2)
            .map(|i| Ok(f64::from(slice.get::<f32>(0, &[i, if mask[i as usize] { 2 } else { 0 }])?)))
            .collect::<Result<_>>()?;
        slice.result::<f64>()?.copy_from_slice(&picked);
        Ok(())
    })?;
    let y = op.apply(&[a.transpose()?, ctx.tensor_of([2], &[true, false])?])?;
    assert_eq!((y.dtype(), y.shape(), y.op()), (DType::F64, vec![2], "custom".to_string()));
    assert_eq!(y.eval(&cpu(2))?.to_vec::<f64>()?, [3., 4.]);
    Ok(())
}

#[test]
fn shapes_and_descriptions_are_checked() -> Result<()> {
    let ctx = Context::new();
    let t = ctx.zeros(DType::F32, [4, 3])?;
    let shaped = |dtype, shape: &'static [i64]| {
        CustomOp::builder("shaped").shape(move |_| Ok((dtype, shape.to_vec()))).build(double)?.apply(&[&t])
    };
    assert!(matches!(shaped(DType::Q4_0, &[32]), Err(Error::TypeMismatch(_))));
    assert!(message(shaped(DType::F32, &[1; 5]).unwrap_err()).contains("5 dimensions"));
    assert!(message(shaped(DType::F32, &[]).unwrap_err()).contains("0 dimensions"));
    assert!(shaped(DType::F32, &[-1]).is_err());
    assert_eq!(shaped(DType::I8, &[0])?.n_elements(), 0);
    let refusing = CustomOp::builder("refusing").shape(|_| Err(Error::msg("never"))).build(double)?;
    assert!(message(refusing.apply(&[&t]).unwrap_err()).contains("custom 'refusing': operand is [4, 3] f32: never"));
    let panicking = CustomOp::builder("panicking").shape(|_| panic!("oh {}", 7)).build(double)?;
    assert!(message(panicking.apply(&[&t]).unwrap_err()).contains("it panicked: oh 7"));
    for name in ["", &"x".repeat(65), "a\0b"] {
        assert!(matches!(CustomOp::new(name, double), Err(Error::InvalidArgument(_))), "{name}");
    }
    assert!(matches!(CustomOp::builder("x").cost(-1.0).build(double), Err(Error::InvalidArgument(_))));
    let none: [&Tensor; 0] = [];
    assert!(message(CustomOp::new("x", double)?.apply(&none).unwrap_err()).contains("no operands"));
    assert!(matches!(CustomOp::new("x", double)?.apply(&[&t; 11]), Err(Error::InvalidArgument(_))));
    Ok(())
}

#[test]
fn errors_and_panics_fail_the_run_alone() -> Result<()> {
    for threads in [1, 8] {
        let ctx = Context::new();
        let mode = Arc::new(AtomicUsize::new(0));
        let chosen = mode.clone();
        let op = CustomOp::builder("unsure").slice_unit(1).cost(1e9).build(move |slice| {
            match chosen.load(Ordering::Relaxed) {
                1 => Err(Error::msg("é".repeat(400))),
                2 => panic!("at {}", slice.range().start),
                _ => double(slice),
            }
        })?;
        let y = op.apply(&[ctx.tensor([5], &[1., 2., 3., 4., 5.])?])?;
        let backend = cpu(threads);
        for _ in 0..2 {
            mode.store(1, Ordering::Relaxed);
            let error = backend.compute(&[&y]).unwrap_err();
            assert!(matches!(error, Error::Aborted(_)) && message(error).contains("custom 'unsure' of [5] f32: é"));
            mode.store(2, Ordering::Relaxed);
            assert!(message(backend.compute(&[&y]).unwrap_err()).contains("it panicked: at 0"));
            assert!(y.to_vec::<f32>().is_err());
            mode.store(0, Ordering::Relaxed);
            backend.compute(&[&y])?;
            assert_eq!(y.to_vec::<f32>()?, [2., 4., 6., 8., 10.]);
        }
    }
    Ok(())
}

#[test]
fn calls_that_need_the_run_are_refused() -> Result<()> {
    let (ctx, other) = (Context::new(), Context::new());
    let t = ctx.tensor([2], &[1., 2.])?;
    let elsewhere = other.tensor([2], &[3., 4.])?;
    let node = elsewhere.sqr()?;
    let refused = Arc::new(AtomicBool::new(false));
    let (seen, backend) = (refused.clone(), cpu(1));
    let op = CustomOp::new("curious", move |slice| {
        let results = [
            elsewhere.to_vec::<f32>().map(drop),
            elsewhere.write(&[0f32; 2]),
            elsewhere.sqr().map(drop),
            other.zeros(DType::F32, [1]).map(drop),
            backend.compute(&[&node]),
        ];
        for result in results {
            let text = message(result.unwrap_err());
            assert!(text.contains("custom 'curious'"), "{text}");
        }
        seen.store(true, Ordering::Relaxed);
        double(slice)
    })?;
    assert_eq!(op.apply(&[&t])?.eval(&cpu(1))?.to_vec::<f32>()?, [2., 4.]);
    assert!(refused.load(Ordering::Relaxed));
    Ok(())
}

#[test]
fn gradients_build_nodes() -> Result<()> {
    let ctx = Context::new();
    let square = CustomOp::builder("square")
        .gradient(|of| {
            assert_eq!((of.operand, of.operands.len(), of.node.op().as_str()), (0, 1, "custom"));
            (&of.gradient * &of.operands[0])? * 2.0
        })
        .build(|slice| {
            let (x, range) = (slice.operand::<f32>(0)?, slice.range());
            for (y, x) in slice.result::<f32>()?.iter_mut().zip(&x[range]) {
                *y = x * x;
            }
            Ok(())
        })?;
    let x = ctx.tensor([3], &[1., -2., 3.])?;
    let loss = square.apply(&[square.apply(&[&x])?])?.sum(..)?; // x^4
    let first = loss.gradients(&[&x])?.remove(0);
    let second = first.sum(..)?.gradients(&[&x])?.remove(0);
    cpu(2).compute(&[&first, &second])?;
    assert_eq!(first.to_vec::<f32>()?, [4., -32., 108.]);
    assert_eq!(second.to_vec::<f32>()?, [12., 48., 108.]);
    // In a younger context, while a thread makes nodes in the same one.
    let young = Context::new();
    let loss = young.within(|| square.apply(&[&x]))?.sum(..)?;
    assert_eq!(loss.gradients(&[&x])?[0].eval(&cpu(1))?.to_vec::<f32>()?, [2., -4., 6.]);

    let gradient_of = |build: fn(&CustomGradient) -> Result<Tensor>| {
        CustomOp::builder("wrong").gradient(build).build(double)?.apply(&[&x])?.sum(..)?.gradients(&[&x])
    };
    assert!(message(gradient_of(|of| of.gradient.sum(..)).unwrap_err()).contains("gradient of operand 0 is [1] f32"));
    assert!(message(gradient_of(|_| Err(Error::msg("not today"))).unwrap_err()).contains("not today"));
    assert!(message(gradient_of(|_| panic!("no")).unwrap_err()).contains("it panicked: no"));
    let without = CustomOp::new("without", double)?.apply(&[&x])?.sum(..)?.gradients(&[&x]);
    assert!(
        matches!(&without, Err(Error::Unsupported(_)))
            && message(without.unwrap_err()).contains("'without' has no gradient")
    );
    Ok(())
}

#[test]
fn closures_live_as_long_as_their_nodes() -> Result<()> {
    let token = Arc::new(());
    let made = |token: &Arc<()>| {
        let held = token.clone();
        CustomOp::new("held", move |slice| {
            let _ = &held;
            double(slice)
        })
    };
    let op = made(&token)?;
    assert_eq!(Arc::strong_count(&token), 2);
    drop(op.clone());
    assert_eq!(Arc::strong_count(&token), 2);
    drop(op);
    assert_eq!(Arc::strong_count(&token), 1);
    let ctx = Context::new();
    let y = made(&token)?.apply(&[ctx.tensor([1], &[4.])?])?;
    assert_eq!(Arc::strong_count(&token), 2, "the node needs it");
    assert_eq!(y.eval(&cpu(1))?.to_vec::<f32>()?, [8.]);
    drop(y);
    drop(ctx);
    assert_eq!(Arc::strong_count(&token), 1);
    assert!(CustomOp::new("", {
        let held = token.clone();
        move |_| {
            let _ = &held;
            Ok(())
        }
    })
    .is_err());
    assert_eq!(Arc::strong_count(&token), 1, "a failed call leaks it");
    Ok(())
}
