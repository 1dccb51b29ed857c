//! Generates streams that cycle through their own parts of the span, front to back.

use super::check::{STREAMS_MAX, countable, wrong};
use super::space::{RequestTarget, Space};
use crate::TraceError;
use ssdlab_core::units::write_bytes;

/// Checks that the part of each stream holds the largest request.
pub(super) fn check(streams: u32, space: Space) -> Result<(), TraceError> {
    let Space { align, span, largest } = space;
    countable("streams", streams, STREAMS_MAX)?;
    let stretch = span / u64::from(streams) / align * align;
    if stretch >= largest {
        return Ok(());
    }
    let (size, all) = (write_bytes(largest), write_bytes(span));
    match span / largest.next_multiple_of(align) {
        // A partial slot at the end of the span belongs to no stream.
        0 => {
            let most = write_bytes(span / align * align);
            wrong("sizes", format!("{size} exceeds the whole slots of the span {all}; lower it to {most}"))
        }
        most => {
            let stretch = write_bytes(stretch);
            let why = format!(
                "{streams} streams share {all}, {stretch} each, less than a request of {size}; \
                               lower it to {most}"
            );
            wrong("streams", why)
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Sequential {
    align: u64,
    /// Size of each stream's part in bytes.
    stretch: u64,
    /// Next byte of each stream, relative to the stream's part of the span.
    cursors: Vec<u64>,
    turn: usize,
}

impl Sequential {
    pub fn new(streams: u32, space: Space) -> Self {
        let Space { align, span, .. } = space;
        let stretch = span / u64::from(streams) / align * align;
        Self { align, stretch, cursors: vec![0; streams as usize], turn: 0 }
    }

    pub fn streams(&self) -> usize {
        self.cursors.len()
    }

    pub fn next(&mut self, bytes: u32) -> RequestTarget {
        let index = self.turn;
        self.turn = (index + 1) % self.cursors.len();
        let cursor = &mut self.cursors[index];
        if *cursor + u64::from(bytes) > self.stretch {
            *cursor = 0;
        }
        let offset = index as u64 * self.stretch + *cursor;
        *cursor += u64::from(bytes).next_multiple_of(self.align);
        RequestTarget { offset, bytes, stream: index as u16 + 1 }
    }
}
