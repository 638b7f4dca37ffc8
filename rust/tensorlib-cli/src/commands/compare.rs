//! `tensorlib compare`: the error of each tensor, computed in pieces on several threads. Sums are in double precision
//! and are added in the order of the pieces, so they do not depend on the number of threads.

use crate::args::Compare;
use crate::failure::{Exit, Outcome};
use crate::files::open;
use crate::terminal::text::{printable, shape, Table};
use serde_json::{json, Value as Json};
use std::collections::HashMap;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use tensorlib::Kind;
use tensorlib_models::files::{pieces, Entry, Piece, Source, Stored};

/// The number of elements that a thread compares at once: 2 x 4 MiB of floats. A multiple of every block size.
const PIECE: usize = 1 << 20;

/// Sums over the differences of some elements.
#[derive(Clone, Copy, Default)]
struct Sums {
    n: u64,
    /// Squared differences, and squares of A.
    off: f64,
    whole: f64,
    max: f64,
    max_at: u64,
    /// NaNs and infinities that the other side lacks.
    not_finite: u64,
}

impl Sums {
    fn add(&mut self, other: &Sums) {
        if other.max > self.max {
            (self.max, self.max_at) = (other.max, other.max_at);
        }
        (self.n, self.off, self.whole) = (self.n + other.n, self.off + other.off, self.whole + other.whole);
        self.not_finite += other.not_finite;
    }

    fn rmse(&self) -> f64 {
        (self.off / self.n.max(1) as f64).sqrt()
    }

    /// RMSE over the RMS of A. Infinite if A is zero and B is not, or if a value is finite on one side only.
    fn relative(&self) -> f64 {
        match () {
            _ if self.not_finite > 0 => f64::INFINITY,
            _ if self.off == 0.0 => 0.0,
            _ => (self.off / self.whole).sqrt(),
        }
    }

    fn decibels(&self) -> f64 {
        -20.0 * self.relative().log10()
    }
}

/// A tensor that both files have.
struct Pair {
    a: Entry,
    b: Entry,
    sums: Sums,
}

impl Pair {
    /// Whether the tensor counts in totals: integers are indices and the like, whose squares would dominate a sum.
    fn counts(&self) -> bool {
        self.a.stored.dtype().is_some_and(|t| t.kind() != Kind::Integer)
    }
}

/// All results of a comparison.
#[derive(Default)]
struct Findings {
    pairs: Vec<Pair>,
    only_a: Vec<String>,
    only_b: Vec<String>,
    shapes: Vec<(Entry, Entry)>,
    /// Tensors of types that the engine lacks: there are no values to compare.
    unread: Vec<(Entry, Entry)>,
}

/// Runs the command.
pub fn run(options: &Compare, out: &mut dyn Write) -> Outcome<Exit> {
    let (a, b) = (open::source(&options.a)?, open::source(&options.b)?);
    let mut found = matched(&a, &b);
    // Without any other tensors nothing is compared, which is an error.
    if let ([], [(of_a, of_b), ..]) = (&found.pairs[..], &found.unread[..]) {
        of_a.known_type().and(of_b.known_type())?;
    }
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = options.threads.map_or(all, usize::from);
    for pair in &mut found.pairs {
        pair.sums = compare(&a, &b, pair, threads)?;
    }
    let limit = options.fail_above.unwrap_or(f64::INFINITY);
    let above = |p: &Pair| p.sums.not_finite > 0 || p.sums.relative() > limit;
    let failed: Vec<&str> = found.pairs.iter().filter(|p| above(p)).map(|p| p.a.name.as_str()).collect();
    let same_names = found.only_a.is_empty() && found.only_b.is_empty() && found.shapes.is_empty();
    let exit = if same_names && failed.is_empty() { Exit::Success } else { Exit::Refused };
    if options.json {
        print_json(&found, &failed, exit, out)?;
    } else {
        print(&found, &failed, options.fail_above, out)?;
    }
    Ok(exit)
}

fn matched(a: &Source, b: &Source) -> Findings {
    let (entries_a, entries_b) = (a.entries(), b.entries());
    let names: HashMap<&str, &Entry> = entries_b.iter().map(|t| (t.name.as_str(), t)).collect();
    let mut found = Findings::default();
    for t in &entries_a {
        match names.get(t.name.as_str()) {
            None => found.only_a.push(t.name.clone()),
            Some(other) if other.dims() != t.dims() => found.shapes.push((t.clone(), (*other).clone())),
            Some(other) if t.stored == Stored::Unknown || other.stored == Stored::Unknown => {
                found.unread.push((t.clone(), (*other).clone()));
            }
            Some(other) => found.pairs.push(Pair { a: t.clone(), b: (*other).clone(), sums: Sums::default() }),
        }
    }
    let names: HashMap<&str, ()> = entries_a.iter().map(|t| (t.name.as_str(), ())).collect();
    found.only_b = entries_b.iter().filter(|t| !names.contains_key(t.name.as_str())).map(|t| t.name.clone()).collect();
    found
}

fn compare(a: &Source, b: &Source, pair: &Pair, threads: usize) -> Outcome<Sums> {
    let all = pieces(pair.a.elements(), pair.a.row(), 1, PIECE);
    let next = AtomicUsize::new(0);
    let results = Mutex::new(vec![None; all.len()]);
    std::thread::scope(|scope| {
        let work = || -> Outcome<()> {
            let take = || next.fetch_add(1, Ordering::Relaxed);
            while let Some((i, piece)) = Some(take()).and_then(|i| all.get(i).map(|piece| (i, piece))) {
                let sums = of_piece(&a.values(&pair.a, piece)?, &b.values(&pair.b, piece)?, piece);
                results.lock().unwrap_or_else(|e| e.into_inner())[i] = Some(sums);
            }
            Ok(())
        };
        // If a thread cannot be started, the others do its work.
        let helper = |_| std::thread::Builder::new().spawn_scoped(scope, work).ok();
        let helpers: Vec<_> = (1..threads.min(all.len())).filter_map(helper).collect();
        let mut outcome = work();
        for helper in helpers {
            let theirs = helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            outcome = outcome.and(theirs);
        }
        outcome
    })?;
    let mut sums = Sums::default();
    for piece in results.into_inner().unwrap_or_else(|e| e.into_inner()).iter().flatten() {
        sums.add(piece);
    }
    Ok(sums)
}

fn of_piece(a: &[f32], b: &[f32], piece: &Piece) -> Sums {
    let mut sums = Sums { n: a.len() as u64, ..Sums::default() };
    for (i, (x, y)) in a.iter().zip(b).enumerate() {
        if x == y || (x.is_nan() && y.is_nan()) {
            if x.is_finite() {
                sums.whole += f64::from(*x) * f64::from(*x);
            }
            continue;
        }
        let off = f64::from(*x) - f64::from(*y);
        if !off.is_finite() {
            sums.not_finite += 1;
            continue;
        }
        sums.off += off * off;
        sums.whole += f64::from(*x) * f64::from(*x);
        if off.abs() > sums.max {
            (sums.max, sums.max_at) = (off.abs(), piece.start + i as u64);
        }
    }
    sums
}

/// The position of an element, the contiguous dimension first.
fn position(entry: &Entry, mut element: u64) -> Vec<u64> {
    let mut at = Vec::new();
    for n in &entry.shape {
        let n = u64::try_from(*n).unwrap_or(1).max(1);
        at.push(element % n);
        element /= n;
    }
    at
}

fn print(found: &Findings, failed: &[&str], limit: Option<f64>, out: &mut dyn Write) -> Outcome<()> {
    let mut table = Table::new(&["name", "A", "B", ">RMSE", ">relative", ">SNR dB", ">max", "at"]);
    for p in &found.pairs {
        let (a, b) = (p.a.type_name.clone(), p.b.type_name.clone());
        table.row([vec![p.a.name.clone(), a, b], cells(&p.sums), vec![place(p)]].concat());
    }
    let mut total = Sums::default();
    found.pairs.iter().filter(|p| p.counts()).for_each(|p| total.add(&p.sums));
    table.row([vec!["all".into(), String::new(), String::new()], cells(&total), vec![String::new()]].concat());
    table.print(out)?;
    for name in &found.only_a {
        writeln!(out, "only in A: {}", printable(name))?;
    }
    for name in &found.only_b {
        writeln!(out, "only in B: {}", printable(name))?;
    }
    for (a, b) in &found.shapes {
        writeln!(out, "shapes differ: {}: {} in A, {} in B", printable(&a.name), shape(&a.shape), shape(&b.shape))?;
    }
    for (a, b) in &found.unread {
        let (types, name) = (format!("{} in A, {} in B", a.type_name, b.type_name), printable(&a.name));
        writeln!(out, "not compared: {name}: {types}: the engine has no such type")?;
    }
    for p in found.pairs.iter().filter(|p| p.sums.not_finite > 0) {
        writeln!(out, "not finite in one of both: {}: {} elements", printable(&p.a.name), p.sums.not_finite)?;
    }
    if let Some(limit) = limit.filter(|_| !failed.is_empty()) {
        writeln!(out, "relative error above {limit}: {}", printable(&failed.join(", ")))?;
    }
    Ok(())
}

fn cells(sums: &Sums) -> Vec<String> {
    let decibels = if sums.relative() == 0.0 { "exact".into() } else { format!("{:.2}", sums.decibels()) };
    vec![format!("{:.4e}", sums.rmse()), format!("{:.4e}", sums.relative()), decibels, format!("{:.4e}", sums.max)]
}

fn place(pair: &Pair) -> String {
    if pair.sums.max == 0.0 {
        return String::new();
    }
    format!("{:?}", position(&pair.a, pair.sums.max_at))
}

fn print_json(found: &Findings, failed: &[&str], exit: Exit, out: &mut dyn Write) -> Outcome<()> {
    let mut total = Sums::default();
    let tensors = found.pairs.iter().map(|p| {
        if p.counts() {
            total.add(&p.sums);
        }
        let mut row = sums_json(&p.sums);
        row["name"] = json!(p.a.name);
        row["type_a"] = json!(p.a.type_name);
        row["type_b"] = json!(p.b.type_name);
        row["shape"] = json!(p.a.shape);
        row["max_at"] = if p.sums.max > 0.0 { json!(position(&p.a, p.sums.max_at)) } else { Json::Null };
        row
    });
    let tensors: Vec<Json> = tensors.collect();
    let shapes = found.shapes.iter().map(|(a, b)| json!({ "name": a.name, "a": a.shape, "b": b.shape }));
    let unread = found.unread.iter();
    let unread = unread.map(|(a, b)| json!({ "name": a.name, "type_a": a.type_name, "type_b": b.type_name }));
    let all = json!({
        "tensors": tensors, "total": sums_json(&total), "only_in_a": found.only_a, "only_in_b": found.only_b,
        "shapes_differ": shapes.collect::<Vec<_>>(), "not_compared": unread.collect::<Vec<_>>(),
        "failed": failed, "success": exit == Exit::Success,
    });
    Ok(writeln!(out, "{all:#}")?)
}

/// Infinite numbers become null: an error relative to zeros, the decibels of exact values.
fn sums_json(sums: &Sums) -> Json {
    json!({ "elements": sums.n, "rmse": sums.rmse(), "relative": sums.relative(), "snr_db": sums.decibels(),
            "max": sums.max, "not_finite": sums.not_finite })
}
