//! What all requests share: models, options, counters.

use crate::embedder::Embedder;
use crate::error::{ApiError, Result};
use crate::fields::{shortened, Fields};
use crate::generator::Generator;
use crate::metrics::Metrics;
use crate::options::ServerOptions;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Semaphore;

/// A model and its name in requests.
pub struct Model {
    pub name: String,
    /// When it was opened, in seconds since 1970.
    pub created: u64,
    pub kind: Kind,
}

/// What a model does.
pub enum Kind {
    /// Generates texts.
    Generator(Box<Generator>),
    /// Turns texts into vectors or scores.
    Embedder(Arc<Embedder>),
}

impl Kind {
    fn generator(&self) -> Option<&Generator> {
        match self {
            Kind::Generator(generator) => Some(generator),
            Kind::Embedder(_) => None,
        }
    }

    fn lines(&self) -> Option<&Arc<Embedder>> {
        match self {
            Kind::Embedder(embedder) => Some(embedder),
            Kind::Generator(_) => None,
        }
    }

    fn embedder(&self) -> Option<&Arc<Embedder>> {
        self.lines().filter(|lines| lines.model().embedder().is_some())
    }

    fn classifier(&self) -> Option<&Arc<Embedder>> {
        self.lines().filter(|lines| lines.model().classifier().is_some())
    }

    fn scorer(&self) -> Option<&Arc<Embedder>> {
        self.lines().filter(|lines| lines.model().scorer().is_some())
    }

    /// What ranks texts, by scores of pairs or by vectors: not a classifier of several labels.
    fn ranker(&self) -> Option<&Arc<Embedder>> {
        let by_vectors = || self.embedder().filter(|lines| lines.model().classifier().is_none());
        self.scorer().or_else(by_vectors)
    }
}

/// Bytes of a unit of the memory for bodies.
pub const BODY_UNIT: usize = 1024;

/// What all requests share.
pub struct State {
    pub models: Vec<Model>,
    pub options: ServerOptions,
    pub metrics: Arc<Metrics>,
    /// The memory for bodies that are read or prepared, in units of [`BODY_UNIT`] bytes.
    pub bodies: Arc<Semaphore>,
    /// Whether the server stops: it answers what it has accepted, and nothing else.
    pub is_draining: AtomicBool,
}

impl State {
    /// The model of this name.
    pub fn model(&self, name: &str) -> Result<&Model> {
        let found = self.models.iter().find(|model| model.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.models.iter().map(|model| &model.name[..]).collect();
            let message = format!("model '{}' is not served: {} are", shortened(name), names.join(", "));
            ApiError::not_found("model_not_found", message)
        })
    }

    /// The language model that a request names, or the first if it names none.
    pub fn generator(&self, fields: &mut Fields) -> Result<(&str, &Generator)> {
        self.named(fields, Kind::generator, "generates no text")
    }

    /// The encoder that a request names, or the first if it names none.
    pub fn embedder(&self, fields: &mut Fields) -> Result<(&str, &Arc<Embedder>)> {
        self.named(fields, Kind::embedder, "is no encoder")
    }

    /// The classifier that a request names, or the first if it names none.
    pub fn classifier(&self, fields: &mut Fields) -> Result<(&str, &Arc<Embedder>)> {
        self.named(fields, Kind::classifier, "has no labels")
    }

    /// The model that ranks texts and that a request names. If it names none: the first that scores pairs, otherwise
    /// the first encoder.
    pub fn ranker(&self, fields: &mut Fields) -> Result<(&str, &Arc<Embedder>)> {
        let scores = self.models.iter().any(|model| model.kind.scorer().is_some());
        let pick = if scores && !fields.has("model") { Kind::scorer } else { Kind::ranker };
        self.named(fields, pick, "ranks no texts")
    }

    /// The model that a request names, or the first of a kind; `otherwise` says what another one is or does not do.
    fn named<'a, T>(
        &'a self,
        fields: &mut Fields,
        pick: impl Fn(&'a Kind) -> Option<T>,
        otherwise: &str,
    ) -> Result<(&'a str, T)> {
        let name = fields.text("model")?;
        let of_kind = |model: &'a Model| Some((&model.name[..], pick(&model.kind)?));
        let found = match &name {
            Some(name) => of_kind(self.model(name)?),
            None => self.models.iter().find_map(of_kind),
        };
        found.ok_or_else(|| {
            let names: Vec<&str> = self.models.iter().filter_map(of_kind).map(|(name, _)| name).collect();
            let valid = if names.is_empty() { "none that does is served".into() } else { names.join(", ") };
            let name = name.map_or("the model".into(), |name| format!("'{}'", shortened(&name)));
            ApiError::field("model", format!("{name} {otherwise}: valid: {valid}"))
        })
    }

    /// When a request that begins now must have been answered.
    pub fn deadline(&self) -> Instant {
        let now = Instant::now();
        // A time that no clock reaches is no limit.
        now.checked_add(self.options.request_time).unwrap_or(now + std::time::Duration::from_secs(1 << 30))
    }
}
