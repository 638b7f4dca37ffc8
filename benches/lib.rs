//! Nothing: the benchmarks are in `ops.rs`.
