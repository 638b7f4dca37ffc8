//! Random numbers for the order of samples and their random changes.

/// A sequence of random numbers determined by a seed and a number, so it never changes, even when a run is interrupted
/// and resumed. SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, Fast Splittable Pseudorandom Number Generators, 2014).
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

/// 2^64 divided by the golden ratio, odd.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// The sequence with this number for this seed.
    pub fn new(seed: u64, number: u64) -> Self {
        // Both are mixed, so that neighbouring seeds and numbers give unrelated sequences.
        Self { state: mix(seed.wrapping_add(GAMMA)) ^ mix(number.wrapping_mul(GAMMA).wrapping_add(1)) }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        mix(self.state)
    }

    /// A number from 0 on and below 1.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// An integer from 0 on and below n, all equally likely; 0 if n is 0.
    pub fn below(&mut self, n: usize) -> usize {
        let n = n as u64;
        if n < 2 {
            return 0;
        }
        // The upper half of a product. Draws that would make some numbers more likely are repeated (D. Lemire, Fast
        // Random Integer Generation in an Interval, 2019).
        loop {
            let product = u128::from(self.bits()) * u128::from(n);
            if product as u64 >= n.wrapping_neg() % n {
                return (product >> 64) as usize;
            }
        }
    }

    /// Shuffles the items; all orders are equally likely (R. Durstenfeld, Algorithm 235, 1964).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixes_as_published() {
        // SplitMix64 from the state 1234567: the values that its reference implementation prints.
        let mut random = Random { state: 1_234_567 };
        assert_eq!([random.bits(), random.bits()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn each_number_and_order_is_as_likely() {
        let (mut counts, mut orders, mut random) = ([0; 6], [0; 6], Random::new(3, 1));
        for _ in 0..60_000 {
            counts[random.below(6)] += 1;
            let mut items = [0, 1, 2];
            random.shuffle(&mut items);
            orders[items[0] * 2 + usize::from(items[1] > items[2])] += 1;
        }
        // 10,000 of each are expected, with a deviation of 91: allow 6 deviations.
        for count in counts.into_iter().chain(orders) {
            assert!((count - 10_000i32).abs() < 550, "{counts:?} {orders:?}");
        }
        assert_eq!((random.below(0), random.below(1)), (0, 0));
        assert!((0..1000).all(|_| (0. ..1.).contains(&random.uniform())));
    }
}
