//! The performance that a Rust program gets: the operations through graphs, on one thread and on all, and the cost of
//! building.
//!
//!     cargo bench --package tensorlib-benches                     # all; report in target/criterion/report/index.html
//!     cargo bench --package tensorlib-benches -- mul_mat/n1       # those whose names have it
//!     TENSORLIB_ISA=avx2 cargo bench --package tensorlib-benches  # another ISA
//!
//! The shapes are those of shapes.txt. Each benchmark checks its result before it is timed. `cargo xtask bench`
//! compares with the machine's limits and with OpenBLAS.

use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput};
use tensorlib::{Backend, BackendOptions, Context, DType, Graph, Result, Tensor};

/// Weights are rotated over more than this many bytes, which no cache of today holds.
const COLD_BYTES: usize = 256_000_000;

/// A line of shapes.txt.
#[derive(Clone, Copy)]
struct Shape {
    k: usize,
    m: usize,
    n: usize,
    nodes: usize,
}

/// The shapes of an operation; panics where the file is not of its form, as it is part of this program.
fn shapes(op: &str) -> Vec<Shape> {
    let mut found = Vec::new();
    for line in include_str!("shapes.txt").lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        if words.next() != Some(op) {
            continue;
        }
        let mut shape = Shape { k: 0, m: 0, n: 0, nodes: 0 };
        for word in words {
            let (name, value) = word.split_once('=').expect("name=value");
            let field = match name {
                "k" => &mut shape.k,
                "m" => &mut shape.m,
                "n" => &mut shape.n,
                "nodes" => &mut shape.nodes,
                _ => panic!("no k=, m=, n= or nodes= in shapes.txt: {line}"),
            };
            *field = value.parse().expect("a number");
        }
        found.push(shape);
    }
    assert!(!found.is_empty(), "shapes.txt has no {op}");
    found
}

/// One thread, and all, where that is more.
fn backends() -> Vec<Backend> {
    let open = |n| BackendOptions::new().threads(n).open("cpu").expect("the CPU");
    let all = open(0);
    if all.n_threads() > 1 {
        vec![open(1), all]
    } else {
        vec![all]
    }
}

fn dims<const N: usize>(ne: [usize; N]) -> [i64; N] {
    ne.map(|n| i64::try_from(n).expect("a size"))
}

/// A leaf of integers from -8 to 7: sums of 4,096 products stay below 2^24, so every result is exact in whatever
/// order it was added up, and can be compared with ==.
fn leaf<const N: usize>(ctx: &Context, ne: [usize; N], seed: u64) -> Result<Tensor> {
    let tensor = ctx.zeros(DType::F32, dims(ne))?;
    let mut state = seed * 2 + 1;
    tensor.with_slice_mut(|values: &mut [f32]| {
        for value in values {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            *value = (state >> 60) as f32 - 8.0;
        }
    })?;
    Ok(tensor)
}

fn mul_mat(c: &mut Criterion) -> Result<()> {
    let backends = backends();
    let mut group = c.benchmark_group("mul_mat");
    for Shape { k, m, n, .. } in shapes("mul_mat") {
        let ctx = Context::new();
        let b = leaf(&ctx, [k, n], 1)?;
        let copies = COLD_BYTES / (4 * k * m) + 1;
        let weights = (0..copies).map(|i| leaf(&ctx, [k, m], i as u64 + 2)).collect::<Result<Vec<_>>>()?;
        let products = weights.iter().map(|a| a.mul_mat(&b)).collect::<Result<Vec<_>>>()?;
        let graphs = products.iter().map(|c| Graph::new(&[c])).collect::<Result<Vec<_>>>()?;
        group.throughput(Throughput::Elements((2 * k * m * n) as u64)); // Gelem/s reads as GFLOP/s
        for cpu in &backends {
            // Each graph's first run plans and takes its memory from the system: not what is measured.
            for ((graph, a), c) in graphs.iter().zip(&weights).zip(&products) {
                graph.compute(cpu)?;
                check_product(a, &b, c)?;
            }
            let mut next = graphs.iter().cycle();
            let id = BenchmarkId::new(format!("n{n}"), format!("{}t", cpu.n_threads()));
            group.bench_function(id, |bencher| {
                bencher.iter(|| next.next().expect("a cycle has no end").compute(cpu).expect("a product"));
            });
        }
    }
    group.finish();
    Ok(())
}

/// 64 elements spread over the result, against their definition.
fn check_product(a: &Tensor, b: &Tensor, c: &Tensor) -> Result<()> {
    let k = a.n_elements() / c.shape()[0] as usize;
    let (a, b, c) = (a.read_guard::<f32>()?, b.read_guard::<f32>()?, c.to_vec::<f32>()?);
    let m = a.len() / k;
    for at in (0..c.len()).step_by((c.len() / 64).max(1)) {
        let (row, column) = (&a[at % m * k..][..k], &b[at / m * k..][..k]);
        let sum: f64 = row.iter().zip(column).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
        assert_eq!(f64::from(c[at]), sum, "element {at} of the product");
    }
    Ok(())
}

fn add(c: &mut Criterion) -> Result<()> {
    let mut group = c.benchmark_group("add");
    for Shape { n, .. } in shapes("add") {
        let ctx = Context::new();
        let (a, b) = (leaf(&ctx, [n], 1)?, leaf(&ctx, [n], 2)?);
        let sum = a.add(&b)?;
        let graph = Graph::new(&[&sum])?;
        group.throughput(Throughput::Bytes((12 * n) as u64));
        for cpu in backends() {
            graph.compute(&cpu)?;
            for at in (0..n as i64).step_by(999_983) {
                assert_eq!(sum.get(&[at])?, a.get(&[at])? + b.get(&[at])?, "element {at} of the sum");
            }
            let id = BenchmarkId::new(format!("n{n}"), format!("{}t", cpu.n_threads()));
            group.bench_function(id, |bencher| bencher.iter(|| graph.compute(&cpu).expect("a sum")));
        }
    }
    group.finish();
    Ok(())
}

/// The chain's constructors: x + step + step + ...
fn chain_of(ctx: &Context, shape: Shape) -> Result<Tensor> {
    let step = ctx.tensor(dims([shape.n]), &vec![1.0_f32; shape.n])?;
    let mut last = ctx.zeros(DType::F32, dims([shape.n]))?;
    for _ in 0..shape.nodes {
        last = last.add(&step)?;
    }
    Ok(last)
}

fn chain(c: &mut Criterion) -> Result<()> {
    let mut group = c.benchmark_group("chain");
    for shape in shapes("chain") {
        group.throughput(Throughput::Elements(shape.nodes as u64)); // a node is an element
        for cpu in backends() {
            // A chain for each backend, so that its data stay with its threads.
            let ctx = Context::new();
            let last = chain_of(&ctx, shape)?;
            let graph = Graph::new(&[&last])?;
            graph.compute(&cpu)?;
            assert!(last.to_vec::<f32>()?.iter().all(|x| *x == shape.nodes as f32), "the chain's sum");
            let id = BenchmarkId::new("compute", format!("{}t", cpu.n_threads()));
            group.bench_function(id, |bencher| bencher.iter(|| graph.compute(&cpu).expect("a chain")));
        }
        // The context is reset before each round, outside of the timing: a program that builds a graph per token
        // reuses its memory too. The tensors must be gone by then.
        let mut ctx = Context::new();
        group.bench_function("constructors", |bencher| {
            bencher.iter_custom(|rounds| (0..rounds).map(|_| timed_build(&mut ctx, shape).expect("a chain").0).sum());
        });
        group.bench_function("graph", |bencher| {
            bencher.iter_custom(|rounds| (0..rounds).map(|_| timed_build(&mut ctx, shape).expect("a chain").1).sum());
        });
        let cpu = BackendOptions::new().threads(1).open("cpu")?;
        let kept = Context::new();
        let last = chain_of(&kept, shape)?;
        // Its first run makes the plan: this less chain/compute/1t is planning.
        group.bench_function("first_run", |bencher| {
            bencher.iter_batched(
                || Graph::new(&[&last]).expect("a graph"),
                |graph| {
                    graph.compute(&cpu).expect("a chain");
                    graph
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
    Ok(())
}

/// Times of the constructors and of the graph, in a context that was reset.
fn timed_build(ctx: &mut Context, shape: Shape) -> Result<(Duration, Duration)> {
    ctx.reset()?;
    let start = std::time::Instant::now();
    let last = chain_of(ctx, shape)?;
    let constructors = start.elapsed();
    let graph = Graph::new(&[&last])?;
    let whole = start.elapsed();
    assert_eq!(graph.n_nodes(), shape.nodes);
    Ok((constructors, whole - constructors))
}

fn main() -> Result<()> {
    // Machines are shared: many short samples, of which criterion shows the spread.
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(3))
        .sample_size(20)
        .configure_from_args();
    println!("ISA {}", Backend::cpu()?.isa());
    mul_mat(&mut criterion)?;
    add(&mut criterion)?;
    chain(&mut criterion)?;
    criterion.final_summary();
    Ok(())
}
