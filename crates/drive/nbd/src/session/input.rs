//! Received bytes that the session has not processed yet.

use crate::buffer::{FIRST, KEPT};

/// Input buffer that grows with the bytes received, not with the length that a client announces.
pub(super) struct Input {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Length in bytes of the message at `start`, as far as it is known. The full length is known only after the header
    /// has been received.
    wanted: usize,
    /// Number of bytes to drop as soon as they are received.
    unwanted: u64,
}

impl Default for Input {
    fn default() -> Self {
        Self { buffer: vec![0; FIRST], start: 0, end: 0, wanted: 0, unwanted: 0 }
    }
}

impl Input {
    /// Returns the received bytes that were not consumed yet.
    pub fn filled(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    pub fn consume(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.end - self.start);
        self.start += bytes;
    }

    /// Drops the next `bytes` bytes of the input. Bytes that are not received yet are dropped on arrival.
    pub fn discard(&mut self, bytes: u64) {
        let now = bytes.min((self.end - self.start) as u64);
        self.consume(now as usize);
        self.unwanted = bytes - now;
    }

    /// Sets the length of the message at the start of the input.
    pub fn want(&mut self, bytes: usize) {
        self.wanted = bytes;
    }

    pub fn memory(&self) -> usize {
        self.buffer.len()
    }

    /// Frees the memory of a consumed long message.
    pub fn shrink(&mut self) {
        let filled = self.filled();
        if self.buffer.len() > KEPT && filled.len() <= FIRST {
            let mut buffer = vec![0; FIRST];
            buffer[..filled.len()].copy_from_slice(filled);
            (self.start, self.end) = (0, filled.len());
            self.buffer = buffer;
        }
    }

    /// Returns space for received bytes, limited to the rest of the current message or to a few short messages,
    /// whichever is larger.
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
        // Limits the space, so that bytes received after a long message fit in the buffer after `shrink`.
        let most = self.wanted.saturating_sub(self.end - self.start).max(FIRST);
        let end = self.buffer.len().min(self.end + most);
        &mut self.buffer[self.end..end]
    }

    /// Records that the first `bytes` bytes of the free space have been filled with received bytes.
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
    fn a_long_message_needs_little_more_than_its_length() {
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
