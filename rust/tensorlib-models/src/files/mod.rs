//! Model files, GGUF or safetensors, in one part or several, read in pieces: no more is in memory than is asked for.

mod entry;
mod fp8;
mod open;
mod safefile;
mod safeset;
mod shards;
mod source;
mod stored;

pub use entry::{dims, Entry};
pub use fp8::Fp8;
pub use safeset::SafeSet;
pub use shards::{listed, parsed};
pub use source::{pieces, Piece, Source};
pub use stored::{nbytes, Stored};
