//! Attention to latent vectors.

/// Layers whose cache has a short vector of each token, from which keys and values would follow, and a rotated key.
#[derive(Clone, Copy, Debug)]
pub struct Latent {
    /// Elements of the vector.
    pub rank: i64,
    /// Elements of the vector by way of which queries are made, if there is one.
    pub query_rank: Option<i64>,
    /// Elements of a head's queries that rotate, and of those that do not.
    pub rotated: i64,
    pub plain: i64,
    /// Elements of a head of values.
    pub value: i64,
}
