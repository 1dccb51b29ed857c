//! Arrays in the file of a saved drive, stored in their memory layout, with a checksum for each chunk. Arrays are read
//! and checked in parallel on all processors.

use std::fs::File;
use std::io::{self, Write};
use std::num::NonZero;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;
use std::thread;

use twox_hash::XxHash3_64;

use super::frames::damaged;

/// Alignment of arrays in the file, so that they can be mapped into memory.
pub(super) const PAGE_BYTES: usize = 4 << 10;
/// Number of bytes per checksum. A chunk of this size fits the cache of a processor core.
const CHUNK_BYTES: usize = 256 << 10;
/// Number of consecutive chunks that a thread takes at once, so that threads rarely work in the same huge page.
const CHUNKS_AT_ONCE: usize = 64;

/// Returns the checksum of a chunk, seeded with its offset, so that swapped chunks are detected.
fn checksum(offset: u64, chunk: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(offset, chunk)
}

/// Writes an array to the file at `offset`, padded with zeros to the end of its last page. Returns the checksums of its
/// chunks.
pub(super) fn write(to: &mut File, offset: u64, bytes: &[u8]) -> io::Result<Vec<u64>> {
    let mut checksums = Vec::with_capacity(bytes.len().div_ceil(CHUNK_BYTES));
    for (offset, chunk) in (offset..).step_by(CHUNK_BYTES).zip(bytes.chunks(CHUNK_BYTES)) {
        checksums.push(checksum(offset, chunk));
        to.write_all(chunk)?;
    }
    to.write_all(&[0; PAGE_BYTES][..padding(bytes.len())])?;
    Ok(checksums)
}

fn padding(bytes: usize) -> usize {
    bytes.next_multiple_of(PAGE_BYTES) - bytes
}

/// Reads an array from the file and checks it.
///
/// # Errors
/// Fails if the array cannot be read, or differs from the array that was written.
pub(super) fn read(from: &File, offset: u64, bytes: &mut [u8], checksums: &[u64]) -> io::Result<()> {
    check_ends(from, offset, bytes.len(), checksums)?;
    let at_once = bytes.chunks_mut(CHUNK_BYTES * CHUNKS_AT_ONCE).zip(checksums.chunks(CHUNKS_AT_ONCE));
    let offsets = (offset..).step_by(CHUNK_BYTES * CHUNKS_AT_ONCE);
    in_parallel(offsets.zip(at_once).collect(), |(offset, (bytes, checksums))| {
        let chunks = bytes.chunks_mut(CHUNK_BYTES).zip(checksums);
        (offset..)
            .step_by(CHUNK_BYTES)
            .zip(chunks)
            .try_for_each(|(offset, (chunk, &sum))| read_chunk(from, offset, chunk, sum))
    })
}

/// Checks an array in the file without keeping its contents.
///
/// # Errors
/// See [`read`] for the errors.
pub(super) fn check(from: &File, offset: u64, bytes: usize, checksums: &[u64]) -> io::Result<()> {
    check_ends(from, offset, bytes, checksums)?;
    let at_once = (0..).step_by(CHUNKS_AT_ONCE).zip(checksums.chunks(CHUNKS_AT_ONCE));
    in_parallel(at_once.collect(), |(first, checksums): (usize, _)| {
        let mut buffer = vec![0; CHUNK_BYTES];
        (first..).zip(checksums).try_for_each(|(number, &sum)| {
            let begin = number * CHUNK_BYTES;
            let chunk = &mut buffer[..CHUNK_BYTES.min(bytes - begin)];
            read_chunk(from, offset + begin as u64, chunk, sum)
        })
    })
}

fn read_chunk(from: &File, offset: u64, chunk: &mut [u8], sum: u64) -> io::Result<()> {
    from.read_exact_at(chunk, offset)?;
    if checksum(offset, chunk) == sum { Ok(()) } else { Err(damaged()) }
}

/// Checks the number of checksums of an array, and the zero padding after the array.
fn check_ends(from: &File, offset: u64, bytes: usize, checksums: &[u64]) -> io::Result<()> {
    let mut zeros = [0; PAGE_BYTES];
    let zeros = &mut zeros[..padding(bytes)];
    from.read_exact_at(zeros, offset + bytes as u64)?;
    let whole = checksums.len() == bytes.div_ceil(CHUNK_BYTES) && zeros.iter().all(|&byte| byte == 0);
    if whole { Ok(()) } else { Err(damaged()) }
}

/// Runs `work` for all pieces in parallel, on all processors. Returns an error if `work` failed for any piece.
fn in_parallel<T: Send>(pieces: Vec<T>, work: impl Fn(T) -> io::Result<()> + Sync) -> io::Result<()> {
    let others = thread::available_parallelism().map_or(1, NonZero::get).min(pieces.len()).saturating_sub(1);
    let queue = Mutex::new(pieces.into_iter());
    let next = || queue.lock().expect("no thread panics while it holds the lock").next();
    let all = || {
        while let Some(piece) = next() {
            work(piece)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        // All threads take pieces from the same queue, so all work is done even if the system starts fewer threads than
        // requested.
        let threads = (0..others).filter_map(|_| thread::Builder::new().spawn_scoped(scope, all).ok());
        let threads: Vec<_> = threads.collect();
        let own = all();
        threads.into_iter().map(|thread| thread.join().expect("no worker thread panics")).fold(own, Result::and)
    })
}

#[cfg(test)]
mod tests {
    use std::env::temp_dir;
    use std::fs::{self, OpenOptions};
    use std::path::PathBuf;
    use std::process;

    use ssdlab_core::Rng;

    use super::*;

    /// A file with an array after its first page.
    struct Saved {
        path: PathBuf,
        file: File,
        checksums: Vec<u64>,
    }

    impl Saved {
        fn new(name: &str, bytes: &[u8]) -> Self {
            let path = temp_dir().join(format!("ssdlab-{name}.{}", process::id()));
            let opened = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path);
            let mut file = opened.expect("a file can be written");
            file.write_all(&[0; PAGE_BYTES]).expect("there is room");
            let checksums = write(&mut file, PAGE_BYTES as u64, bytes).expect("there is room");
            Self { path, file, checksums }
        }

        /// Reads the array with both `read` and `check`, which must agree; `None` if the array is damaged.
        fn read(&self, bytes: usize) -> Option<Vec<u8>> {
            let mut array = vec![0; bytes];
            let read = read(&self.file, PAGE_BYTES as u64, &mut array, &self.checksums);
            let checked = check(&self.file, PAGE_BYTES as u64, bytes, &self.checksums);
            assert_eq!(read.is_ok(), checked.is_ok());
            read.is_ok().then_some(array)
        }

        fn change(&self, offset: usize, bytes: &[u8]) {
            self.file.write_all_at(bytes, offset as u64).expect("writable");
        }
    }

    impl Drop for Saved {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.path);
        }
    }

    #[test]
    fn arrays_are_read_as_written() {
        let mut rng = Rng::named(1, "arrays");
        let piece = CHUNK_BYTES * CHUNKS_AT_ONCE;
        for length in [0, 1, PAGE_BYTES, CHUNK_BYTES - 1, CHUNK_BYTES + 1, piece, 2 * piece + 5] {
            let bytes: Vec<u8> =
                (0..length.div_ceil(8)).flat_map(|_| rng.next_u64().to_le_bytes()).take(length).collect();
            let saved = Saved::new("written", &bytes);
            assert_eq!(saved.read(length), Some(bytes), "{length} bytes");
            let end = saved.file.metadata().expect("it is there").len();
            assert_eq!(end, (PAGE_BYTES + length.next_multiple_of(PAGE_BYTES)) as u64);
        }
    }

    /// Goal: all damage is detected. Method: reads an array after flipping bits in it or in the zeros after it, cutting
    /// off its end, swapping chunks, or leaving out checksums.
    #[test]
    fn damage_is_an_error() {
        let mut saved = Saved::new("damaged", &[7; 100]);
        for bit in (0..8 * PAGE_BYTES).filter(|bit| *bit < 1_000 || bit % 61 == 0) {
            let (at, flipped) = (bit / 8, 1 << (bit % 8));
            let was = if at < 100 { 7 } else { 0 };
            saved.change(PAGE_BYTES + at, &[was ^ flipped]);
            assert_eq!(saved.read(100), None, "bit {bit}");
            saved.change(PAGE_BYTES + at, &[was]);
        }
        assert!(saved.read(100).is_some());
        saved.checksums.push(0);
        assert_eq!(saved.read(100), None, "a checksum too many");
        saved.checksums.clear();
        assert_eq!(saved.read(100), None, "no checksum");
        let (first, second) = ([1; CHUNK_BYTES], [2; CHUNK_BYTES]);
        let saved = Saved::new("swapped", &[first, second].concat());
        saved.change(PAGE_BYTES, &[second, first].concat());
        assert_eq!(saved.read(2 * CHUNK_BYTES), None);
        saved.change(PAGE_BYTES, &[first, second].concat());
        saved.file.set_len((PAGE_BYTES + 2 * CHUNK_BYTES - 1) as u64).expect("writable");
        assert_eq!(saved.read(2 * CHUNK_BYTES), None);
    }
}
