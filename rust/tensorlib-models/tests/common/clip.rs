//! CLIP and SigLIP in double precision, and the folders of tiny ones.

use super::math::*;
use super::tiny::{tokenizer_json, Random, Tensors};
use std::path::Path;
use tensorlib::DType;

/// The layers of one half.
#[derive(Clone)]
pub struct Half {
    pub layers: usize,
    pub width: usize,
    pub heads: usize,
    pub ffn: usize,
    pub eps: f64,
}

#[derive(Clone)]
pub struct Spec {
    /// CLIP, otherwise SigLIP.
    pub is_clip: bool,
    /// SigLIP 2 with images of any size: up to this many patches.
    pub most: Option<usize>,
    pub text: Half,
    pub image: Half,
    pub vocabulary: usize,
    pub positions: usize,
    pub outputs: usize,
    pub side: usize,
    pub patch: usize,
}

impl Spec {
    pub fn clip() -> Self {
        let half = Half { layers: 2, width: 48, heads: 4, ffn: 80, eps: 1e-5 };
        Spec {
            is_clip: true,
            most: None,
            text: half.clone(),
            image: Half { layers: 3, width: 64, heads: 2, ffn: 96, ..half },
            vocabulary: 40,
            positions: 11,
            outputs: 24,
            side: 20,
            patch: 5,
        }
    }

    pub fn siglip() -> Self {
        let clip = Spec::clip();
        let half = Half { eps: 1e-6, ..clip.text };
        Spec { is_clip: false, image: Half { width: 48, ..half.clone() }, text: half, outputs: 48, ..clip }
    }

    pub fn siglip2() -> Self {
        Spec { most: Some(18), ..Spec::siglip() }
    }

    /// Positions of images, which are tokens where these have one size.
    pub fn tokens(&self) -> usize {
        (self.side / self.patch).pow(2) + usize::from(self.is_clip)
    }

    pub fn tensors(&self, seed: u64, dtype: DType) -> Tensors {
        let (mut random, mut t) = (Random(seed), Tensors::default());
        let of = |n: usize| 2.0 / (n as f64).sqrt();
        let mut add = |name: &str, shape: &[usize], center: f64, spread: f64, dtype| {
            let shape: Vec<i64> = shape.iter().map(|n| *n as i64).collect();
            t.add(&mut random, name, &shape, center, spread, dtype);
        };
        for (half, of_half) in [("text_model", &self.text), ("vision_model", &self.image)] {
            let w = of_half.width;
            for i in 0..of_half.layers {
                let name = |part: &str| format!("{half}.encoder.layers.{i}.{part}");
                for part in ["q_proj", "k_proj", "v_proj", "out_proj"] {
                    add(&name(&format!("self_attn.{part}.weight")), &[w, w], 0.0, of(w), dtype);
                    add(&name(&format!("self_attn.{part}.bias")), &[w], 0.0, 0.3, DType::F32);
                }
                for part in ["layer_norm1", "layer_norm2"] {
                    add(&name(&format!("{part}.weight")), &[w], 1.0, 0.3, DType::F32);
                    add(&name(&format!("{part}.bias")), &[w], 0.0, 0.3, DType::F32);
                }
                for (part, inputs, outputs) in [("mlp.fc1", w, of_half.ffn), ("mlp.fc2", of_half.ffn, w)] {
                    add(&name(&format!("{part}.weight")), &[inputs, outputs], 0.0, of(inputs), dtype);
                    add(&name(&format!("{part}.bias")), &[outputs], 0.0, 0.3, DType::F32);
                }
            }
        }
        let (w, v, p) = (self.text.width, self.image.width, self.patch);
        add("text_model.embeddings.token_embedding.weight", &[w, self.vocabulary], 0.0, 1.0, dtype);
        add("text_model.embeddings.position_embedding.weight", &[w, self.positions], 0.0, 1.0, dtype);
        let of_patch: &[usize] = if self.most.is_some() { &[p * p * 3, v] } else { &[p, p, 3, v] };
        add("vision_model.embeddings.patch_embedding.weight", of_patch, 0.0, of(p * p * 3), dtype);
        add("vision_model.embeddings.position_embedding.weight", &[v, self.tokens()], 0.0, 1.0, dtype);
        let mut norms = vec![("text_model.final_layer_norm", w), ("vision_model.post_layernorm", v)];
        if self.is_clip {
            add("vision_model.embeddings.class_embedding", &[v], 0.0, 1.0, dtype);
            add("text_projection.weight", &[w, self.outputs], 0.0, of(w), dtype);
            add("visual_projection.weight", &[v, self.outputs], 0.0, of(v), dtype);
            norms.push(("vision_model.pre_layrnorm", v));
        } else {
            add("text_model.head.weight", &[w, self.outputs], 0.0, of(w), dtype);
            add("text_model.head.bias", &[self.outputs], 0.0, 0.3, DType::F32);
            add("vision_model.embeddings.patch_embedding.bias", &[v], 0.0, 0.3, DType::F32);
            add("vision_model.head.probe", &[v, 1, 1], 0.0, 1.0, dtype);
            add("vision_model.head.attention.in_proj_weight", &[v, 3 * v], 0.0, of(v), dtype);
            add("vision_model.head.attention.in_proj_bias", &[3 * v], 0.0, 0.3, DType::F32);
            for (part, inputs, outputs) in
                [("attention.out_proj", v, v), ("mlp.fc1", v, self.image.ffn), ("mlp.fc2", self.image.ffn, v)]
            {
                add(&format!("vision_model.head.{part}.weight"), &[inputs, outputs], 0.0, of(inputs), dtype);
                add(&format!("vision_model.head.{part}.bias"), &[outputs], 0.0, 0.3, DType::F32);
            }
            norms.push(("vision_model.head.layernorm", v));
        }
        for (name, n) in norms {
            add(&format!("{name}.weight"), &[n], 1.0, 0.3, DType::F32);
            add(&format!("{name}.bias"), &[n], 0.0, 0.3, DType::F32);
        }
        t
    }

    /// A config.json with further settings of both halves.
    pub fn config(&self, further: &str, of_images: &str) -> String {
        let half = |h: &Half| {
            format!(
                r#""hidden_size": {}, "num_hidden_layers": {}, "num_attention_heads": {}, "intermediate_size": {}, "layer_norm_eps": {:e}"#,
                h.width, h.layers, h.heads, h.ffn, h.eps
            )
        };
        let kind = match (self.is_clip, self.most) {
            (true, _) => "clip",
            (false, None) => "siglip",
            (false, Some(_)) => "siglip2",
        };
        let text_kind = format!("{kind}_text_model");
        let size = match self.most {
            Some(_) => format!("\"num_patches\": {}", self.tokens()),
            None => format!("\"image_size\": {}", self.side),
        };
        let projection = if self.is_clip { format!(r#", "projection_dim": {}"#, self.outputs) } else { String::new() };
        format!(
            r#"{{"model_type": "{kind}", "logit_scale_init_value": 2.6{projection},
"text_config": {{"model_type": "{text_kind}", {}, "max_position_embeddings": {}, "vocab_size": {}{projection}{further}}},
"vision_config": {{"model_type": "{kind}_vision_model", {}, {size}, "patch_size": {}{of_images}}}}}"#,
            half(&self.text),
            self.positions,
            self.vocabulary,
            half(&self.image),
            self.patch
        )
    }

    pub fn preparation(&self) -> String {
        let side = self.side;
        if let Some(most) = self.most {
            return format!(
                r#"{{"do_convert_rgb": true, "do_resize": true, "do_rescale": true, "do_normalize": true, "resample": 2,
"rescale_factor": 0.00392156862745098, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "patch_size": {},
"max_num_patches": {most}, "image_processor_type": "Siglip2ImageProcessor", "processor_class": "Siglip2Processor"}}"#,
                self.patch
            );
        }
        match self.is_clip {
            true => format!(
                r#"{{"do_resize": true, "size": {{"shortest_edge": {side}}}, "resample": 3, "do_center_crop": true,
"crop_size": {{"height": {side}, "width": {side}}}, "do_rescale": true, "rescale_factor": 0.00392156862745098,
"do_normalize": true, "image_mean": [0.5, 0.4, 0.3], "image_std": [0.25, 0.3, 0.35], "do_convert_rgb": true,
"image_processor_type": "CLIPImageProcessor"}}"#
            ),
            false => format!(
                r#"{{"do_resize": true, "size": {{"height": {side}, "width": {side}}}, "resample": 3, "do_rescale": true,
"rescale_factor": 0.00392156862745098, "do_normalize": true, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5],
"processor_class": "SiglipProcessor"}}"#
            ),
        }
    }

    pub fn write_folder(&self, path: &Path, tensors: &Tensors) {
        std::fs::create_dir_all(path).unwrap();
        std::fs::write(path.join("config.json"), self.config("", "")).unwrap();
        std::fs::write(path.join("preprocessor_config.json"), self.preparation()).unwrap();
        std::fs::write(path.join("tokenizer.json"), tokenizer_json(self.vocabulary)).unwrap();
        tensors.write_safetensors(&path.join("model.safetensors"), |name, _| name.into(), |_| false);
    }

    fn linear(&self, t: &Tensors, name: &str, x: &[f64]) -> Row {
        let y = product(t.get(&format!("{name}.weight")), x);
        t.find(&format!("{name}.bias")).map_or(y.clone(), |bias| sum(&y, bias))
    }

    fn norm(&self, t: &Tensors, name: &str, x: &[f64]) -> Row {
        let eps = if name.starts_with("text") { self.text.eps } else { self.image.eps };
        layer_norm(x, t.get(&format!("{name}.weight")), t.get(&format!("{name}.bias")), eps)
    }

    fn activated(&self, x: f64) -> f64 {
        if self.is_clip {
            x / (1.0 + (-1.702 * x).exp())
        } else {
            gelu(x)
        }
    }

    fn fed(&self, t: &Tensors, name: &str, x: &[f64]) -> Row {
        let hidden: Row = self.linear(t, &format!("{name}.fc1"), x).into_iter().map(|x| self.activated(x)).collect();
        self.linear(t, &format!("{name}.fc2"), &hidden)
    }

    /// Attention of one query to the first `n` keys.
    fn attended(q: &[f64], k: &[Row], v: &[Row], heads: usize) -> Row {
        let head = q.len() / heads;
        let of_head = |h: usize| {
            let part = h * head..(h + 1) * head;
            let logit = |k: &Row| k[part.clone()].iter().zip(&q[part.clone()]).map(|(a, b)| a * b).sum::<f64>();
            let logits: Row = k.iter().map(|k| logit(k) / (head as f64).sqrt()).collect();
            let weights = softmax(&logits, None);
            part.clone().map(|d| weights.iter().zip(v).map(|(w, v)| w * v[d]).sum()).collect::<Row>()
        };
        (0..heads).flat_map(of_head).collect()
    }

    fn layers(&self, t: &Tensors, half: &str, of: &Half, mut xs: Vec<Row>, causal: bool) -> Vec<Row> {
        for i in 0..of.layers {
            let name = |part: &str| format!("{half}.encoder.layers.{i}.{part}");
            let normed: Vec<Row> = xs.iter().map(|x| self.norm(t, &name("layer_norm1"), x)).collect();
            let all = |part: &str| -> Vec<Row> {
                normed.iter().map(|x| self.linear(t, &name(&format!("self_attn.{part}")), x)).collect()
            };
            let (q, k, v) = (all("q_proj"), all("k_proj"), all("v_proj"));
            let next = |(j, x): (usize, &Row)| {
                let n = if causal { j + 1 } else { k.len() };
                let c = Self::attended(&q[j], &k[..n], &v[..n], of.heads);
                let x = sum(x, &self.linear(t, &name("self_attn.out_proj"), &c));
                sum(&x, &self.fed(t, &name("mlp"), &self.norm(t, &name("layer_norm2"), &x)))
            };
            xs = xs.iter().enumerate().map(next).collect();
        }
        xs
    }

    /// A text's vector of length 1: the last token's, which SigLIP's padding may be.
    pub fn text(&self, t: &Tensors, tokens: &[u32]) -> Row {
        let mut tokens = tokens.to_vec();
        if !self.is_clip {
            tokens.resize(self.positions, 1);
        }
        let w = self.text.width;
        let row = |name: &str, i: usize| &t.get(&format!("text_model.embeddings.{name}.weight"))[i * w..(i + 1) * w];
        let embedded = |(i, id): (usize, &u32)| sum(row("token_embedding", *id as usize), row("position_embedding", i));
        let xs =
            self.layers(t, "text_model", &self.text, tokens.iter().enumerate().map(embedded).collect(), self.is_clip);
        let last = self.norm(t, "text_model.final_layer_norm", xs.last().unwrap());
        unit(&self.linear(t, if self.is_clip { "text_projection" } else { "text_model.head" }, &last))
    }

    /// The vector of length 1 of an image with the model's size, from bytes of rows of pixels.
    pub fn image(&self, t: &Tensors, rgb: &[u8]) -> Row {
        self.image_of(t, rgb, self.side)
    }

    /// The vectors of positions for a grid of patches: that of training, or what linear weights make of it, which reach
    /// further where the grid is smaller.
    fn positions(&self, t: &Tensors, rows: usize, columns: usize) -> Vec<Row> {
        let (v, across) = (self.image.width, self.side / self.patch);
        let all = t.get("vision_model.embeddings.position_embedding.weight");
        if self.most.is_none() {
            return all.chunks(v).map(<[f64]>::to_vec).collect();
        }
        let weights = |to: usize, output: usize| -> Row {
            let scale = across as f64 / to as f64;
            let distance = |input: usize| (input as f64 + 0.5 - (output as f64 + 0.5) * scale).abs() / scale.max(1.0);
            let weights: Row = (0..across).map(|input| (1.0 - distance(input)).max(0.0)).collect();
            let total = weights.iter().sum::<f64>();
            weights.iter().map(|weight| weight / total).collect()
        };
        let of_patch = |i: usize| {
            let (by_row, by_column) = (weights(rows, i / columns), weights(columns, i % columns));
            let element = |d: usize| -> f64 {
                (0..across * across).map(|j| by_row[j / across] * by_column[j % across] * all[j * v + d]).sum()
            };
            (0..v).map(element).collect()
        };
        (0..rows * columns).map(of_patch).collect()
    }

    /// The vector of length 1 of an image of whole patches, from bytes of rows of this many pixels.
    pub fn image_of(&self, t: &Tensors, rgb: &[u8], pixels: usize) -> Row {
        let (mean, deviation) = match self.is_clip {
            true => ([0.5, 0.4, 0.3], [0.25, 0.3, 0.35]),
            false => ([0.5; 3], [0.5; 3]),
        };
        let pixel =
            |x: usize, y: usize, c: usize| (f64::from(rgb[(y * pixels + x) * 3 + c]) / 255.0 - mean[c]) / deviation[c];
        let (p, v, across) = (self.patch, self.image.width, pixels / self.patch);
        let down = rgb.len() / (3 * pixels * p);
        let weights = t.get("vision_model.embeddings.patch_embedding.weight");
        let mut xs: Vec<Row> = Vec::new();
        if self.is_clip {
            xs.push(t.get("vision_model.embeddings.class_embedding").to_vec());
        }
        for patch in 0..across * down {
            let (left, top) = (patch % across * p, patch / across * p);
            let of_output = |o: usize| {
                let mut total = 0.0;
                for c in 0..3 {
                    for y in 0..p {
                        for x in 0..p {
                            let place = match self.most {
                                Some(_) => ((o * p + y) * p + x) * 3 + c,
                                None => ((o * 3 + c) * p + y) * p + x,
                            };
                            total += weights[place] * pixel(left + x, top + y, c);
                        }
                    }
                }
                total
            };
            let row: Row = (0..v).map(of_output).collect();
            xs.push(match t.find("vision_model.embeddings.patch_embedding.bias") {
                Some(bias) => sum(&row, bias),
                None => row,
            });
        }
        xs = xs.iter().zip(self.positions(t, down, across)).map(|(x, position)| sum(x, &position)).collect();
        if self.is_clip {
            xs = xs.iter().map(|x| self.norm(t, "vision_model.pre_layrnorm", x)).collect();
        }
        let xs = self.layers(t, "vision_model", &self.image, xs, false);
        let xs: Vec<Row> = xs.iter().map(|x| self.norm(t, "vision_model.post_layernorm", x)).collect();
        if self.is_clip {
            return unit(&self.linear(t, "visual_projection", &xs[0]));
        }
        let (matrix, bias) =
            (t.get("vision_model.head.attention.in_proj_weight"), t.get("vision_model.head.attention.in_proj_bias"));
        let part =
            |i: usize, x: &[f64]| sum(&product(&matrix[i * v * v..(i + 1) * v * v], x), &bias[i * v..(i + 1) * v]);
        let (k, values): (Vec<Row>, Vec<Row>) = xs.iter().map(|x| (part(1, x), part(2, x))).unzip();
        let c = Self::attended(&part(0, t.get("vision_model.head.probe")), &k, &values, self.image.heads);
        let x = self.linear(t, "vision_model.head.attention.out_proj", &c);
        unit(&sum(&x, &self.fed(t, "vision_model.head.mlp", &self.norm(t, "vision_model.head.layernorm", &x))))
    }
}

fn unit(x: &[f64]) -> Row {
    let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
    x.iter().map(|x| x / length).collect()
}
