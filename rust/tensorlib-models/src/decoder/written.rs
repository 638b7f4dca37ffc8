//! The GGUF form of a decoder's folder.

use super::architectures;
use super::network::{Network, Results};
use super::shape::{Delta, HeadNorms, Norms, Recurrence, Shape, Stated, XieluNumbers};
use crate::convert::{neighbours, settled, tiled, Order, Plan, Planned, Reading};
use crate::package::Package;
use crate::placement::Placement;
use crate::settings::Key;
use crate::weights::{DeviceMap, HeadRows, Loaded, Weights};
use crate::{Error, Result};
use tensorlib::{Backend, Value};

/// The numbers of xIELU in GGUF files, which are those of tensors in folders.
const XIELU: [&str; 4] = ["alpha_n", "alpha_p", "beta", "eps"];

const VOCABULARY_SIZE: Key = Key("vocab_size", "");
/// The architecture whose GGUF files have factors of products in their matrices.
const FACTORS_IN_MATRICES: &str = "falcon-h1";
/// An architecture whose GGUF files have another name if there are experts.
const WITH_EXPERTS: (&str, &str) = ("nemotron_h", "nemotron_h_moe");

/// What a GGUF file of this folder has.
///
/// # Errors
/// As [`Decoder::open`](super::Decoder::open); [`ErrorKind::Unsupported`](crate::ErrorKind) for a model that GGUF files
/// do not express.
pub(crate) fn plan(package: Package, backend: &Backend) -> Result<Plan> {
    let (settings, warnings) = (package.settings.clone(), package.warnings.clone());
    let written = architectures::written(&settings)?;
    let (shape, names) = architectures::read(&settings)?;
    if settings.classifies_texts()? == Some(true) {
        let message =
            format!("{}: is a classifier of texts: its head has no GGUF form that is known", settings.architecture());
        return Err(Error::unsupported(message));
    }
    let results = if package.makes_vectors()? { Results::Vectors } else { Results::Vocabulary };
    let pooling = if package.makes_vectors()? { crate::convert::pooling(&package, None, shape.context)? } else { None };
    let devices = DeviceMap::new(backend, &Placement::default()).outline();
    let weights = Weights::new(package.files, names.clone(), devices, None)?;
    let network = Network::load(&weights, shape.clone(), 1, (None, None), results)?;
    weights.finish(&warnings)?;
    let loaded = weights.loaded();

    let mut keys = shape.keys();
    (written.keys)(&shape, &settings, &mut keys)?;
    keys.extend(pooling.unwrap_or_default());
    keys.count(VOCABULARY_SIZE, network.vocabulary);
    let mut whole = Vec::new();
    if shape.xielu.is_some() {
        whole = xielu(&loaded, shape.layers)?;
    }
    let name = if shape.experts.is_some() && written.name == WITH_EXPERTS.0 { WITH_EXPERTS.1 } else { written.name };
    let (keys, file) =
        settled(name, keys, &whole, architectures::shape, |settings| architectures::read(settings).map(drop))?;
    let shape_of_file = match name {
        FACTORS_IN_MATRICES => architectures::with_factors_in_matrices(&shape),
        _ => shape.clone(),
    };
    crate::convert::check_same(&comparable(&shape_of_file, &file), &comparable(&file, &file), name)?;
    let mut tensors: Vec<Planned> =
        shape.rope.factor_tensors().into_iter().map(|(name, values)| Planned::values(name, values)).collect();
    for loaded in loaded.iter().filter(|loaded| !loaded.name.contains(".xielu_")) {
        tensors.extend(planned(loaded, &shape, &file)?);
    }
    if name == FACTORS_IN_MATRICES {
        put_factors(&mut tensors, &shape, network.is_tied())?;
    }
    for tensor in &mut tensors {
        tensor.name = (names.in_gguf)(&tensor.name).unwrap_or_else(|| tensor.name.clone());
    }
    let mut seen = std::collections::HashSet::new();
    tensors.retain(|tensor| seen.insert(tensor.name.clone()));
    Ok(Plan { architecture: name, keys, whole, tensors, names, vocabulary: network.vocabulary, tasks: Vec::new() })
}

/// A shape without what GGUF files say by their tensors, or leave to the reader of those.
fn comparable(shape: &Shape, file: &Shape) -> Shape {
    let mut made = shape.clone();
    made.drafting_layers = 0;
    made.stated = Stated::default();
    made.ffn_norm = "";
    made.rope = made.rope.without_tensors();
    made.window_rope = made.window_rope.map(super::rope::Rope::without_tensors);
    made.keys_as_values = false;
    if made.window.is_none() {
        made.window_rope = None;
    }
    made.xielu = made.xielu.map(|_| XieluNumbers::InTensors);
    if file.norms == Norms::BeforeOrShared {
        made.norms = Norms::BeforeOrShared;
    }
    if file.head_norms == HeadNorms::Own {
        made.head_norms = HeadNorms::Own;
    }
    match &mut made.recurrence {
        Some(Recurrence::Delta(delta)) => delta.grouped = false,
        Some(Recurrence::Mamba(mamba)) => {
            // Without a norm, gates are neither before it nor after it.
            mamba.gates_last &= mamba.normed != Some(false);
            mamba.normed = None;
        }
        _ => {}
    }
    if let Some(altup) = &mut made.altup {
        altup.rank = None;
    }
    if let Some(experts) = &mut made.experts {
        experts.routing.biased = false;
    }
    made
}

/// Multiplies matrices by the factors of their products.
fn put_factors(tensors: &mut [Planned], shape: &Shape, is_tied: bool) -> Result<()> {
    if is_tied && shape.embedding_scale != shape.logit_scale {
        let what = "the embeddings make the logits, and both have factors: GGUF files have them in one matrix";
        return Err(Error::unsupported(what));
    }
    for tensor in tensors {
        let part = layer_part(&tensor.name).map_or(tensor.name.as_str(), |(_, part)| part);
        tensor.factors = architectures::row_factors(shape, part);
    }
    Ok(())
}

/// The numbers of each layer's activation as keys.
fn xielu(loaded: &[Loaded], layers: i64) -> Result<Vec<(String, Value)>> {
    let of = |number: &str| -> Result<Vec<f32>> {
        let of_layer = |layer: i64| {
            let name = format!("blk.{layer}.xielu_{number}");
            let found = loaded.iter().find(|loaded| loaded.name == name);
            let found = found.ok_or_else(|| Error::format(format!("tensor '{name}' is missing: [1] is expected")))?;
            Ok(found.tensor.to_f32_vec()?.first().copied().unwrap_or(0.0))
        };
        (0..layers).map(of_layer).collect()
    };
    XIELU.iter().map(|number| Ok((format!("xielu.{number}"), of(number)?.into()))).collect()
}

/// The tensors of a GGUF file that are made from one of the folder's.
fn planned(loaded: &Loaded, folder: &Shape, file: &Shape) -> Result<Vec<Planned>> {
    let (name, stored) = (loaded.name.clone(), loaded.tensor.dtype());
    let shape = crate::files::dims(&loaded.tensor.shape()).to_vec();
    let shape = if shape.is_empty() { vec![1] } else { shape };
    let plain = Planned::plain(name.clone(), shape.clone(), stored);
    let Some((layer, part)) = layer_part(&name) else { return Ok(vec![plain]) };
    if let (Some(latent), "attn_kv_b.weight") = (&folder.latent, part) {
        let rows = HeadRows { columns: latent.rank, of_head: latent.plain + latent.value, heads: folder.heads };
        let is_first = shape.first() == Some(&latent.plain) && shape.get(1) == Some(&latent.rank);
        let (part, reading) = match is_first {
            true => ("attn_k_b", Reading::FirstRows { name, rows, n: latent.plain }),
            false => ("attn_v_b", Reading::LastRows { name, rows, n: latent.value }),
        };
        return Ok(vec![Planned { name: format!("blk.{layer}.{part}.weight"), reading, ..plain }]);
    }
    if let Some(Recurrence::Delta(delta)) = &folder.recurrence {
        if folder.blocks_of(layer).recurrence {
            let is_tiled = matches!(&file.recurrence, Some(Recurrence::Delta(delta)) if !delta.grouped);
            return Ok(of_delta(plain, (layer, part), delta, is_tiled));
        }
    }
    let mut made = plain;
    if part == format!("{}.weight", folder.ffn_norm) && folder.ffn_norm != file.ffn_norm {
        made.name = format!("blk.{layer}.{}.weight", file.ffn_norm);
    }
    if let (Some(Recurrence::Mamba(mamba)), true) = (&folder.recurrence, part.starts_with("ssm_")) {
        match part {
            "ssm_a" | "ssm_d" => made.shape = vec![1, mamba.heads],
            "ssm_norm.weight" => made.shape = vec![mamba.inner() / mamba.groups, mamba.groups],
            _ => {}
        }
        made.minus_exp = part == "ssm_a";
    }
    if let Some(Recurrence::Rwkv(rwkv)) = &folder.recurrence {
        match part {
            "time_mix_lerp_fused.weight" => made.shape = [&made.shape[..1], &[1, 1], &made.shape[1..]].concat(),
            "time_mix_r_k.weight" => made.shape = vec![rwkv.head * rwkv.heads],
            _ => {}
        }
        if let (0, Some(rest)) = (layer, part.strip_prefix("time_mix_a")) {
            // Readers demand tensors of the first layer for its mixture with itself, which they do not use.
            let unused = Planned { name: format!("blk.{layer}.time_mix_v{rest}"), ..made.clone() };
            return Ok(vec![made, unused]);
        }
    }
    if part.ends_with("conv1d.weight") || part.ends_with("conv.weight") {
        made.shape = squeezed(&made.shape);
    }
    if file.rope.is_of_neighbours() && !folder.rope.is_of_neighbours() {
        turn_pairs(&mut made, (layer, part), folder)?;
    }
    Ok(vec![made])
}

/// The number of a layer and the rest of a name in it.
fn layer_part(name: &str) -> Option<(usize, &str)> {
    let (layer, part) = name.strip_prefix("blk.")?.split_once('.')?;
    Some((layer.parse().ok()?, part))
}

/// The kernel of a convolution of one channel, [taps, 1, channels], as [taps, channels].
fn squeezed(shape: &[i64]) -> Vec<i64> {
    match *shape {
        [taps, 1, channels] => vec![taps, channels],
        _ => shape.to_vec(),
    }
}

/// Reorders queries and keys so that pairs that rotate are neighbours.
fn turn_pairs(made: &mut Planned, (layer, part): (usize, &str), shape: &Shape) -> Result<()> {
    let keys = shape.keys_of(layer);
    let heads = match part.split('.').next() {
        Some("attn_q") => shape.heads,
        Some("attn_k") => keys.count,
        Some("attn_q_norm" | "attn_k_norm" | "attn_qkv") => {
            return Err(Error::unsupported(format!("tensor '{}': its rows would have to be reordered", made.name)));
        }
        _ => return Ok(()),
    };
    let order = neighbours(heads, keys.key, shape.rope.turning());
    made.order = if part.ends_with(".bias") { Order::Elements(order) } else { Order::Rows(order) };
    Ok(())
}

/// A tensor of a layer with the gated delta rule. `is_tiled`: value heads of one head of keys are not neighbours in the
/// file.
fn of_delta(mut made: Planned, (layer, part): (usize, &str), delta: &Delta, is_tiled: bool) -> Vec<Planned> {
    let (keys, values, head) = (delta.key_heads, delta.value_heads, delta.head);
    let first = usize::try_from(2 * keys * head).unwrap_or(0);
    let channels = || (0..first).chain(tiled(keys, values, head).into_iter().map(|row| first + row)).collect();
    if part == "ssm_conv1d.weight" {
        made.shape = squeezed(&made.shape);
    }
    made.minus_exp = part == "ssm_a";
    if part == "ssm_in.weight" {
        return of_heads(&made, layer, delta);
    }
    if is_tiled {
        made.order = match part {
            "attn_qkv.weight" | "ssm_conv1d.weight" => Order::Rows(channels()),
            "attn_gate.weight" => Order::Rows(tiled(keys, values, head)),
            "ssm_alpha.weight" | "ssm_beta.weight" => Order::Rows(tiled(keys, values, 1)),
            "ssm_a" | "ssm_dt.bias" => Order::Elements(tiled(keys, values, 1)),
            "ssm_out.weight" => Order::Elements(tiled(keys, values, head)),
            _ => Order::All,
        };
    }
    vec![made]
}

/// The matrix with queries, keys, values and gates of each head of keys, as one for the first three and one for gates.
fn of_heads(all: &Planned, layer: usize, delta: &Delta) -> Vec<Planned> {
    let n = |n: i64| usize::try_from(n).unwrap_or(0);
    let (head, of_key) = (n(delta.head), n(delta.value_heads / delta.key_heads * delta.head));
    let rows = |first: usize, count: usize| -> Vec<usize> {
        let of = |key: usize| (0..count).map(move |row| key * (2 * head + 2 * of_key) + first + row);
        (0..n(delta.key_heads)).flat_map(of).collect()
    };
    let qkv = [rows(0, head), rows(head, head), rows(2 * head, of_key)].concat();
    let part = |part: &str, rows: Vec<usize>| Planned {
        name: format!("blk.{layer}.{part}.weight"),
        shape: vec![all.shape[0], i64::try_from(rows.len()).unwrap_or(0)],
        order: Order::Rows(rows),
        ..all.clone()
    };
    vec![part("attn_qkv", qkv), part("attn_gate", rows(2 * head + of_key, of_key))]
}
