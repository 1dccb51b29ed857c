//! Compact storage for columns of numbers that lie close to a straight line, such as the logical page numbers or
//! sequence numbers in a block, which mostly increase by one from page to page.
//!
//! Number `i` equals base + slope * i plus its stored distance, modulo 2^64. All distances take the same 0, 1, 2, 4 or
//! 8 bytes. A sequentially written block therefore takes only a few bytes, each page can be decoded separately, and
//! decoding has no branches.

/// Straight line that lies below the numbers of a column: number `i` of the line is `base + slope * i`. `width` is the
/// size in bytes of the largest distance between a number and the line.
#[derive(Clone, Copy)]
pub(crate) struct Line {
    pub base: u64,
    pub slope: u64,
    pub width: u8,
}

impl Line {
    /// Returns the distance of a number from the line with the given slope through 0: `number - slope * at`, where `at`
    /// is the number's position in the column. May be negative.
    #[inline(always)]
    pub const fn offset(slope: u64, at: usize, number: u64) -> i64 {
        number.wrapping_sub(slope.wrapping_mul(at as u64)) as i64
    }

    /// Returns the highest line with the given slope that does not exceed any number of a column. `least` and `most`
    /// are the minimum and maximum [`Self::offset`] of the numbers.
    pub fn below(slope: u64, least: i64, most: i64) -> Self {
        let range = most.wrapping_sub(least) as u64;
        let width = [0, 1, 2, 4].into_iter().find(|width| range >> (8 * width) == 0).unwrap_or(8);
        Self { base: least as u64, slope, width }
    }

    /// Appends to `into` the distance of each number from the line. `offsets` has the [`Self::offset`] of each number.
    pub fn distances(self, offsets: impl ExactSizeIterator<Item = i64>, into: &mut Vec<u8>) {
        match self.width {
            0 => {}
            1 => self.append(offsets, |distance| [distance as u8], into),
            2 => self.append(offsets, |distance| (distance as u16).to_le_bytes(), into),
            4 => self.append(offsets, |distance| (distance as u32).to_le_bytes(), into),
            _ => self.append(offsets, u64::to_le_bytes, into),
        }
    }

    fn append<const WIDTH: usize>(
        self,
        offsets: impl ExactSizeIterator<Item = i64>,
        bytes: impl Fn(u64) -> [u8; WIDTH],
        into: &mut Vec<u8>,
    ) {
        let from = into.len();
        into.resize(from + WIDTH * offsets.len(), 0);
        for (offset, distance) in offsets.zip(into[from..].as_chunks_mut().0) {
            *distance = bytes((offset as u64).wrapping_sub(self.base));
        }
    }

    /// Adds each distance to the number on the line, and stores the sums in `into`. The first sum has position `first`
    /// in the column.
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

#[derive(Clone, Copy)]
pub(crate) struct Column<'a> {
    line: Line,
    distances: &'a [u8],
}

impl<'a> Column<'a> {
    /// Takes the encoded distances of `count` numbers from the start of `bytes`, and advances `bytes` past them.
    /// Returns None if `bytes` is too short or the line has an invalid width.
    #[inline]
    pub fn take(line: Line, count: usize, bytes: &mut &'a [u8]) -> Option<Self> {
        let (distances, rest) = bytes.split_at_checked(usize::from(line.width) * count)?;
        *bytes = rest;
        matches!(line.width, 0 | 1 | 2 | 4 | 8).then_some(Self { line, distances })
    }

    /// True if every number lies on the line, so that the column stores no distances.
    pub const fn is_straight(&self) -> bool {
        self.line.width == 0
    }

    /// Returns the number at position `at` of the column.
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

    /// Decodes consecutive numbers of the column into `into`, starting at position `first`.
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

    /// Goal: numbers are decoded unchanged, and stored with the fewest bytes. Method: encodes and decodes columns whose
    /// largest distance is just within or just beyond the limit of each width.
    #[test]
    fn numbers_are_decoded_from_the_smallest_width() {
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
            let offset = |(at, number)| Line::offset(1, at, number);
            let known = numbers.iter().enumerate().filter_map(|(at, number)| Some(offset((at, (*number)?))));
            let (least, most) = (known.clone().min().unwrap_or(0), known.max().unwrap_or(0));
            let line = Line::below(1, least, most);
            let any = numbers.map(|number| number.unwrap_or(3)).into_iter().enumerate();
            line.distances(any.map(offset), &mut bytes);
            assert_eq!((line.width, bytes.len()), (width, 4 * usize::from(width)), "{numbers:?}");
            bytes.push(0xAA);
            let mut rest = &bytes[..];
            let column = Column::take(line, 4, &mut rest).expect("it is whole");
            assert_eq!((rest, column.is_straight()), (&[0xAA][..], width == 0));
            for first in 0..4 {
                let mut decoded = [0; 4];
                column.numbers(first, &mut decoded[first..]);
                for at in (first..4).filter(|&at| numbers[at].is_some()) {
                    assert_eq!((Some(decoded[at]), Some(column.number(at))), (numbers[at], numbers[at]));
                }
            }
            for short in 0..bytes.len() - 1 {
                assert!(Column::take(line, 4, &mut &bytes[..short]).is_none(), "{short} bytes");
            }
        }
        assert!(Column::take(Line { base: 0, slope: 1, width: 3 }, 4, &mut &[0; 12][..]).is_none());
    }
}
