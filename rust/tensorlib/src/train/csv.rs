//! Reads files of comma-separated numbers, a sample per line.

use crate::{Error, Result};
use std::path::Path;
use tensorlib_sys as sys;

/// A file's numbers: all but the last of each line, and the last ones with their line numbers.
pub(super) struct Table {
    pub(super) width: i64,
    pub(super) values: Vec<f32>,
    pub(super) last: Vec<(usize, f32)>,
}

pub(super) fn read_table(path: &Path) -> Result<Table> {
    let text = std::fs::read_to_string(path).map_err(|e| {
        let message = format!("DataSet: {}: cannot be read: {e}", path.display());
        Error::new(sys::TL_STATUS_IO.0, message, Vec::new())
    })?;
    let mut table = Table { width: 0, values: Vec::new(), last: Vec::new() };
    let mut may_be_names = true;
    for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#')) {
        let fields: Vec<_> = line.split(',').map(str::trim).collect();
        let numbers: std::result::Result<Vec<f32>, _> = fields.iter().map(|field| field.parse()).collect();
        let is_first = std::mem::take(&mut may_be_names);
        let Ok(mut numbers) = numbers else {
            if is_first && fields.iter().all(|field| field.parse::<f32>().is_err()) {
                continue;
            }
            return Err(format_error(path, &format!("line {}: numbers between commas are valid", i + 1)));
        };
        let last = numbers.pop().unwrap_or_default();
        let width = numbers.len() as i64;
        if table.last.is_empty() {
            table.width = width;
        }
        if width != table.width || width == 0 {
            let (found, wanted) = (width + 1, table.width.max(1) + 1);
            return Err(format_error(path, &format!("line {}: {found} numbers: {wanted} are valid", i + 1)));
        }
        table.values.extend(numbers);
        table.last.push((i + 1, last));
    }
    if table.last.is_empty() {
        return Err(format_error(path, "no samples"));
    }
    Ok(table)
}

pub(super) fn format_error(path: &Path, what: &str) -> Error {
    Error::new(sys::TL_STATUS_FORMAT.0, format!("DataSet: {}: {what}", path.display()), Vec::new())
}
