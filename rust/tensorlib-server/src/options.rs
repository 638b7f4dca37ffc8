//! Options and limits of a server.

use crate::access::Keys;
use std::path::PathBuf;
use std::time::Duration;
use tensorlib_models::SequencesOptions;

/// Options and limits of a [`Server`](crate::Server).
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Keys of clients. The default is none: everybody who reaches the server may use it.
    pub keys: Keys,
    /// The most bytes of a request's body. The default is 8 MiB.
    pub body_bytes: usize,
    /// How long a client may take to send a request, and to take a part of an answer. The default is 30 seconds.
    pub client_time: Duration,
    /// How long a request may take to be answered, with the time that it waits. The default is 10 minutes.
    pub request_time: Duration,
    /// The most tokens that a request may ask for. The default is no limit but the context.
    pub max_tokens: usize,
    /// The most texts of a request: `n`, times the prompts of a completion. The default is 16.
    pub texts: usize,
    /// The most texts, lines or documents of a request for vectors or a ranking. The default is 2048.
    pub lines: usize,
    /// How many texts, or requests for vectors, may wait for each model. The default is 64.
    pub waiting: usize,
    /// The most open connections. Others wait until one is closed. The default is 512.
    pub connections: usize,
    /// How the sequences of a language model are computed together.
    pub sequences: SequencesOptions,
    /// A folder in which the beginnings of prompts that a language model knows are kept while the server does not run:
    /// a file per model, NAME.prefixes. They are saved when the server stops, and when a model has had nothing to do
    /// for a moment. The files contain what the prompts say. The default is none.
    pub prefix_store: Option<PathBuf>,
    /// Values of the header `Host` that are served in addition to addresses and `localhost`, if there are no keys. A web
    /// page elsewhere cannot make a browser use the server under a name of its own.
    pub hosts: Vec<String>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        ServerOptions {
            keys: Keys::default(),
            body_bytes: 8 << 20,
            client_time: Duration::from_secs(30),
            request_time: Duration::from_secs(600),
            max_tokens: usize::MAX,
            texts: 16,
            lines: 2048,
            waiting: 64,
            connections: 512,
            sequences: SequencesOptions::default(),
            prefix_store: None,
            hosts: Vec::new(),
        }
    }
}
