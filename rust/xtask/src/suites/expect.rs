//! Expected output of programs in every language, and checks of it.

/// The output of the quickstart in every language.
pub const QUICKSTART: &str = "60 55 50 110\n90 54 54 126\n42 29 28 64\n";

/// The device and the ISA that these variables choose, for titles.
pub fn title_of(envs: &[(&str, &str)]) -> String {
    let value = |wanted: &str| envs.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
    let words: Vec<_> = [value("TENSORLIB_DEVICE"), value("TENSORLIB_ISA")].into_iter().flatten().collect();
    words.join(" ")
}

/// Fails if `text` does not contain `want`.
pub fn expect(text: &str, want: &str) -> Result<(), String> {
    if text.contains(want) {
        return Ok(());
    }
    Err(format!("{want:?} is not in its output:\n{text}"))
}
