//! Opens models on the chosen devices, and reads the texts for them.

pub mod budget;
pub mod neurons;
pub mod placement;
pub mod ranks;

use crate::args::{DeviceArgs, Neurons, Products};
use crate::failure::{warn, Exit, Failure, Outcome};
use crate::model::neurons::LoadOptions;
use crate::terminal::rank;
use crate::terminal::text::{bytes, count};
use std::io::{self, Write};
use std::path::Path;
use tensorlib::{Backend, BackendOptions, DType};
use tensorlib_models::{
    Decoder, DecoderOptions, Embedder, Encoder, EncoderOptions, Memory, Reranker, Session, Transcriber,
    TranscriberOptions,
};

/// Opens the devices that the options name.
pub fn backend(options: &DeviceArgs) -> Outcome<Backend> {
    let devices = placement::devices(options).join("+");
    let backend =
        BackendOptions::new().threads(options.threads.map_or_else(ranks::threads, usize::from)).open(&devices)?;
    placement::check(options, &backend)?;
    Ok(backend)
}

/// The options for opening a language model.
pub fn load_options(options: &Products, neurons: &Neurons, context: usize) -> Outcome<LoadOptions> {
    let load = DecoderOptions::new().exact(options.exact).reproducible(options.reproducible).context(context);
    LoadOptions::new(options.lora.iter().fold(load, |load, file| load.adapter(&file.path, file.scale)), neurons)
}

/// Opens a language model on the chosen devices, with memory for a cache of this type.
pub fn decoder(options: &DeviceArgs, model: &Path, load: &LoadOptions, cache: DType) -> Outcome<Decoder> {
    decoder_on(options, &backend(options)?, model, load, cache)
}

/// Opens a language model on this backend; on a joined one it is placed so that it fits.
pub fn decoder_on(
    options: &DeviceArgs,
    backend: &Backend,
    model: &Path,
    load: &LoadOptions,
    cache: DType,
) -> Outcome<Decoder> {
    let decoder = decoder_again(options, backend, model, load, cache)?;
    decoder.warnings().iter().for_each(warn);
    Ok(decoder)
}

/// Opens a model whose warnings were printed when it was opened before.
pub fn decoder_again(
    options: &DeviceArgs,
    backend: &Backend,
    model: &Path,
    load: &LoadOptions,
    cache: DType,
) -> Outcome<Decoder> {
    load.check_devices(backend.devices().len())?;
    let mut opened = load.options.clone().expert_slots(options.expert_slots.into());
    // Patterns of --put are checked in any case.
    if backend.devices().len() > 1 || !options.put.is_empty() {
        opened = opened.placement(placement::fit_decoder(options, backend, model, load, cache)?.placement);
    }
    // SAFETY: that nobody changes a file while it is read is a promise that the tool passes on to its user (README, "Files
    // that change").
    Ok(unsafe { Decoder::open_mapped(model, backend, &opened)? })
}

/// Opens an encoder on the chosen devices, with matrices converted to this type.
pub fn encoder(options: &DeviceArgs, model: &Path, mut load: EncoderOptions, dtype: Option<DType>) -> Outcome<Encoder> {
    if let Some(dtype) = dtype {
        load = load.stored_as(dtype);
    }
    let backend = backend(options)?;
    if backend.devices().len() > 1 || !options.put.is_empty() {
        load = load.clone().placement(placement::fit_encoder(options, &backend, model, &load)?.0);
    }
    // SAFETY: as above.
    let encoder = unsafe { Encoder::open_mapped(model, &backend, &load)? };
    encoder.warnings().iter().for_each(warn);
    Ok(encoder)
}

/// Opens a language model that makes vectors, on a single device, with matrices converted to this type. A context of 0
/// is its own.
pub fn embedder(
    options: &DeviceArgs,
    model: &Path,
    mut load: EncoderOptions,
    dtype: Option<DType>,
    context: usize,
) -> Outcome<(Backend, Embedder)> {
    let backend = single(options, "makes vectors")?;
    if let Some(dtype) = dtype {
        load = load.stored_as(dtype);
    }
    // SAFETY: as above.
    let embedder = unsafe { Embedder::open_mapped(model, &backend, &load, context)? };
    embedder.warnings().iter().for_each(warn);
    Ok((backend, embedder))
}

/// Opens the one device that the options name, for a language model that does this.
fn single(options: &DeviceArgs, does: &str) -> Outcome<Backend> {
    let backend = backend(options)?;
    match backend.devices().len() > 1 || !options.put.is_empty() {
        true => {
            let message = format!("a language model that {does} lies on one device: --device takes one");
            Err(Failure::new(Exit::Usage, message))
        }
        false => Ok(backend),
    }
}

/// Opens a language model that ranks texts, on a single device, with matrices converted to this type. A context of 0 is
/// its own.
pub fn reranker(
    options: &DeviceArgs,
    model: &Path,
    exact: bool,
    dtype: Option<DType>,
    context: usize,
) -> Outcome<(Backend, Reranker)> {
    let backend = single(options, "ranks texts")?;
    let mut load = DecoderOptions::new().exact(exact).context(context);
    if let Some(dtype) = dtype {
        load = load.stored_as(dtype);
    }
    // SAFETY: as above.
    let reranker = unsafe { Reranker::open_mapped(model, &backend, &load)? };
    reranker.warnings().iter().for_each(warn);
    Ok((backend, reranker))
}

/// Opens a model of speech on a single device, with matrices converted to this type.
pub fn transcriber(options: &DeviceArgs, model: &Path, dtype: Option<DType>) -> Outcome<Transcriber> {
    let backend = backend(options)?;
    if backend.devices().len() > 1 || !options.put.is_empty() {
        return Err(Failure::new(Exit::Usage, "a model of speech lies on one device: --device takes one"));
    }
    let load = dtype.into_iter().fold(TranscriberOptions::new(), TranscriberOptions::stored_as);
    // SAFETY: as above.
    let transcriber = unsafe { Transcriber::open_mapped(model, &backend, &load)? };
    transcriber.warnings().iter().for_each(warn);
    Ok(transcriber)
}

/// Opens a draft model as a whole on the first device of its model. A context of 0 is its own.
pub fn draft(path: &Path, decoder: &Decoder, context: usize) -> Outcome<Decoder> {
    let options = DecoderOptions::new().context(context);
    // SAFETY: as above.
    let draft = unsafe { Decoder::open_mapped(path, decoder.backend(), &options)? };
    draft.warnings().iter().for_each(|line| warn(format!("draft model: {line}")));
    Ok(draft)
}

/// With --verbose: prints the device and the memory of the weights.
pub fn say_memory(options: &DeviceArgs, backend: &Backend, memory: &Memory) {
    if !options.verbose {
        return;
    }
    let threads = count(backend.n_threads(), "thread");
    say(&format!("device: {} ({}, {threads})", backend.device(), backend.isa()));
    let size = |n: usize| bytes(n as u64);
    say(&format!(
        "weights: {}, {}; held in memory: {}",
        count(memory.tensors, "tensor"),
        size(memory.stored),
        size(memory.held)
    ));
    if memory.replaced_tensors > 0 {
        let n = count(memory.replaced_tensors, "tensor");
        say(&format!("packed copies stand in for {n}: their {} were given back", size(memory.given_back)));
    }
}

/// With --verbose: prints the memory of the model and its cache.
pub fn say_session_memory(options: &DeviceArgs, session: &Session) {
    say_memory(options, session.decoder().backend(), &session.decoder().memory());
    if options.verbose {
        let (tokens, size) = (session.decoder().context(), bytes(session.cache_memory() as u64));
        say(&format!("cache: {size} for {}", count(tokens, "token")));
        let (experts, hits, misses) = session.expert_cache();
        if experts > 0 {
            let of = hits + misses;
            say(&format!("experts: {} of copies; {hits} of {of} uses were of copies", bytes(experts as u64)));
        }
    }
}

/// Prints a line to standard error, on the first of several processes.
pub fn say(line: &str) {
    if rank::is_silent() {
        return;
    }
    let _ = writeln!(io::stderr(), "{line}"); // if that fails there is nobody to tell
}

/// The tokens of a text of this length for measurements; which tokens does not matter.
pub fn some_tokens(decoder: &Decoder, n: usize) -> Vec<u32> {
    (0..n).map(|i| (i * 7919 % decoder.vocabulary()) as u32).collect()
}

/// Reads a whole text file, or standard input for `-`.
pub fn text_of(path: &Path) -> Outcome<String> {
    if path == Path::new("-") {
        return io::read_to_string(io::stdin()).map_err(|e| match e.kind() {
            io::ErrorKind::InvalidData => Failure::new(Exit::Format, "standard input: is no UTF-8"),
            _ => Failure::new(Exit::Io, format!("standard input: cannot be read: {e}")),
        });
    }
    std::fs::read_to_string(path).map_err(|e| match e.kind() {
        io::ErrorKind::InvalidData => Failure::new(Exit::Format, format!("{}: is no UTF-8", path.display())),
        _ => Failure::io(path, "read", &e),
    })
}
