//! Where files have the scales of weights of 8 bits.

/// What follows the name of the weight.
const BEHIND: [&str; 4] = ["_scale_inv", "_scale", ".scale_inv", ".scale"];
/// What stands in place of the name's last word, `weight`.
const FOR_WEIGHT: [&str; 2] = ["scale_weight", "scale"];

/// The name of a weight's scales, where there is a tensor of such a name.
pub fn scale_of(weight: &str, is_there: impl Fn(&str) -> bool) -> Option<String> {
    let behind = BEHIND.iter().map(|end| format!("{weight}{end}"));
    let module = weight.strip_suffix("weight").into_iter();
    let others = module.flat_map(|module| FOR_WEIGHT.iter().map(move |end| format!("{module}{end}")));
    behind.chain(others).find(|name| is_there(name))
}
