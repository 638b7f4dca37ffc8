//! Options for devices: memory budgets, and tensors placed by hand.

use crate::terminal::text::parse_size;
use std::str::FromStr;

/// `--budget DEVICE=SIZE`.
#[derive(Clone, Debug)]
pub struct Budget {
    /// The device.
    pub device: String,
    /// Bytes.
    pub bytes: u64,
}

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((device, size)) = text.split_once('=').filter(|(device, _)| !device.is_empty()) else {
            return Err("DEVICE=SIZE is valid, as cuda:0=8G".into());
        };
        Ok(Budget { device: device.into(), bytes: parse_size(size)? })
    }
}

/// `--put PATTERN=DEVICE`.
#[derive(Clone, Debug)]
pub struct Put {
    /// The pattern of tensors' names.
    pub pattern: String,
    /// The device.
    pub device: String,
}

impl FromStr for Put {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let whole = |(pattern, device): &(&str, &str)| !pattern.is_empty() && !device.is_empty();
        let Some((pattern, device)) = text.rsplit_once('=').filter(whole) else {
            return Err("PATTERN=DEVICE is valid, as 'blk.*.ffn_*_exps.*=cpu'".into());
        };
        Ok(Put { pattern: pattern.into(), device: device.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::{Budget, Put};

    #[test]
    fn budgets_and_patterns() {
        let budget: Budget = "cuda:0=8G".parse().unwrap();
        assert_eq!((budget.device.as_str(), budget.bytes), ("cuda:0", 8 << 30));
        for bad in ["8G", "=8G", "cuda:0=", "cuda:0=much"] {
            assert!(bad.parse::<Budget>().unwrap_err().contains("as "), "{bad}");
        }
        let put: Put = "blk.*=x=cpu".parse().unwrap();
        assert_eq!((put.pattern.as_str(), put.device.as_str()), ("blk.*=x", "cpu"));
        for bad in ["cpu", "=cpu", "blk.*="] {
            assert!(bad.parse::<Put>().is_err(), "{bad}");
        }
    }
}
