//! `cargo xtask bench --report`: draws rows as pictures and a table.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::rows::{Row, Rows};
use super::{bars, roofline};
use crate::workspace::make_dir;

/// Writes the pictures and the table of each file to `out`, named after it.
pub fn write(files: &[PathBuf], out: &Path) -> Result<(), String> {
    make_dir(out)?;
    for file in files {
        let rows = Rows::read(file)?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for (ending, text) in parts(&rows) {
            let path = out.join(format!("{name}-{ending}"));
            std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
            println!("{}", path.display());
        }
    }
    Ok(())
}

/// The parts that these rows allow: the ending of each file's name, and its text.
fn parts(rows: &Rows) -> Vec<(&'static str, String)> {
    let drawn = [("roofline.svg", roofline::draw(rows)), ("peers.svg", bars::draw(rows))];
    let pictures = drawn.into_iter().filter_map(|(ending, text)| text.map(|text| (ending, text)));
    pictures.chain([("table.md", table(rows))]).collect()
}

/// Our results on one thread, as a fraction of the roof, and those of the best peer.
fn table(rows: &Rows) -> String {
    let run = &rows.run;
    let mut text = format!("{}, {}, ISA {}, one thread, 10^9 operations a second:\n\n", run.cpu, run.date, run.isa);
    text += "| type | n | ours | of the roof | best peer | | ours / its |\n|---|---|---|---|---|---|---|\n";
    let (kinds, columns) = (rows.kinds(), rows.columns());
    for (kind, n) in kinds.iter().flat_map(|kind| columns.iter().map(move |n| (*kind, *n))) {
        let Some(ours) = rows.ours(kind, n) else { continue };
        let roof = ours.roof().map_or("-".into(), |roof| format!("{:.0} %", 100.0 * ours.best / roof));
        let of_peers = rows.peers().into_iter().filter_map(|who| rows.of_peer(who, kind, n));
        let best = of_peers.max_by(|a: &&Row, b: &&Row| a.best.total_cmp(&b.best));
        let peer =
            best.map_or("- | - | -".into(), |p| format!("{:.1} | {} | {:.2}", p.best, p.who, ours.best / p.best));
        let _ = writeln!(text, "| {kind} | {n} | {:.1} | {roof} | {peer} |", ours.best);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each committed picture follows from its rows: docs/performance/X.json gives docs/performance/X-roofline.svg, and
    /// so on.
    #[test]
    fn committed_pictures_are_of_their_rows() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/performance");
        let mut compared = 0;
        for entry in std::fs::read_dir(&folder).unwrap() {
            let file = entry.unwrap().path();
            if file.extension().is_some_and(|e| e == "json") {
                let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
                for (ending, text) in parts(&Rows::read(&file).unwrap()) {
                    let picture = folder.join(format!("{stem}-{ending}"));
                    let why = "write it anew: cargo xtask bench --report docs/performance/*.json";
                    if ending.ends_with(".svg") {
                        assert!(std::fs::read_to_string(&picture).unwrap() == text, "{}: {why}", picture.display());
                        compared += 1;
                    }
                }
            }
        }
        assert!(compared >= 2, "{compared}");
    }
}
