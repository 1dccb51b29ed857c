//! Streams that each go through their own stretch of the span, front to back and again.

use super::{STREAMS_MAX, Space, Target, countable, wrong};
use crate::TraceError;

#[derive(Clone, Debug)]
pub(super) struct Sequential {
    align: u64,
    /// Bytes of each stream's stretch.
    stretch: u64,
    /// Next byte of each stream, from the start of its stretch.
    cursors: Vec<u64>,
    turn: usize,
}

impl Sequential {
    pub fn new(streams: u32, space: Space) -> Result<Self, TraceError> {
        let Space { align, span, largest } = space;
        countable("streams", streams, STREAMS_MAX)?;
        let stretch = span / u64::from(streams) / align * align;
        if stretch < largest {
            let why = format!(
                "{streams} streams share {span} bytes, {stretch} each, less than the largest request of {largest}; \
                 use fewer streams or a larger span"
            );
            return wrong("streams", why);
        }
        Ok(Self { align, stretch, cursors: vec![0; streams as usize], turn: 0 })
    }

    pub fn streams(&self) -> usize {
        self.cursors.len()
    }

    pub fn next(&mut self, bytes: u32) -> Target {
        let index = self.turn;
        self.turn = (index + 1) % self.cursors.len();
        let cursor = &mut self.cursors[index];
        if *cursor + u64::from(bytes) > self.stretch {
            *cursor = 0;
        }
        let offset = index as u64 * self.stretch + *cursor;
        *cursor += u64::from(bytes).next_multiple_of(self.align);
        Target { offset, bytes, stream: index as u16 + 1 }
    }
}
