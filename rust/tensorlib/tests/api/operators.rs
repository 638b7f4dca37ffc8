//! Operators of tensors: what they broadcast, and what they refuse.

use tensorlib::{Backend, Context, DType, Error, Result, Tensor};

fn values(t: &Tensor) -> Vec<f32> {
    Backend::cpu().unwrap().compute(&[t]).unwrap();
    t.to_vec().unwrap()
}

type Operator = fn(&Tensor, &Tensor) -> Result<Tensor>;
type Formula = fn(f32, f32) -> f32;
const OPERATORS: [(&str, Operator, Formula); 4] = [
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
        for words in [name, "[4]", "[2]", "repeat 2 times", "repeat()", "\n  a  4\n  b  2\n     ^"] {
            assert!(failure.message.contains(words), "{}", failure.message);
        }
    }
    // No elements would be no repetitions.
    assert!(matches!(ctx.zeros(DType::F32, [0]).unwrap() + &b, Err(Error::ShapeMismatch(_))));
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

#[test]
fn operands_are_tensors_references_and_results() {
    let ctx = Context::new();
    let a = ctx.tensor([2], &[1f32, 2.]).unwrap();
    let b = ctx.tensor([2], &[3f32, 5.]).unwrap();
    let chain = |c: Result<Tensor>| values(&c.unwrap());
    assert_eq!(chain(&a * &b + &a - &b), [1., 7.]);
    assert_eq!(chain(&a - (&a * &b)), [-2., -8.]);
    assert_eq!(chain(a.clone() + b.clone()), [4., 7.]);
    assert_eq!(chain(a.clone() + &b), [4., 7.]);
    assert_eq!(chain(&a + b.clone()), [4., 7.]);
    assert_eq!(chain(a.clone() / (&a + &b)), [0.25, 2. / 7.]);
    assert_eq!(chain(a.sqr() * b.clone()), [3., 20.]);
    assert_eq!(chain(-&a), [-1., -2.]);
    assert_eq!(chain(-a.clone()), [-1., -2.]);
    // The first error is the chain's.
    let c = ctx.zeros(DType::F32, [7]).unwrap();
    let Err(Error::ShapeMismatch(failure)) = &a + &c - &a else { panic!("it fits") };
    assert!(failure.message.starts_with("add:"), "{}", failure.message);
    let Err(Error::ShapeMismatch(failure)) = &a * (&a - &c) else { panic!("it fits") };
    assert!(failure.message.starts_with("sub:"), "{}", failure.message);
}

#[test]
fn numbers_stand_on_either_side() {
    let ctx = Context::new();
    let x = [1f32, -2.5, 0., -0., f32::INFINITY, 3e38, 1e-45, 7.];
    let t = ctx.tensor([8], &x).unwrap();
    for number in [3., -0.1, 1e-3, 1e30, 0.5, 0.] {
        let n = number as f32;
        let formulas: [(Result<Tensor>, Formula); 8] = [
            (&t + number, |x, n| x + n),
            (number + &t, |x, n| n + x),
            (&t - number, |x, n| x - n),
            (number - &t, |x, n| n - x),
            (&t * number, |x, n| x * n),
            (number * &t, |x, n| n * x),
            (&t / number, |x, n| x / n),
            (number / &t, |x, n| n / x),
        ];
        for (i, (made, formula)) in formulas.into_iter().enumerate() {
            let wanted: Vec<u32> = x.iter().map(|x| formula(*x, n)).map(bits).collect();
            let found: Vec<u32> = values(&made.unwrap()).into_iter().map(bits).collect();
            // The sign of a sum or difference that is 0 depends on the order.
            if number != 0. || i >= 4 {
                assert_eq!(found, wanted, "formula {i} of {number}");
            }
        }
    }
    assert_eq!(values(&(&t * 2).unwrap())[1], -5.);
    assert_eq!(values(&(1. - t.clone()).unwrap())[0], 0.);
    assert_eq!(values(&(t.clone() / 2).unwrap())[7], 3.5);
    assert!(values(&(&t * f64::NAN).unwrap()).iter().all(|v| v.is_nan()));
    assert!(values(&(f64::NAN - &t).unwrap()).iter().all(|v| v.is_nan()));
    assert_eq!(values(&(&t + 1e300).unwrap())[0], f32::INFINITY);
}

/// All NaNs are one.
fn bits(v: f32) -> u32 {
    if v.is_nan() {
        f32::NAN.to_bits()
    } else {
        v.to_bits()
    }
}

#[test]
fn numbers_keep_the_tensors_type() {
    let ctx = Context::new();
    for dtype in [DType::F16, DType::BF16] {
        let t = ctx.tensor([3], &[1f32, 3., 7.]).unwrap().cast(dtype).unwrap();
        for made in [&t + 1., 1. + &t, &t - 1., 1. - &t, &t * 3., 3. * &t, &t / 3., 3. / &t] {
            assert_eq!(made.unwrap().dtype(), dtype);
        }
    }
    let whole = ctx.zeros(DType::I8, [3]).unwrap();
    assert!(matches!(&whole + 1., Err(Error::TypeMismatch(_))));
}

#[test]
fn integers_and_doubles_with_numbers() {
    let (ctx, cpu) = (Context::new(), Backend::cpu().unwrap());
    let i = ctx.tensor_of([4], &[7i32, -7, i32::MAX, 0]).unwrap();
    let ints = |t: tensorlib::Result<Tensor>| t.unwrap().eval(&cpu).unwrap().to_vec::<i32>().unwrap();
    assert_eq!(ints(&i + 1), [8, -6, i32::MIN, 1]);
    assert_eq!(ints(&i - 2), [5, -9, i32::MAX - 2, -2]);
    assert_eq!(ints(1 - &i), [-6, 8, -(i32::MAX - 1), 1]);
    assert_eq!(ints(&i * 3), [21, -21, i32::MAX - 2, 0]);
    assert_eq!(ints(&i / 2), [3, -3, i32::MAX / 2, 0]);
    assert_eq!(ints(&i * &i - &i), [42, 56, i32::MIN + 2, 0]);
    for refused in [&i * 0.5, &i + f64::NAN, &i / 1e10] {
        assert!(matches!(refused, Err(Error::InvalidArgument(_))), "{refused:?}");
    }
    let by_0 = (7 / &i).unwrap().eval(&cpu).unwrap_err();
    assert!(by_0.to_string().contains("element 3 of b is 0"), "{by_0}");
    // More digits than F32 has.
    let d = ctx.tensor_of([2], &[0.1f64, 1.]).unwrap();
    let doubles = |t: tensorlib::Result<Tensor>| t.unwrap().eval(&cpu).unwrap().to_vec::<f64>().unwrap();
    assert_eq!(doubles(&d * 0.1), [0.1 * 0.1, 0.1]);
    assert_eq!(doubles(0.3 / &d), [0.3 / 0.1, 0.3]);
    assert_eq!(doubles(&d + 1e-12), [0.1 + 1e-12, 1. + 1e-12]);
}
