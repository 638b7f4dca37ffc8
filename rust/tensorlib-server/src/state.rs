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
    /// Turns texts into vectors.
    Embedder(Embedder),
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
            let message = format!("model '{}' is not served: {} are", shortened(name), self.names(|_| true).join(", "));
            ApiError::not_found("model_not_found", message)
        })
    }

    /// The language model that a request names, or the first if it names none.
    pub fn generator(&self, fields: &mut Fields) -> Result<(&str, &Generator)> {
        let is_one = |kind: &Kind| matches!(kind, Kind::Generator(_));
        match self.named(fields, is_one, "generates no text")? {
            Model { name, kind: Kind::Generator(generator), .. } => Ok((name, generator)),
            _ => Err(ApiError::internal("a model of another kind was found")),
        }
    }

    /// The encoder that a request names, or the first if it names none.
    pub fn embedder(&self, fields: &mut Fields) -> Result<(&str, &Embedder)> {
        let is_one = |kind: &Kind| matches!(kind, Kind::Embedder(_));
        match self.named(fields, is_one, "is no encoder")? {
            Model { name, kind: Kind::Embedder(embedder), .. } => Ok((name, embedder)),
            _ => Err(ApiError::internal("a model of another kind was found")),
        }
    }

    /// The model that a request names, or the first of a kind; `otherwise` says what another one is or does not do.
    fn named(&self, fields: &mut Fields, is_one: impl Fn(&Kind) -> bool, otherwise: &str) -> Result<&Model> {
        let name = fields.text("model")?;
        let model = match &name {
            Some(name) => Some(self.model(name)?),
            None => self.models.iter().find(|model| is_one(&model.kind)),
        };
        match model {
            Some(model) if is_one(&model.kind) => Ok(model),
            _ => {
                let names = self.names(is_one);
                let valid = if names.is_empty() { "none that does is served".into() } else { names.join(", ") };
                let name = name.map_or("the model".into(), |name| format!("'{}'", shortened(&name)));
                Err(ApiError::field("model", format!("{name} {otherwise}: valid: {valid}")))
            }
        }
    }

    fn names(&self, is_one: impl Fn(&Kind) -> bool) -> Vec<&str> {
        self.models.iter().filter(|model| is_one(&model.kind)).map(|model| &model.name[..]).collect()
    }

    /// When a request that begins now must have been answered.
    pub fn deadline(&self) -> Instant {
        let now = Instant::now();
        // A time that no clock reaches is no limit.
        now.checked_add(self.options.request_time).unwrap_or(now + std::time::Duration::from_secs(1 << 30))
    }
}
