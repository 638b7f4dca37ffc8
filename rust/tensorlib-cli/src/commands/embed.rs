//! `tensorlib embed`: converts lines of text to vectors, or to weights or vectors of their tokens.

use crate::args::Embed;
use crate::failure::{Exit, Failure, Outcome};
use crate::model;
use crate::terminal::signals;
use crate::terminal::texts::Texts;
use std::io::Write;
use tensorlib::Backend;
use tensorlib_models::{EmbedTexts, Encoder, EncoderOptions, Error, Image, ModelKind};

/// Runs the command.
pub fn run(options: &Embed, out: &mut dyn Write) -> Outcome<Exit> {
    signals::catch();
    let mut load = EncoderOptions::new();
    if let Some(pooling) = options.pooling {
        load = load.pooling(pooling);
    }
    if let Some(name) = &options.prompt {
        load = load.prompt(name);
    }
    if let Some(name) = &options.task {
        load = load.task(name);
    }
    load = options.lora.iter().fold(load, |load, file| load.adapter(&file.path, file.scale));
    if let Some(n) = options.dimensions {
        load = load.dimensions(n as usize);
    }
    // SAFETY: that nobody changes a file while it is read is a promise that the tool passes on to its user (README, "Files
    // that change").
    if unsafe { ModelKind::of_mapped(&options.model)? } != ModelKind::Encoder {
        let images = !options.image.is_empty();
        let heads = [(options.sparse, "--sparse"), (options.per_token, "--per-token"), (images, "--image")];
        if let Some((_, option)) = heads.iter().find(|(is_there, _)| *is_there) {
            let message = format!("{option}: encoders alone make such vectors, and this is a language model");
            return Err(Failure::new(Exit::Usage, message));
        }
        let context = options.ctx.unwrap_or(0) as usize;
        let (backend, embedder) = model::embedder(&options.devices, &options.model, load, options.dtype, context)?;
        return embed(options, &embedder, &backend, out);
    }
    if options.ctx.is_some() {
        return Err(Failure::new(Exit::Usage, "--ctx: language models alone have it, and this is an encoder"));
    }
    let encoder = model::encoder(&options.devices, &options.model, load, options.dtype)?;
    let backend = encoder.backend();
    if !options.image.is_empty() {
        return embed_images(options, &encoder, out);
    }
    if options.sparse {
        let compute =
            |first, lines: &[Vec<u32>], progress: Progress| encoder.embed_sparse_lines(first, lines, progress);
        let print = |weights: &Vec<(u32, f32)>, json, out: &mut dyn Write| print_weights(weights, json, out);
        return answer(options, &encoder, backend, compute, print, out);
    }
    if options.per_token {
        let compute =
            |first, lines: &[Vec<u32>], progress: Progress| encoder.embed_each_token_lines(first, lines, progress);
        return answer(options, &encoder, backend, compute, print_vectors, out);
    }
    embed(options, &encoder, backend, out)
}

/// Images that are read before their vectors are printed.
const IMAGES: usize = 32;

fn embed_images(options: &Embed, encoder: &Encoder, out: &mut dyn Write) -> Outcome<Exit> {
    if !encoder.has_images() {
        let message = format!("{}: the model turns texts alone into vectors", options.model.display());
        return Err(Failure::new(Exit::Usage, message).hint("--image takes CLIP and SigLIP"));
    }
    for files in options.image.chunks(IMAGES) {
        signals::check("the images before are printed")?;
        let images = files.iter().map(Image::open).collect::<Result<Vec<_>, _>>()?;
        for vector in encoder.embed_images(&images)? {
            print(&vector, options.json, out)?;
        }
        out.flush()?;
    }
    model::say_memory(&options.devices, encoder.backend(), &encoder.memory());
    Ok(Exit::Success)
}

type Progress<'a> = &'a mut dyn FnMut(usize) -> bool;

fn embed(options: &Embed, model: &dyn EmbedTexts, backend: &Backend, out: &mut dyn Write) -> Outcome<Exit> {
    let compute = |first, lines: &[Vec<u32>], progress: Progress| model.embed_lines(first, lines, progress);
    let print = |vector: &Vec<f32>, json, out: &mut dyn Write| print(vector, json, out);
    answer(options, model, backend, compute, print, out)
}

/// Reads all lines, and prints what `compute(number of the first line, lines, progress)` makes of each.
fn answer<T>(
    options: &Embed,
    model: &dyn EmbedTexts,
    backend: &Backend,
    compute: impl Fn(usize, &[Vec<u32>], Progress) -> Result<Vec<T>, Error>,
    print: impl Fn(&T, bool, &mut dyn Write) -> std::io::Result<()>,
    out: &mut dyn Write,
) -> Outcome<Exit> {
    let mut texts = Texts::new()?;
    texts.answer(
        |_, line| Ok(model.tokenize_text(line)?),
        |first, lines, progress| {
            let lines: Vec<Vec<u32>> = lines.iter().map(|line| line.ids.clone()).collect();
            compute(first, &lines, progress)
        },
        |result, out| Ok(print(&result, options.json, out)?),
        out,
    )?;
    model::say_memory(&options.devices, backend, &model.memory());
    texts.warn(model.max_tokens());
    Ok(Exit::Success)
}

fn print(vector: &[f32], json: bool, out: &mut dyn Write) -> std::io::Result<()> {
    print_numbers(vector, json, out)?;
    writeln!(out)
}

fn print_numbers(numbers: &[f32], json: bool, out: &mut dyn Write) -> std::io::Result<()> {
    let (open, between, close) = if json { ("[", ",", "]") } else { ("", " ", "") };
    print_list(numbers, (open, between, close), out, |x, out| write!(out, "{x}"))
}

fn print_weights(weights: &[(u32, f32)], json: bool, out: &mut dyn Write) -> std::io::Result<()> {
    let marks = if json { ("{", ",", "}") } else { ("", " ", "") };
    print_list(weights, marks, out, |(id, weight), out| {
        if json {
            write!(out, "\"{id}\":{weight}")
        } else {
            write!(out, "{id}:{weight}")
        }
    })?;
    writeln!(out)
}

fn print_vectors(vectors: &Vec<Vec<f32>>, json: bool, out: &mut dyn Write) -> std::io::Result<()> {
    if json {
        print_list(vectors, ("[", ",", "]"), out, |vector, out| print_numbers(vector, true, out))?;
    } else {
        for vector in vectors {
            print(vector, false, out)?;
        }
    }
    writeln!(out)
}

/// Prints items between the marks (before all, between two, after all).
fn print_list<T>(
    items: &[T],
    (open, between, close): (&str, &str, &str),
    out: &mut dyn Write,
    print: impl Fn(&T, &mut dyn Write) -> std::io::Result<()>,
) -> std::io::Result<()> {
    out.write_all(open.as_bytes())?;
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.write_all(between.as_bytes())?;
        }
        print(item, out)?;
    }
    out.write_all(close.as_bytes())
}
