//! What `tensorlib bench` found, as tables and as JSON.

use crate::failure::Outcome;
use crate::text::Table;
use serde_json::{json, Value as Json};
use std::io::Write;
use tensorlib::DType;

/// A format's speed there and back, in GB of floats a second.
pub struct Codec {
    /// The format.
    pub dtype: DType,
    /// By all threads.
    pub encode: f64,
    /// By one thread.
    pub decode: f64,
    /// The error of the way there and back, over the values.
    pub relative: f64,
}

/// A product's speed.
pub struct Product {
    /// The weights' type.
    pub dtype: DType,
    /// Columns.
    pub n: u32,
    /// The median time.
    pub seconds: f64,
    /// Billions of multiplications and additions a second.
    pub gflops: f64,
    /// Weights read, in GB a second.
    pub read: f64,
}

/// All of it.
pub struct Report {
    /// The instruction set of the kernels.
    pub isa: String,
    /// Threads.
    pub threads: usize,
    /// Seconds for each line.
    pub seconds: f64,
    /// Rows and columns of the weights.
    pub side: u32,
    /// A copy by one thread, in GB a second.
    pub memcpy: f64,
    /// Formats.
    pub codecs: Vec<Codec>,
    /// Products.
    pub products: Vec<Product>,
}

/// As tables.
pub fn print(report: &Report, out: &mut dyn Write) -> Outcome<()> {
    let Report { isa, threads, seconds, side, memcpy, .. } = report;
    writeln!(out, "cpu, {isa}, {threads} threads; medians over {seconds} s each")?;
    writeln!(out, "formats: 4 Mi floats, GB of floats a second; memcpy by one thread: {memcpy:.2}")?;
    let mut table = Table::new(&["type", ">encode, all threads", ">decode, one thread", ">relative error"]);
    for c in &report.codecs {
        let (encode, decode) = (format!("{:.3}", c.encode), format!("{:.2}", c.decode));
        table.row(vec![c.dtype.name(), encode, decode, format!("{:.2e}", c.relative)]);
    }
    table.print(out)?;
    writeln!(out, "mul_mat: [{side}, {side}] x [{side}, n]")?;
    let mut table = Table::new(&["type", ">n", ">ms", ">GFLOP/s", ">weights GB/s"]);
    for p in &report.products {
        let (ms, gflops) = (format!("{:.3}", p.seconds * 1e3), format!("{:.2}", p.gflops));
        table.row(vec![p.dtype.name(), p.n.to_string(), ms, gflops, format!("{:.2}", p.read)]);
    }
    Ok(table.print(out)?)
}

/// As JSON.
pub fn print_json(report: &Report, out: &mut dyn Write) -> Outcome<()> {
    let codecs = report.codecs.iter().map(|c| {
        json!({ "type": c.dtype.name(), "encode_gb_s": c.encode, "decode_gb_s": c.decode,
                "relative_error": c.relative })
    });
    let products = report.products.iter().map(|p| {
        json!({ "type": p.dtype.name(), "n": p.n, "seconds": p.seconds, "gflop_s": p.gflops, "weights_gb_s": p.read })
    });
    let all = json!({
        "device": "cpu", "isa": report.isa, "threads": report.threads, "seconds": report.seconds, "side": report.side,
        "memcpy_gb_s": report.memcpy, "formats": codecs.collect::<Vec<Json>>(),
        "mul_mat": products.collect::<Vec<Json>>(),
    });
    Ok(writeln!(out, "{all:#}")?)
}
