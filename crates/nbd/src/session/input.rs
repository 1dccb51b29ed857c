//! Received bytes that no message has consumed.

use crate::buffer::{FIRST, KEPT};

/// A buffer that grows with what arrives, not with what a client announces.
pub(super) struct Input {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Length of the message at `start`, as far as it is known.
    wanted: usize,
    /// Bytes still to come that nobody wants.
    unwanted: u64,
}

impl Default for Input {
    fn default() -> Self {
        Self { buffer: vec![0; FIRST], start: 0, end: 0, wanted: 0, unwanted: 0 }
    }
}

impl Input {
    /// What was received and not consumed.
    pub fn filled(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// The first `bytes` of it are done with.
    pub fn consume(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.end - self.start);
        self.start += bytes;
    }

    /// Drops the next `bytes`, also those that are still to come.
    pub fn discard(&mut self, bytes: u64) {
        let now = bytes.min((self.end - self.start) as u64);
        self.consume(now as usize);
        self.unwanted = bytes - now;
    }

    /// The message at the start has so many bytes.
    pub fn want(&mut self, bytes: usize) {
        self.wanted = bytes;
    }

    /// Memory that it takes.
    pub fn memory(&self) -> usize {
        self.buffer.len()
    }

    /// Gives back the memory of a long message that was consumed.
    pub fn shrink(&mut self) {
        let filled = self.filled();
        if self.buffer.len() > KEPT && filled.len() <= FIRST {
            let mut buffer = vec![0; FIRST];
            buffer[..filled.len()].copy_from_slice(filled);
            (self.start, self.end) = (0, filled.len());
            self.buffer = buffer;
        }
    }

    /// Where to put received bytes: the rest of the message, or a few messages.
    pub fn space(&mut self) -> &mut [u8] {
        if self.wanted <= FIRST {
            self.shrink();
        }
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.start + self.wanted > self.buffer.len() || self.end == self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let room = self.buffer.len();
        if self.end == room {
            self.buffer.resize((2 * room).min(room.max(self.wanted) + FIRST), 0);
        }
        // Behind a long message comes no more than `shrink` can keep.
        let most = self.wanted.saturating_sub(self.end - self.start).max(FIRST);
        let end = self.buffer.len().min(self.end + most);
        &mut self.buffer[self.end..end]
    }

    pub fn received(&mut self, bytes: usize) {
        self.end += bytes;
        let unwanted = self.unwanted;
        if unwanted > 0 {
            self.discard(unwanted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_takes_hardly_more_than_its_length() {
        const LENGTH: usize = (32 << 20) + 28;
        let mut input = Input::default();
        let mut rest = LENGTH;
        while rest > 0 {
            input.want(LENGTH);
            let bytes = input.space().len().min(rest);
            input.received(bytes);
            rest -= bytes;
        }
        assert_eq!(input.filled().len(), LENGTH);
        assert!(input.buffer.len() <= LENGTH + FIRST);
        input.consume(LENGTH);
        input.want(28);
        assert_eq!((input.space().len(), input.memory()), (FIRST, FIRST));
    }
}
