//! Constraints of what is generated.

#[cfg(not(feature = "grammar"))]
mod disabled;

#[cfg(not(feature = "grammar"))]
pub use disabled::Constraint;
