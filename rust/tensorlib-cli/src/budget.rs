//! What a model may take of each device, and which tensors go where.

use crate::args::Place;
use crate::failure::{Exit, Failure, Outcome};
use crate::pattern::fits;
use crate::text::parse_size;
use std::path::Path;
use std::str::FromStr;
use tensorlib::{Backend, DType};
use tensorlib_models::{fit, Decoder, DecoderOptions, Encoder, EncoderOptions, Outline, Placement};

/// `--budget DEVICE=SIZE`.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Which device.
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
    /// Which tensors.
    pub pattern: String,
    /// Which device.
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

/// Whether all devices that budgets and patterns name are the backend's.
pub fn check(options: &Place, backend: &Backend) -> Outcome<()> {
    let named = options.budget.iter().map(|b| ("--budget", &b.device));
    for (option, name) in named.chain(options.put.iter().map(|p| ("--put", &p.device))) {
        number(backend, name).ok_or_else(|| {
            let message = format!("{option} {name}: is none of the devices {}", backend.devices().join(", "));
            Failure::new(Exit::Usage, message).hint("name all of them with --device, as --device cuda:0,cpu")
        })?;
    }
    Ok(())
}

fn number(backend: &Backend, device: &str) -> Option<usize> {
    backend.devices().iter().position(|name| name.eq_ignore_ascii_case(device))
}

/// Of each device: what was said, nine tenths of what a GPU has free, and all of the CPU's.
pub fn budgets(options: &Place, backend: &Backend) -> Vec<Option<u64>> {
    let said = |name: &str| options.budget.iter().find(|b| b.device.eq_ignore_ascii_case(name)).map(|b| b.bytes);
    let free = |name: &str| {
        let device = tensorlib::devices().into_iter().find(|d| d.name == name && d.capability > 0)?;
        Some(device.memory_free / 10 * 9)
    };
    backend.devices().iter().map(|name| said(name).or_else(|| free(name))).collect()
}

/// A placement by which a language model fits into the budgets.
pub fn fit_decoder(
    options: &Place,
    backend: &Backend,
    model: &Path,
    how: &DecoderOptions,
    cache: DType,
) -> Outcome<(Placement, Outline)> {
    fit_by(options, backend, |placement| {
        let how = how.clone().placement(placement.clone());
        // SAFETY: that nobody changes a file while it is read is a promise that the tool passes on to its user.
        unsafe { Decoder::outline(model, backend, &how, cache) }
    })
}

/// The same of an encoder.
pub fn fit_encoder(
    options: &Place,
    backend: &Backend,
    model: &Path,
    how: &EncoderOptions,
) -> Outcome<(Placement, Outline)> {
    fit_by(options, backend, |placement| {
        let how = how.clone().placement(placement.clone());
        // SAFETY: as above.
        unsafe { Encoder::outline(model, backend, &how) }
    })
}

fn fit_by(
    options: &Place,
    backend: &Backend,
    outline: impl FnMut(&Placement) -> tensorlib_models::Result<Outline>,
) -> Outcome<(Placement, Outline)> {
    let chosen = |tensor: &str| {
        let put = options.put.iter().find(|put| fits(&put.pattern, tensor))?;
        number(backend, &put.device)
    };
    Ok(fit(backend, &budgets(options, backend), chosen, outline)?)
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
