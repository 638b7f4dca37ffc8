//! CLIP (Radford and others, Learning Transferable Visual Models, 2021) and SigLIP (Zhai and others, Sigmoid Loss for
//! Language Image Pre-Training, 2023), also SigLIP 2 (Tschannen and others, 2025): an encoder of texts and one of images,
//! whose vectors are compared.

use crate::encoder::shape::{
    Activation, Counts, ImagePooling, ImageSizes, Images, Norms, Positions, Shape, EPS, POSITIONS,
};
use crate::sentences::Pooling;
use crate::settings::{Key, Settings};
use crate::weights::{HubName, HubNames};
use crate::{Error, Result};
use serde_json::Value as Json;

const ACTIVATION: Key = Key("", "hidden_act");
const PROJECTION: Key = Key("", "projection_dim");
/// SigLIP's product has as many outputs as inputs unless this says otherwise.
const HEAD: Key = Key("", "projection_size");
const PADDING: Key = Key("", "pad_token_id");
const KNOWN_PADDING: u32 = 1;

const IMAGE_COUNTS: Counts = Counts {
    width: Key("", "vision_config.hidden_size"),
    layers: Key("", "vision_config.num_hidden_layers"),
    heads: Key("", "vision_config.num_attention_heads"),
    ffn: Key("", "vision_config.intermediate_size"),
};
const IMAGE_EPS: Key = Key("", "vision_config.layer_norm_eps");
const IMAGE_ACTIVATION: Key = Key("", "vision_config.hidden_act");
const IMAGE_PROJECTION: Key = Key("", "vision_config.projection_dim");
const SIDE: Key = Key("", "vision_config.image_size");
const PATCH: Key = Key("", "vision_config.patch_size");
/// SigLIP 2 with images of any size has this instead of a side.
const PATCHES: Key = Key("", "vision_config.num_patches");
const CHANNELS: Key = Key("", "vision_config.num_channels");
const USES_HEAD: Key = Key("", "vision_config.vision_use_head");
const IMAGE_MODEL: Key = Key("", "vision_config");

/// What the published classes take where a folder does not say. Both have the same image encoder but for its patches.
struct Defaults {
    width: i64,
    ffn: i64,
    heads: i64,
    positions: i64,
    patch: i64,
    eps: f64,
    activation: &'static str,
}

const CLIP: Defaults =
    Defaults { width: 512, ffn: 2048, heads: 8, positions: 77, patch: 32, eps: 1e-5, activation: "quick_gelu" };
const SIGLIP: Defaults =
    Defaults { width: 768, ffn: 3072, heads: 12, positions: 64, patch: 16, eps: 1e-6, activation: "gelu_pytorch_tanh" };
const LAYERS: i64 = 12;
const CLIP_OUTPUTS: i64 = 512;

impl Defaults {
    fn of_text(&self) -> [(Key, Json); 6] {
        let Counts { width, layers, heads, ffn } = Counts::BERT;
        [
            (width, self.width.into()),
            (ffn, self.ffn.into()),
            (layers, LAYERS.into()),
            (heads, self.heads.into()),
            (POSITIONS, self.positions.into()),
            (EPS, self.eps.into()),
        ]
    }

    fn of_images(&self) -> [(Key, Json); 8] {
        let Counts { width, layers, heads, ffn } = IMAGE_COUNTS;
        [
            (width, 768.into()),
            (ffn, 3072.into()),
            (layers, LAYERS.into()),
            (heads, 12.into()),
            (SIDE, 224.into()),
            (PATCHES, 256.into()),
            (PATCH, self.patch.into()),
            (IMAGE_EPS, self.eps.into()),
        ]
    }
}

/// Reads the settings of the text encoder and of the image encoder.
pub fn shape(settings: &Settings) -> Result<Shape> {
    let is_clip = settings.architecture().starts_with("clip");
    let is_any = settings.architecture().starts_with("siglip2");
    if !settings.is_hub() {
        let message = "architecture 'clip': GGUF files of this name hold image encoders of language models";
        return Err(Error::unsupported(message).with_hint("a hub folder of the model is read"));
    }
    let defaults = if is_clip { CLIP } else { SIGLIP };
    let settings = &settings.with_values(&defaults.of_text())?;
    let shape = Shape::read(settings, &Counts::BERT, EPS, POSITIONS, 0)?;
    let images = match settings.value_if(IMAGE_MODEL)? {
        Some(value) => {
            if !value.is_object() {
                return Err(settings.refuse(IMAGE_MODEL, format!("is {value}: an object is valid")));
            }
            let defaults_of_images = defaults.of_images();
            let other = if is_any { SIDE } else { PATCHES };
            let used: Vec<_> = defaults_of_images.into_iter().filter(|(key, _)| key.1 != other.1).collect();
            let settings = settings.with_values(&used)?;
            Some(Box::new(images(&settings, (is_clip, is_any), defaults.activation)?))
        }
        None => None,
    };
    let projection = match is_clip {
        true => settings.count_if(PROJECTION)?.unwrap_or(CLIP_OUTPUTS),
        false => settings.count_if(HEAD)?.unwrap_or(shape.width),
    };
    // SigLIP was trained with texts of one length, and reads the last token whatever it is.
    let padding = settings.whole_if(PADDING, 0)?.map_or(Ok(KNOWN_PADDING), u32::try_from).unwrap_or(KNOWN_PADDING);
    let length = usize::try_from(shape.max_tokens).unwrap_or(0);
    Ok(Shape {
        causal: is_clip,
        projection: Some(projection),
        pooling: Some(Pooling::Last),
        padding: (!is_clip).then_some((length, padding)),
        images,
        ..layers(shape, activation(settings, ACTIVATION, defaults.activation)?)
    })
}

/// What the layers of both encoders have in common.
fn layers(shape: Shape, activation: Activation) -> Shape {
    Shape { activation, embedding_norm: false, norms: Norms::Before { first: true }, classifier: None, ..shape }
}

fn activation(settings: &Settings, key: Key, default: &str) -> Result<Activation> {
    Ok(match settings.text_if(key)?.as_deref().unwrap_or(default) {
        "quick_gelu" => Activation::GeluQuick,
        "gelu" => Activation::GeluErf,
        "gelu_new" | "gelu_pytorch_tanh" => Activation::Gelu,
        "relu" => Activation::Relu,
        other => {
            let what = format!("is '{other}': quick_gelu, gelu, gelu_new, gelu_pytorch_tanh and relu are known");
            return Err(Error::unsupported(format!("{}: {what}", settings.name(key))));
        }
    })
}

/// Reads the settings of the image encoder.
fn images(settings: &Settings, (is_clip, is_any): (bool, bool), default: &str) -> Result<Images> {
    let shape = Shape::read(settings, &IMAGE_COUNTS, IMAGE_EPS, if is_any { PATCHES } else { SIDE }, 0)?;
    let patch = settings.count(PATCH)?;
    let sizes = if is_any { any_sizes(settings)? } else { ImageSizes::Square(settings.count(SIDE)?) };
    if let ImageSizes::Square(side) = sizes {
        if side % patch != 0 {
            let what = format!("is {patch}: a divisor of the image's {side} pixels is known");
            return Err(Error::unsupported(format!("{}: {what}", settings.name(PATCH))));
        }
    }
    if let Some(channels) = settings.count_if(CHANNELS)?.filter(|n| *n != 3) {
        return Err(Error::unsupported(format!("{}: is {channels}: 3 is known", settings.name(CHANNELS))));
    }
    if settings.flag_if(USES_HEAD)? == Some(false) {
        return Err(Error::unsupported(format!("{}: is false: true is known", settings.name(USES_HEAD))));
    }
    settings.count_if(IMAGE_PROJECTION)?;
    let pooling = if is_clip { ImagePooling::Token } else { ImagePooling::Attention };
    let shape = Shape { prefix: "v.", positions: Positions::Distances, ..shape };
    Ok(Images { shape: layers(shape, activation(settings, IMAGE_ACTIVATION, default)?), sizes, patch, pooling })
}

/// The grid of positions of a model that takes images of any size.
fn any_sizes(settings: &Settings) -> Result<ImageSizes> {
    let patches = settings.count(PATCHES)?;
    match (1..=patches).find(|across| across * across >= patches).filter(|across| across * across == patches) {
        Some(across) => Ok(ImageSizes::Any { across }),
        None => Err(settings.refuse(PATCHES, format!("is {patches}: a square number, such as 256, is valid"))),
    }
}

/// The names in folders of both encoders. Our names of the image encoder start with `v.`.
pub fn hub_names() -> HubNames {
    HubNames::new(|ours: &str| HubName::One(names(ours)))
}

fn names(ours: &str) -> Vec<String> {
    // These are no layers, so their names have no ending.
    match ours {
        "v.class_embd" => return vec!["vision_model.embeddings.class_embedding".into()],
        "v.probe" => return vec!["vision_model.head.probe".into()],
        _ => {}
    }
    let (base, end) = ours.rsplit_once('.').unwrap_or((ours, ""));
    let own = |name: &str| vec![format!("{name}.{end}")];
    match base {
        "text_projection" => return [own("text_projection"), own("text_model.head")].concat(),
        "v.projection" => return own("visual_projection"),
        "v.pool_qkv" => return vec![format!("vision_model.head.attention.in_proj_{end}")],
        _ => {}
    }
    let (encoder, base) = match base.strip_prefix("v.") {
        Some(base) => ("vision_model", base),
        None => ("text_model", base),
    };
    let name = match base.strip_prefix("blk.").and_then(|rest| rest.split_once('.')) {
        Some((layer, part)) => format!("encoder.layers.{layer}.{}", part_name(part)),
        None => match base {
            "token_embd" => "embeddings.token_embedding",
            "position_embd" => "embeddings.position_embedding",
            "patch_embd" => "embeddings.patch_embedding",
            "output_norm" => "final_layer_norm",
            "pre_norm" => "pre_layrnorm",
            "post_norm" => "post_layernorm",
            "pool_output" => "head.attention.out_proj",
            "pool_norm" => "head.layernorm",
            "pool_up" => "head.mlp.fc1",
            "pool_down" => "head.mlp.fc2",
            other => other,
        }
        .to_string(),
    };
    own(&format!("{encoder}.{name}"))
}

fn part_name(part: &str) -> &str {
    match part {
        "attn_q" => "self_attn.q_proj",
        "attn_k" => "self_attn.k_proj",
        "attn_v" => "self_attn.v_proj",
        "attn_output" => "self_attn.out_proj",
        "attn_norm" => "layer_norm1",
        "ffn_norm" => "layer_norm2",
        "ffn_up" => "mlp.fc1",
        "ffn_down" => "mlp.fc2",
        other => other,
    }
}
