//! Chooses the neurons that lie on the first device when not all of them fit: those that are active most often.
//!
//! This is a knapsack problem: a neuron's rows take up its bytes, and their value is the bytes that tokens read of
//! them, frequency times bytes. Taking neurons in the order of their frequencies as long as they fit gives a value at
//! most one neuron below the optimum. The optimum in turn is at most the value of that order with the first neuron that
//! does not fit taken in part (Dantzig, 1957, Discrete-variable extremum problems).

use super::{fit, over_budget, Outline, Placed, Placement, SplitLayer, NEURON_MATRICES};
use crate::{Error, Result};
use tensorlib::Backend;

/// The neurons chosen for a number of bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct HotNeurons {
    /// Each layer's neurons, ascending.
    pub rows: Vec<Vec<i32>>,
    /// The bytes that they take.
    pub bytes: u64,
    /// Their share of the bytes that tokens read of active neurons' rows. This leaves out gates that are read to find
    /// the active neurons: all gates are read then.
    pub served: f64,
    /// No choice for these bytes has a larger share.
    pub bound: f64,
}

/// Chooses neurons for `budget` bytes. `layers`: for each layer the frequency of each neuron, and the bytes of a
/// neuron.
pub fn hottest(layers: &[(&[f32], u64)], budget: u64) -> HotNeurons {
    let mut order: Vec<(usize, usize)> =
        layers.iter().enumerate().flat_map(|(l, (all, _))| (0..all.len()).map(move |i| (l, i))).collect();
    let frequency = |(layer, i): (usize, usize)| layers[layer].0[i];
    order.sort_by(|a, b| frequency(*b).total_cmp(&frequency(*a)));
    let worth = |at: (usize, usize)| f64::from(frequency(at)) * layers[at.0].1 as f64;
    let mut hot = HotNeurons { rows: vec![Vec::new(); layers.len()], bytes: 0, served: 0.0, bound: 0.0 };
    let mut all = 0.0;
    let mut part_taken = false;
    for at in order {
        let (value, bytes, left) = (worth(at), layers[at.0].1, budget - hot.bytes);
        all += value;
        if bytes <= left {
            hot.rows[at.0].push(at.1 as i32);
            (hot.bytes, hot.served) = (hot.bytes + bytes, hot.served + value);
        }
        if !part_taken {
            hot.bound += value * (left as f64 / bytes as f64).min(1.0);
            part_taken = bytes > left;
        }
    }
    hot.rows.iter_mut().for_each(|rows| rows.sort_unstable());
    if all > 0.0 {
        (hot.served, hot.bound) = (hot.served / all, hot.bound / all);
    }
    hot
}

/// [`fit`](crate::fit) for a model with transposed down projections. If the model does not fit on the first device, its
/// neurons are divided between the first and the second device by the frequencies of each layer; other tensors go to
/// the second device only if the model does not fit even without neurons. Tensors placed by hand are not divided.
///
/// # Errors
/// As [`fit`](crate::fit).
pub fn fit_neurons(
    backend: &Backend,
    budgets: &[Option<u64>],
    chosen: impl Fn(&str) -> Option<usize>,
    frequencies: &[&[f32]],
    mut outline: impl FnMut(&Placement) -> Result<Outline>,
) -> Result<(Placement, Outline, Option<HotNeurons>)> {
    let mut by_hand = Placement::default();
    let whole = outline(&by_hand)?;
    put_chosen(&mut by_hand, &whole, &chosen);
    let whole = outline(&by_hand)?;
    let budget = budgets.first().copied().flatten().filter(|_| backend.devices().len() > 1);
    let Some(budget) = budget.filter(|budget| whole.bytes[0] as u64 > *budget) else {
        let (placement, outline) = fit(backend, budgets, chosen, outline)?;
        return Ok((placement, outline, None));
    };
    let layers = divisible(&whole, &chosen, frequencies);
    let placed = |bytes: u64| {
        let (hot, mut placement) = (hottest(&layers, bytes), by_hand.clone());
        for ((layer, rows), (all, _)) in hot.rows.iter().enumerate().zip(&layers) {
            if !all.is_empty() {
                placement.put_neurons(layer, rows.clone(), all.len());
            }
        }
        (placement, hot)
    };
    let without = outline(&placed(0).0)?;
    if without.bytes[0] as u64 > budget {
        let chosen = |tensor: &str| chosen(tensor).or_else(|| is_neurons(tensor).then_some(1));
        let (placement, outline) = fit(backend, budgets, chosen, outline)?;
        return Ok((placement, outline, None));
    }
    let (bytes, best) = most_that_fit(&layers, budget, without, |bytes| outline(&placed(bytes).0))?;
    over_budget(backend, budgets, &best)?;
    let (placement, hot) = placed(bytes);
    Ok((placement, best, Some(hot)))
}

/// Puts the tensors placed by hand on their devices.
fn put_chosen(placement: &mut Placement, whole: &Outline, chosen: &impl Fn(&str) -> Option<usize>) {
    for Placed { name, .. } in &whole.tensors {
        if let Some(device) = chosen(name) {
            placement.put(name, device);
        }
    }
}

/// For each layer the frequency of each neuron, and the bytes of a neuron; none for layers placed by hand.
fn divisible<'a>(
    whole: &Outline,
    chosen: &impl Fn(&str) -> Option<usize>,
    frequencies: &[&'a [f32]],
) -> Vec<(&'a [f32], u64)> {
    let bytes_of = |name: &str| whole.tensors.iter().find(|t| t.name == name).map_or(0, |t| t.bytes as u64);
    let of_layer = |(layer, all): (usize, &&'a [f32])| -> (&'a [f32], u64) {
        let names = NEURON_MATRICES.map(|part| matrix_of(layer, part));
        match names.iter().any(|name| chosen(name).is_some()) {
            true => (&[], 0),
            false => (*all, names.iter().map(|name| bytes_of(name)).sum::<u64>() / (all.len() as u64).max(1)),
        }
    };
    frequencies.iter().enumerate().map(of_layer).collect()
}

fn is_neurons(tensor: &str) -> bool {
    let part = tensor.strip_prefix("blk.").and_then(|rest| rest.split_once('.'));
    part.and_then(|(_, part)| part.strip_suffix(".weight")).is_some_and(|part| NEURON_MATRICES.contains(&part))
}

/// The most bytes of neurons that leave space for everything else, to within one neuron, and the outline with them.
/// `best`: the outline without neurons.
fn most_that_fit(
    layers: &[(&[f32], u64)],
    budget: u64,
    mut best: Outline,
    mut outline: impl FnMut(u64) -> Result<Outline>,
) -> Result<(u64, Outline)> {
    let largest = layers.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0).max(1);
    let (mut fits, mut too_many) = (0, layers.iter().map(|(all, bytes)| all.len() as u64 * bytes).sum::<u64>());
    while too_many - fits > largest {
        let tried = fits + (too_many - fits) / 2;
        let outlined = outline(tried)?;
        if outlined.bytes[0] as u64 <= budget {
            (fits, best) = (tried, outlined);
        } else {
            too_many = tried;
        }
    }
    Ok((fits, best))
}

/// A placement that divides neurons as a file says ([`read_split`](crate::read_split)). Tensors placed by hand are not
/// divided.
///
/// # Errors
/// [`ErrorKind::Invalid`](crate::ErrorKind) if the file does not match the model's layers, or its down projections are
/// not transposed; [`ErrorKind::Memory`](crate::ErrorKind) if a device exceeds its budget; errors of `outline`.
pub fn fit_split(
    backend: &Backend,
    budgets: &[Option<u64>],
    chosen: impl Fn(&str) -> Option<usize>,
    split: &[SplitLayer],
    mut outline: impl FnMut(&Placement) -> Result<Outline>,
) -> Result<(Placement, Outline)> {
    let whole = outline(&Placement::default())?;
    let is_there = |layer: usize| whole.tensors.iter().any(|t| t.name == matrix_of(layer, "ffn_down_t"));
    let layers = (0..).take_while(|layer| is_there(*layer)).count();
    if layers != split.len() {
        let message = format!(
            "neurons of {} layers are divided, the model has {layers} with transposed down projections",
            split.len()
        );
        return Err(Error::invalid(message).with_hint("is it a division of this model?"));
    }
    let mut placement = Placement::default();
    for (layer, SplitLayer { hot, neurons }) in split.iter().enumerate() {
        if !NEURON_MATRICES.iter().any(|part| chosen(&matrix_of(layer, part)).is_some()) {
            placement.put_neurons(layer, hot.clone(), *neurons);
        }
    }
    put_chosen(&mut placement, &whole, &chosen);
    let found = outline(&placement)?;
    over_budget(backend, budgets, &found)?;
    Ok((placement, found))
}

fn matrix_of(layer: usize, part: &str) -> String {
    format!("blk.{layer}.{part}.weight")
}

#[cfg(test)]
mod tests {
    use super::hottest;

    /// The best of all choices.
    fn best(layers: &[(&[f32], u64)], budget: u64) -> f64 {
        let neurons: Vec<(f64, u64)> =
            layers.iter().flat_map(|(all, b)| all.iter().map(|f| (f64::from(*f) * *b as f64, *b))).collect();
        let all: f64 = neurons.iter().map(|(value, _)| value).sum();
        let mut most = 0f64;
        for set in 0u32..1 << neurons.len() {
            let taken = || neurons.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1).map(|(_, n)| n);
            if taken().map(|(_, bytes)| bytes).sum::<u64>() <= budget {
                most = most.max(taken().map(|(value, _)| value).sum::<f64>() / all);
            }
        }
        most
    }

    #[test]
    fn the_choice_is_within_one_neuron_of_the_best() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1 << 24) as f32
        };
        for round in 0..60 {
            let frequencies: Vec<Vec<f32>> = (0..3).map(|_| (0..4).map(|_| random()).collect()).collect();
            let sizes = [3 + (random() * 20.0) as u64, 7, 1 + (random() * 5.0) as u64];
            let layers: Vec<(&[f32], u64)> = frequencies.iter().zip(sizes).map(|(all, b)| (&all[..], b)).collect();
            let all: f64 = layers.iter().map(|(f, b)| f.iter().map(|f| f64::from(*f) * *b as f64).sum::<f64>()).sum();
            let total: u64 = sizes.iter().map(|b| 4 * b).sum();
            let budget = (f64::from(random()) * total as f64) as u64;
            let (hot, best) = (hottest(&layers, budget), best(&layers, budget));
            assert!(
                hot.bytes <= budget && hot.served <= best + 1e-9 && best <= hot.bound + 1e-9,
                "{round}: {hot:?} {best}"
            );
            let one = *sizes.iter().max().unwrap() as f64 / all;
            assert!(hot.bound - hot.served <= one + 1e-9, "{round}: {hot:?}");
        }
        let every = hottest(&[(&[0.5, 0.0], 8)], 16);
        assert_eq!((every.rows, every.served), (vec![vec![0, 1]], 1.0));
        assert_eq!(hottest(&[(&[0.0, 0.0], 8)], 7).rows, [Vec::<i32>::new()]);
        assert_eq!(hottest(&[], 7).bytes, 0);
    }
}
