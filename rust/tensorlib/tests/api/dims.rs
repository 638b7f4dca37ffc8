//! Dimensions of reductions: every way to write them, and those that no tensor has.

use tensorlib::{Backend, Context, Dims, Error, Tensor};

fn made() -> (Context, Tensor) {
    let ctx = Context::new();
    let a = ctx.tensor([3, 2, 2], &(1u8..=12).map(f32::from).collect::<Vec<_>>()).unwrap();
    (ctx, a)
}

#[test]
fn numbers_lists_and_ranges() {
    let (_ctx, a) = made();
    let cpu = Backend::cpu().unwrap();
    let sum = |dims: Dims| {
        let sum = a.sum(dims).unwrap().eval(&cpu).unwrap();
        (sum.shape(), sum.to_vec::<f32>().unwrap())
    };
    let rows = (vec![2, 2], vec![6., 15., 24., 33.]);
    let all = (vec![1], vec![78.]);
    assert_eq!(sum(0.into()), rows);
    assert_eq!(sum([0].into()), rows);
    assert_eq!(sum((..1).into()), rows);
    assert_eq!(sum((..=0).into()), rows);
    assert_eq!(sum((0..1).into()), rows);
    assert_eq!(sum([2, 1].into()), (vec![3], vec![22., 26., 30.]));
    assert_eq!(sum((1..).into()), (vec![3], vec![22., 26., 30.]));
    assert_eq!(sum((1..=2).into()), (vec![3], vec![22., 26., 30.]));
    assert_eq!(sum((..).into()), all);
    assert_eq!(sum(Dims::ALL), all);
    assert_eq!(sum([0, 1, 2].into()), all);
    assert_eq!(sum((&[][..]).into()), all);
    assert_eq!(sum(Dims::from(1).keep()), (vec![3, 1, 2], vec![5., 7., 9., 17., 19., 21.]));
    assert_eq!(sum(Dims::ALL.keep()), (vec![1, 1, 1], vec![78.]));
    // A dimension that the shape lacks has one element.
    assert_eq!(sum(3.into()).0, [3, 2, 2]);
}

#[test]
fn results_are_broadcast_again() {
    let (_ctx, a) = made();
    let cpu = Backend::cpu().unwrap();
    let centred = (&a - a.mean(Dims::from(0).keep())).unwrap();
    let deviation = a.std(0, Dims::from(0).keep()).unwrap();
    let normal = (centred / deviation).unwrap().eval(&cpu).unwrap().to_vec::<f32>().unwrap();
    for row in normal.chunks(3) {
        assert!(row.iter().sum::<f32>().abs() < 1e-6 && (row[2] - 1.5f32.sqrt()).abs() < 1e-6, "{row:?}");
    }
}

#[test]
fn dimensions_that_no_tensor_has_are_refused() {
    let (_ctx, a) = made();
    for dims in [
        Dims::from(4),
        [0, 4].into(),
        31.into(),
        usize::MAX.into(),
        (0..5).into(),
        (2..usize::MAX).into(),
        (7..).into(),
    ] {
        for result in [a.sum(dims), a.argmax(dims), a.var(1, dims), a.any(dims), a.log_sum_exp(dims)] {
            let error = result.unwrap_err();
            assert!(matches!(error, Error::InvalidArgument { .. }), "{dims:?}: {error}");
            assert!(error.to_string().contains("dims"), "{dims:?}: {error}");
        }
    }
    let error = a.var(-1, ..).unwrap_err().to_string();
    assert!(error.contains("var: attribute correction is -1"), "{error}");
}
