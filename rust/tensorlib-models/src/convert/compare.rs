//! Compares what a folder's settings mean with what the keys of a GGUF file mean.

use std::fmt::Debug;

/// The first field in which two descriptions of a model differ, with both values. Numbers may differ by their rounding
/// to F32, in which GGUF files have them.
pub fn difference<T: Debug>(folder: &T, file: &T) -> Option<String> {
    let (folder, file) = (format!("{folder:#?}"), format!("{file:#?}"));
    let mut path: Vec<&str> = Vec::new();
    for (ours, theirs) in folder.lines().zip(file.lines()) {
        let depth = (ours.len() - ours.trim_start().len()) / 4;
        path.truncate(depth);
        path.push(ours.trim().split([':', '(', ' ']).next().unwrap_or_default());
        if !is_same(ours, theirs) {
            let names: Vec<&str> = path.iter().skip(1).copied().filter(|name| is_name(name)).collect();
            let value = |line: &str| line.trim().split_once(": ").map_or(line.trim(), |(_, value)| value).to_string();
            let value = |line: &str| value(line).trim_end_matches([',', '{', '[', '(', ' ']).to_string();
            return Some(format!("{} is {} in the folder and {} there", names.join("."), value(ours), value(theirs)));
        }
    }
    (folder.lines().count() != file.lines().count()).then(|| "lists differ in length".into())
}

fn is_name(word: &str) -> bool {
    word.chars().next().is_some_and(|c| c.is_ascii_lowercase())
}

/// Whether two lines are equal but for the rounding of numbers.
fn is_same(a: &str, b: &str) -> bool {
    let words = |line: &str| -> Vec<String> {
        line.split(|c: char| !(c.is_alphanumeric() || "+-._".contains(c))).map(String::from).collect()
    };
    let (a, b) = (words(a), words(b));
    a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a == b || is_near(a, b))
}

fn is_near(a: &str, b: &str) -> bool {
    // Two roundings to F32, whose steps are 2^-24 of a number, and a root or a logarithm in between.
    const STEPS: f64 = 4.0 / (1u64 << 24) as f64;
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => (a - b).abs() <= STEPS * a.abs().max(b.abs()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug)]
    struct Inner {
        base: f64,
        list: Vec<bool>,
    }

    #[derive(Clone, Debug)]
    struct Outer {
        width: i64,
        inner: Option<Inner>,
    }

    #[test]
    fn a_difference_is_named_with_its_path() {
        let one = Outer { width: 3, inner: Some(Inner { base: 0.1, list: vec![true, false] }) };
        let with = |change: fn(&mut Outer)| {
            let mut other = one.clone();
            change(&mut other);
            difference(&one, &other)
        };
        assert_eq!(with(|_| {}), None);
        assert_eq!(with(|o| o.inner.as_mut().unwrap().base = f64::from(0.1f32)), None);
        let wide = with(|o| o.width = 4).unwrap();
        assert_eq!(wide, "width is 3 in the folder and 4 there");
        let base = with(|o| o.inner.as_mut().unwrap().base = 0.2).unwrap();
        assert!(base.contains("base is 0.1 in the folder and 0.2 there"), "{base}");
        assert!(with(|o| o.inner.as_mut().unwrap().list[1] = true).is_some());
        assert!(with(|o| o.inner.as_mut().unwrap().list.push(true)).is_some());
        assert!(with(|o| o.inner = None).is_some());
    }
}
