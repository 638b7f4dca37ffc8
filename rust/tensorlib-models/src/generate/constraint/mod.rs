//! Constraints of what is generated.

#[cfg(not(feature = "grammar"))]
mod disabled;
#[cfg(feature = "grammar")]
mod gemma;
#[cfg(feature = "grammar")]
mod lark;
#[cfg(feature = "grammar")]
mod matcher;
#[cfg(feature = "grammar")]
mod schema;
#[cfg(feature = "grammar")]
mod tools;
#[cfg(feature = "grammar")]
mod vocabulary;
#[cfg(feature = "grammar")]
mod xml;

#[cfg(not(feature = "grammar"))]
pub use disabled::Constraint;
#[cfg(feature = "grammar")]
pub use matcher::Constraint;
#[cfg(feature = "grammar")]
pub(crate) use vocabulary::Grammars;
