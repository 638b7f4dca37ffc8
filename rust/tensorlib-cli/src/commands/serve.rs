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
use tensorlib_models::{EmbedTexts, EncoderOptions, ModelKind, SequencesOptions};
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
    // SAFETY: that nobody changes a file while it is read is a promise that the tool passes on to its user (README, "Files
    // that change").
    let kinds = options.models.iter().map(|path| Ok(unsafe { ModelKind::of_mapped(path)? }));
    let kinds = kinds.collect::<Outcome<Vec<_>>>()?;
    check_uses(options, &kinds)?;
    for (path, kind) in options.models.iter().zip(&kinds) {
        add(options, &mut server, path, *kind, takes_adapters(*kind, &kinds))?;
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

/// Whether `--lora` is for models of this kind: for language models, or if there are none for those that make vectors.
fn takes_adapters(kind: ModelKind, all: &[ModelKind]) -> bool {
    match all.contains(&ModelKind::Decoder) {
        true => kind == ModelKind::Decoder,
        false => matches!(kind, ModelKind::Encoder | ModelKind::Embedder),
    }
}

/// Refuses options that no model has a use for.
fn check_uses(options: &Serve, kinds: &[ModelKind]) -> Outcome<()> {
    let is_used = |is_for: &dyn Fn(ModelKind) -> bool| kinds.iter().any(|kind| is_for(*kind));
    let writes = |kind: ModelKind| kind == ModelKind::Decoder;
    let reads_tokens = |kind: ModelKind| kind != ModelKind::Encoder;
    let all: [(bool, &str, bool); 5] = [
        (options.ctx.is_some(), "--ctx", is_used(&reads_tokens)),
        (!options.products.lora.is_empty(), "--lora", is_used(&|kind| takes_adapters(kind, kinds))),
        (options.products.reproducible, "--reproducible", is_used(&writes)),
        (options.neurons.activity.is_some(), "--activity", is_used(&writes)),
        (options.prefix_store.is_some(), "--prefix-store", is_used(&writes)),
    ];
    match all.iter().find(|(is_set, _, is_used)| *is_set && !is_used) {
        Some((_, name, _)) => {
            let message = format!("{name}: none of the models has a use for it");
            Err(Failure::new(Exit::Usage, message).hint("it is for language models"))
        }
        None => Ok(()),
    }
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

fn add(options: &Serve, server: &mut Server, path: &Path, kind: ModelKind, takes_adapters: bool) -> Outcome<()> {
    let name = name(path);
    let about = |e: tensorlib_models::Error| Failure::from(e).about(path.display());
    let adapters = options.products.lora.iter().filter(|_| takes_adapters);
    let vectors = EncoderOptions::new().exact(options.products.exact);
    let vectors = adapters.fold(vectors, |load, file| load.adapter(&file.path, file.scale));
    let (backend, memory) = match kind {
        ModelKind::Transcriber => return Err(speech(path)),
        ModelKind::Decoder => {
            let backend = model::backend(&options.devices)?;
            let load = model::load_options(&options.products, &options.neurons, options.ctx.unwrap_or(0) as usize)?;
            let decoder = model::decoder_on(&options.devices, &backend, path, &load, options.cache)?;
            match server.add_decoder(&name, &decoder).map_err(about)? {
                Ok(0) => {}
                Ok(n) => say(&format!("{name}: {} of prompts are known", count(n, "token"))),
                Err(error) => warn(format_args!("{error}: the store begins empty, and the file will be replaced")),
            }
            (backend, decoder.memory())
        }
        ModelKind::Encoder => {
            let encoder = model::encoder(&options.devices, path, vectors, None)?;
            let (backend, memory) = (encoder.backend().clone(), encoder.memory());
            server.add_encoder(&name, encoder).map_err(about)?;
            (backend, memory)
        }
        ModelKind::Embedder => {
            let context = options.ctx.unwrap_or(0) as usize;
            let (backend, embedder) = model::embedder(&options.devices, path, vectors, None, context)?;
            let memory = embedder.memory();
            server.add_embedder(&name, embedder).map_err(about)?;
            (backend, memory)
        }
        ModelKind::Reranker => {
            let context = options.ctx.unwrap_or(0) as usize;
            let (backend, reranker) = model::reranker(&options.devices, path, options.products.exact, None, context)?;
            let memory = reranker.memory();
            server.add_reranker(&name, reranker).map_err(about)?;
            (backend, memory)
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
