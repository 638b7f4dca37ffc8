//! The image encoder of CLIP, SigLIP and SigLIP 2, whose vectors are compared with those of texts.

mod image;
mod positions;
mod preparation;
mod proportions;

pub use image::Image;
pub use preparation::Preparation;

use super::attention::joined;
use super::batches::{batches, Batch, Group};
use super::feed::activated;
use super::layer::{Firsts, Layer, Run};
use super::shape::{ImagePooling, ImageSizes, Images};
use super::vectors::unit;
use super::Encoder;
use crate::norm::Norm;
use crate::weights::Weights;
use crate::{Error, Result};
use tensorlib::nn::{Embedding, Linear, Module, Pass};
use tensorlib::{Context, DType, FlashAttnExtOptions, Tensor};

/// The weights of the image encoder.
pub struct ImageTower {
    of: Images,
    /// None without the file that describes it.
    preparation: Option<Preparation>,
    /// [pixels of a patch, width]; for images of one size the pixels have three dimensions.
    patches: Tensor,
    patch_bias: Option<Tensor>,
    positions: Embedding,
    layers: Vec<Layer>,
    post_norm: Norm,
    pooling: Pooled,
}

/// What makes an image's vector of those of its tokens.
enum Pooled {
    Token { class: Tensor, pre_norm: Norm, projection: Linear },
    Attention { probe: Tensor, qkv: Linear, output: Linear, norm: Norm, up: Linear, down: Linear },
}

impl ImageTower {
    /// Loads the tensors `v.*`. `outputs`: the elements of a text's vector.
    pub fn load(
        weights: &Weights,
        of: &Images,
        outputs: Option<i64>,
        preparation: Option<Preparation>,
    ) -> Result<Self> {
        let (shape, patch) = (&of.shape, of.patch);
        let width = shape.width;
        let norm = |name: &str| Norm::load(weights, (shape.norm, shape.eps), name, width);
        let linear = |name: &str, n| weights.linear(name, width, n);
        let pooling = match of.pooling {
            ImagePooling::Token => Pooled::Token {
                class: weights.get("v.class_embd", &[width])?,
                pre_norm: norm("v.pre_norm")?,
                projection: Linear { bias: None, ..linear("v.projection", outputs.unwrap_or(width))?.exact(true) },
            },
            ImagePooling::Attention => Pooled::Attention {
                probe: weights.get("v.probe", &[width, 1, 1])?,
                qkv: linear("v.pool_qkv", 3 * width)?,
                output: linear("v.pool_output", width)?,
                norm: norm("v.pool_norm")?,
                up: linear("v.pool_up", shape.ffn)?,
                down: weights.linear("v.pool_down", shape.ffn, width)?,
            },
        };
        if of.pooling == ImagePooling::Attention && outputs.is_some_and(|n| n != width) {
            let n = outputs.unwrap_or(0);
            return Err(Error::format(format!(
                "vectors of texts have {n} elements, and those of images {width}: one number is valid"
            )));
        }
        Ok(ImageTower {
            preparation,
            patches: match of.sizes {
                ImageSizes::Square(_) => weights.get("v.patch_embd.weight", &[patch, patch, 3, width])?,
                ImageSizes::Any { .. } => weights.get("v.patch_embd.weight", &[patch * patch * 3, width])?,
            },
            patch_bias: weights.find("v.patch_embd.bias", &[width])?,
            positions: weights.embedding("v.position_embd", width, of.positions())?,
            layers: (0..shape.layers).map(|i| Layer::load(weights, shape, i)).collect::<Result<_>>()?,
            post_norm: norm("v.post_norm")?,
            pooling,
            of: of.clone(),
        })
    }

    /// The tokens of an image with such a grid of patches.
    fn tokens(&self, (rows, columns): (usize, usize)) -> usize {
        rows * columns + usize::try_from(self.of.other_tokens()).unwrap_or(0)
    }

    /// The vectors of a batch's images, [elements, images or more], from their patches, [pixels, patches], and the grid of
    /// each image's patches.
    fn forward(
        &self,
        ctx: &Context,
        pixels: &Tensor,
        batch: &Batch,
        grids: &[(usize, usize)],
        pass: Pass,
    ) -> Result<Tensor> {
        let of = &self.of;
        let mut x = self.embedded(ctx, pixels, grids, &pass)?;
        if let Pooled::Token { pre_norm, .. } = &self.pooling {
            x = pre_norm.forward(&x, &pass)?;
        }
        let positions = ctx.tensor_of([1], &[0i32])?;
        let run =
            Run { shape: &of.shape, batch, positions: &positions, biases: None, near: None, distances: None, pass };
        let firsts = match self.pooling {
            Pooled::Token { .. } => Some(Firsts::new(ctx, batch)?),
            Pooled::Attention { .. } => None,
        };
        for (i, layer) in self.layers.iter().enumerate() {
            x = layer.forward(&run, &x, firsts.as_ref().filter(|_| i + 1 == self.layers.len()))?;
        }
        let x = self.post_norm.forward(&x, &run.pass)?;
        self.pooled(ctx, &x, batch, &run.pass)
    }

    /// The vectors of all tokens before the layers, [width, tokens].
    fn embedded(&self, ctx: &Context, pixels: &Tensor, grids: &[(usize, usize)], pass: &Pass) -> Result<Tensor> {
        let (of, images) = (&self.of, grids.len() as i64);
        let width = of.shape.width;
        let matrix = ctx.within(|| self.patches.reshape([of.patch * of.patch * 3, width]))?;
        let mut x = matrix.mul_mat_exact(pixels)?;
        if let Some(bias) = &self.patch_bias {
            x = (&x + bias)?;
        }
        if let ImageSizes::Any { across } = of.sizes {
            return Ok((&x + &self.resized_positions(ctx, across, grids)?)?);
        }
        let tokens = of.positions();
        x = x.reshape([width, tokens - of.other_tokens(), images])?;
        if let Pooled::Token { class, .. } = &self.pooling {
            let class = ctx.within(|| class.cast(DType::F32)?.reshape([width, 1, 1])?.repeat([width, 1, images]))?;
            x = class.concat(&x, 1)?;
        }
        let numbers: Vec<i32> = (0..tokens).map(|i| i32::try_from(i).unwrap_or(i32::MAX)).collect();
        let rows = self.positions.forward(&ctx.tensor_of([tokens], &numbers)?, pass)?.reshape([width, tokens, 1])?;
        Ok((&x + &rows)?.reshape([width, tokens * images])?)
    }

    /// The vectors of positions for images with these grids of patches, one after the other.
    fn resized_positions(&self, ctx: &Context, across: i64, grids: &[(usize, usize)]) -> Result<Tensor> {
        let values = self.positions.weight.to_f32_vec()?;
        let across = usize::try_from(across).unwrap_or(1);
        let all: Vec<f32> = grids.iter().flat_map(|grid| positions::resized(&values, across, *grid)).collect();
        let width = self.of.shape.width;
        Ok(ctx.tensor([width, all.len() as i64 / width], &all)?)
    }

    fn pooled(&self, ctx: &Context, x: &Tensor, batch: &Batch, pass: &Pass) -> Result<Tensor> {
        let shape = &self.of.shape;
        let (width, head, heads) = (shape.width, shape.head, shape.heads);
        match &self.pooling {
            Pooled::Token { projection, .. } => Ok(projection.forward(x, pass)?),
            Pooled::Attention { probe, qkv, output, norm, up, down } => {
                let probe = ctx.within(|| probe.cast(DType::F32)?.reshape([width, 1]))?;
                let q = qkv.forward(&probe, pass)?.narrow(0, 0, width)?.cont()?.reshape([head, 1, heads, 1])?;
                let all = qkv.forward(x, pass)?;
                let of_group = |group: &Group| -> Result<Tensor> {
                    let (length, n) = (group.length as i64, group.lines as i64);
                    let all = all.narrow(1, group.start as i64, length * n)?.reshape([head, 3 * heads, length, n])?;
                    let part = |first: i64| all.narrow(1, first, heads)?.permute([0, 2, 1, 3]);
                    let options = FlashAttnExtOptions::new().scale(shape.attention_scale);
                    let q = q.repeat([head, 1, heads, n])?;
                    let c = q.flash_attn_ext(&part(heads)?, &part(2 * heads)?, None, None, options)?;
                    Ok(c.reshape([width, n])?)
                };
                let c = joined(batch.groups.iter().map(of_group).collect::<Result<_>>()?)?;
                let x = output.forward(&c, pass)?;
                let hidden = activated(&up.forward(&norm.forward(&x, pass)?, pass)?, shape.activation)?;
                Ok((&down.forward(&hidden, pass)? + &x)?)
            }
        }
    }
}

impl Encoder {
    /// Whether the model turns images into vectors too.
    pub fn has_images(&self) -> bool {
        self.images.is_some()
    }

    /// The vectors of these images, in their order, to be compared with those of texts. The images are resized, cut and
    /// normalised as the folder's preprocessor_config.json says.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind) for a model of texts alone; [`ErrorKind::Invalid`](crate::ErrorKind)
    /// for an image that cannot be prepared, or a vector that is not finite; [`ErrorKind::Memory`](crate::ErrorKind),
    /// [`ErrorKind::Internal`](crate::ErrorKind).
    pub fn embed_images(&self, images: &[Image]) -> Result<Vec<Vec<f32>>> {
        let Some(tower) = &self.images else {
            let message = "the model turns texts alone into vectors";
            return Err(Error::unsupported(message).with_hint("CLIP and SigLIP take images"));
        };
        let Some(preparation) = &tower.preparation else {
            let message = "the model's folder has no preprocessor_config.json, which says how images are prepared";
            return Err(Error::no_file(message).with_hint("fetch it with the other files of the folder"));
        };
        let grids = images.iter().map(|image| preparation.grid(image)).collect::<Result<Vec<_>>>()?;
        let lengths: Vec<usize> = grids.iter().map(|grid| tower.tokens(*grid)).collect();
        let mut ctx = Context::on(&self.backend);
        let mut vectors = vec![Vec::new(); images.len()];
        for batch in batches(&lengths) {
            let batch = batch.with_two_columns();
            let grids: Vec<(usize, usize)> = batch.lines.iter().map(|image| grids[*image]).collect();
            let patches = batch.lines.iter().map(|image| preparation.patches(&images[*image]));
            let pixels = patches.collect::<Result<Vec<_>>>()?.concat();
            let (width, made) = self.vectors_of_patches(tower, &ctx, &pixels, (&batch, &grids))?;
            for (image, vector) in batch.lines.iter().zip(made.chunks(width.max(1))) {
                if let Some(value) = vector.iter().find(|x| !x.is_finite()) {
                    let what = format!("image {image}: its vector holds {value}, which is no vector");
                    return Err(self.not_finite(what));
                }
                let vector: Vec<f64> = vector.iter().map(|x| f64::from(*x)).collect();
                vectors[*image] = unit(&vector, self.kept);
            }
            ctx.reset()?;
        }
        Ok(vectors)
    }

    /// The elements of a vector, and those of a batch's images, or of more.
    fn vectors_of_patches(
        &self,
        tower: &ImageTower,
        ctx: &Context,
        pixels: &[f32],
        (batch, grids): (&Batch, &[(usize, usize)]),
    ) -> Result<(usize, Vec<f32>)> {
        let of_patch = 3 * tower.of.patch.pow(2);
        let pixels = ctx.tensor([of_patch, pixels.len() as i64 / of_patch], pixels)?;
        let made = tower.forward(ctx, &pixels, batch, grids, self.pass())?;
        Ok((usize::try_from(made.shape()[0]).unwrap_or(1), self.read(&made)?))
    }
}
