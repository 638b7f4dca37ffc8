//! Options of the server.

use super::{cache_types, DeviceArgs, Hub, Neurons, Products};
use crate::terminal::text::parse_size;
use clap::Args;
use std::net::IpAddr;
use std::path::PathBuf;
use tensorlib::DType;

/// `serve`
#[derive(Args)]
pub struct Serve {
    /// GGUF files and hub folders: language models and encoders
    #[arg(required = true, value_name = "MODEL")]
    pub models: Vec<PathBuf>,
    #[command(flatten)]
    pub hub: Hub,
    /// The address to listen on; 0.0.0.0 and :: are all of the machine's
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub host: IpAddr,
    /// The port to listen on; 0: one that is free, which is printed
    #[arg(long, value_name = "N", default_value = "8080")]
    pub port: u16,
    /// Answer only requests with a key from FILE, one per line: 'Authorization: Bearer KEY'
    #[arg(long, value_name = "FILE")]
    pub api_key_file: Option<PathBuf>,
    /// Without keys: also answer requests to the host NAME; may be repeated [default: addresses and localhost]
    #[arg(long, value_name = "NAME", conflicts_with = "api_key_file")]
    pub allow_host: Vec<String>,
    /// Keep the beginnings of prompts that are known in FOLDER while the server does not run; the files contain what the
    /// prompts say
    #[arg(long, value_name = "FOLDER")]
    pub prefix_store: Option<PathBuf>,
    #[command(flatten)]
    pub limits: Limits,
    #[command(flatten)]
    pub devices: DeviceArgs,
    /// Size of the context in tokens [default: the model's own, at most 4096]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub ctx: Option<u32>,
    /// The type of the cache of keys and values
    #[arg(long, value_name = "TYPE", default_value = "f16", ignore_case = true, value_parser = cache_types())]
    pub cache: DType,
    #[command(flatten)]
    pub products: Products,
    #[command(flatten)]
    pub neurons: Neurons,
}

/// What requests may take.
#[derive(Args)]
#[command(next_help_heading = "Limits")]
pub struct Limits {
    /// Compute up to N texts of a model together; others wait
    #[arg(long, value_name = "N", default_value = "16", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub together: u16,
    /// Keep keys and values of up to N tokens of all texts of a model [default: four times the context]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub pool: Option<u32>,
    /// Let up to N texts wait for each model; others are refused (429)
    #[arg(long, value_name = "N", default_value = "64", value_parser = clap::value_parser!(u16).range(0..=10000))]
    pub waiting: u16,
    /// Generate at most N tokens a text [default: as the context allows]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_tokens: Option<u32>,
    /// Generate at most N texts a request
    #[arg(long, value_name = "N", default_value = "16", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub max_texts: u16,
    /// Refuse bodies of more than SIZE bytes (413)
    #[arg(long, value_name = "SIZE", default_value = "8M", value_parser = parse_size)]
    pub max_body: u64,
    /// End requests after S seconds, with the time that they wait
    #[arg(long, value_name = "S", default_value = "600", value_parser = clap::value_parser!(u32).range(1..=86400))]
    pub request_seconds: u32,
    /// Close connections that send a request, or take a part of an answer, more slowly than in S seconds
    #[arg(long, value_name = "S", default_value = "30", value_parser = clap::value_parser!(u16).range(1..=3600))]
    pub client_seconds: u16,
    /// Serve up to N connections at a time; others wait
    #[arg(long, value_name = "N", default_value = "512", value_parser = clap::value_parser!(u16).range(1..=10000))]
    pub connections: u16,
}
