//! The highest of many numbers.

/// The highest number of these items, and `least` without items. NaN counts as less than everything else. Eight parts do
/// not wait for each other, and become vector instructions.
pub(super) fn highest<T, N: Copy + PartialOrd>(items: &[T], least: N, number: impl Fn(&T) -> N) -> N {
    let higher = |a: N, b: N| if b > a { b } else { a };
    let groups = items.chunks_exact(8);
    let rest = groups.remainder().iter().fold(least, |most, item| higher(most, number(item)));
    let mut parts = [least; 8];
    for group in groups {
        parts.iter_mut().zip(group).for_each(|(part, item)| *part = higher(*part, number(item)));
    }
    parts.into_iter().fold(rest, higher)
}

#[cfg(test)]
mod tests {
    use super::highest;

    #[test]
    fn every_position_is_looked_at() {
        for n in 1..40 {
            for at in 0..n {
                let mut numbers = vec![f32::NAN; n];
                numbers[(at + 1) % n] = 1.0;
                numbers[at] = 2.0;
                assert_eq!(highest(&numbers, f32::NEG_INFINITY, |x| *x), 2.0, "{n} {at}");
            }
        }
        assert_eq!(highest(&[], f32::NEG_INFINITY, |x| *x), f32::NEG_INFINITY);
    }
}
