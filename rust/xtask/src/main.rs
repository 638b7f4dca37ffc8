//! tensorlib's chores.
mod header;
fn main() {
    let t = header::generate(std::path::Path::new(".")).unwrap();
    std::fs::write("capi/include/tensorlib/tensorlib.h", t).unwrap();
}
