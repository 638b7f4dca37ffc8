//! Finds the models of a hub that commands are given.

use crate::args::{Command, MODEL_OF_HUB};
use crate::failure::{Exit, Failure, Outcome};
#[cfg(feature = "hub")]
use crate::model::say;
#[cfg(feature = "hub")]
use crate::terminal::{
    progress::download_bar,
    signals,
    text::{bytes, printable},
};
use std::path::PathBuf;
use tensorlib_models::files::tensors_of;
use tensorlib_models::hub::{self, HubName};

/// What a command reads of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// A model: a GGUF file or a folder.
    Model,
    /// Tensors: a file of either format.
    Tensors,
}

/// Replaces the names of a hub's models by the paths of their files.
pub fn resolve(command: &mut Command) -> Outcome<()> {
    for (path, reads) in command.models_mut() {
        let Some(name) = path.to_str().and_then(|text| text.strip_prefix(MODEL_OF_HUB)) else { continue };
        let name: HubName = name.parse().map_err(|e| Failure { exit: Exit::Usage, ..Failure::from(e) })?;
        *path = found(&name, reads)?;
    }
    Ok(())
}

fn found(name: &HubName, reads: Reads) -> Outcome<PathBuf> {
    let path = get(name)?;
    if reads == Reads::Tensors && path.is_dir() {
        return Ok(tensors_of(&path)?);
    }
    Ok(path)
}

#[cfg(not(feature = "hub"))]
fn get(name: &HubName) -> Outcome<PathBuf> {
    Ok(hub::find(name)?)
}

/// Shows a bar on a terminal, otherwise a line; Ctrl-C ends the download and keeps what has arrived.
#[cfg(feature = "hub")]
fn get(name: &HubName) -> Outcome<PathBuf> {
    let bar = download_bar();
    let mut is_said = !bar.is_hidden();
    let fetched = hub::fetch(name, &mut |progress| {
        signals::catch();
        if !is_said {
            say(&format!("downloading {name}: {}", bytes(progress.total)));
            is_said = true;
        }
        bar.set_length(progress.total);
        bar.set_position(progress.done);
        bar.set_message(printable(progress.file));
        !signals::came()
    });
    bar.finish_and_clear();
    fetched.map_err(|error| {
        let failure = Failure::from(error);
        Failure { exit: signals::exit().unwrap_or(failure.exit), ..failure }
    })
}
