//! The tool's questions about types.

use tensorlib::{DType, Kind};

pub use tensorlib_models::files::file_type;

/// Whether a file of weights may have this type.
pub fn is_storage(dtype: DType) -> bool {
    matches!(dtype.kind(), Kind::Floating | Kind::Weight)
}

/// Whether a type is quantised.
pub fn is_quantised(dtype: DType) -> bool {
    matches!(dtype.kind(), Kind::Weight | Kind::Activation)
}
