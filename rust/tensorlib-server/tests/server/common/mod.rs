//! Shared by the tests of the server: servers of tiny models, and a client that can also send what no client should.
#![allow(dead_code, missing_docs)] // each test program uses some of it

pub mod canary;
pub mod client;
#[path = "../../../../tensorlib-models/tests/common/mod.rs"]
pub mod models;

use client::Client;
use models::encoder::Spec;
use models::encoder_files;
use models::Folder;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use tensorlib::{Context, DType, Gguf, GgufWriter};
use tensorlib_models::{Decoder, DecoderOptions, Encoder, EncoderOptions};
use tensorlib_server::{Server, ServerOptions, Stop};

/// Turns as a play has them.
pub const TEMPLATE: &str = "{% for m in messages %}{{ m.role | upper }}:\n{{ m.content }}\n\n{% endfor %}ASSISTANT:\n";

/// The small model that writes plays.
pub fn plays() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data/plays.gguf")
}

/// The small model that writes plays, with a template for conversations.
pub fn plays_that_converse(folder: &Folder, template: &str) -> PathBuf {
    let path = folder.path("chat.gguf");
    let file = Gguf::open(plays()).unwrap();
    let mut writer = GgufWriter::create(&path).unwrap();
    writer.copy_metadata(&file).unwrap();
    writer.set("tokenizer.chat_template", template).unwrap();
    let ctx = Context::new();
    for info in file.tensors() {
        writer.add(&file.tensor(&ctx, info.name).unwrap()).unwrap();
    }
    writer.finish().unwrap();
    path
}

/// A decoder on two threads whose results do not depend on what is computed with them.
pub fn decoder(path: &Path) -> Decoder {
    let backend = tensorlib::BackendOptions::new().threads(2).open("cpu").unwrap();
    Decoder::open(path, &backend, &DecoderOptions::new().reproducible(true)).unwrap()
}

/// A decoder of random weights whose vocabulary has all bytes, with a template for conversations.
pub fn random_decoder(folder: &Folder, context: usize, template: &str) -> Decoder {
    let mut vocabulary = models::tokenizers::byte_pairs();
    vocabulary.push(("tokenizer.chat_template".into(), template.into()));
    let options = DecoderOptions::new().context(context).reproducible(true);
    models::tokenizers::decoder(folder, &vocabulary, &models::backend(), &options)
}

/// An encoder of random weights.
pub fn encoder(folder: &Folder) -> Encoder {
    let (path, spec) = (folder.path("bert.gguf"), Spec::new());
    spec.tensors(5, DType::F32).write_gguf(&path, &encoder_files::metadata(&spec));
    Encoder::open(path, &models::backend(), &EncoderOptions::new()).unwrap()
}

/// A server that runs until this is dropped.
pub struct Running {
    pub address: SocketAddr,
    pub stop: Stop,
    thread: Option<JoinHandle<std::io::Result<()>>>,
}

impl Running {
    pub fn start(server: Server) -> Self {
        let listener = Server::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), server.stop_handle());
        let thread = Some(std::thread::spawn(move || server.run(listener)));
        Running { address, stop, thread }
    }

    /// A server of a model that converses, named `plays`.
    pub fn plays(folder: &Folder, options: ServerOptions) -> Self {
        let mut server = Server::new(options);
        server.add_decoder("plays", &decoder(&plays_that_converse(folder, TEMPLATE))).unwrap().unwrap();
        Self::start(server)
    }

    pub fn client(&self) -> Client {
        Client::new(self.address)
    }

    /// Whether the server has returned.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Stops the server and waits for its end.
    pub fn end(mut self) {
        self.stop.stop();
        self.thread.take().unwrap().join().unwrap().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a test that failed says so itself
        }
    }
}
