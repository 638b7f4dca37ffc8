//! Rotary positions: their settings, and the frequency factors for long contexts.

mod written;

use super::keys::CONTEXT;
use crate::settings::{Key, Settings};
use crate::weights::Weights;
use crate::{Error, Result};
use std::f64::consts::PI;
use tensorlib::{RopeMode, RopeOptions, Tensor};

const BASE: Key = Key("rope.freq_base", "rope_theta");
const DIMS: Key = Key("rope.dimension_count", "");
const PARTIAL: Key = Key("", "partial_rotary_factor");
const KIND: Key = Key("rope.scaling.type", "rope_scaling.rope_type");
const OLD_KIND: Key = Key("", "rope_scaling.type");
const FACTOR: Key = Key("rope.scaling.factor", "rope_scaling.factor");
/// The setting of older GGUF files.
const SCALE_LINEAR: Key = Key("rope.scale_linear", "");
const TRAINED: Key = Key("rope.scaling.original_context_length", "rope_scaling.original_max_position_embeddings");
const TRAINED_OF_MODEL: Key = Key("", "original_max_position_embeddings");
const ATTENTION: Key = Key("rope.scaling.attn_factor", "rope_scaling.attention_factor");
/// [`MSCALE_ALL`] in GGUF, whose [`MSCALE`] is 1.
const LOG_MULTIPLIER: Key = Key("rope.scaling.yarn_log_multiplier", "");
const YARN_ATTENTION: Key = Key("rope.scaling.yarn_attn_factor", "");
const MSCALE: Key = Key("", "rope_scaling.mscale");
const MSCALE_ALL: Key = Key("", "rope_scaling.mscale_all_dim");
const BETA_FAST: Key = Key("rope.scaling.yarn_beta_fast", "rope_scaling.beta_fast");
const BETA_SLOW: Key = Key("rope.scaling.yarn_beta_slow", "rope_scaling.beta_slow");
const LOW: Key = Key("", "rope_scaling.low_freq_factor");
const HIGH: Key = Key("", "rope_scaling.high_freq_factor");
const LONG: Key = Key("", "rope_scaling.long_factor");
const SHORT: Key = Key("", "rope_scaling.short_factor");
const DEFAULT_BASE: f64 = 10_000.0;
/// The setting that replaces all of these in newer folders.
const PARAMETERS: Key = Key("", "rope_parameters");
const SCALING: Key = Key("", "rope_scaling");

/// The source of the frequency factors.
#[derive(Clone, Debug, PartialEq)]
enum Factors {
    None,
    /// Optional tensors of a GGUF file: one list, or two as in `LongAndShort`.
    InFile {
        trained: i64,
    },
    /// The factors themselves.
    Are(Vec<f32>),
    /// Two lists; the long one is for contexts longer than the context that the model was trained for.
    LongAndShort {
        long: Option<Vec<f64>>,
        short: Option<Vec<f64>>,
        trained: i64,
    },
}

/// The rotation of one kind of layers.
#[derive(Clone, Debug)]
pub struct Rope {
    neox: bool,
    dims: i64,
    base: f64,
    /// The factor of positions.
    scale: f64,
    yarn: bool,
    trained: i64,
    attention: f64,
    beta_fast: f64,
    beta_slow: f64,
    factors: Factors,
}

impl Rope {
    /// Reads the rotation of heads with `head` elements from the settings. `neox`: the elements of a pair are half a
    /// head apart, as in every hub folder.
    pub fn read(settings: &Settings, head: i64, neox: bool) -> Result<Self> {
        let settings = &with_older_names(settings, DEFAULT_BASE)?;
        let dims = dims(settings, head)?;
        let mut rope = Rope::plain(settings.number_if(BASE)?.unwrap_or(DEFAULT_BASE), dims, neox || settings.is_hub());
        let factor = factor(settings)?;
        let trained = trained(settings)?;
        if !settings.is_hub() {
            rope.factors = Factors::InFile { trained };
        }
        let kind = match settings.text_if(KIND)? {
            Some(kind) => Some(kind),
            None => settings.text_if(OLD_KIND)?,
        };
        let attention = attention(settings, factor)?;
        let betas = (settings.number_if(BETA_FAST)?, settings.number_if(BETA_SLOW)?);
        match kind.as_deref() {
            Some("none" | "default") => {}
            None if settings.is_hub() => {}
            // GGUF files with a factor and no type are older than the types.
            None | Some("linear") => rope.scale = 1.0 / factor,
            Some("yarn") => rope.set_yarn(settings, (factor, trained), attention, betas),
            Some("llama3") => rope.factors = Factors::Are(llama3(settings, &rope, factor, trained)?),
            Some("longrope" | "su") => rope.set_long(settings, trained, attention)?,
            Some(other) => {
                let name = settings.name(KIND);
                let known = "none, linear, yarn, llama3 and longrope";
                return Err(Error::unsupported(format!("{name}: is '{other}': {known} are known")));
            }
        }
        if let (false, false, Some(attention)) = (settings.is_hub(), rope.yarn, attention) {
            rope.attention = attention;
        }
        Ok(rope)
    }

    /// Stretches the context that the model was trained for by YaRN.
    fn set_yarn(
        &mut self,
        settings: &Settings,
        (factor, trained): (f64, i64),
        attention: Option<f64>,
        (fast, slow): (Option<f64>, Option<f64>),
    ) {
        (self.scale, self.yarn, self.trained) = (1.0 / factor, true, trained);
        (self.beta_fast, self.beta_slow) = (fast.unwrap_or(32.0), slow.unwrap_or(1.0));
        if let Some(attention) = attention {
            // The operation multiplies by YaRN's own factor, which a folder's number already includes.
            let own = 1.0 + 0.1 * factor.ln();
            self.attention = if settings.is_hub() { attention / own } else { attention };
        }
    }

    /// Takes the two lists of LongRoPE.
    fn set_long(&mut self, settings: &Settings, trained: i64, attention: Option<f64>) -> Result<()> {
        let (long, short) = (settings.numbers_if(LONG)?, settings.numbers_if(SHORT)?);
        self.factors = Factors::LongAndShort { long, short, trained };
        let stretched = settings.count(CONTEXT)? as f64 / trained as f64;
        let own = if stretched > 1.0 { (1.0 + stretched.ln() / (trained as f64).ln()).sqrt() } else { 1.0 };
        self.attention = attention.unwrap_or(own);
        Ok(())
    }

    /// This rotation with pairs of neighbours, as in GGUF files of Llama.
    pub fn of_neighbours(self) -> Self {
        Rope { neox: false, ..self }
    }

    /// A rotation without any scaling.
    pub fn plain(base: f64, dims: i64, neox: bool) -> Self {
        Rope {
            neox,
            dims,
            base,
            scale: 1.0,
            yarn: false,
            trained: 0,
            attention: 1.0,
            beta_fast: 32.0,
            beta_slow: 1.0,
            factors: Factors::None,
        }
    }

    /// A rotation of the first pairs of a head, with the frequencies that they have if all pairs turn. Positions are divided
    /// by `factor`.
    pub fn proportional(base: f64, head: i64, pairs: i64, factor: f64) -> Self {
        // A wave of this length is no rotation.
        const NEVER: f32 = 1e30;
        let of_pair = |pair: i64| if pair < pairs { 1.0 } else { NEVER };
        let factors = Factors::Are((0..head / 2).map(of_pair).collect());
        Rope { scale: 1.0 / factor, factors, ..Rope::plain(base, head, true) }
    }

    /// By how much YaRN stretches the context, if it does.
    pub fn stretch(&self) -> Option<f64> {
        self.yarn.then_some(1.0 / self.scale)
    }

    /// This rotation with this factor of rotated values.
    pub fn with_magnitude(mut self, magnitude: f64) -> Self {
        self.attention = if self.yarn { magnitude / (1.0 - 0.1 * self.scale.ln()) } else { magnitude };
        self
    }

    /// The most tokens that a model of this context supports: for YaRN, `trained` is the context before it was
    /// stretched.
    pub fn reach(&self, context: i64) -> i64 {
        match self.yarn {
            true => context.max((self.trained as f64 / self.scale).round() as i64),
            false => context,
        }
    }

    /// The operation's options.
    pub fn options(&self) -> RopeOptions {
        let options = RopeOptions::new()
            .mode(if self.neox { RopeMode::Neox } else { RopeMode::Normal })
            .n_dims(self.dims)
            .freq_base(self.base)
            .freq_scale(self.scale)
            .attn_factor(self.attention);
        if !self.yarn {
            return options;
        }
        options.ext_factor(1.0).n_ctx_orig(self.trained).beta_fast(self.beta_fast).beta_slow(self.beta_slow)
    }

    /// Whether the settings list a factor of each pair's frequency, or define one.
    pub fn has_listed_factors(&self) -> bool {
        matches!(self.factors, Factors::Are(_) | Factors::LongAndShort { .. })
    }

    /// The name of the tensor with the factors for contexts of `context` tokens, if there are two.
    fn long_or_short(context: i64, trained: i64) -> &'static str {
        match context > trained {
            true => "rope_factors_long.weight",
            false => "rope_factors_short.weight",
        }
    }

    /// Whether contexts of `context` tokens have factors of their own, for a model with two lists.
    pub fn has_long_factors(&self, context: i64) -> bool {
        match self.factors {
            Factors::InFile { trained } | Factors::LongAndShort { trained, .. } => context > trained,
            Factors::None | Factors::Are(_) => false,
        }
    }

    /// The frequency factors for contexts of `context` tokens.
    pub fn factors(&self, weights: &Weights, context: i64) -> Result<Option<Tensor>> {
        let n = self.dims / 2;
        let list = match &self.factors {
            Factors::None => return Ok(None),
            Factors::InFile { trained } => {
                let name = Self::long_or_short(context, *trained);
                return match weights.shape_of(name) {
                    Some(_) => weights.find(name, &[n]),
                    None => weights.find("rope_freqs.weight", &[n]),
                };
            }
            Factors::Are(values) => values.clone(),
            Factors::LongAndShort { long, short, trained } => {
                let (name, list) =
                    (Self::long_or_short(context, *trained), if context > *trained { long } else { short });
                let Some(list) = list else { return weights.get(name, &[n]).map(Some) };
                list.iter().map(|x| *x as f32).collect()
            }
        };
        if list.len() as i64 != n {
            return Err(Error::format(format!(
                "rope_scaling: {} factors of frequencies: {n} are expected",
                list.len()
            )));
        }
        weights.made(&list).map(Some)
    }
}

/// How many of a head's elements turn.
fn dims(settings: &Settings, head: i64) -> Result<i64> {
    let partial = settings.number_if(PARTIAL)?.unwrap_or(1.0);
    let dims = settings.count_if(DIMS)?.unwrap_or((head as f64 * partial) as i64);
    if dims < 2 || dims % 2 != 0 || dims > head {
        return Err(settings
            .refuse(DIMS, format!("{dims} of a head's {head} elements turn: an even number up to {head} is valid")));
    }
    Ok(dims)
}

/// By how much the context is stretched; 1 if it is not.
fn factor(settings: &Settings) -> Result<f64> {
    // In GGUF a factor of 0 means none, and older files use another name for it.
    let factor = match (settings.number_if(FACTOR)?, settings.number_if(SCALE_LINEAR)?) {
        (None, older) => older,
        (said, _) => said,
    };
    let factor = factor.filter(|factor| settings.is_hub() || *factor != 0.0).unwrap_or(1.0);
    if factor < 1e-3 {
        return Err(settings.refuse(FACTOR, format!("is {factor}: a number above 0 is valid")));
    }
    Ok(factor)
}

/// The context that the model was trained for before it was stretched.
fn trained(settings: &Settings) -> Result<i64> {
    let own = match settings.is_hub() {
        true => settings.count_if(TRAINED)?,
        false => settings.count_or_none(TRAINED)?,
    };
    match own {
        Some(n) => Ok(n),
        None => settings.count_if(TRAINED_OF_MODEL)?.map_or_else(|| settings.count(CONTEXT), Ok),
    }
}

/// The factor of queries and keys, if the settings have it: as a number, or, in a folder with YaRN, as two factors of
/// the logarithm of the stretch.
fn attention(settings: &Settings, factor: f64) -> Result<Option<f64>> {
    let older = settings.number_if(YARN_ATTENTION)?;
    let said = settings.number_if(ATTENTION)?.or(older);
    let (m, all) = (settings.number_if(MSCALE)?, settings.number_if(MSCALE_ALL)?);
    let of = |m: f64| if factor > 1.0 { 0.1 * m * factor.ln() + 1.0 } else { 1.0 };
    let by_two = m.zip(all).filter(|(m, all)| *m != 0.0 && *all != 0.0).map(|(m, all)| of(m) / of(all));
    let by_log = settings.number_if(LOG_MULTIPLIER)?.filter(|all| *all != 0.0).map(|all| said.unwrap_or(1.0) / of(all));
    Ok(by_log.or(said).or(by_two).filter(|attention| *attention != 0.0))
}

/// Newer folders keep the base and its scaling in one place: these settings with the older names, and with this base if
/// a folder does not mention one.
pub fn with_older_names(settings: &Settings, base: f64) -> Result<Settings> {
    let Some(parameters) = settings.value_if(PARAMETERS)? else { return settings.with_values(&[(BASE, base.into())]) };
    let by_layers = parameters.as_object().is_some_and(|all| all.values().any(serde_json::Value::is_object));
    if by_layers && settings.value_if(BASE)?.is_none() {
        let what = "is given by kinds of layers, which this architecture has not: rope_theta is expected in it";
        return Err(settings.refuse(PARAMETERS, what));
    }
    let said = &parameters["rope_theta"];
    let base = (BASE, if said.is_null() { base.into() } else { said.clone() });
    let partial = (PARTIAL, parameters["partial_rotary_factor"].clone());
    settings.with_values(&[base, partial, (SCALING, parameters)])
}

/// As [`with_older_names`], with this scaling too if a folder does not mention a rotation.
pub fn with_unsaid(settings: &Settings, base: f64, scaling: serde_json::Value) -> Result<Settings> {
    match settings.value_if(PARAMETERS)?.or(settings.value_if(SCALING)?) {
        Some(_) => with_older_names(settings, base),
        None => with_older_names(&settings.with_values(&[(SCALING, scaling)])?, base),
    }
}

/// Llama 3's factors: waves that are long compared with the trained context are stretched fully, short ones not at all,
/// and waves in between by a share that depends on their frequency.
fn llama3(settings: &Settings, rope: &Rope, factor: f64, trained: i64) -> Result<Vec<f32>> {
    let (low, high) = (settings.number_if(LOW)?.unwrap_or(1.0), settings.number_if(HIGH)?.unwrap_or(4.0));
    if !(low > 0.0 && high >= low) {
        let what = format!("is {high}: low_freq_factor, which is {low}, or more, and that above 0, is valid");
        return Err(settings.refuse(HIGH, what));
    }
    let of = |pair: i64| {
        let wave = 2.0 * PI * rope.base.powf(2.0 * pair as f64 / rope.dims as f64);
        let turns = trained as f64 / wave;
        let share = match high > low {
            true => ((turns - low) / (high - low)).clamp(0.0, 1.0),
            false => f64::from(turns >= low),
        };
        (1.0 / ((1.0 - share) / factor + share)) as f32
    };
    Ok((0..rope.dims / 2).map(of).collect())
}
