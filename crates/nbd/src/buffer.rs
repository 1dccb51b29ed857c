//! Bytes on their way out. Unlike a `Vec` it keeps what it once cleared, so that room for a read costs no second pass.

/// Its size at first, and again after it grew beyond [`KEPT`].
pub const FIRST: usize = 256 << 10;

/// Memory that an emptied buffer keeps: enough for messages of 1 MiB.
pub const KEPT: usize = 6 * FIRST;

/// Bytes that are appended, sent and cleared.
#[derive(Debug)]
pub struct Buffer {
    /// Longer than what is used.
    bytes: Vec<u8>,
    used: usize,
}

impl Default for Buffer {
    fn default() -> Self {
        Self { bytes: vec![0; FIRST], used: 0 }
    }
}

impl Buffer {
    /// What was appended.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.used]
    }

    /// Memory that it takes.
    pub fn capacity(&self) -> usize {
        self.bytes.len()
    }

    /// How much was appended.
    pub fn len(&self) -> usize {
        self.used
    }

    /// Whether nothing was.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Appends `data`.
    #[inline]
    pub fn extend(&mut self, data: &[u8]) {
        self.grow(data.len()).copy_from_slice(data);
    }

    /// Appends so many bytes of any value, to be overwritten.
    #[inline]
    pub fn grow(&mut self, bytes: usize) -> &mut [u8] {
        let start = self.used;
        self.used += bytes;
        if self.used > self.bytes.len() {
            // Many clients may leave a long read unread, and twice its room would be held for each.
            let room = if self.used > KEPT { self.used } else { self.used.next_power_of_two().min(KEPT) };
            self.bytes.resize(room, 0);
        }
        &mut self.bytes[start..self.used]
    }

    /// The bytes from `start`.
    pub fn tail(&self, start: usize) -> &[u8] {
        &self.as_slice()[start..]
    }

    /// Forgets the bytes from `bytes` on.
    pub fn truncate(&mut self, bytes: usize) {
        self.used = self.used.min(bytes);
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.used = 0;
        if self.bytes.len() > KEPT {
            self.bytes = vec![0; FIRST];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_returns_what_was_appended_and_gives_back_large_memory() {
        let mut buffer = Buffer::default();
        buffer.extend(b"ab");
        buffer.grow(3).copy_from_slice(b"cde");
        assert_eq!((buffer.as_slice(), buffer.tail(2)), (&b"abcde"[..], &b"cde"[..]));
        buffer.truncate(1);
        assert_eq!((buffer.as_slice(), buffer.len()), (&b"a"[..], 1));
        buffer.grow(KEPT);
        assert_eq!(buffer.bytes.len(), KEPT + 1);
        buffer.clear();
        assert_eq!((buffer.is_empty(), buffer.bytes.len()), (true, FIRST));
    }
}
