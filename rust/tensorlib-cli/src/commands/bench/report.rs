//! The results of `tensorlib bench`, as tables and as JSON.

use crate::failure::Outcome;
use crate::terminal::text::Table;
use serde_json::{json, Value as Json};
use std::io::Write;
use tensorlib::DType;

/// The speed of encoding and decoding a type, in GB of floats per second.
pub struct Codec {
    /// The type.
    pub dtype: DType,
    /// Encoding, on all threads.
    pub encode: f64,
    /// Decoding, on one thread.
    pub decode: f64,
    /// The error of encoding and decoding, relative to the values.
    pub relative: f64,
}

/// A product's speed.
pub struct Product {
    /// The weights' type.
    pub dtype: DType,
    /// The number of columns.
    pub n: u32,
    /// The median time.
    pub seconds: f64,
    /// Billions of multiplications and additions per second.
    pub gflops: f64,
    /// Weights read, in GB per second.
    pub read: f64,
}

/// All results.
pub struct Report {
    /// The instruction set of the kernels.
    pub isa: String,
    /// The number of threads.
    pub threads: usize,
    /// Seconds per line.
    pub seconds: f64,
    /// Rows and columns of the weights.
    pub side: u32,
    /// A copy by one thread, in GB per second.
    pub memcpy: f64,
    /// The types.
    pub codecs: Vec<Codec>,
    /// The products.
    pub products: Vec<Product>,
}

/// Prints the results as tables.
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

/// Prints the results as JSON.
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
