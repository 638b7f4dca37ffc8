//! Files of sound, and of Whisper in other formats than a hub's folder.

use super::tiny::Tensors;
use super::whisper::{texts, Spec};
use std::path::Path;

/// The format of a WAV file: 1 for integers, 3 for floats, or another number.
#[derive(Clone, Copy)]
pub struct Wav {
    pub format: u16,
    pub bits: u16,
    pub channels: u16,
    pub rate: u32,
}

impl Wav {
    /// A file with these bytes of samples.
    pub fn file(self, samples: &[u8]) -> Vec<u8> {
        let frame = self.channels * self.bits.div_ceil(8);
        let mut all =
            [&b"RIFF"[..], &(36 + samples.len() as u32).to_le_bytes(), b"WAVEfmt ", &16u32.to_le_bytes()].concat();
        all.extend(self.format.to_le_bytes());
        all.extend(self.channels.to_le_bytes());
        all.extend(self.rate.to_le_bytes());
        all.extend((self.rate.wrapping_mul(u32::from(frame))).to_le_bytes());
        all.extend(frame.to_le_bytes());
        all.extend(self.bits.to_le_bytes());
        all.extend(b"data");
        all.extend((samples.len() as u32).to_le_bytes());
        all.extend(samples);
        all
    }

    /// A file of samples from -1 to 1, and what they are after rounding.
    pub fn of(self, samples: &[f32]) -> (Vec<u8>, Vec<f32>) {
        let scale = 2f64.powi(i32::from(self.bits) - 1);
        let (mut bytes, mut rounded) = (Vec::new(), Vec::new());
        for sample in samples {
            if self.format == 3 {
                bytes.extend(sample.to_le_bytes());
                rounded.push(*sample);
                continue;
            }
            let whole = (f64::from(*sample) * scale).round().clamp(-scale, scale - 1.0);
            rounded.push((whole / scale) as f32);
            match self.bits {
                // Bytes have no sign.
                8 => bytes.push((whole + 128.0) as u8),
                bits => bytes.extend(&(whole as i32).to_le_bytes()[..usize::from(bits / 8)]),
            }
        }
        (self.file(&bytes), rounded)
    }
}

/// Tensors with other names.
pub fn renamed(tensors: &Tensors, name: impl Fn(&str) -> String) -> Tensors {
    Tensors { all: tensors.all.iter().map(|(old, stored)| (name(old), stored.clone())).collect() }
}

/// A file for whisper.cpp, with the number that says how it is quantised. `kind`: the number of the matrices' type.
pub fn ggml(spec: &Spec, tensors: &Tensors, bands: &[f32], quantised: i32, kind: i32) -> Vec<u8> {
    let mut all = b"lmgg".to_vec();
    let put = |n: i32, all: &mut Vec<u8>| all.extend(n.to_le_bytes());
    let (width, heads) = (spec.width as i32, spec.heads as i32);
    for n in [spec.vocabulary() as i32, spec.positions as i32, width, heads, spec.encoder_layers as i32] {
        put(n, &mut all);
    }
    for n in [spec.tokens as i32, width, heads, spec.decoder_layers as i32, spec.mels as i32, quantised] {
        put(n, &mut all);
    }
    put(spec.mels as i32, &mut all);
    put(bands.len() as i32 / spec.mels as i32, &mut all);
    all.extend(bands.iter().flat_map(|x| x.to_le_bytes()));
    put(texts().len() as i32, &mut all);
    for text in texts() {
        put(text.len() as i32, &mut all);
        all.extend(text.as_bytes());
    }
    for (name, stored) in &tensors.all {
        // The biases of convolutions are columns.
        let is_column = name.starts_with("encoder.conv") && name.ends_with(".bias");
        let shape = if is_column { vec![1, stored.shape[0]] } else { stored.shape.clone() };
        let name = theirs(name);
        put(shape.len() as i32, &mut all);
        put(name.len() as i32, &mut all);
        let elements = shape.iter().product::<i64>() as usize;
        put(if stored.bytes.len() == 4 * elements { 0 } else { kind }, &mut all);
        shape.iter().for_each(|n| put(*n as i32, &mut all));
        all.extend(name.as_bytes());
        all.extend(&stored.bytes);
    }
    all
}

/// The name of a tensor in such a file.
fn theirs(name: &str) -> String {
    let pairs = [
        (".layers.", ".blocks."),
        ("self_attn_layer_norm", "attn_ln"),
        ("encoder_attn_layer_norm", "cross_attn_ln"),
        ("final_layer_norm", "mlp_ln"),
        ("self_attn.", "attn."),
        ("encoder_attn.", "cross_attn."),
        ("q_proj", "query"),
        ("k_proj", "key"),
        ("v_proj", "value"),
        ("out_proj", "out"),
        ("fc1", "mlp.0"),
        ("fc2", "mlp.2"),
        ("embed_positions.weight", "positional_embedding"),
        ("embed_tokens", "token_embedding"),
        ("encoder.layer_norm", "encoder.ln_post"),
        ("decoder.layer_norm", "decoder.ln"),
    ];
    pairs.iter().fold(name.to_string(), |name, (ours, theirs)| name.replace(ours, theirs))
}

/// Bands of features, by the published formulas: a row of 201 numbers for each.
pub fn bands(mels: usize) -> Vec<f32> {
    let to_hertz = |mel: f64| if mel < 15.0 { mel * 200.0 / 3.0 } else { 1000.0 * 6.4f64.powf((mel - 15.0) / 27.0) };
    let top = 15.0 + 27.0 * 8f64.ln() / 6.4f64.ln();
    let edges: Vec<f64> = (0..mels + 2).map(|i| to_hertz(top * i as f64 / (mels + 1) as f64)).collect();
    let band = |i: usize, k: usize| {
        let f = 40.0 * k as f64;
        let (left, middle, right) = (edges[i], edges[i + 1], edges[i + 2]);
        let height = if f <= middle { (f - left) / (middle - left) } else { (right - f) / (right - middle) };
        (height.max(0.0) * 2.0 / (right - left)) as f32
    };
    (0..mels).flat_map(|i| (0..201).map(move |k| (i, k))).map(|(i, k)| band(i, k)).collect()
}

pub fn write(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).unwrap();
}
