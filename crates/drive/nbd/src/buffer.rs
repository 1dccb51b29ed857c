//! Output buffer of a connection. Unlike a `Vec`, it does not zero reused memory again, so reserving space for a read
//! takes no time.

/// Initial size of a buffer in bytes, and the size after clearing a buffer larger than [`KEPT`].
pub const FIRST: usize = 256 << 10;

/// Maximum memory that a cleared buffer keeps; enough for messages of 1 MiB.
pub const KEPT: usize = 6 * FIRST;

/// Buffer of bytes to be sent.
pub struct Buffer {
    /// Allocated memory; the first `used` bytes are valid.
    bytes: Vec<u8>,
    used: usize,
}

impl Default for Buffer {
    fn default() -> Self {
        Self { bytes: vec![0; FIRST], used: 0 }
    }
}

impl Buffer {
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.used]
    }

    pub fn capacity(&self) -> usize {
        self.bytes.len()
    }

    pub fn len(&self) -> usize {
        self.used
    }

    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    #[inline]
    pub fn extend(&mut self, data: &[u8]) {
        self.grow(data.len()).copy_from_slice(data);
    }

    /// Appends `bytes` bytes of unspecified value and returns them, so that the caller can overwrite them.
    #[inline]
    pub fn grow(&mut self, bytes: usize) -> &mut [u8] {
        let start = self.used;
        self.used += bytes;
        if self.used > self.bytes.len() {
            // Does not double the buffer for long reads, because many clients may be slow to receive a long reply at
            // the same time.
            let room = if self.used > KEPT { self.used } else { self.used.next_power_of_two().min(KEPT) };
            self.bytes.resize(room, 0);
        }
        &mut self.bytes[start..self.used]
    }

    pub fn truncate(&mut self, bytes: usize) {
        self.used = self.used.min(bytes);
    }

    /// Removes all bytes; replaces a buffer larger than [`KEPT`] with a small one.
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
    fn a_buffer_returns_its_bytes_and_frees_large_memory() {
        let mut buffer = Buffer::default();
        buffer.extend(b"ab");
        buffer.grow(3).copy_from_slice(b"cde");
        assert_eq!(buffer.as_slice(), b"abcde");
        buffer.truncate(1);
        assert_eq!((buffer.as_slice(), buffer.len()), (&b"a"[..], 1));
        buffer.grow(KEPT);
        assert_eq!(buffer.bytes.len(), KEPT + 1);
        buffer.clear();
        assert_eq!((buffer.is_empty(), buffer.bytes.len()), (true, FIRST));
    }
}
