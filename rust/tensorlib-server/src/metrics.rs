//! What `/metrics` shows, in the format that Prometheus reads.

use axum::http::StatusCode;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// The media type of the text.
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds of times, in seconds.
const SECONDS: [f64; 14] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 600.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Model {
    model: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    route: String,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Route {
    route: String,
}

type Times<Label> = Family<Label, Histogram, fn() -> Histogram>;

/// All counters.
pub struct Metrics {
    registry: Registry,
    requests: Family<Answered, Counter>,
    request_time: Times<Route>,
    connections: Gauge,
    prompt: Family<Model, Counter>,
    cached: Family<Model, Counter>,
    generated: Family<Model, Counter>,
    cancelled: Family<Model, Counter>,
    live: Family<Model, Gauge>,
    waiting: Family<Model, Gauge>,
    pages: Family<Model, Gauge>,
    free: Family<Model, Gauge>,
    first_token: Times<Model>,
    step: Times<Model>,
}

fn times() -> Histogram {
    Histogram::new(SECONDS)
}

impl Metrics {
    /// Counters at 0.
    pub fn new() -> Self {
        let times = times as fn() -> Histogram;
        let mut made = Metrics {
            registry: Registry::with_prefix("tensorlib"),
            requests: Family::default(),
            request_time: Family::new_with_constructor(times),
            connections: Gauge::default(),
            prompt: Family::default(),
            cached: Family::default(),
            generated: Family::default(),
            cancelled: Family::default(),
            live: Family::default(),
            waiting: Family::default(),
            pages: Family::default(),
            free: Family::default(),
            first_token: Family::new_with_constructor(times),
            step: Family::new_with_constructor(times),
        };
        let all = &mut made.registry;
        all.register("requests", "Requests that were answered", made.requests.clone());
        let help = "Time until a request was answered, or until the first byte of a streamed answer";
        all.register_with_unit("request", help, Unit::Seconds, made.request_time.clone());
        all.register("connections", "Open connections", made.connections.clone());
        all.register("prompt_tokens", "Tokens of prompts that were computed", made.prompt.clone());
        all.register("cached_tokens", "Tokens of prompts that were known", made.cached.clone());
        all.register("generated_tokens", "Tokens that were generated", made.generated.clone());
        all.register("cancelled_texts", "Texts that ended with their request", made.cancelled.clone());
        all.register("sequences", "Sequences that are computed together", made.live.clone());
        all.register("sequences_waiting", "Sequences that wait", made.waiting.clone());
        all.register("pages", "Pages of keys and values", made.pages.clone());
        all.register("pages_free", "Pages that hold nothing", made.free.clone());
        let help = "Time from a request to its first token";
        all.register_with_unit("first_token", help, Unit::Seconds, made.first_token.clone());
        all.register_with_unit("step", "Time to compute a step", Unit::Seconds, made.step.clone());
        made
    }

    /// The text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        match encode(&mut text, &self.registry) {
            Ok(()) => text,
            Err(_) => String::new(), // writing to a String does not fail
        }
    }

    /// Counts an answer.
    pub fn answered(&self, route: &str, status: StatusCode, seconds: f64) {
        let answered = Answered { route: route.into(), status: status.as_u16() };
        self.requests.get_or_create(&answered).inc();
        self.request_time.get_or_create(&Route { route: route.into() }).observe(seconds);
    }

    /// Counts a connection until the result is dropped.
    pub fn connected(&self) -> Connected {
        self.connections.inc();
        Connected(self.connections.clone())
    }

    /// The counters of a model.
    pub fn of_model(&self, name: &str) -> ModelMetrics {
        let model = Model { model: name.into() };
        ModelMetrics {
            prompt: self.prompt.get_or_create_owned(&model),
            cached: self.cached.get_or_create_owned(&model),
            generated: self.generated.get_or_create_owned(&model),
            cancelled: self.cancelled.get_or_create_owned(&model),
            live: self.live.get_or_create_owned(&model),
            waiting: self.waiting.get_or_create_owned(&model),
            pages: self.pages.get_or_create_owned(&model),
            free: self.free.get_or_create_owned(&model),
            first_token: self.first_token.get_or_create_owned(&model),
            step: self.step.get_or_create_owned(&model),
        }
    }
}

/// An open connection.
pub struct Connected(Gauge);

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// The counters of a model.
pub struct ModelMetrics {
    pub prompt: Counter,
    pub cached: Counter,
    pub generated: Counter,
    pub cancelled: Counter,
    pub first_token: Histogram,
    pub step: Histogram,
    live: Gauge,
    waiting: Gauge,
    pages: Gauge,
    free: Gauge,
}

impl ModelMetrics {
    /// Shows the sequences that are live and that wait, and the pages of all and those that are free.
    pub fn show(&self, (live, waiting): (usize, usize), (pages, free): (usize, usize)) {
        for (gauge, n) in [(&self.live, live), (&self.waiting, waiting), (&self.pages, pages), (&self.free, free)] {
            gauge.set(i64::try_from(n).unwrap_or(i64::MAX));
        }
    }
}
