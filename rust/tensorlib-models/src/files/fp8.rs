//! The 8-bit floats of safetensors files. The engine has no such types; each code has an exact value in F32.

/// A type of 8-bit floats: sign, exponent and mantissa, with the numbers of bits that the name gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fp8 {
    /// NaN has all bits set; no infinities.
    E4M3,
    /// Infinities and NaNs as in F16.
    E5M2,
    /// Bias 8, no infinities and no -0, whose code is the only NaN.
    E4M3Fnuz,
    /// Bias 16, otherwise as `E4M3Fnuz`.
    E5M2Fnuz,
}

impl Fp8 {
    /// The values of these codes.
    pub fn decode(self, codes: &[u8]) -> Vec<f32> {
        let table: Vec<f32> = (0..=u8::MAX).map(|code| self.value(code)).collect();
        codes.iter().map(|code| table[usize::from(*code)]).collect()
    }

    fn value(self, code: u8) -> f32 {
        let (mantissa_bits, bias) = match self {
            Fp8::E4M3 => (3, 7),
            Fp8::E5M2 => (2, 15),
            Fp8::E4M3Fnuz => (3, 8),
            Fp8::E5M2Fnuz => (2, 16),
        };
        let exponent = i32::from((code & 0x7F) >> mantissa_bits);
        let fraction = f32::from(code & ((1 << mantissa_bits) - 1));
        let sign = if code & 0x80 == 0 { 1.0 } else { -1.0 };
        match self {
            Fp8::E4M3 if code & 0x7F == 0x7F => return f32::NAN,
            Fp8::E5M2 if exponent == 31 => return if fraction == 0.0 { sign * f32::INFINITY } else { f32::NAN },
            Fp8::E4M3Fnuz | Fp8::E5M2Fnuz if code == 0x80 => return f32::NAN,
            _ => {}
        }
        let one = f32::from(1u8 << mantissa_bits);
        // Subnormal numbers have the exponent 1 and no hidden bit. All powers here are normal F32.
        let whole = if exponent == 0 { fraction } else { one + fraction };
        sign * whole * 2f32.powi(exponent.max(1) - bias - mantissa_bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sign, exponent and fraction as the formats' specifications define them, in double precision.
    fn by_the_book(code: u8, exponent_bits: i32, bias: i32) -> f64 {
        let bits: Vec<f64> = (0..8).rev().map(|i| f64::from(code >> i & 1)).collect();
        let exponent = bits[1..=exponent_bits as usize].iter().fold(0.0, |sum, bit| 2.0 * sum + bit);
        let places = bits[1 + exponent_bits as usize..].iter().zip([0.5, 0.25, 0.125]);
        let fraction: f64 = places.map(|(bit, place)| bit * place).sum();
        let magnitude = match exponent {
            0.0 => fraction * 2f64.powi(1 - bias),
            _ => (1.0 + fraction) * 2f64.powf(exponent - f64::from(bias)),
        };
        (1.0 - 2.0 * bits[0]) * magnitude
    }

    #[test]
    fn every_code_has_its_value() {
        let all: Vec<u8> = (0..=255).collect();
        for (format, exponent_bits, bias) in
            [(Fp8::E4M3, 4, 7), (Fp8::E5M2, 5, 15), (Fp8::E4M3Fnuz, 4, 8), (Fp8::E5M2Fnuz, 5, 16)]
        {
            for (code, value) in all.iter().zip(format.decode(&all)) {
                let special = match format {
                    Fp8::E4M3 => code & 0x7F == 0x7F,
                    Fp8::E5M2 => code & 0x7F >= 0x7C,
                    Fp8::E4M3Fnuz | Fp8::E5M2Fnuz => *code == 0x80,
                };
                let want = by_the_book(*code, exponent_bits, bias);
                assert!(
                    special || f64::from(value).to_bits() == want.to_bits(),
                    "{format:?} {code:#x}: {value} {want}"
                );
                assert!(!special || !value.is_finite(), "{format:?} {code:#x}: {value}");
            }
        }
    }

    #[test]
    fn values_that_the_documents_name() {
        assert_eq!(Fp8::E4M3.decode(&[0x7E, 0x01, 0x80])[..2], [448.0, 2f32.powi(-9)]);
        assert_eq!(Fp8::E4M3.decode(&[0x80])[0].to_bits(), (-0f32).to_bits());
        assert_eq!(
            Fp8::E5M2.decode(&[0x7B, 0x01, 0x7C, 0xFC]),
            [57344.0, 2f32.powi(-16), f32::INFINITY, -f32::INFINITY]
        );
        assert!(Fp8::E5M2.decode(&[0x7D, 0x7E, 0x7F, 0xFD]).iter().all(|v| v.is_nan()));
        assert!(Fp8::E4M3.decode(&[0x7F, 0xFF]).iter().all(|v| v.is_nan()));
        assert_eq!(Fp8::E4M3Fnuz.decode(&[0x7F, 0x01]), [240.0, 2f32.powi(-10)]);
        assert_eq!(Fp8::E5M2Fnuz.decode(&[0x7F, 0x01]), [57344.0, 2f32.powi(-17)]);
        assert!(Fp8::E4M3Fnuz.decode(&[0x80])[0].is_nan() && Fp8::E5M2Fnuz.decode(&[0x80])[0].is_nan());
    }
}
