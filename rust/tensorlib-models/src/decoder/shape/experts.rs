//! Experts of a decoder, and how a token's experts are chosen.

use super::{FfnKind, Shape};
use crate::decoder::keys::*;
use crate::settings::{Key, Settings};
use crate::Result;

/// What makes the scores of experts from the router's logits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scores {
    /// The softmax over all experts.
    Softmax,
    /// The softmax over the used experts.
    SoftmaxOfUsed,
    Sigmoid,
}

/// How the experts of a token, and their shares of the result, follow from the router's logits.
#[derive(Clone, Copy, Debug)]
pub struct Routing {
    pub scores: Scores,
    /// Scores are divided by the sum of those of the used experts, to which this number is added.
    pub normalised: Option<f64>,
    /// The factor of the shares.
    pub scale: f64,
    /// The choice adds a number to the score of each expert, a tensor of the layer. GGUF files may have none.
    pub biased: bool,
    /// Experts are chosen from some groups, which are chosen first.
    pub groups: Option<ExpertGroups>,
    /// Shares are factors of the experts' inputs, not of their results.
    pub weighs_inputs: bool,
}

/// Groups of experts that follow each other.
#[derive(Clone, Copy, Debug)]
pub struct ExpertGroups {
    pub count: i64,
    pub used: i64,
    pub scores: GroupScores,
}

/// What the score of a group is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupScores {
    /// Its best score.
    Best,
    /// The sum of its two best.
    TwoBest,
}

impl Routing {
    /// The softmax over all experts.
    pub const PLAIN: Routing = Routing {
        scores: Scores::Softmax,
        normalised: None,
        scale: 1.0,
        biased: false,
        groups: None,
        weighs_inputs: false,
    };
    /// As [`Routing::PLAIN`], divided by the sum over the used experts.
    pub const NORMALISED: Routing = Routing { normalised: Some(0.0), ..Routing::PLAIN };
    /// The softmax over the used experts.
    pub const OF_USED: Routing = Routing { scores: Scores::SoftmaxOfUsed, ..Routing::PLAIN };
}

/// An expert that all tokens use.
#[derive(Clone, Copy, Debug)]
pub struct Shared {
    pub ffn: i64,
    /// Its result is multiplied by the sigmoid of a gate.
    pub gated: bool,
}

/// Layers with several feed-forward blocks, of which each token uses some.
#[derive(Clone, Debug)]
pub struct Experts {
    pub count: i64,
    pub used: i64,
    pub ffn: i64,
    /// Elements of what experts get and give, if they are fewer than the layer's: a matrix comes before all experts, and
    /// one after the sum of their results.
    pub width: Option<i64>,
    pub routing: Routing,
    pub shared: Option<Shared>,
    /// Layers also have a block without experts, and each of the two has norms of its own. The router gets the layer's
    /// input without factors of a norm, times factors of its own.
    pub with_dense: bool,
}

impl Experts {
    /// Refuses groups that experts do not fill evenly, or that hold fewer than a token uses. `key`: their number.
    pub fn check_groups(&self, settings: &Settings, key: Key) -> Result<()> {
        let Some(ExpertGroups { count, used, scores }) = self.routing.groups else { return Ok(()) };
        let least = if scores == GroupScores::TwoBest { 2 } else { 1 };
        if self.count % count != 0 || self.count / count < least {
            let what = format!("is {count}: a divisor of the {} experts, with {least} or more in each", self.count);
            return Err(settings.refuse(key, what + ", is valid"));
        }
        if used > count || used * (self.count / count) < self.used {
            let what = format!("is {count}, of which {used} are used: as many as have the {} experts", self.used);
            return Err(settings.refuse(key, what + " of a token are valid"));
        }
        Ok(())
    }
}

impl Shape {
    /// Adds experts to all layers, if the settings have any.
    pub fn with_experts(mut self, settings: &Settings, count: Key, ffn: Key, routing: Routing) -> Result<Self> {
        // A count of 0 means no experts.
        let (count_of, used) = (settings.count_or_none(count)?, settings.count_or_none(EXPERTS_USED)?);
        let Some(count_of) = count_of else { return Ok(self) };
        let Some(used) = used else {
            return Err(settings.refuse(EXPERTS_USED, "is missing: a whole number is expected"));
        };
        if used > count_of {
            return Err(settings.refuse(EXPERTS_USED, format!("is {used}: up to the {count_of} experts is valid")));
        }
        let ffn = settings.count_if(ffn)?.unwrap_or(self.ffn);
        self.blocks.iter_mut().for_each(|blocks| blocks.ffn = FfnKind::Experts);
        let width = None;
        self.experts = Some(Experts { count: count_of, used, ffn, width, routing, shared: None, with_dense: false });
        Ok(self)
    }

    /// Leaves layers without experts but these, if there are experts at all.
    pub fn with_expert_layers(mut self, has_experts: impl Fn(i64) -> bool) -> Self {
        for (blocks, layer) in self.blocks.iter_mut().zip(0..) {
            if !has_experts(layer) {
                blocks.ffn = FfnKind::Dense;
            }
        }
        self
    }

    /// Leaves the first layers without experts.
    pub fn with_leading_dense(self, settings: &Settings, key: Key) -> Result<Self> {
        let n = settings.whole_if(key, 0)?.unwrap_or(0);
        Ok(self.with_expert_layers(|layer| layer >= n))
    }
}
