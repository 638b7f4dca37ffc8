//! The models that each command reads.

use super::Command;
use crate::files::hub::Reads;
use std::path::PathBuf;

impl Command {
    /// The paths of all models, each of which may be the name of a hub's.
    pub fn models_mut(&mut self) -> Vec<(&mut PathBuf, Reads)> {
        let model = |path| vec![(path, Reads::Model)];
        let tensors = |path| vec![(path, Reads::Tensors)];
        match self {
            Command::Inspect(options) => options.files.iter_mut().map(|path| (path, Reads::Tensors)).collect(),
            Command::Convert(options) => model(&mut options.folder),
            Command::Quantize(options) => tensors(&mut options.input),
            Command::Imatrix(options) => model(&mut options.model),
            Command::Tune(options) => model(&mut options.model),
            Command::TransposeDown(options) => tensors(&mut options.input),
            Command::Compare(options) => vec![(&mut options.a, Reads::Tensors), (&mut options.b, Reads::Tensors)],
            Command::Embed(options) => model(&mut options.model),
            Command::Rerank(options) => model(&mut options.model),
            Command::Classify(options) => model(&mut options.model),
            Command::Transcribe(options) => model(&mut options.model),
            Command::Generate(options) => {
                let draft = options.draft.as_mut();
                [&mut options.model].into_iter().chain(draft).map(|path| (path, Reads::Model)).collect()
            }
            #[cfg(feature = "server")]
            Command::Serve(options) => options.models.iter_mut().map(|path| (path, Reads::Model)).collect(),
            Command::Logits(options) => model(&mut options.model),
            Command::Perplexity(options) => model(&mut options.model),
            Command::Activity(options) => model(&mut options.model),
            Command::Place(options) => model(&mut options.model),
            Command::Bench(options) => options.model.as_mut().map(|path| (path, Reads::Model)).into_iter().collect(),
            Command::Devices(_) | Command::Completions(_) | Command::Man(_) => Vec::new(),
        }
    }
}
