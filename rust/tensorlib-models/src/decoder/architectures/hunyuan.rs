//! Hunyuan without experts: as Llama, with norms of queries and keys after their rotation.

use super::names;
use crate::decoder::keys::CONTEXT;
use crate::decoder::rope::{self, Rope};
use crate::decoder::shape::{HeadNorms, Shape};
use crate::settings::{Key, Settings};
use crate::weights::HubNames;
use crate::{Error, Result};

const BASE: Key = Key("", "rope_theta");
const KIND: Key = Key("", "rope_scaling.rope_type");
const OLD_KIND: Key = Key("", "rope_scaling.type");
const ALPHA: Key = Key("", "rope_scaling.alpha");
const NORMS: Key = Key("", "use_qk_norm");
const EXPERTS: Key = Key("", "num_experts");

/// Reads the settings.
pub fn shape(settings: &Settings) -> Result<Shape> {
    let settings = &rope::with_older_names(settings, 1e4)?.with_defaults(&[(CONTEXT, 2048.into())])?;
    for (key, supported) in [(NORMS, settings.flag_if(NORMS)? != Some(false)), (EXPERTS, has_no_experts(settings)?)] {
        if !supported {
            let (name, value) = (settings.name(key), settings.value_if(key)?.unwrap_or_default());
            let what = "norms of queries and keys, and one expert, are supported";
            return Err(Error::unsupported(format!("{name}: is {value}: {what}")));
        }
    }
    let head = Shape::head(settings)?;
    let rope = match alpha(settings)? {
        Some(alpha) => Rope::plain(stretched(settings, alpha, head)?, head, true),
        None => Rope::read(settings, head, true)?,
    };
    Ok(Shape { head_norms: HeadNorms::AfterRotation, ..Shape::read(settings, rope)? })
}

fn has_no_experts(settings: &Settings) -> Result<bool> {
    Ok(settings.whole_if(EXPERTS, 0)?.is_none_or(|n| n <= 1))
}

/// The factor by which a folder stretches the base of the rotation.
fn alpha(settings: &Settings) -> Result<Option<f64>> {
    let kind = match settings.text_if(KIND)? {
        Some(kind) => Some(kind),
        None => settings.text_if(OLD_KIND)?,
    };
    let alpha = settings.number_if(ALPHA)?.filter(|alpha| *alpha != 0.0);
    match alpha.filter(|_| kind.as_deref() == Some("dynamic")) {
        Some(alpha) if alpha < 0.0 => Err(settings.refuse(ALPHA, format!("is {alpha}: a number above 0 is valid"))),
        alpha => Ok(alpha),
    }
}

/// The base of heads with `head` elements: of the longest waves alone, the length grows by alpha.
fn stretched(settings: &Settings, alpha: f64, head: i64) -> Result<f64> {
    if head < 4 || head % 2 != 0 {
        let what = format!("heads have {head} elements: an even number from 4 on is valid with it");
        return Err(settings.refuse(ALPHA, what));
    }
    let n = head as f64;
    Ok(settings.number_if(BASE)?.unwrap_or(1e4) * alpha.powf(n / (n - 2.0)))
}

/// Llama's names, except for the norms of queries and keys.
pub fn hub_names() -> HubNames {
    names::with(part, false)
}

fn part(part: &str) -> Option<&'static str> {
    Some(match part {
        "attn_q_norm" => "self_attn.query_layernorm",
        "attn_k_norm" => "self_attn.key_layernorm",
        _ => return None,
    })
}
