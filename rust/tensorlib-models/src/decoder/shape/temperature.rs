//! Queries that grow with their positions.

/// A factor of queries that grows with their positions: 1 + growth * ln(1 + floor((position + offset) / tokens)).
#[derive(Clone, Copy, Debug)]
pub struct Temperature {
    pub growth: f64,
    pub tokens: i64,
    pub offset: i64,
    /// Only in layers that do not rotate.
    pub unrotated: bool,
}

impl Temperature {
    /// The factor of a query at this position.
    pub fn at(self, position: i32) -> f32 {
        let periods = (i64::from(position) + self.offset) / self.tokens;
        (1.0 + self.growth * (1.0 + periods as f64).ln()) as f32
    }
}
