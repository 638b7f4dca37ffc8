//! The size of an image that becomes a list of patches (SigLIP 2: Tschannen and others, 2025).

/// A search ends when the factor is known to this precision, and tries factors up to the largest.
const PRECISION: f64 = 1e-5;
const LARGEST: f64 = 100.0;

/// The pixels of a row and of a column after resizing: whole patches of `patch` pixels, at least one and at most `most`,
/// in about the image's own proportions. The steps are those of the published search, because borders depend on them.
pub fn resized((width, height): (u32, u32), patch: u32, most: u32) -> (u64, u64) {
    let scaled = |factor: f64, pixels: u32| -> f64 { (f64::from(pixels) * factor / f64::from(patch)).ceil().max(1.0) };
    let (mut least, mut largest) = (PRECISION / 10.0, LARGEST);
    while largest - least >= PRECISION {
        let factor = (least + largest) / 2.0;
        if scaled(factor, height) * scaled(factor, width) <= f64::from(most) {
            least = factor;
        } else {
            largest = factor;
        }
    }
    let side = |pixels: u32| scaled(least, pixels) as u64 * u64::from(patch);
    (side(width), side(height))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These sizes are those of the published rule, computed by a program of its own.
    #[test]
    fn images_keep_their_proportions() {
        for (height, width, patch, most, wanted) in [
            (480, 640, 16, 256, (224, 288)),
            (224, 224, 16, 256, (256, 256)),
            (1, 1, 16, 256, (112, 112)),
            (1, 4000, 16, 256, (16, 4096)),
            (4000, 3, 16, 256, (4096, 16)),
            (1080, 1920, 16, 1024, (384, 672)),
            (16, 16, 16, 1, (16, 16)),
            (333, 217, 14, 64, (140, 84)),
            (40, 20, 5, 16, (25, 15)),
            (7, 300, 5, 16, (5, 80)),
        ] {
            let (wide, high) = resized((width, height), patch, most);
            assert_eq!((high, wide), wanted, "{height} x {width}");
        }
    }
}
