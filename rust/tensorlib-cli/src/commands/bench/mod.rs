//! `tensorlib bench`: measures encoding, decoding and products on this machine, in a minute and through the public API.
//! The project's own benchmarks (`cargo xtask bench`) measure more, and more carefully.

mod machine;
mod report;
mod share;
mod tokens;

use crate::args::Bench;
use crate::failure::{Exit, Failure, Outcome};
use crate::model;
use report::{print, print_json, Codec, Product, Report};
use std::hint::black_box;
use std::io::Write;
use std::time::Instant;
use tensorlib::{Backend, Context, DType, Graph};

/// The number of floats that types are measured with: 16 MiB, more than a core's own caches.
const ELEMENTS: usize = 4 << 20;

/// Runs the command.
pub fn run(options: &Bench, out: &mut dyn Write) -> Outcome<Exit> {
    if let Some(model) = &options.model {
        return tokens::run(options, model, out);
    }
    let cpu = model::backend(&options.devices)?;
    if cpu.device() != "cpu" {
        return Err(Failure::new(Exit::Usage, "bench: without MODEL it measures the CPU: --device cpu is valid"));
    }
    let values = random(ELEMENTS);
    let mut copy = vec![0f32; ELEMENTS];
    let seconds = median(options.seconds, || {
        copy.copy_from_slice(black_box(&values));
        black_box(&mut copy);
        Ok(())
    })?;
    let mut report = Report {
        isa: cpu.isa(),
        threads: cpu.n_threads(),
        seconds: options.seconds,
        side: options.side,
        memcpy: gigabytes(seconds),
        codecs: Vec::new(),
        products: Vec::new(),
    };
    for dtype in &options.types {
        report.codecs.push(codec(*dtype, &values, &cpu, options.seconds)?);
    }
    for dtype in &options.types {
        products(*dtype, options, &values, &cpu, &mut report.products)?;
    }
    if options.json {
        print_json(&report, out)?;
    } else {
        print(&report, out)?;
    }
    Ok(Exit::Success)
}

/// The speed of processing these floats in GB per second.
fn gigabytes(seconds: f64) -> f64 {
    (ELEMENTS * 4) as f64 / seconds / 1e9
}

fn codec(dtype: DType, values: &[f32], cpu: &Backend, seconds: f64) -> Outcome<Codec> {
    let blocks = cpu.quantize(dtype, values, 4096, None)?;
    let back = dtype.dequantize(&blocks)?;
    let off: f64 = values.iter().zip(&back).map(|(a, b)| f64::from(a - b).powi(2)).sum();
    let whole: f64 = values.iter().map(|a| f64::from(*a).powi(2)).sum();
    let encode = median(seconds, || {
        black_box(cpu.quantize(dtype, values, 4096, None)?);
        Ok(())
    })?;
    let decode = median(seconds, || {
        black_box(dtype.dequantize(&blocks)?);
        Ok(())
    })?;
    Ok(Codec { dtype, encode: gigabytes(encode), decode: gigabytes(decode), relative: (off / whole).sqrt() })
}

fn products(dtype: DType, options: &Bench, values: &[f32], cpu: &Backend, all: &mut Vec<Product>) -> Outcome<()> {
    let (side, ctx) = (options.side as usize, Context::new());
    let ne = i64::from(options.side);
    let weights: Vec<f32> = values.iter().copied().cycle().take(side * side).collect();
    let blocks = cpu.quantize(dtype, &weights, side, None)?;
    let a = ctx.zeros(dtype, [ne, ne])?;
    a.write_bytes(0, &blocks)?;
    let row_bytes = blocks.len() / side;
    let last = dtype.dequantize(&blocks[(side - 1) * row_bytes..])?;
    for n in &options.sizes {
        let b_values: Vec<f32> = values.iter().rev().copied().cycle().take(side * *n as usize).collect();
        let b = ctx.zeros(DType::F32, [ne, i64::from(*n)])?;
        b.write(&b_values)?;
        let c = a.mul_mat(&b)?;
        let graph = Graph::new(&[&c])?;
        graph.compute(cpu)?;
        check(dtype, &last, &b_values[b_values.len() - side..], c.get(&[ne - 1, i64::from(*n) - 1])?)?;
        let seconds = median(options.seconds, || Ok(graph.compute(cpu)?))?;
        let flop = 2.0 * (side * side) as f64 * f64::from(*n);
        all.push(Product {
            dtype,
            n: *n,
            seconds,
            gflops: flop / seconds / 1e9,
            read: blocks.len() as f64 / seconds / 1e9,
        });
    }
    Ok(())
}

/// Checks the product, because a wrong result must not look fast. The sum may be taken in any order and activations may
/// be rounded to 8 bits: half a percent of the product of both norms is far above either error, and far below that of a
/// wrong row.
fn check(dtype: DType, a: &[f32], b: &[f32], got: f32) -> Outcome<()> {
    let dot = |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
    let (want, norms) = (dot(a, b), (dot(a, a) * dot(b, b)).sqrt());
    if (f64::from(got) - want).abs() <= 0.005 * norms {
        return Ok(());
    }
    Err(Failure::new(Exit::Internal, format!("bench: a product of {dtype} is {got} and should be {want}"))
        .hint("please report this"))
}

/// The median time of a call, over as many calls as fit in `seconds`, at least three.
fn median(seconds: f64, mut call: impl FnMut() -> Outcome<()>) -> Outcome<f64> {
    call()?; // fill pages and caches
    let (begin, mut times) = (Instant::now(), Vec::new());
    while times.len() < 3 || begin.elapsed().as_secs_f64() < seconds {
        let start = Instant::now();
        call()?;
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2].max(1e-9))
}

/// Numbers around zero, roughly normal: sums of four from a multiplicative generator.
fn random(n: usize) -> Vec<f32> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 24) as f32 - 0.5
    };
    (0..n).map(|_| uniform() + uniform() + uniform() + uniform()).collect()
}
