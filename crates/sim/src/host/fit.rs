//! Where on the device the bytes of a request lie.

use ssdlab_trace::Request;

use crate::setup::host::Fit;

/// `(offset, bytes)` of each run of bytes that a request covers; more than one only where it wraps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pieces {
    offset: u64,
    left: u64,
    capacity: u64,
    wraps: bool,
}

impl Pieces {
    /// Whether the request ended beyond the device.
    pub(crate) fn wraps(&self) -> bool {
        self.wraps
    }
}

impl Iterator for Pieces {
    type Item = (u64, u64);

    #[inline]
    fn next(&mut self) -> Option<(u64, u64)> {
        if self.left == 0 {
            return None;
        }
        let piece = (self.offset, self.left.min(self.capacity - self.offset));
        self.left -= piece.1;
        self.offset = 0;
        Some(piece)
    }
}

impl Fit {
    /// The request on a device of `capacity` bytes; none if it lies beyond and that is an error.
    #[inline]
    pub(crate) fn pieces(self, request: &Request, capacity: u64, page_bytes: u32) -> Option<Pieces> {
        let (offset, left) = (request.offset, u64::from(request.bytes));
        let beyond = offset.saturating_add(left) > capacity;
        let whole = Pieces { offset, left, capacity, wraps: false };
        match self {
            Self::Error if beyond => None,
            Self::Wrap if beyond => Some(Pieces { offset: offset % capacity, wraps: true, ..whole }),
            Self::Scale { extent_bytes } if extent_bytes > capacity => {
                let page_mask = u64::from(page_bytes) - 1;
                let scaled = (u128::from(offset) * u128::from(capacity) / u128::from(extent_bytes)) as u64;
                let left = left.min(capacity);
                // The place within the page is kept, so that aligned requests stay aligned.
                let offset = ((scaled & !page_mask) | (offset & page_mask)).min(capacity - left);
                Some(Pieces { offset, left, ..whole })
            }
            _ => Some(whole),
        }
    }
}
