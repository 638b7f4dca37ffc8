//! The older format of importance files, `imatrix.dat`, which has no mark at its beginning.
//!
//! | bytes | contents |
//! |---|---|
//! | 4 | the number of entries |
//! | each entry | the length of a name (4), the name, the number of runs (4), the number of values (4), values of 4 bytes |
//! | the rest | the number of runs, and the name of the text |
//!
//! A value is the mean square of what a column is multiplied with, times the number of runs.

use crate::failure::{Failure, Outcome};
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// More would be no such file: names of tensors are shorter, and models have fewer of them.
const MOST_NAME: u32 = 256;
const MOST_ENTRIES: u32 = 1 << 20;

/// The mean squares of each name; `None` for a file that does not begin like one of this format.
pub fn read(path: &Path) -> Outcome<Option<HashMap<String, Vec<f32>>>> {
    if !path.is_file() {
        return Ok(None); // the reader of other formats says why
    }
    let failed = |e| Failure::io(path, "read", &e);
    let mut file = File::open(path).map_err(failed)?;
    let mut head = [0; 9];
    if file.read_exact(&mut head).is_err() || !begins(&head) {
        return Ok(None);
    }
    let mut bytes = head.to_vec();
    file.read_to_end(&mut bytes).map_err(failed)?;
    Ok(entries(&bytes))
}

/// Whether the first bytes are a number of entries, and a length and the first letter of a name.
fn begins(head: &[u8; 9]) -> bool {
    let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    (1..MOST_ENTRIES).contains(&number(0))
        && (1..MOST_NAME).contains(&number(4))
        && head[8].is_ascii_graphic()
        && head[8] != b'{'
}

/// All entries, if the bytes have as many as they say.
fn entries(mut bytes: &[u8]) -> Option<HashMap<String, Vec<f32>>> {
    let n = number(&mut bytes)?;
    let mut all = HashMap::new();
    for _ in 0..n {
        let len = number(&mut bytes).filter(|len| (1..MOST_NAME).contains(len))?;
        let name = take(&mut bytes, len).filter(|name| name.iter().all(u8::is_ascii_graphic))?;
        let name = String::from_utf8_lossy(name).into_owned();
        let runs = number(&mut bytes)?.max(1) as f32;
        let len = number(&mut bytes)?.checked_mul(4)?;
        let values = take(&mut bytes, len)?.chunks_exact(4);
        all.insert(name, values.map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]) / runs).collect());
    }
    is_end(bytes).then_some(all)
}

/// Whether these bytes follow the entries: none in the oldest files, or the number of runs, or also a text's name.
fn is_end(mut bytes: &[u8]) -> bool {
    let after_runs = number(&mut bytes).is_none() || bytes.is_empty();
    after_runs || number(&mut bytes).is_some_and(|len| bytes.len() == len as usize)
}

fn take<'a>(bytes: &mut &'a [u8], n: u32) -> Option<&'a [u8]> {
    let (first, rest) = bytes.split_at_checked(n as usize)?;
    *bytes = rest;
    Some(first)
}

fn number(bytes: &mut &[u8]) -> Option<u32> {
    take(bytes, 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}
