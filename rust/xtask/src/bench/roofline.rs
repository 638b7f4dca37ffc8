//! Draws the roofline: the limits of memory and arithmetic, and what products reach below them.

use super::rows::{Row, Rows};
use super::svg::{Anchor, Svg, SERIES};

/// The types to draw, if the rows have them; the last one's labels are above its points.
const KINDS: [&str; SERIES] = ["f32", "bf16", "q8_0", "q4_0"];

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 480.0;
/// The plot's edges in the picture.
const LEFT: f64 = 70.0;
const RIGHT: f64 = 640.0;
const TOP: f64 = 75.0;
const BOTTOM: f64 = 420.0;

/// Both axes are logarithmic: a factor of 2 is equally wide everywhere.
struct Axes {
    x: (f64, f64),
    y: (f64, f64),
}

impl Axes {
    fn of(rows: &[(usize, Vec<&Row>)], peaks: &[f64]) -> Self {
        let all = || rows.iter().flat_map(|(_, series)| series.iter());
        let xs: Vec<f64> = all().filter_map(|r| r.intensity()).collect();
        let lowest = all().map(|r| r.best).fold(f64::INFINITY, f64::min);
        let highest = peaks.iter().fold(0.0f64, |a, b| a.max(*b));
        let (first, last) = (xs.iter().copied().fold(f64::INFINITY, f64::min), xs.iter().copied().fold(0.0, f64::max));
        let down = |v: f64| v.log2().floor().exp2();
        Self { x: (down(first * 0.9), 2.0 * down(last * 1.5)), y: (down(lowest * 0.8), highest * 1.6) }
    }

    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let part = |v: f64, (low, high): (f64, f64)| (v / low).log2() / (high / low).log2();
        (LEFT + part(x, self.x) * (RIGHT - LEFT), BOTTOM - part(y, self.y) * (BOTTOM - TOP))
    }
}

/// The picture of one thread's rows; None if no row has limits.
pub fn draw(rows: &Rows) -> Option<String> {
    let series: Vec<(usize, Vec<&Row>)> =
        KINDS.iter().enumerate().filter_map(|(i, kind)| of(rows, kind).map(|r| (i, r))).collect();
    let (bandwidth, peaks) = limits(&series)?;
    let axes = Axes::of(&series, &peaks.iter().map(|(peak, _)| *peak).collect::<Vec<_>>());
    let run = &rows.run;
    let subtitle =
        format!("{}, {}, ISA {}, one thread; weights cold, the best of each row", run.cpu, run.date, run.isa);
    let mut svg = Svg::new(WIDTH, HEIGHT, "Products below the roof that memory and arithmetic set", &subtitle);
    grid(&mut svg, &axes);
    roofs(&mut svg, &axes, bandwidth, &peaks);
    for (i, points) in &series {
        draw_series(&mut svg, &axes, *i, points);
    }
    for (slot, (i, _)) in series.iter().rev().enumerate() {
        let y = TOP + 14.0 + 22.0 * slot as f64;
        svg.dot(&format!("s{i}"), (RIGHT + 22.0, y - 4.0));
        svg.text((RIGHT + 34.0, y), "", Anchor::Start, KINDS[*i]);
    }
    Some(svg.finish())
}

/// Our rows of a type, by number of columns.
fn of<'a>(rows: &'a Rows, kind: &str) -> Option<Vec<&'a Row>> {
    let mut found: Vec<&Row> =
        rows.columns().iter().filter_map(|n| rows.ours(kind, *n)).filter(|r| r.limits.is_some()).collect();
    found.sort_by_key(|r| r.n);
    (!found.is_empty()).then_some(found)
}

/// The bandwidth, and each peak with the types that it limits.
fn limits(series: &[(usize, Vec<&Row>)]) -> Option<(f64, Vec<(f64, String)>)> {
    let all = || series.iter().flat_map(|(_, rows)| rows.iter().filter_map(|r| r.limits));
    let bandwidth = median(all().map(|l| l.bandwidth).collect())?;
    let mut peaks: Vec<(f64, String)> = Vec::new();
    for (i, rows) in series {
        let peak = median(rows.iter().filter_map(|r| r.limits).map(|l| l.peak).collect())?;
        // Peaks within a tenth of each other are repeated measurements of one kind of instructions.
        match peaks.iter_mut().find(|(other, _)| (peak / *other - 1.0).abs() < 0.1) {
            Some((_, kinds)) => *kinds += &format!(", {}", KINDS[*i]),
            None => peaks.push((peak, KINDS[*i].into())),
        }
    }
    Some((bandwidth, peaks))
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

fn grid(svg: &mut Svg, axes: &Axes) {
    let mut x = axes.x.0;
    while x <= axes.x.1 * 1.01 {
        let (at, _) = axes.at(x, axes.y.0);
        svg.line("grid", (at, TOP), (at, BOTTOM));
        svg.text((at, BOTTOM + 18.0), "soft", Anchor::Middle, &plain(x));
        x *= 4.0;
    }
    let mut y = axes.y.0;
    while y <= axes.y.1 {
        let (_, at) = axes.at(axes.x.0, y);
        svg.line("grid", (LEFT, at), (RIGHT, at));
        svg.text((LEFT - 8.0, at + 4.0), "soft", Anchor::End, &plain(y));
        y *= 2.0;
    }
    svg.text(
        ((LEFT + RIGHT) / 2.0, BOTTOM + 40.0),
        "soft",
        Anchor::Middle,
        "operations for each byte of the weights; beside a point its number of columns",
    );
    svg.text((LEFT - 50.0, TOP - 8.0), "soft", Anchor::Start, "10⁹ operations a second");
}

/// Formats a power of two, a quarter or a half.
fn plain(value: f64) -> String {
    if value < 1.0 {
        format!("1/{}", (1.0 / value).round())
    } else {
        format!("{value}")
    }
}

fn roofs(svg: &mut Svg, axes: &Axes, bandwidth: f64, peaks: &[(f64, String)]) {
    let highest = peaks.iter().fold(0.0f64, |a, (peak, _)| a.max(*peak));
    let start = axes.x.0.max(axes.y.0 / bandwidth);
    svg.path("ink", &[axes.at(start, start * bandwidth), axes.at(highest / bandwidth, highest)]);
    let middle = (start * bandwidth * highest).sqrt();
    let (x, y) = axes.at(middle / bandwidth, middle);
    svg.text((x - 12.0, y - 4.0), "soft", Anchor::End, &format!("memory: {bandwidth:.0} GB/s"));
    for (peak, kinds) in peaks {
        svg.path("ink", &[axes.at(peak / bandwidth, *peak), axes.at(axes.x.1, *peak)]);
        let (x, y) = axes.at(axes.x.1, *peak);
        svg.text((x - 4.0, y - 6.0), "soft", Anchor::End, &format!("arithmetic for {kinds}: {peak:.0}"));
    }
}

fn draw_series(svg: &mut Svg, axes: &Axes, i: usize, rows: &[&Row]) {
    let class = format!("s{i}");
    let points: Vec<(f64, f64)> = rows.iter().filter_map(|r| Some(axes.at(r.intensity()?, r.best))).collect();
    svg.path(&format!("{class} line"), &points);
    for (row, (x, y)) in rows.iter().zip(&points) {
        svg.dot(&class, (*x, *y));
        let (dx, dy) = if i + 1 == SERIES { (-9.0, -8.0) } else { (9.0, 17.0) };
        svg.text((x + dx, y + dy), &class, Anchor::Middle, &row.n.to_string());
    }
}
