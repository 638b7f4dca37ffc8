//! Layers with a state in double precision, one token after the other.

use super::decoder::{OfLayer, Spec};
use super::math::*;
use super::tiny::{Random, Tensors};
use tensorlib::DType;

/// Layers that convolve each channel over the last tokens, between two gates.
#[derive(Clone, Copy, Debug)]
pub struct ShortConvolution {
    pub taps: usize,
    pub biased: bool,
    pub layers: OfLayer,
}

/// The sums of a convolution of each channel over the last tokens.
fn convolved(xs: &[Row], kernel: &[f64], bias: Option<&[f64]>) -> Vec<Row> {
    let channels = xs[0].len();
    let taps = kernel.len() / channels;
    let at = |i: usize, channel: usize| {
        let tap = |j: usize| (i + j + 1).checked_sub(taps).map_or(0.0, |from| xs[from][channel]);
        (0..taps).map(|j| kernel[channel * taps + j] * tap(j)).sum::<f64>() + bias.map_or(0.0, |bias| bias[channel])
    };
    (0..xs.len()).map(|i| (0..channels).map(|channel| at(i, channel)).collect()).collect()
}

/// Layers with a selective state space.
#[derive(Clone, Copy, Debug)]
pub struct Mamba {
    pub heads: usize,
    pub head: usize,
    pub state: usize,
    pub groups: usize,
    pub taps: usize,
    pub normed: bool,
    pub gates_last: bool,
    pub limits: (f64, f64),
    /// Factors of the input, of the result, and of gates, inputs, what is written and read, and steps.
    pub scales: [f64; 2],
    pub factors: [f64; 5],
    pub layers: OfLayer,
}

impl Mamba {
    pub fn inner(&self) -> usize {
        self.heads * self.head
    }

    pub fn channels(&self) -> usize {
        self.inner() + 2 * self.groups * self.state
    }
}

impl Spec {
    pub fn mamba_of(&self, layer: usize) -> Option<Mamba> {
        self.mamba.filter(|mamba| (mamba.layers)(layer))
    }

    /// The names and shapes of the matrices of such a layer.
    pub fn mamba_matrices(&self, of: Mamba) -> [(&'static str, [i64; 2]); 2] {
        let (w, inner) = (self.width as i64, of.inner() as i64);
        [("ssm_in", [w, inner + (of.channels() + of.heads) as i64]), ("ssm_out", [inner, w])]
    }

    pub fn add_mamba(&self, random: &mut Random, t: &mut Tensors, layer: usize, of: Mamba) {
        let (channels, heads) = (of.channels() as i64, of.heads as i64);
        let mut vector = |part: &str, shape: &[i64], center: f64| {
            t.add(random, &format!("blk.{layer}.{part}"), shape, center, 0.3, DType::F32);
        };
        vector("ssm_conv1d.weight", &[of.taps as i64, channels], 0.3);
        vector("ssm_conv1d.bias", &[channels], 0.0);
        vector("ssm_dt.bias", &[heads], 0.2);
        vector("ssm_a", &[1, heads], -0.8);
        vector("ssm_d", &[1, heads], 0.5);
        if of.normed {
            let groups = of.groups as i64;
            vector("ssm_norm.weight", &[of.inner() as i64 / groups, groups], 1.0);
        }
    }

    /// The state of each head, token by token.
    pub fn scan(&self, t: &Tensors, layer: usize, of: Mamba, xs: &[Row]) -> Vec<Row> {
        let name = |part: &str| format!("blk.{layer}.{part}");
        let (inner, channels, per_group) = (of.inner(), of.channels(), of.heads / of.groups);
        let of_groups = of.groups * of.state;
        let counts = [inner, inner, of_groups, of_groups, of.heads];
        let factors: Row = of.factors.iter().zip(counts).flat_map(|(f, n)| vec![*f; n]).collect();
        let times = |a: &[f64], b: &[f64]| -> Row { a.iter().zip(b).map(|(a, b)| a * b).collect() };
        let project = |x: &Row| {
            let x: Row = x.iter().map(|x| x * of.scales[0]).collect();
            times(&self.linear(t, &name("ssm_in"), &x), &factors)
        };
        let all: Vec<Row> = xs.iter().map(project).collect();
        let read: Vec<Row> = all.iter().map(|row| row[inner..inner + channels].to_vec()).collect();
        let sums = convolved(&read, t.get(&name("ssm_conv1d.weight")), t.find(&name("ssm_conv1d.bias")));
        let (a, direct, bias) = (t.get(&name("ssm_a")), t.get(&name("ssm_d")), t.get(&name("ssm_dt.bias")));
        let mut states = vec![vec![vec![0.0; of.state]; of.head]; of.heads];
        let mut outs = Vec::new();
        for (row, sums) in all.iter().zip(&sums) {
            let mixed: Row = sums.iter().map(|x| silu(*x)).collect();
            let mut y = Row::new();
            for (h, state) in states.iter_mut().enumerate() {
                let step = (1.0 + (row[inner + channels + h] + bias[h]).exp()).ln().clamp(of.limits.0, of.limits.1);
                let (decay, group) = ((step * a[h]).exp(), h / per_group);
                let b = &mixed[inner + group * of.state..][..of.state];
                let c = &mixed[inner + of_groups + group * of.state..][..of.state];
                for (j, numbers) in state.iter_mut().enumerate() {
                    let x = mixed[h * of.head + j];
                    numbers.iter_mut().zip(b).for_each(|(s, b)| *s = decay * *s + step * x * b);
                    y.push(numbers.iter().zip(c).map(|(s, c)| s * c).sum::<f64>() + direct[h] * x);
                }
            }
            let gate: Row = row[..inner].iter().map(|z| silu(*z)).collect();
            let group = inner / of.groups;
            let norm = |x: &[f64]| -> Row {
                let Some(weight) = t.find(&name("ssm_norm.weight")) else { return x.to_vec() };
                x.chunks(group).zip(weight.chunks(group)).flat_map(|(x, w)| rms_norm(x, w, self.eps)).collect()
            };
            let gated = if of.gates_last { times(&norm(&y), &gate) } else { norm(&times(&y, &gate)) };
            let out = self.linear(t, &name("ssm_out"), &gated);
            outs.push(out.iter().map(|x| x * of.scales[1]).collect());
        }
        outs
    }

    pub fn short_convolution_of(&self, layer: usize) -> Option<ShortConvolution> {
        self.short_convolution.filter(|convolution| (convolution.layers)(layer))
    }

    /// The tensors of such a layer that are no matrices, and the biases.
    pub fn add_short_convolution(&self, random: &mut Random, t: &mut Tensors, layer: usize, of: ShortConvolution) {
        let w = self.width as i64;
        let mut vector = |part: &str, shape: &[i64], center: f64| {
            t.add(random, &format!("blk.{layer}.shortconv.{part}"), shape, center, 0.3, DType::F32);
        };
        vector("conv.weight", &[of.taps as i64, w], 0.3);
        if of.biased {
            vector("in_proj.bias", &[3 * w], 0.0);
            vector("conv.bias", &[w], 0.0);
            vector("out_proj.bias", &[w], 0.0);
        }
    }

    pub fn convolve(&self, t: &Tensors, layer: usize, xs: &[Row]) -> Vec<Row> {
        let (name, w) = (|part: &str| format!("blk.{layer}.shortconv.{part}"), self.width);
        let all: Vec<Row> = xs.iter().map(|x| self.linear(t, &name("in_proj"), x)).collect();
        let times = |a: &[f64], b: &[f64]| -> Row { a.iter().zip(b).map(|(a, b)| a * b).collect() };
        let gated: Vec<Row> = all.iter().map(|row| times(&row[..w], &row[2 * w..])).collect();
        let sums = convolved(&gated, t.get(&name("conv.weight")), t.find(&name("conv.bias")));
        let result = |(row, sum): (&Row, &Row)| self.linear(t, &name("out_proj"), &times(&row[w..2 * w], sum));
        all.iter().zip(&sums).map(result).collect()
    }
}
