//! `tensorlib serve`: serves models over HTTP.

use crate::args::Serve;
use crate::failure::{warn, Exit, Failure, Outcome};
use crate::model::{self, say};
use crate::terminal::signals;
use crate::terminal::text::count;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;
use tensorlib_models::hub;
use tensorlib_models::{EmbedTexts, Encoder, EncoderOptions, ModelKind, SequencesOptions};
use tensorlib_server::{Keys, Server, ServerOptions};

/// How often signals are looked for.
const INTERVAL: Duration = Duration::from_millis(50);

/// Runs the command.
pub fn run(options: &Serve) -> Outcome<Exit> {
    let address = SocketAddr::new(options.host, options.port);
    let keys = keys(options)?;
    if keys.is_empty() && !is_loopback(options.host) {
        warn(format_args!("everybody who reaches {} may use the server: --api-key-file limits that", options.host));
    }
    if let Some(folder) = &options.prefix_store {
        std::fs::create_dir_all(folder).map_err(|e| Failure::io(folder, "made", &e))?;
    }
    // An address that is not free is found before models are loaded.
    let listener = Server::bind(address).map_err(|e| {
        let failure = Failure::new(Exit::Io, format!("{address}: cannot be listened on: {e}"));
        match e.kind() {
            std::io::ErrorKind::AddrInUse => failure.hint("another process listens there: choose a port with --port"),
            _ => failure,
        }
    })?;
    let mut server = Server::new(server_options(options, keys));
    for path in &options.models {
        add(options, &mut server, path)?;
    }
    signals::catch();
    let (stop, bound) = (server.stop_handle(), listener.local_addr().unwrap_or(address));
    say(&format!("serving at http://{bound}"));
    // It ends with the process, or after a signal.
    std::thread::spawn(move || loop {
        if signals::came() {
            say("stopping: requests that were accepted are answered");
            return stop.stop();
        }
        std::thread::sleep(INTERVAL);
    });
    let served = server.run(listener);
    served.map_err(|e| Failure::new(Exit::Io, format!("the server cannot start: {e}")))?;
    Ok(Exit::Success)
}

fn is_loopback(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_loopback(),
        IpAddr::V6(address) => address.to_ipv4_mapped().map_or(address.is_loopback(), |address| address.is_loopback()),
    }
}

fn keys(options: &Serve) -> Outcome<Keys> {
    let Some(path) = &options.api_key_file else { return Ok(Keys::default()) };
    let text = model::text_of(path)?;
    Keys::parse(&text).map_err(|e| Failure::new(Exit::Format, format!("{}: {e}", path.display())))
}

fn server_options(options: &Serve, keys: Keys) -> ServerOptions {
    let limits = &options.limits;
    let usual = ServerOptions::default();
    ServerOptions {
        keys,
        hosts: options.allow_host.clone(),
        prefix_store: options.prefix_store.clone(),
        body_bytes: usize::try_from(limits.max_body).unwrap_or(usize::MAX),
        client_time: Duration::from_secs(limits.client_seconds.into()),
        request_time: Duration::from_secs(limits.request_seconds.into()),
        max_tokens: limits.max_tokens.map_or(usual.max_tokens, |n| n as usize),
        texts: limits.max_texts.into(),
        waiting: limits.waiting.into(),
        connections: limits.connections.into(),
        sequences: SequencesOptions {
            cache: options.cache,
            tokens: limits.pool.unwrap_or(0) as usize,
            together: limits.together.into(),
            ..SequencesOptions::default()
        },
        ..usual
    }
}

/// The name of a model in requests: that of its file or folder, without .gguf; for a folder of a hub's cache that of
/// the repository, without its owner.
fn name(path: &Path) -> String {
    if let Some(repository) = hub::repository_of(path) {
        return repository.rsplit('/').next().unwrap_or(&repository).into();
    }
    // A folder may be named `.`.
    let whole = path.canonicalize().unwrap_or_else(|_| path.into());
    let name = if path.file_name().is_some() { path.file_name() } else { whole.file_name() };
    let name = name.map_or("model".into(), |name| name.to_string_lossy().into_owned());
    name.strip_suffix(".gguf").map_or(name.clone(), String::from)
}

/// An error about a model for which the server has no route.
fn speech(path: &Path) -> Failure {
    let message = format!("{}: turns speech into text, and the server answers about texts", path.display());
    Failure::new(Exit::Refused, message).hint("`tensorlib transcribe MODEL FILE.wav` takes it")
}

fn add(options: &Serve, server: &mut Server, path: &Path) -> Outcome<()> {
    let name = name(path);
    let about = |e: tensorlib_models::Error| Failure::from(e).about(path.display());
    // SAFETY: that nobody changes a file while it is read is a promise that the tool passes on to its user (README, "Files
    // that change").
    let kind = unsafe { ModelKind::of_mapped(path)? };
    let backend = model::backend(&options.devices)?;
    let memory = match kind {
        ModelKind::Transcriber => return Err(speech(path)),
        ModelKind::Decoder => {
            let load = model::load_options(&options.products, &options.neurons, options.ctx.unwrap_or(0) as usize)?;
            let decoder = model::decoder_on(&options.devices, &backend, path, &load, options.cache)?;
            match server.add_decoder(&name, &decoder).map_err(about)? {
                Ok(0) => {}
                Ok(n) => say(&format!("{name}: {} of prompts are known", count(n, "token"))),
                Err(error) => warn(format_args!("{error}: the store begins empty, and the file will be replaced")),
            }
            decoder.memory()
        }
        ModelKind::Encoder => {
            let load = EncoderOptions::new().exact(options.products.exact);
            // SAFETY: as above.
            let encoder = unsafe { Encoder::open_mapped(path, &backend, &load)? };
            encoder.warnings().iter().for_each(warn);
            let memory = encoder.memory();
            server.add_encoder(&name, encoder).map_err(about)?;
            memory
        }
        ModelKind::Embedder => {
            let load = EncoderOptions::new().exact(options.products.exact);
            let context = options.ctx.unwrap_or(0) as usize;
            let (_, embedder) = model::embedder(&options.devices, path, load, None, context)?;
            let memory = embedder.memory();
            server.add_embedder(&name, embedder).map_err(about)?;
            memory
        }
        ModelKind::Reranker => {
            let context = options.ctx.unwrap_or(0) as usize;
            let (_, reranker) = model::reranker(&options.devices, path, options.products.exact, None, context)?;
            let memory = reranker.memory();
            server.add_reranker(&name, reranker).map_err(about)?;
            memory
        }
    };
    let kind = match kind {
        ModelKind::Decoder => "language model",
        ModelKind::Encoder => "encoder",
        ModelKind::Embedder => "language model that makes vectors",
        ModelKind::Reranker => "language model that ranks texts",
        ModelKind::Transcriber => return Err(speech(path)),
    };
    say(&format!("{name}: {kind}"));
    model::say_memory(&options.devices, &backend, &memory);
    Ok(())
}
