//! What `quantize` makes of each tensor: decided before a byte is written, so that `--dry-run` shows the same.

use crate::args::is_storage;
use crate::failure::{Exit, Failure, Outcome};
use crate::source::{is_quantised, nbytes, Entry};
use std::str::FromStr;
use tensorlib::{DType, Kind};

/// `--keep PATTERN=TYPE`.
#[derive(Clone, Debug)]
pub struct Keep {
    pattern: String,
    /// None: as it is.
    dtype: Option<DType>,
}

impl FromStr for Keep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // The last one: names may have a =, types have none.
        let Some((pattern, name)) = text.rsplit_once('=').filter(|(pattern, _)| !pattern.is_empty()) else {
            return Err("PATTERN=TYPE is valid, as 'output.*=q6_K' or '*norm*=same'".into());
        };
        let dtype = match name {
            "same" => None,
            name => Some(name.parse::<DType>().map_err(|e| format!("{e}, same"))?),
        };
        if let Some(dtype) = dtype.filter(|t| !is_storage(*t)) {
            return Err(format!("{dtype} is no type for weights in a file"));
        }
        Ok(Keep { pattern: pattern.into(), dtype })
    }
}

/// Whether a whole name fits a pattern: `*` is any text, `?` any character.
fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    // Where the last star was, and how much of the name it has taken: going back there is all that is ever needed.
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        if pattern.get(p) == Some(&'*') {
            star = Some((p, n));
            p += 1;
        } else if pattern.get(p).is_some_and(|c| *c == '?' || *c == name[n]) {
            (p, n) = (p + 1, n + 1);
        } else if let Some((at, taken)) = star {
            star = Some((at, taken + 1));
            (p, n) = (at + 1, taken + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// What becomes of a tensor.
#[derive(Clone, Debug)]
pub struct Step {
    /// The tensor.
    pub entry: Entry,
    /// Its type now.
    pub from: DType,
    /// Its type then; the same: its bytes are copied.
    pub to: DType,
    /// Why it is not what --type says; empty where it is.
    pub why: String,
    /// Its bytes then.
    pub nbytes: u64,
}

impl Step {
    /// Whether bytes are copied as they are.
    pub fn is_copy(&self) -> bool {
        self.from == self.to
    }
}

/// The wishes of the command line.
pub struct Wishes<'a> {
    /// --type
    pub dtype: DType,
    /// --keep, in their order.
    pub keep: &'a [Keep],
    /// --allow-requantize
    pub requantize: bool,
}

/// Plans all tensors.
pub fn plan(entries: Vec<Entry>, wishes: &Wishes) -> Outcome<Vec<Step>> {
    entries.into_iter().map(|entry| step(entry, wishes)).collect()
}

/// The patterns that fit no tensor.
pub fn unused<'a>(entries: &'a [Step], keep: &'a [Keep]) -> impl Iterator<Item = &'a str> {
    let fits_none = |k: &&Keep| !entries.iter().any(|s| fits(&k.pattern, &s.entry.name));
    keep.iter().filter(fits_none).map(|k| k.pattern.as_str())
}

fn step(entry: Entry, wishes: &Wishes) -> Outcome<Step> {
    let from = entry.known_type()?;
    if entry.shape.len() > 4 {
        let message = format!("tensor '{}' has {} dimensions: GGUF has up to 4", entry.name, entry.shape.len());
        return Err(Failure::new(Exit::Refused, message).hint("reshape it before"));
    }
    let (to, why) = match wishes.keep.iter().find(|k| fits(&k.pattern, &entry.name)) {
        Some(Keep { dtype: Some(to), pattern }) => (explicit(&entry, from, *to, pattern)?, "by --keep".to_string()),
        Some(_) => (from, "by --keep".into()),
        None => by_rule(&entry, from, wishes.dtype),
    };
    if from != to && is_quantised(from) && !wishes.requantize {
        let message = format!("tensor '{}' is {from} already: to make it {to} would lose a second time", entry.name);
        return Err(Failure::new(Exit::Refused, message)
            .hint("begin with the original in f32, f16 or bf16, or say --allow-requantize"));
    }
    let nbytes = if from == to { entry.nbytes } else { nbytes(to, entry.elements()) };
    Ok(Step { entry, from, to, why, nbytes })
}

/// What the user asked for by name must be possible.
fn explicit(entry: &Entry, from: DType, to: DType, pattern: &str) -> Outcome<DType> {
    if from == to {
        return Ok(to);
    }
    let refused = |why: String| {
        let message = format!("tensor '{}' cannot be {to} (pattern '{pattern}'): {why}", entry.name);
        Err(Failure::new(Exit::Refused, message).hint("give it another type by a pattern before that one"))
    };
    if from.kind() == Kind::Integer {
        return refused(format!("it holds integers, {from}"));
    }
    if !rows_fit(entry, to) {
        return refused(format!("its rows of {} are no whole blocks of {}", entry.row(), to.block_size()));
    }
    Ok(to)
}

fn by_rule(entry: &Entry, from: DType, wanted: DType) -> (DType, String) {
    if from == wanted {
        return (from, String::new());
    }
    if from.kind() == Kind::Integer {
        return (from, "integers".into());
    }
    if entry.dims().len() < 2 {
        return (from, "less than 2 dimensions".into());
    }
    if rows_fit(entry, wanted) {
        return (wanted, String::new());
    }
    let odd = format!("rows of {} are no blocks of {}", entry.row(), wanted.block_size());
    if !is_quantised(from) && rows_fit(entry, DType::Q8_0) {
        return (DType::Q8_0, odd);
    }
    (from, odd)
}

fn rows_fit(entry: &Entry, dtype: DType) -> bool {
    i64::try_from(entry.row()).is_ok_and(|n| n % dtype.block_size() == 0)
}

/// The number that `general.file_type` has for a file that is mostly of a type, in GGUF's public numbering; nothing for
/// types that it does not have.
pub fn file_type(dtype: DType) -> Option<u32> {
    Some(match dtype {
        DType::F32 => 0,
        DType::F16 => 1,
        DType::Q4_0 => 2,
        DType::Q4_1 => 3,
        DType::Q8_0 => 7,
        DType::Q5_0 => 8,
        DType::Q5_1 => 9,
        DType::Q2_K => 10,
        // Of the mixtures' S, M and L: S, which comes nearest to one type for all.
        DType::Q3_K => 11,
        DType::Q4_K => 14,
        DType::Q5_K => 16,
        DType::Q6_K => 18,
        DType::IQ2_XXS => 19,
        DType::IQ2_XS => 20,
        DType::IQ3_XXS => 23,
        DType::IQ1_S => 24,
        DType::IQ4_NL => 25,
        DType::IQ3_S => 26,
        DType::IQ2_S => 28,
        DType::IQ4_XS => 30,
        DType::IQ1_M => 31,
        DType::BF16 => 32,
        DType::TQ1_0 => 36,
        DType::TQ2_0 => 37,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, name) in [
            ("*", ""),
            ("*", "a.b"),
            ("a?c", "abc"),
            ("*norm*", "blk.0.attn_norm.weight"),
            ("a*b*c", "aXbbYc"),
            ("ü?", "üö"),
        ] {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("", "a"), ("a", ""), ("a?c", "ac"), ("a*b", "abc"), ("norm", "norm.weight"), ("?*?", "a")]
        {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn wishes_are_read() {
        let keep: Keep = "a=b=q6_k".parse().unwrap();
        assert_eq!((keep.pattern.as_str(), keep.dtype), ("a=b", Some(DType::Q6_K)));
        assert_eq!("*=same".parse::<Keep>().unwrap().dtype, None);
        assert!("x".parse::<Keep>().unwrap_err().contains("PATTERN=TYPE"));
        assert!("=q4_0".parse::<Keep>().unwrap_err().contains("PATTERN=TYPE"));
        assert!("x=q9".parse::<Keep>().unwrap_err().contains("no type 'q9'"));
        assert!("x=q8_K".parse::<Keep>().unwrap_err().contains("no type for weights"));
    }
}
