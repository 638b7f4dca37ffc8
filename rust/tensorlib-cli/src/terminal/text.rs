//! Formats numbers and tables for people.

use std::io::{self, Write};

/// Bytes with a binary unit: `1.50 GiB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if n < 1024 {
        return format!("{n} B");
    }
    let mut value = n as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.2} {}", UNITS[unit])
}

/// A shape, the contiguous dimension first: `4096 x 32000`; a scalar has none.
pub fn shape(ne: &[i64]) -> String {
    if ne.is_empty() {
        return "scalar".into();
    }
    ne.iter().map(i64::to_string).collect::<Vec<_>>().join(" x ")
}

/// `1 tensor`, `2 tensors`.
pub fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// A text from a file with its control characters escaped: a file's contents must not control the terminal.
pub fn printable(text: &str) -> String {
    text.chars().flat_map(|c| if c.is_control() { c.escape_debug().collect() } else { vec![c] }).collect()
}

/// A size as users write it: a number, and K, M, G or T for powers of 1024.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || format!("'{text}' is no size: a number above 0, also with K, M, G or T, is valid, as 4G");
    let upper = text.trim().to_ascii_uppercase();
    let upper = upper.strip_suffix("IB").or(upper.strip_suffix('B')).unwrap_or(&upper);
    let at = upper.find(|c: char| !c.is_ascii_digit()).unwrap_or(upper.len());
    let shift = match &upper[at..] {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err(wrong()),
    };
    let n: u64 = upper[..at].parse().map_err(|_| wrong())?;
    n.checked_mul(1 << shift).filter(|n| *n > 0).ok_or_else(wrong)
}

/// Rows of cells below headings; a column is as wide as its widest cell. Names are left-aligned, numbers right-aligned.
pub struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A heading starting with `>` is for a column of numbers.
    pub fn new(head: &[&'static str]) -> Self {
        Table { head: head.to_vec(), rows: Vec::new() }
    }

    /// Adds a row. Cells may contain text from a file.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells.iter().map(|cell| printable(cell)).collect());
    }

    /// Prints the table, indented by two spaces.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let title = |c: usize| self.head[c].trim_start_matches('>');
        let width = |c: usize| {
            let cells = self.rows.iter().map(|r| r[c].chars().count());
            cells.chain([title(c).chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let titles: Vec<String> = (0..self.head.len()).map(|c| title(c).to_string()).collect();
        for row in std::iter::once(&titles).chain(&self.rows) {
            let mut line = String::new();
            for (c, cell) in row.iter().enumerate() {
                let pad = " ".repeat(widths[c] - cell.chars().count());
                line +=
                    &if self.head[c].starts_with('>') { format!("  {pad}{cell}") } else { format!("  {cell}{pad}") };
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_there_and_back() {
        assert_eq!(parse_size("4G"), Ok(4 << 30));
        assert_eq!(parse_size("10 kib").ok(), None);
        assert_eq!(parse_size("10KiB"), Ok(10 << 10));
        assert_eq!(parse_size("77"), Ok(77));
        for bad in ["", "G", "0", "-1", "4X", "99999999T", "1.5G"] {
            assert!(parse_size(bad).unwrap_err().contains("4G"), "{bad}");
        }
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(3 << 29), "1.50 GiB");
        assert_eq!(shape(&[2, 3]), "2 x 3");
        assert_eq!([count(0, "part"), count(1, "part"), count(2, "part")], ["0 parts", "1 part", "2 parts"]);
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("a\x1b[31m\n\u{9b}ü'"), "a\\u{1b}[31m\\n\\u{9b}ü'");
    }

    #[test]
    fn a_table_lines_up() {
        let mut table = Table::new(&["name", ">n"]);
        table.row(vec!["a".into(), "10".into()]);
        table.row(vec!["lo\n".into(), "7".into()]);
        let mut out = Vec::new();
        table.print(&mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "  name   n\n  a     10\n  lo\\n   7\n");
    }
}
