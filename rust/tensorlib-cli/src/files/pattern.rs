//! Tensors selected by name on the command line.

use crate::files::types::is_storage;
use std::str::FromStr;
use tensorlib::DType;

/// `--keep PATTERN=TYPE`.
#[derive(Clone, Debug)]
pub struct Keep {
    /// The pattern of tensors' names.
    pub pattern: String,
    /// None: unchanged.
    pub dtype: Option<DType>,
}

impl FromStr for Keep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // The last =, because names may contain one and types do not.
        let Some((pattern, name)) = text.rsplit_once('=').filter(|(pattern, _)| !pattern.is_empty()) else {
            return Err("PATTERN=TYPE is valid, as 'output.*=q6_K' or '*norm*=same'".into());
        };
        let dtype = match name {
            "same" => None,
            name => Some(name.parse::<DType>().map_err(|e| format!("{e}; same leaves a tensor as it is"))?),
        };
        if let Some(dtype) = dtype.filter(|t| !is_storage(*t)) {
            return Err(format!("{dtype} is no type for weights in a file"));
        }
        Ok(Keep { pattern: pattern.into(), dtype })
    }
}

/// Whether a whole name matches a pattern: `*` is any text, `?` any character.
pub fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    // The position of the last star, and how much of the name it has matched: backtracking to it suffices.
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
