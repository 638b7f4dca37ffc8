//! ERNIE 4.5: as Llama, with rotated pairs of neighbours in files of both kinds.

use crate::decoder::keys::{HEAD, KV_HEADS};
use crate::decoder::rope::{self, Rope};
use crate::decoder::shape::Shape;
use crate::settings::{Key, Settings};
use crate::Result;

/// Whether all matrices have biases.
const BIASES: Key = Key("", "use_bias");

/// Reads the settings.
pub fn shape(settings: &Settings) -> Result<Shape> {
    let settings = &rope::with_older_names(settings, 5e5)?;
    let settings = &settings.with_defaults(&[(HEAD, 128.into()), (KV_HEADS, 2.into()), (BIASES, false.into())])?;
    let rope = Rope::read(settings, Shape::head(settings)?, false)?.of_neighbours();
    let mut shape = Shape::read(settings, rope)?;
    shape.stated.set_biases(settings.flag_if(BIASES)?);
    Ok(shape)
}
