//! Operators of tensors: what they broadcast, and what they refuse.

use tensorlib::{Backend, Context, DType, Error, Result, Tensor};

fn values(t: &Tensor) -> Vec<f32> {
    Backend::cpu().unwrap().compute(&[t]).unwrap();
    t.to_vec().unwrap()
}

type Operator = fn(&Tensor, &Tensor) -> Result<Tensor>;
const OPERATORS: [(&str, Operator, fn(f32, f32) -> f32); 4] = [
    ("add", |a, b| a + b, |a, b| a + b),
    ("sub", |a, b| a - b, |a, b| a - b),
    ("mul", |a, b| a * b, |a, b| a * b),
    ("div", |a, b| a / b, |a, b| a / b),
];

#[test]
fn either_side_is_broadcast() {
    let ctx = Context::new();
    let row = ctx.tensor([3], &[1f32, 2., 4.]).unwrap();
    let column = ctx.tensor([1, 2], &[10f32, 20.]).unwrap();
    for (name, operator, formula) in OPERATORS {
        for (a, b) in [(&row, &column), (&column, &row)] {
            let c = operator(a, b).unwrap();
            assert_eq!((c.op().as_str(), c.shape()), (name, vec![3, 2]));
            let wanted = |i: usize, j: usize| match std::ptr::eq(a, &row) {
                true => formula([1., 2., 4.][i], [10., 20.][j]),
                false => formula([10., 20.][j], [1., 2., 4.][i]),
            };
            let wanted: Vec<f32> = (0..6).map(|n| wanted(n % 3, n / 3)).collect();
            assert_eq!(values(&c), wanted, "{name}");
        }
    }
    let one = ctx.tensor([1], &[10f32]).unwrap();
    assert_eq!(values(&(&one - &row).unwrap()), [9., 8., 6.]);
    let none = ctx.zeros(DType::F32, [0, 1]).unwrap();
    assert_eq!((&column + &none).unwrap().shape(), [0, 2]);
}

#[test]
fn tiles_are_for_methods() {
    let ctx = Context::new();
    let a = ctx.tensor([4], &[1f32, 2., 3., 4.]).unwrap();
    let b = ctx.tensor([2], &[10f32, 20.]).unwrap();
    assert_eq!(values(&a.add(&b).unwrap()), [11., 22., 13., 24.]);
    for (name, operator, _) in OPERATORS {
        let Err(Error::ShapeMismatch(failure)) = operator(&a, &b) else { panic!("{name} tiles") };
        assert_eq!(failure.shapes, [vec![4], vec![2]]);
        for words in [name, "[4]", "[2]", "repeat 2 times", "Tensor::repeat"] {
            assert!(failure.message.contains(words), "{}", failure.message);
        }
    }
    // A refused call leaves no error in the context.
    assert_eq!(values(&(&a + &a).unwrap()), [2., 4., 6., 8.]);
}

#[test]
fn shapes_that_do_not_fit_are_shown() {
    let ctx = Context::new();
    let (a, b) = (ctx.zeros(DType::F32, [3]).unwrap(), ctx.zeros(DType::F32, [4, 12]).unwrap());
    let Err(Error::ShapeMismatch(failure)) = &a + &b else { panic!("it fits") };
    let shown = "\n  a  3\n  b  4  12\n     ^";
    assert!(failure.message.ends_with(shown), "{}", failure.message);
}
