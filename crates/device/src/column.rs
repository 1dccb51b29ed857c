//! Numbers near a line, as those of the pages of a block are: logical pages and sequence numbers mostly go up by one.
//!
//! Number `i` is base + slope * i + its distance, modulo 2^64, and all distances take the same 0, 1, 2, 4 or 8 bytes. So a
//! block that was written in one go takes a few bytes, any page is found without those before it, and all are read
//! without a branch.

/// A line below numbers, and the bytes that the largest distance from it takes.
#[derive(Clone, Copy)]
pub(crate) struct Line {
    pub base: u64,
    pub slope: u64,
    pub width: u8,
}

impl Line {
    /// The highest line below all numbers that there are.
    pub fn below(slope: u64, numbers: impl Iterator<Item = Option<u64>>) -> Self {
        // Signed, so that a line may begin below zero.
        let (mut base, mut top) = (i64::MAX, i64::MIN);
        for (at, number) in (0..).zip(numbers) {
            if let Some(number) = number {
                let offset = number.wrapping_sub(slope.wrapping_mul(at)) as i64;
                (base, top) = (base.min(offset), top.max(offset));
            }
        }
        let range = if top < base { 0 } else { top.wrapping_sub(base) as u64 };
        let width = [0, 1, 2, 4].into_iter().find(|width| range >> (8 * width) == 0).unwrap_or(8);
        Self { base: base as u64, slope, width }
    }

    /// Appends the distances of numbers; where there is none, any will be read.
    pub fn distances(self, numbers: impl Iterator<Item = Option<u64>>, into: &mut Vec<u8>) {
        let distance = |(at, number): (usize, Option<u64>)| number.map_or(0, |number| number.wrapping_sub(self.at(at)));
        let distances = numbers.enumerate().map(distance);
        match self.width {
            0 => {}
            1 => into.extend(distances.map(|distance| distance as u8)),
            2 => distances.for_each(|distance| into.extend((distance as u16).to_le_bytes())),
            4 => distances.for_each(|distance| into.extend((distance as u32).to_le_bytes())),
            _ => distances.for_each(|distance| into.extend(distance.to_le_bytes())),
        }
    }

    /// Fills in numbers from the one at `first` on, from their distances.
    fn from(self, first: usize, into: &mut [u64], distances: impl Iterator<Item = u64>) {
        let mut on_line = self.at(first);
        for (number, distance) in into.iter_mut().zip(distances) {
            *number = on_line.wrapping_add(distance);
            on_line = on_line.wrapping_add(self.slope);
        }
    }

    const fn at(self, at: usize) -> u64 {
        self.base.wrapping_add(self.slope.wrapping_mul(at as u64))
    }
}

/// Numbers in their bytes.
#[derive(Clone, Copy)]
pub(crate) struct Column<'a> {
    line: Line,
    distances: &'a [u8],
}

impl<'a> Column<'a> {
    /// Takes the distances of `count` numbers off the front of `bytes`; none if they are not there.
    #[inline]
    pub fn take(line: Line, count: usize, bytes: &mut &'a [u8]) -> Option<Self> {
        let (distances, rest) = bytes.split_at_checked(usize::from(line.width) * count)?;
        *bytes = rest;
        matches!(line.width, 0 | 1 | 2 | 4 | 8).then_some(Self { line, distances })
    }

    /// Whether all numbers lie on the line.
    pub const fn is_straight(&self) -> bool {
        self.line.width == 0
    }

    /// One number.
    #[inline]
    pub fn number(&self, at: usize) -> u64 {
        let distance = match self.line.width {
            0 => 0,
            1 => self.distances[at].into(),
            2 => u16::from_le_bytes(self.distances.as_chunks().0[at]).into(),
            4 => u32::from_le_bytes(self.distances.as_chunks().0[at]).into(),
            _ => u64::from_le_bytes(self.distances.as_chunks().0[at]),
        };
        self.line.at(at).wrapping_add(distance)
    }

    /// Numbers from the one at `first` on.
    pub fn numbers(&self, first: usize, into: &mut [u64]) {
        match self.line.width {
            0 => self.line.from(first, into, std::iter::repeat(0)),
            1 => self.fill(first, into, |[byte]| byte.into()),
            2 => self.fill(first, into, |bytes| u16::from_le_bytes(bytes).into()),
            4 => self.fill(first, into, |bytes| u32::from_le_bytes(bytes).into()),
            _ => self.fill(first, into, u64::from_le_bytes),
        }
    }

    fn fill<const WIDTH: usize>(&self, first: usize, into: &mut [u64], distance: impl Fn([u8; WIDTH]) -> u64) {
        let (distances, _) = self.distances.as_chunks();
        self.line.from(first, into, distances[first..].iter().map(|bytes| distance(*bytes)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: numbers come back, in the fewest bytes. Method: each width at its limits, on either side of zero.
    #[test]
    fn numbers_come_back_in_the_width_that_they_need() {
        let on_line = [Some(5), Some(6), Some(7), Some(8)];
        let below_zero = [Some(0), Some(0), Some(0), Some(0)];
        let far = |distance: u64| [Some(9), None, Some(11 + distance), Some(12)];
        let cases = [
            (on_line, 0),
            (below_zero, 1),
            ([None; 4], 0),
            (far(0), 0),
            (far(1), 1),
            (far(0xFF), 1),
            (far(0x100), 2),
            (far(0xFFFF), 2),
            (far(0x1_0000), 4),
            (far(0xFFFF_FFFF), 4),
            (far(0x1_0000_0000), 8),
            ([Some(0), Some(u64::MAX), Some(1 << 63), Some(7)], 8),
        ];
        for (numbers, width) in cases {
            let mut bytes = Vec::new();
            let line = Line::below(1, numbers.into_iter());
            line.distances(numbers.into_iter(), &mut bytes);
            assert_eq!((line.width, bytes.len()), (width, 4 * usize::from(width)), "{numbers:?}");
            bytes.push(0xAA);
            let mut rest = &bytes[..];
            let column = Column::take(line, 4, &mut rest).expect("it is whole");
            assert_eq!((rest, column.is_straight()), (&[0xAA][..], width == 0));
            for first in 0..4 {
                let mut found = [0; 4];
                column.numbers(first, &mut found[first..]);
                for at in (first..4).filter(|&at| numbers[at].is_some()) {
                    assert_eq!((Some(found[at]), Some(column.number(at))), (numbers[at], numbers[at]));
                }
            }
            for short in 0..bytes.len() - 1 {
                assert!(Column::take(line, 4, &mut &bytes[..short]).is_none(), "{short} bytes");
            }
        }
        assert!(Column::take(Line { base: 0, slope: 1, width: 3 }, 4, &mut &[0; 12][..]).is_none());
    }
}
