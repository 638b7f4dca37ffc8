//! Several streams between layers.

/// Layers exchange several streams, of which each computes one.
#[derive(Clone, Debug)]
pub struct AltUp {
    pub streams: i64,
    /// The stream that layers compute.
    pub active: i64,
    /// The vectors of layers are added by way of a stream that has factors.
    pub scaled: bool,
    /// The rank of the product next to attention, if the settings have it.
    pub rank: Option<i64>,
    /// How many standard deviations above the mean gates of a layer must be, if small ones are cut.
    pub cuts: Vec<Option<f64>>,
}
