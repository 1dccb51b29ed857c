//! Division of `u32` by a number fixed at run time, as one multiplication.
//!
//! Real NAND blocks have 768 or 1,152 pages. Padding page numbers to a power of two would waste map memory, and a
//! hardware division per page costs more than the rest of a write. Method: Lemire, Kaser, Kurz, "Faster remainder by
//! direct computation" (2019), exact for all `u32`.

/// A divisor of at least 2, prepared for division by multiplication.
#[derive(Clone, Copy, Debug)]
pub struct Reciprocal {
    divisor: u32,
    magic: u64,
}

impl Reciprocal {
    /// Prepares a divisor; panics if it is below 2.
    pub fn new(divisor: u32) -> Self {
        assert!(divisor >= 2, "divisor must be at least 2, not {divisor}");
        Self { divisor, magic: u64::MAX / u64::from(divisor) + 1 }
    }

    /// Returns `value / divisor`.
    #[inline(always)]
    pub fn divide(self, value: u32) -> u32 {
        ((u128::from(self.magic) * u128::from(value)) >> 64) as u32
    }

    /// Returns the divisor itself.
    #[inline(always)]
    pub fn divisor(self) -> u32 {
        self.divisor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_hardware_division() {
        let mut rng = crate::Rng::named(3, "reciprocal");
        for divisor in [2, 3, 5, 64, 255, 256, 768, 1_152, 65_535, u32::MAX] {
            let by = Reciprocal::new(divisor);
            for value in (0..2_000).map(|_| rng.next_u64() as u32).chain([0, 1, divisor - 1, divisor, u32::MAX]) {
                assert_eq!(by.divide(value), value / divisor, "{value} / {divisor}");
            }
        }
    }
}
