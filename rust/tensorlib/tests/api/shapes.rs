//! Indexing, and functions that take or return lists of tensors.

use tensorlib::{Backend, Context, DType, Error, Index, Result, Tensor};

fn values(t: &Tensor) -> Vec<f32> {
    t.eval(&Backend::cpu().unwrap()).unwrap().to_vec().unwrap()
}

/// 60 numbers, each of which is its own position: element (i, j, k) of {5, 4, 3} is i + 5 j + 20 k.
fn counted(ctx: &Context) -> Tensor {
    ctx.tensor([5, 4, 3], &(0..60).map(|i| i as f32).collect::<Vec<_>>()).unwrap()
}

fn refused(result: Result<impl std::fmt::Debug>, words: &[&str]) {
    let error = result.unwrap_err();
    assert!(matches!(error, Error::InvalidArgument(_)), "{error:?}");
    for word in words {
        assert!(error.to_string().contains(word), "'{word}' is not in: {error}");
    }
}

#[test]
fn indices_of_every_kind() -> Result<()> {
    let ctx = Context::new();
    let a = counted(&ctx);
    let part = |t: Tensor| (t.shape(), values(&t));
    assert_eq!(part(a.i((2, 1, 0))?), (vec![1], vec![7.]));
    assert_eq!(part(a.i((-1, -1, -1))?), (vec![1], vec![59.]));
    assert_eq!(part(a.i((1..3, 2, 1))?), (vec![2], vec![31., 32.]));
    assert_eq!(part(a.i((1..=2, 2, 1))?), (vec![2], vec![31., 32.]));
    assert_eq!(part(a.i((3.., 0, 0))?), (vec![2], vec![3., 4.]));
    assert_eq!(part(a.i((..2, 0, 0))?), (vec![2], vec![0., 1.]));
    assert_eq!(part(a.i((..=2, 0, 0))?), (vec![3], vec![0., 1., 2.]));
    assert_eq!(part(a.i((-2..=-1, 0, 0))?), (vec![2], vec![3., 4.]));
    assert_eq!(part(a.i((-3..-1, 0, 0))?), (vec![2], vec![2., 3.]));
    assert_eq!(part(a.i((0, .., 1))?), (vec![4], vec![20., 25., 30., 35.]));
    assert_eq!(part(a.i((0, 1..3))?), (vec![2, 3], vec![5., 10., 25., 30., 45., 50.]));
    assert_eq!(a.i(0)?.shape(), [4, 3]);
    assert_eq!(a.i(1..3)?.shape(), [2, 4, 3]);
    assert_eq!(a.i(..)?.shape(), [5, 4, 3]);
    assert_eq!(a.i((.., 0..0))?.shape(), [5, 0, 3]);
    assert_eq!(a.i((.., .., .., 0))?.shape(), [5, 4, 3]);
    // Integers of several types, and indices made while running.
    let (k, n) = (2usize, 1i64);
    assert_eq!(part(a.i((k, n, 0i32))?), (vec![1], vec![7.]));
    assert_eq!(part(a.i((k..k + 1, n.., 0i32))?).0, [1, 3]);
    assert_eq!(part(a.i(vec![Index::from(2), Index::from(1..2)])?).0, [1, 3]);
    assert_eq!(a.i(Index::from(..))?.shape(), [5, 4, 3]);
    // In a context of its own.
    let other = Context::new();
    assert_eq!(other.within(|| a.i((0, 0)))?.context().id(), other.id());
    assert_eq!(other.within(|| Tensor::stack(&[&a], 3))?.context().id(), other.id());
    Ok(())
}

#[test]
fn indices_that_are_not_there() {
    let ctx = Context::new();
    let a = counted(&ctx);
    refused(a.i((0, 4)), &["index", "index 4 of dimension 1", "[5, 4, 3]", "0 to 3"]);
    refused(a.i((0, -5)), &["index -5 of dimension 1"]);
    let (four, two) = (4, 2);
    refused(a.i((four..two, 0)), &["elements 4 to 2 of dimension 0"]);
    refused(a.i(2..6), &["elements 2 to 6 of dimension 0", "0 to 4"]);
    refused(a.i(usize::MAX), &["dimension 0"]);
    refused(a.i(i64::MIN..), &["dimension 0"]);
    refused(a.i(vec![Index::from(..); 5]), &["n_dims is 5", "0 to 4"]);
    refused(a.i((0, 0, 0, 1)), &["index 1 of dimension 3", "0 to 0"]);
}

#[test]
fn parts_of_a_dimension() -> Result<()> {
    let ctx = Context::new();
    let a = counted(&ctx);
    let sizes = |parts: Result<Vec<Tensor>>| parts.map(|all| all.iter().map(|t| t.shape()[0]).collect::<Vec<_>>());
    assert_eq!(sizes(a.split(2, 0))?, [2, 2, 1]);
    assert_eq!(sizes(a.split(i64::MAX, 0))?, [5]);
    assert_eq!(sizes(a.split_sizes(&[1, 0, 4], 0))?, [1, 0, 4]);
    assert_eq!(sizes(a.chunk(2, 0))?, [3, 2]);
    assert_eq!(sizes(a.chunk(4, 0))?, [2, 2, 1]);
    assert_eq!(sizes(a.chunk(9, 0))?, [1; 5]);
    assert_eq!(values(&a.split(3, 1)?[1].i((0, 0))?), [15., 35., 55.]);
    let slices = a.unbind(2)?;
    assert_eq!((slices.len(), slices[1].shape()), (3, vec![5, 4]));
    assert_eq!(values(&slices[2].i((0, 0))?), [40.]);
    assert!(ctx.zeros(DType::F32, [0, 3])?.split(2, 0)?.is_empty());
    assert!(ctx.zeros(DType::F32, [0, 3])?.unbind(0)?.is_empty());
    refused(a.split(0, 0), &["split", "size is 0"]);
    refused(a.split(1, 4), &["split", "dim is 4", "0 to 3"]);
    refused(a.split_sizes(&[2, 2], 0), &["[2, 2]", "sum of 5"]);
    refused(a.split_sizes(&[6, -1], 0), &["[6, -1]"]);
    refused(a.split_sizes(&[i64::MAX, i64::MAX], 0), &["sum of 5"]);
    refused(a.chunk(0, 0), &["chunk", "n is 0"]);
    refused(a.unbind(7), &["unbind", "dim is 7"]);
    Ok(())
}

#[test]
fn shapes_lack_dimensions() -> Result<()> {
    let ctx = Context::new();
    let a = ctx.tensor([2], &[1f32, 2.])?;
    let state = ctx.tensor_of([2], &[7i64, 0])?;
    assert_eq!(values(&a.expand([2, 2])?), [1., 2., 1., 2.]);
    assert_eq!(values(&a.repeat(vec![4])?), [1., 2., 1., 2.]);
    assert_eq!(state.random_uniform([3, 2], 0., 1., 0)?.shape(), [3, 2]);
    assert_eq!(state.random_normal([3], 0., 1., 0)?.shape(), [3]);
    let none: [i64; 0] = [];
    refused(a.expand(none), &["expand", "n_dims is 0", "1 to 4"]);
    refused(a.repeat([2, 1, 1, 1, 1]), &["repeat", "n_dims is 5", "1 to 4"]);
    refused(state.random_uniform([2, -1], 0., 1., 0), &["random_uniform", "-1"]);
    Ok(())
}

#[test]
fn lists_of_tensors() -> Result<()> {
    let (ctx, young) = (Context::new(), Context::new());
    let (a, b) = (ctx.tensor([2], &[1f32, 2.])?, young.tensor([2], &[3f32, 4.])?);
    let c = Tensor::cat(&[&a, &b], 0)?;
    assert_eq!(values(&c), [1., 2., 3., 4.]);
    assert_eq!(c.context().id(), young.id());
    let owned = vec![a.clone(), b.clone()];
    assert_eq!(Tensor::stack(&owned, 0)?.shape(), [2, 2]);
    assert_eq!(values(&Tensor::stack(&owned, 0)?), [1., 3., 2., 4.]);
    assert_eq!(values(&Tensor::stack(&owned, 1)?), [1., 2., 3., 4.]);
    assert_eq!(values(&Tensor::einsum("i,i->", &owned)?), [11.]);
    assert_eq!(values(&Tensor::einsum("i,j", &owned)?), [3., 6., 4., 8.]);
    let grid = Tensor::meshgrid(&[&a, &b, &a])?;
    assert_eq!(grid.iter().map(Tensor::shape).collect::<Vec<_>>(), vec![vec![2, 2, 2]; 3]);
    assert_eq!(values(&grid[1]), [3., 3., 4., 4., 3., 3., 4., 4.]);
    assert_eq!(values(&grid[2]), [1., 1., 1., 1., 2., 2., 2., 2.]);

    let none: [&Tensor; 0] = [];
    refused(Tensor::cat(&none, 0), &["cat", "at least one"]);
    refused(Tensor::stack(&none, 0), &["stack", "at least one"]);
    refused(Tensor::einsum("", &none), &["einsum", "at least one"]);
    refused(Tensor::meshgrid(&none), &["meshgrid: 0 vectors"]);
    refused(Tensor::meshgrid(&[&a, &a, &a, &a, &a]), &["5 vectors"]);
    refused(Tensor::meshgrid(&[&grid[0]]), &["[2, 2, 2]", "one dimension"]);
    refused(Tensor::cat(&[&a], 4), &["attribute dim is 4"]);
    refused(Tensor::einsum("i\0,i->", &owned), &["letters for dimensions"]);
    Ok(())
}

/// A composed operation that fails takes its nodes back.
#[test]
fn refusals_leave_nothing() -> Result<()> {
    let ctx = Context::new();
    let (a, b) = (ctx.zeros(DType::F32, [4, 3])?, ctx.zeros(DType::F32, [5, 2])?);
    let before = ctx.tensors().len();
    assert!(Tensor::einsum("ij,kl->iz", &[&a, &b]).is_err());
    assert!(Tensor::stack(&[&a, &b], 0).is_err());
    assert!(a.i((0, 7)).is_err());
    assert_eq!(ctx.tensors().len(), before);
    Ok(())
}
