//! Real clients: curl, OpenAI's Python package, and the page in Chromium. They need programs that are not everywhere, so
//! `cargo xtask test --only server` runs them, with the variables that say where these are.

use crate::common::models::Folder;
use crate::common::{decoder, encoder, plays_that_converse, Running, TEMPLATE};
use std::path::{Path, PathBuf};
use std::process::Command;
use tensorlib_server::{Keys, Server, ServerOptions};

const KEY: &str = "test-key-7";

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients").join(name)
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: cargo xtask test --only server sets it"))
}

fn server(folder: &Folder, keys: Keys) -> Running {
    let mut server = Server::new(ServerOptions { keys, ..ServerOptions::default() });
    server.add_decoder("plays", &decoder(&plays_that_converse(folder, TEMPLATE))).unwrap().unwrap();
    server.add_encoder("bert", encoder(folder)).unwrap();
    Running::start(server)
}

fn run(mut command: Command) {
    let status = command.status().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(status.success(), "{command:?}: {status}");
}

#[test]
#[ignore = "takes curl"]
fn curl() {
    let folder = Folder::new("server-curl");
    let server = server(&folder, Keys::parse(KEY).unwrap());
    let mut command = Command::new("sh");
    command.arg(script("curl.sh")).arg(format!("http://{}", server.address)).arg(KEY);
    run(command);
}

#[test]
#[ignore = "takes the Python package openai: TENSORLIB_PYTHON"]
fn openai_package() {
    let folder = Folder::new("server-openai");
    let server = server(&folder, Keys::parse(KEY).unwrap());
    let mut command = Command::new(variable("TENSORLIB_PYTHON"));
    command.arg(script("openai_package.py")).arg(format!("http://{}", server.address)).arg(KEY);
    run(command);
}

#[test]
#[ignore = "takes the Python package playwright, and Chromium: TENSORLIB_PYTHON, TENSORLIB_CHROMIUM"]
fn page_in_a_browser() {
    let folder = Folder::new("server-browser");
    let server = server(&folder, Keys::default());
    let mut command = Command::new(variable("TENSORLIB_PYTHON"));
    command.arg(script("page.py")).arg(format!("http://{}", server.address)).arg(variable("TENSORLIB_CHROMIUM"));
    run(command);
}
