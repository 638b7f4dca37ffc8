//! Draws our products next to those of peers: one column and many, a group of bars for each storage type.

use super::rows::{Rows, OURS};
use super::svg::{Anchor, Svg, SERIES};

const WIDTH: f64 = 760.0;
const TOP: f64 = 108.0;
const BAR: f64 = 13.0;
const BETWEEN_TYPES: f64 = 12.0;
/// Each panel's left edge, and the length of its longest bar.
const PANELS: [(f64, f64); 2] = [(70.0, 240.0), (440.0, 240.0)];

/// The picture of one thread's rows; None if no peer has rows.
pub fn draw(rows: &Rows) -> Option<String> {
    let peers = rows.peers();
    let compared = |kind: &&str, n: u64| peers.iter().any(|who| rows.of_peer(who, kind, n).is_some());
    let mut columns = rows.columns();
    columns.retain(|n| rows.kinds().iter().any(|kind| compared(kind, *n)));
    columns.sort_unstable();
    let (first, last) = (*columns.first()?, *columns.last()?);
    let panels: Vec<u64> = if first == last { vec![first] } else { vec![first, last] };
    let kinds: Vec<&str> = rows.kinds().into_iter().filter(|k| panels.iter().any(|n| compared(k, *n))).collect();
    let shown: Vec<&str> = std::iter::once(OURS).chain(peers).take(SERIES).collect();

    let group = BAR * shown.len() as f64 + BETWEEN_TYPES;
    let height = TOP + group * kinds.len() as f64 + 12.0;
    let run = &rows.run;
    let subtitle =
        format!("{}, {}, ISA {}, one thread; weights cold, 10⁹ operations a second, best", run.cpu, run.date, run.isa);
    let mut svg = Svg::new(WIDTH, height, "Products beside peers", &subtitle);
    for (i, who) in shown.iter().enumerate() {
        let x = PANELS[0].0 + 130.0 * i as f64;
        svg.bar(&format!("s{i}"), (x, 64.0), 11.0, 11.0);
        svg.text((x + 17.0, 74.0), "", Anchor::Start, who);
    }
    for ((left, longest), n) in PANELS.iter().zip(&panels) {
        let title = if *n == 1 { "1 column".to_string() } else { format!("{n} columns") };
        svg.text((*left, TOP - 12.0), "", Anchor::Start, &title);
        panel(&mut svg, rows, (*left, *longest), *n, &kinds, &shown);
    }
    Some(svg.finish())
}

fn panel(svg: &mut Svg, rows: &Rows, (left, longest): (f64, f64), n: u64, kinds: &[&str], shown: &[&str]) {
    let value = |who: &str, kind: &str| {
        let row = if who == OURS { rows.ours(kind, n) } else { rows.of_peer(who, kind, n) };
        row.map(|r| r.best)
    };
    let all = kinds.iter().flat_map(|kind| shown.iter().filter_map(move |who| value(who, kind)));
    let most = all.fold(0.0, f64::max);
    for (k, kind) in kinds.iter().enumerate() {
        let top = TOP + k as f64 * (BAR * shown.len() as f64 + BETWEEN_TYPES);
        svg.text((left - 10.0, top + BAR * shown.len() as f64 / 2.0 + 4.0), "", Anchor::End, kind);
        for (i, who) in shown.iter().enumerate() {
            let y = top + BAR * i as f64;
            let Some(value) = value(who, kind) else {
                svg.text((left + 4.0, y + BAR - 2.5), "soft", Anchor::Start, "none");
                continue;
            };
            let length = value / most * longest;
            svg.bar(&format!("s{i}"), (left, y + 1.0), length, BAR - 3.0);
            svg.text((left + length + 5.0, y + BAR - 2.5), "soft", Anchor::Start, &three_digits(value));
        }
    }
}

/// Formats a number as the tables do: 15.4, 126.
fn three_digits(value: f64) -> String {
    if value < 99.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_in_tables() {
        assert_eq!(three_digits(15.44), "15.4");
        assert_eq!(three_digits(99.96), "100");
        assert_eq!(three_digits(1469.4), "1469");
    }
}
