//! The names of the scales of 8-bit weights.

/// Suffixes of the weight's name.
const BEHIND: [&str; 4] = ["_scale_inv", "_scale", ".scale_inv", ".scale"];
/// Replacements of the name's last word, `weight`.
const FOR_WEIGHT: [&str; 2] = ["scale_weight", "scale"];

/// The name of a weight's scales, if such a tensor exists.
pub fn scale_of(weight: &str, is_there: impl Fn(&str) -> bool) -> Option<String> {
    let behind = BEHIND.iter().map(|end| format!("{weight}{end}"));
    let module = weight.strip_suffix("weight").into_iter();
    let others = module.flat_map(|module| FOR_WEIGHT.iter().map(move |end| format!("{module}{end}")));
    behind.chain(others).find(|name| is_there(name))
}
