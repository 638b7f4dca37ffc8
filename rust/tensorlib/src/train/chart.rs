//! Line charts as SVG.

use crate::{Error, Result};
use std::fmt::Write;
use std::path::Path;
use tensorlib_sys as sys;

const WIDTH: f64 = 720.;
const HEIGHT: f64 = 420.;
const LEFT: f64 = 72.;
const RIGHT: f64 = 24.;
const TOP: f64 = 44.;
const BOTTOM: f64 = 56.;
/// Distinguishable with red-green colour blindness (M. Okabe, K. Ito, Color Universal Design, 2008).
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

/// A chart of lines and points over two axes.
///
/// ```
/// use tensorlib::train::Chart;
/// let chart = Chart::new("Squares", "x", "x x").line("squares", vec![(0., 0.), (1., 1.), (2., 4.)]);
/// assert!(chart.svg().starts_with("<svg"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    title: String,
    labels: [String; 2],
    series: Vec<Series>,
}

#[derive(Clone, Debug, PartialEq)]
struct Series {
    name: String,
    points: Vec<(f64, f64)>,
    is_line: bool,
}

impl Chart {
    /// Makes an empty chart with a title and the names of its axes.
    pub fn new(title: impl Into<String>, x: impl Into<String>, y: impl Into<String>) -> Self {
        Self { title: title.into(), labels: [x.into(), y.into()], series: Vec::new() }
    }

    /// Adds a line through points; points that are not finite are left out.
    #[must_use]
    pub fn line(self, name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        self.with(name.into(), points, true)
    }

    /// Adds separate points.
    #[must_use]
    pub fn points(self, name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        self.with(name.into(), points, false)
    }

    fn with(mut self, name: String, mut points: Vec<(f64, f64)>, is_line: bool) -> Self {
        points.retain(|(x, y)| x.is_finite() && y.is_finite());
        self.series.push(Series { name, points, is_line });
        self
    }

    /// The chart as the text of an SVG file.
    pub fn svg(&self) -> String {
        let all = || self.series.iter().flat_map(|s| &s.points);
        let (x, y) = (Axis::of(all().map(|p| p.0)), Axis::of(all().map(|p| p.1)));
        let at = |p: &(f64, f64)| {
            let (right, down) = (x.part(p.0) * (WIDTH - LEFT - RIGHT), (1. - y.part(p.1)) * (HEIGHT - TOP - BOTTOM));
            (LEFT + right, TOP + down)
        };
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"13\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n"
        );
        text(&mut svg, (LEFT, 26.), "start", "font-size=\"16\"", &self.title);
        for tick in x.ticks() {
            let (right, _) = at(&(tick, y.low));
            line(&mut svg, (right, TOP), (right, HEIGHT - BOTTOM));
            text(&mut svg, (right, HEIGHT - BOTTOM + 18.), "middle", "fill=\"#444444\"", &x.label(tick));
        }
        for tick in y.ticks() {
            let (_, down) = at(&(x.low, tick));
            line(&mut svg, (LEFT, down), (WIDTH - RIGHT, down));
            text(&mut svg, (LEFT - 8., down + 4.), "end", "fill=\"#444444\"", &y.label(tick));
        }
        text(&mut svg, ((LEFT + WIDTH - RIGHT) / 2., HEIGHT - 14.), "middle", "", &self.labels[0]);
        let middle = (TOP + HEIGHT - BOTTOM) / 2.;
        text(&mut svg, (16., middle), "middle", &format!("transform=\"rotate(-90 16 {middle})\""), &self.labels[1]);
        for (i, series) in self.series.iter().enumerate() {
            let colour = COLOURS[i % COLOURS.len()];
            if series.is_line {
                let path: Vec<String> =
                    series.points.iter().map(at).map(|(right, down)| format!("{right:.1},{down:.1}")).collect();
                let path = path.join(" ");
                let _ =
                    writeln!(svg, "<polyline points=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>");
            } else {
                for (right, down) in series.points.iter().map(at) {
                    let _ = writeln!(
                        svg,
                        "<circle cx=\"{right:.1}\" cy=\"{down:.1}\" r=\"3\" fill=\"{colour}\" fill-opacity=\"0.7\"/>"
                    );
                }
            }
            let down = TOP + 16. + 18. * i as f64;
            let _ = writeln!(
                svg,
                "<rect x=\"{}\" y=\"{}\" width=\"12\" height=\"4\" fill=\"{colour}\"/>",
                WIDTH - 160.,
                down - 6.
            );
            text(&mut svg, (WIDTH - 142., down), "start", "", &series.name);
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// Writes the chart to an SVG file.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn write_svg(&self, path: impl AsRef<Path>) -> Result<()> {
        write(path.as_ref(), &self.svg())
    }
}

pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|e| {
        let message = format!("write: {}: cannot be written: {e}", path.display());
        Error::new(sys::TL_STATUS_IO.0, message, Vec::new())
    })
}

fn line(svg: &mut String, from: (f64, f64), to: (f64, f64)) {
    let ((x1, y1), (x2, y2)) = (from, to);
    let _ = writeln!(svg, "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"#dddddd\"/>");
}

fn text(svg: &mut String, at: (f64, f64), anchor: &str, more: &str, text: &str) {
    let safe = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" {more}>{safe}</text>", at.0, at.1);
}

/// An axis between two multiples of its step, which is 1, 2 or 5 times a power of 10.
struct Axis {
    low: f64,
    high: f64,
    step: f64,
}

impl Axis {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        let (low, high) = match (low <= high, low < high) {
            (false, _) => (0., 1.),
            (true, true) => (low, high),
            (true, false) => (low - 0.5 * low.abs().max(1.), high + 0.5 * high.abs().max(1.)),
        };
        // 4 to 10 steps.
        let rough = (high - low) / 8.;
        let power = 10f64.powf(rough.log10().floor());
        let step = power * [1., 2., 5., 10.].into_iter().find(|m| m * power >= rough).unwrap_or(10.);
        Self { low: (low / step).floor() * step, high: (high / step).ceil() * step, step }
    }

    fn part(&self, x: f64) -> f64 {
        (x - self.low) / (self.high - self.low)
    }

    fn ticks(&self) -> Vec<f64> {
        let n = ((self.high - self.low) / self.step).round() as i64;
        (0..=n.clamp(1, 20)).map(|i| self.low + i as f64 * self.step).collect()
    }

    fn label(&self, x: f64) -> String {
        let digits = (-self.step.log10().floor()).clamp(0., 9.) as usize;
        if x != 0. && !(1e-9..1e9).contains(&x.abs().max(self.step)) {
            return format!("{x:.1e}");
        }
        let text = format!("{x:.digits$}");
        if text.trim_start_matches(['-', '0', '.']).is_empty() {
            "0".into()
        } else {
            text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_steps() {
        for (values, low, high, step) in [
            (vec![0., 1.], 0., 1., 0.2),
            (vec![3., 97.], 0., 100., 20.),
            (vec![-0.013, 0.02], -0.015, 0.02, 0.005),
            (vec![5.], 2., 8., 1.),
            (vec![], 0., 1., 0.2),
        ] {
            let axis = Axis::of(values.iter().copied());
            let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
            assert!(
                near(axis.low, low) && near(axis.high, high) && near(axis.step, step),
                "{values:?}: {} {} {}",
                axis.low,
                axis.high,
                axis.step
            );
            assert!(axis.ticks().len() >= 4 && values.iter().all(|x| (0. ..=1.).contains(&axis.part(*x))));
        }
        assert_eq!(Axis::of([0., 1.].into_iter()).label(0.4), "0.4");
        assert_eq!(Axis::of([0., 1.].into_iter()).label(0.), "0");
    }

    #[test]
    fn what_is_not_finite_is_left_out_and_names_are_safe() {
        let chart =
            Chart::new("a < b & c", "x", "y").line("l", vec![(0., f64::NAN), (1., 2.), (2., 3.)]).points("p", vec![]);
        let svg = chart.svg();
        assert!(svg.contains("a &lt; b &amp; c") && !svg.contains("NaN") && svg.ends_with("</svg>\n"));
        assert_eq!(svg.matches("<polyline").count(), 1);
    }
}
