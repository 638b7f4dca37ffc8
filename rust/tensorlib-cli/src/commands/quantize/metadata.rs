//! The metadata of OUT: those of IN, and what its types change.

use super::plan::Step;
use super::recipe::Recipe;
use crate::failure::{warn, Outcome};
use crate::files::types::is_quantised;
use std::collections::BTreeMap;
use tensorlib::{Array, GgufWriter, Value};
use tensorlib_models::files::Source;

const ARCHITECTURE: &str = "general.architecture";
const FILE_TYPE: &str = "general.file_type";
const QUANTIZATION: &str = "general.quantization_version";
/// The version of GGUF's quantised types: 2 since their scales are F16.
const QUANTIZATION_VERSION: u32 = 2;

/// The keys that are set here. `arch`: the architecture, if IN has none.
fn own(arch: &str, source: &Source, file_type: Option<u32>, is_quantised: bool) -> Vec<(String, Value)> {
    let mut own: Vec<(String, Value)> = Vec::new();
    match source {
        Source::Safetensors(file) => {
            own.push((ARCHITECTURE.into(), arch.into()));
            let texts = file.metadata().into_iter();
            own.extend(texts.map(|(key, text)| (format!("safetensors.metadata.{key}"), text.into())));
        }
        Source::Gguf(file) if file.get(ARCHITECTURE).is_none() => own.push((ARCHITECTURE.into(), arch.into())),
        Source::Gguf(_) => {}
    }
    own.extend(file_type.map(|n| (FILE_TYPE.into(), n.into())));
    if is_quantised {
        own.push((QUANTIZATION.into(), QUANTIZATION_VERSION.into()));
    }
    own
}

/// All keys that OUT may have, whatever types are chosen.
pub fn most(arch: &str, source: &Source) -> impl Iterator<Item = (String, Value)> {
    let mut keys: BTreeMap<String, Value> = BTreeMap::new();
    if let Source::Gguf(file) = source {
        keys.extend(file.metadata().map(|(key, value)| (key.to_string(), value)));
    }
    keys.extend(own(arch, source, Some(0), true));
    keys.into_iter()
}

/// Writes all metadata.
pub fn set(arch: &str, recipe: Recipe, source: &Source, steps: &[Step], writer: &mut GgufWriter) -> Outcome<()> {
    let file_type = recipe.file_type();
    let own = own(arch, source, file_type, steps.iter().any(|s| is_quantised(s.to)));
    for (key, value) in &own {
        writer.set(key, value.clone())?;
    }
    let Source::Gguf(file) = source else { return Ok(()) };
    if file_type.is_some() || file.get(FILE_TYPE).is_none() {
        return Ok(writer.copy_metadata(file)?);
    }
    // The old number would be wrong and there is no new one, so this key is left out.
    for (key, value) in file.metadata() {
        let set_here =
            own.iter().any(|(other, _)| *other == key) || key == "general.alignment" || key.starts_with("split.");
        match value {
            _ if set_here || key == FILE_TYPE => {}
            Value::Array(Array::Nested(_)) => warn(format_args!("metadata '{key}' is an array of arrays: left out")),
            value => writer.set(key, value)?,
        }
    }
    Ok(())
}
