//! Model files, GGUF or safetensors, in one file or in shards, read in pieces: only the requested data is in memory.

mod entry;
mod file_type;
mod fp8;
mod kinds;
mod memory;
mod open;
mod safefile;
mod safeset;
mod scale_names;
mod shards;
mod source;
mod stored;

pub use entry::{dims, is_elementwise, Entry};
pub use file_type::file_type;
pub use fp8::Fp8;
pub(crate) use kinds::hint as kind_hint;
pub(crate) use memory::check_size;
pub(crate) use open::open_regular;
pub(crate) use safefile::SafeFile;
pub use safeset::SafeSet;
pub use scale_names::scale_of;
pub(crate) use shards::tensor_files;
pub use shards::tensors_of;
pub use shards::{listed, parsed};
pub use source::{pieces, Piece, Source};
pub use stored::{nbytes, Stored};
