//! Reads the output of tl_bench_micro's `--json`, a JSON object per line: one about the run, then one for each row.

use std::path::Path;

use serde_json::Value;

/// The machine and time of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub isa: String,
    pub date: String,
    pub cpu: String,
}

/// The speed of a product of one shape, ours or a peer's, in 10^9 operations per second.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// `tensorlib`, or a peer's name.
    pub who: String,
    /// The storage type of the weights.
    pub kind: String,
    /// Whether the weights were constant.
    pub constant: bool,
    pub n: u64,
    pub threads: u64,
    pub best: f64,
    /// The limits measured together with it; a peer's rows may have none.
    pub limits: Option<Limits>,
}

/// The limits of one row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    pub peak: f64,
    pub bandwidth: f64,
    pub weight_bytes: f64,
}

impl Row {
    /// Operations per byte of the weights: each weight takes part in 2 n operations.
    pub fn intensity(&self) -> Option<f64> {
        Some(2.0 * self.n as f64 / self.limits?.weight_bytes)
    }

    /// The most operations that memory and arithmetic allow.
    pub fn roof(&self) -> Option<f64> {
        let limits = self.limits?;
        Some(limits.peak.min(limits.bandwidth * self.intensity()?))
    }
}

/// The rows of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    pub run: Run,
    pub rows: Vec<Row>,
}

impl Rows {
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        Self::parse(&text).map_err(|why| format!("{}: {why}", path.display()))
    }

    pub fn parse(text: &str) -> Result<Self, String> {
        let (mut run, mut rows) = (None, Vec::new());
        for (i, line) in text.lines().enumerate() {
            let object: Value = serde_json::from_str(line).map_err(|e| format!("line {}: {e}", i + 1))?;
            let fields = Fields { object, line: i + 1 };
            if fields.text("section")? == "run" {
                run = Some(Run { isa: fields.text("isa")?, date: fields.text("date")?, cpu: fields.text("cpu")? });
            } else {
                rows.push(row_of(&fields)?);
            }
        }
        let run = run.ok_or("no line has \"section\": \"run\" with ISA, date and cpu")?;
        Ok(Self { run, rows })
    }

    /// Our row of a shape on one thread, with constant weights if there is such a row.
    pub fn ours(&self, kind: &str, n: u64) -> Option<&Row> {
        let found = |constant| self.of_one_thread(OURS, kind, n, constant);
        found(Some(true)).or_else(|| found(Some(false)))
    }

    /// A peer's row of a shape on one thread.
    pub fn of_peer(&self, who: &str, kind: &str, n: u64) -> Option<&Row> {
        self.of_one_thread(who, kind, n, None)
    }

    fn of_one_thread(&self, who: &str, kind: &str, n: u64, constant: Option<bool>) -> Option<&Row> {
        let is = |r: &&Row| r.who == who && r.kind == kind && r.n == n && r.threads == 1;
        self.rows.iter().filter(is).find(|r| constant.is_none_or(|wanted| r.constant == wanted))
    }

    /// The peers' names, types and numbers of columns, each in the order of first appearance.
    pub fn peers(&self) -> Vec<&str> {
        distinct(self.rows.iter().map(|r| r.who.as_str()).filter(|who| *who != OURS))
    }

    pub fn kinds(&self) -> Vec<&str> {
        distinct(self.rows.iter().map(|r| r.kind.as_str()))
    }

    pub fn columns(&self) -> Vec<u64> {
        distinct(self.rows.iter().map(|r| r.n))
    }
}

pub const OURS: &str = "tensorlib";

fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut kept = Vec::new();
    for one in all {
        if !kept.contains(&one) {
            kept.push(one);
        }
    }
    kept
}

/// An object, and its position for messages.
struct Fields {
    object: Value,
    line: usize,
}

impl Fields {
    fn get<T>(&self, name: &str, what: &str, read: impl Fn(&Value) -> Option<T>) -> Result<T, String> {
        let found = self.object.get(name).and_then(read);
        found.ok_or(format!("line {}: {name:?} is not there or is not {what}", self.line))
    }

    fn text(&self, name: &str) -> Result<String, String> {
        self.get(name, "a text", |v| v.as_str().map(String::from))
    }

    fn count(&self, name: &str) -> Result<u64, String> {
        self.get(name, "a whole number above 0", |v| v.as_u64().filter(|n| *n > 0))
    }

    fn size(&self, name: &str) -> Result<f64, String> {
        self.get(name, "a number above 0", |v| v.as_f64().filter(|n| *n > 0.0))
    }
}

fn row_of(fields: &Fields) -> Result<Row, String> {
    let limits = |_: &Value| -> Result<Limits, String> {
        let (peak, bandwidth) = (fields.size("peak")?, fields.size("bandwidth")?);
        Ok(Limits { peak, bandwidth, weight_bytes: fields.size("weight_bytes")? })
    };
    Ok(Row {
        who: fields.text("who")?,
        kind: fields.text("type")?,
        constant: fields.get("constant", "true or false", Value::as_bool)?,
        n: fields.count("n")?,
        threads: fields.count("threads")?,
        best: fields.size("best")?,
        limits: fields.object.get("peak").map(limits).transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = r#"{"section": "run", "isa": "avx2", "date": "2026-11-22 15:08 UTC", "cpu": "a \"CPU\""}"#;
    const ROW: &str = r#"{"section": "weights", "who": "tensorlib", "type": "f32", "constant": false, "n": 8, "threads": 1, "weight_bytes": 4, "peak": 100, "bandwidth": 20.5, "best": 70}"#;

    #[test]
    fn a_row_has_its_roof() {
        let rows = Rows::parse(&format!("{RUN}\n{ROW}\n")).unwrap();
        assert_eq!(rows.run.cpu, "a \"CPU\"");
        let row = rows.ours("f32", 8).unwrap();
        assert_eq!((row.intensity(), row.roof()), (Some(4.0), Some(82.0)));
        assert_eq!(rows.ours("f32", 1), None);
    }

    #[test]
    fn constant_weights_come_first() {
        let constant = ROW.replace("false", "true").replace("70", "80");
        let rows = Rows::parse(&format!("{RUN}\n{ROW}\n{constant}\n")).unwrap();
        assert_eq!(rows.ours("f32", 8).unwrap().best, 80.0);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |text: &str| Rows::parse(text).unwrap_err();
        assert!(error(ROW).contains("\"section\": \"run\""));
        assert!(error(&format!("{RUN}\n{}", ROW.replace("\"n\": 8", "\"n\": 0"))).contains("line 2: \"n\""));
        assert!(error(&format!("{RUN}\n{}", ROW.replace("20.5", "null"))).contains("line 2: \"bandwidth\""));
        assert!(error(&format!("{RUN}\n{{")).contains("line 2"));
    }
}
