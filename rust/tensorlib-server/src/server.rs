//! The server.

use crate::embedder::{Embedder, LineModel};
use crate::generator::Generator;
use crate::metrics::Metrics;
use crate::options::ServerOptions;
use crate::state::{Kind, Model, State, BODY_UNIT};
use crate::{connections, routes, texts};
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use tensorlib_models::{Batch, Decoder, Encoder, Error, Reranker, Result};
use tokio::sync::{watch, Semaphore};

/// Threads that read requests and prepare prompts, in addition to those that compute.
const PREPARING: usize = 4;

/// How many bodies of the largest size are in memory at a time. Smaller ones share that memory.
const BODIES: usize = 4;

/// The tokens that a model took over from the [prefix store](ServerOptions::prefix_store), or why its file cannot be used.
pub type Restored = Result<usize>;

/// A server of models.
pub struct Server {
    options: ServerOptions,
    metrics: Arc<Metrics>,
    models: Vec<Model>,
    stop: watch::Sender<bool>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.models.iter().map(|model| &model.name[..]).collect();
        f.debug_struct("Server").field("models", &names).field("options", &self.options).finish_non_exhaustive()
    }
}

/// Stops a [`Server`] from another thread, or from a handler of signals.
#[derive(Clone, Debug)]
pub struct Stop(watch::Sender<bool>);

impl Stop {
    /// Has the server accept no further request, answer those that it accepted, and return. May be called more than once.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Server {
    /// A server without models.
    pub fn new(options: ServerOptions) -> Self {
        Server { options, metrics: Arc::new(Metrics::new()), models: Vec::new(), stop: watch::channel(false).0 }
    }

    /// Adds a language model under a name. Takes over the beginnings of prompts in the
    /// [prefix store](ServerOptions::prefix_store). If a file of it cannot be used, which the result says, the model
    /// begins without, and the file is replaced later.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](tensorlib_models::ErrorKind) for a name that another model has, or that a file cannot
    /// have; as [`Batch::new`].
    pub fn add_decoder(&mut self, name: &str, decoder: &Decoder) -> Result<Restored> {
        self.check_name(name)?;
        let mut batch = Batch::new(decoder, &self.options.sequences)?;
        let prefixes = self.options.prefix_store.as_ref().map(|folder| folder.join(format!("{name}.prefixes")));
        let restored = match &prefixes {
            Some(file) if file.exists() => batch.restore_prefixes(file),
            _ => Ok(0),
        };
        let room = (self.options.sequences.together, self.options.waiting);
        let generator = Generator::start(name, batch, room, prefixes, self.metrics.clone());
        self.add(name, Kind::Generator(Box::new(generator.map_err(no_thread)?)));
        Ok(restored)
    }

    /// Adds a text encoder under a name: for vectors, and with a head for classes or for ranking texts.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](tensorlib_models::ErrorKind) for a name that another model has, or an empty one.
    pub fn add_encoder(&mut self, name: &str, encoder: Encoder) -> Result<()> {
        self.add_lines(name, LineModel::Encoder(Box::new(encoder)))
    }

    /// Adds a language model that makes vectors under a name.
    ///
    /// # Errors
    /// As [`Server::add_encoder`].
    pub fn add_embedder(&mut self, name: &str, embedder: tensorlib_models::Embedder) -> Result<()> {
        self.add_lines(name, LineModel::Embedder(Box::new(embedder)))
    }

    /// Adds a language model that ranks texts under a name.
    ///
    /// # Errors
    /// As [`Server::add_encoder`].
    pub fn add_reranker(&mut self, name: &str, reranker: Reranker) -> Result<()> {
        self.add_lines(name, LineModel::Reranker(Box::new(reranker)))
    }

    fn add_lines(&mut self, name: &str, model: LineModel) -> Result<()> {
        self.check_name(name)?;
        let embedder = Embedder::start(name, model, self.options.waiting);
        self.add(name, Kind::Embedder(Arc::new(embedder.map_err(no_thread)?)));
        Ok(())
    }

    fn check_name(&self, name: &str) -> Result<()> {
        if name.is_empty() {
            return Err(Error::invalid("a model's name is empty: a text is valid"));
        }
        if name.contains(['/', '\\', '\0']) {
            return Err(Error::invalid(format!("a model's name is '{name}': one without slashes is valid")));
        }
        match self.models.iter().any(|model| model.name == name) {
            true => Err(Error::invalid(format!("two models have the name '{name}': different names are valid"))),
            false => Ok(()),
        }
    }

    fn add(&mut self, name: &str, kind: Kind) {
        self.models.push(Model { name: name.into(), created: texts::now(), kind });
    }

    /// Stops this server when it is told to.
    pub fn stop_handle(&self) -> Stop {
        Stop(self.stop.clone())
    }

    /// Binds an address; port 0 is one that is free.
    ///
    /// # Errors
    /// Those of the system, such as an address that another process uses.
    pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    }

    /// Serves requests to this listener until the server is [stopped](Stop::stop). Requests that were accepted then are
    /// answered first.
    ///
    /// # Errors
    /// Those of the system, when the server starts.
    pub fn run(self, listener: TcpListener) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(PREPARING)
            .thread_name("server")
            .enable_all()
            .build()?;
        let Server { options, metrics, models, stop } = self;
        let is_draining = AtomicBool::new(false);
        let units = (BODIES * options.body_bytes.div_ceil(BODY_UNIT)).clamp(1, Semaphore::MAX_PERMITS);
        let bodies = Arc::new(Semaphore::new(units));
        let app = Arc::new(State { models, options, metrics, bodies, is_draining });
        let mut stopped = stop.subscribe();
        runtime.block_on(async {
            listener.set_nonblocking(true)?;
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let stop = async move {
                // The sender lives as long as this does.
                let _ = stopped.wait_for(|stop| *stop).await;
            };
            connections::serve(listener, routes::router(app.clone()), &app, stop).await;
            Ok(())
        })
        // Dropping the models joins their threads: no text is left then.
    }
}

fn no_thread(error: io::Error) -> Error {
    Error::invalid(format!("the system starts no thread: {error}"))
}
