//! Writes SVG pictures: a light or dark card, as the reader's system prefers, with lines, boxes and text.

use std::fmt::Write;

/// Classes of strokes and fills: `s0`, `s1`, ... for series; `ink`, `soft` and `grid` for everything else.
const STYLE: &str = "
text { font: 13px system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #1f2328; }
.title { font-size: 16px; font-weight: 600; }
.soft { fill: #59636e; font-size: 12px; }
.card { fill: #ffffff; stroke: #d1d9e0; }
.grid { stroke: #d1d9e0; }
.ink { stroke: #1f2328; stroke-width: 1.5; fill: none; }
.s0 { fill: #0969da; stroke: #0969da; } .s1 { fill: #bc4c00; stroke: #bc4c00; }
.s2 { fill: #1a7f37; stroke: #1a7f37; } .s3 { fill: #8250df; stroke: #8250df; }
.line { fill: none; stroke-width: 1.5; }
text.s0, text.s1, text.s2, text.s3 { stroke: none; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; } .soft { fill: #9198a1; } .card { fill: #0d1117; stroke: #3d444d; }
.grid { stroke: #2f363e; } .ink { stroke: #e6edf3; }
.s0 { fill: #4493f8; stroke: #4493f8; } .s1 { fill: #f0883e; stroke: #f0883e; }
.s2 { fill: #3fb950; stroke: #3fb950; } .s3 { fill: #ab7df8; stroke: #ab7df8; }
}
";

/// How many series have a colour.
pub const SERIES: usize = 4;

/// Which point of a text its position refers to.
#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// A picture under construction.
pub struct Svg {
    body: String,
    width: f64,
    height: f64,
}

impl Svg {
    /// `title` is also the text for screen readers.
    pub fn new(width: f64, height: f64, title: &str, subtitle: &str) -> Self {
        let mut svg = Self { body: String::new(), width, height };
        let (w, h) = (width - 1.0, height - 1.0);
        svg.add(format_args!("<title>{}</title>", escaped(title)));
        svg.add(format_args!(r#"<rect class="card" x="0.5" y="0.5" width="{w}" height="{h}" rx="6"/>"#));
        svg.text((20.0, 30.0), "title", Anchor::Start, title);
        svg.text((20.0, 49.0), "soft", Anchor::Start, subtitle);
        svg
    }

    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.add(format_args!(r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#));
    }

    pub fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        let list: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        self.add(format_args!(r#"<polyline class="{class}" points="{}"/>"#, list.join(" ")));
    }

    pub fn dot(&mut self, class: &str, (x, y): (f64, f64)) {
        self.add(format_args!(r#"<circle class="{class}" cx="{x:.1}" cy="{y:.1}" r="4"/>"#));
    }

    pub fn bar(&mut self, class: &str, (x, y): (f64, f64), width: f64, height: f64) {
        self.add(format_args!(
            r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}"/>"#
        ));
    }

    pub fn text(&mut self, (x, y): (f64, f64), class: &str, anchor: Anchor, words: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let words = escaped(words);
        self.add(format_args!(r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{words}</text>"#));
    }

    /// The file's text.
    pub fn finish(self) -> String {
        let (w, h) = (self.width, self.height);
        let size = format!(r#"width="{w}" height="{h}" viewBox="0 0 {w} {h}""#);
        let open = format!(r#"<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">"#);
        format!("{open}\n<style>{STYLE}</style>\n{}</svg>\n", self.body)
    }

    fn add(&mut self, element: std::fmt::Arguments) {
        let _ = writeln!(self.body, "{element}"); // writing to a String cannot fail
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_words() {
        let text = Svg::new(10.0, 10.0, "a < b & c", "").finish();
        assert!(text.contains("<title>a &lt; b &amp; c</title>"));
        assert!(text.ends_with("</svg>\n"));
    }
}
