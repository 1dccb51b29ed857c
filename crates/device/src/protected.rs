//! Where a write buffer with power-loss protection keeps its pages: RAM that capacitors feed, a journal beside the
//! flash.
//!
//! ```text
//! 0      head, 4 KiB: head: checksum, generation, where its journal begins, where it ends at the latest
//! then   two journals by turns, a mark behind each; a record: checksum, sequence number, page, kind, parts written |
//!        these | the page
//! ```
//! Whatever the buffer takes is a record before it is acknowledged, and so is a trim of a page that has one. Checksums
//! are seeded with generation and place, so that a journal ends where a record is not whole. When one is long, what
//! waits is written to the other, whose head comes last; then the older head is wiped out. One wrong bit of a head is
//! put right.
//!
//! A head without a journal names the generation of one that is being begun: if that is interrupted, what was written
//! is no record of the next one, which may lie in the same place.
//!
//! A page written in part belongs to the version that the flash held then. If a computer that lost its power has kept
//! another, both the part and what came between were not flushed: the part is dropped, and a record before it counts.
//!
//! What the flash has got since is not written down: a record is outdated if the flash holds a version of its page that
//! is no lower than the sequence number which the drive had come to then, or if the page was trimmed since. The next
//! mount programs and trims what is not, whatever buffer the drive has by then: as if the capacitors had lasted for
//! that.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;

use ssdlab_ftl::WriteContext;
use twox_hash::XxHash3_64;

use crate::backend::{Backend, Fault, Slot};
use crate::bits::put_right;
use crate::buffer::Held;

const HEAD_BYTES: usize = 32;
type Head = [u8; HEAD_BYTES];
const HEAD_EVERY: u64 = 4 << 10;
const FIRST_JOURNAL: u64 = 2 * HEAD_EVERY;
/// Of a record, before parts and page.
const RECORD_BYTES: usize = 40;
const PART_BYTES: usize = 8;

/// Lies behind a journal from its beginning: what was cut off reads as zeros.
const MARK: [u8; 1] = [0xFF];

/// What a record is of.
const TRIM: u32 = 0;
const PART: u32 = 1;
const WHOLE: u32 = 2;

/// Of a page that is not on the flash.
const NO_VERSION: u64 = u64::MAX;

/// The journal that is written now.
#[derive(Debug)]
pub(crate) struct Ram {
    /// Where its head is.
    head: u64,
    generation: u64,
    begin: u64,
    end: u64,
    at: u64,
    /// Where it is long enough.
    long_at: u64,
    /// Whether no other head names a journal.
    pub is_alone: bool,
    /// Pages with a record, the latest of which is no trim.
    named: BTreeSet<u32>,
}

/// What a journal says of a page.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// The sequence number of a trim.
    pub trimmed: Option<u64>,
    /// The sequence number of a trim that the log tells of, since its checkpoint.
    pub logged_trim: Option<u64>,
    /// What was written since, record by record with their sequence numbers.
    pub pages: Vec<(u64, Held)>,
}

/// A journal, and what it says of each page.
pub(crate) type Loaded = (Ram, BTreeMap<u32, Kept>);

/// Above every sequence number and version that a journal names. If one were given again, a part of a page would be
/// taken for one of another copy.
pub(crate) fn above(kept: &BTreeMap<u32, Kept>) -> u64 {
    let named = kept.values().flat_map(|kept| {
        let pages = kept.pages.iter().flat_map(|(sequence, held)| [Some(*sequence), held.base]);
        pages.chain([kept.trimmed]).flatten()
    });
    named.max().map_or(0, |number| number + 1)
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// Numbers, and the checksum of all in the first eight bytes.
fn sealed(mut bytes: Vec<u8>, seed: u64) -> Vec<u8> {
    let checksum = XxHash3_64::oneshot_with_seed(seed, &bytes[8..]);
    bytes[..8].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

fn is_whole(bytes: &[u8], seed: u64) -> bool {
    long(bytes, 0) == XxHash3_64::oneshot_with_seed(seed, &bytes[8..])
}

fn read_head(backend: &impl Backend, at: u64) -> Result<Head, Fault> {
    let mut head = [0; HEAD_BYTES];
    backend.read_log(Slot::Ram, at, &mut head)?;
    Ok(head)
}

/// A head, though one of its bits is wrong.
fn sound(head: &Head) -> Option<Head> {
    put_right(head, |head| is_whole(head, 0))
}

fn lost(part: &str) -> Fault {
    let missing = format!("the {part} of what the write buffer held is missing; restore the drive from a copy");
    io::Error::new(io::ErrorKind::UnexpectedEof, missing).into()
}

/// Writes the head of a journal with these bounds, or without one.
fn write_head(backend: &mut impl Backend, at: u64, generation: u64, journal: Range<u64>) -> Result<(), Fault> {
    let head = [0, generation, journal.start, journal.end].map(u64::to_le_bytes).concat();
    backend.write_log(Slot::Ram, at, &sealed(head, 0))
}

/// A record of what the buffer holds of a page, or of a trim.
fn record(lpn: u32, sequence: u64, held: Option<&Held>) -> Vec<u8> {
    let (written, page) = held.map_or((&[][..], &[][..]), |held| (&held.written[..], &held.page[..]));
    let kind = held.map_or(TRIM, |held| if held.whole { WHOLE } else { PART });
    let base = held.and_then(|held| held.base).unwrap_or(NO_VERSION);
    let mut bytes = [0, sequence, base].map(u64::to_le_bytes).concat();
    for number in [lpn, kind, written.len() as u32, page.len() as u32] {
        bytes.extend(number.to_le_bytes());
    }
    for Range { start, end } in written {
        bytes.extend((*start as u32).to_le_bytes());
        bytes.extend((*end as u32).to_le_bytes());
    }
    bytes.extend(page);
    bytes
}

impl Ram {
    /// Begins a journal with what waits in a buffer of so many pages; everything done before is safe then.
    pub fn begin<'a>(
        backend: &mut impl Backend,
        before: Option<&Self>,
        pages: u32,
        sequence: u64,
        waiting: impl Iterator<Item = (u32, &'a Held)>,
    ) -> Result<Self, Fault> {
        let page_bytes = u64::from(backend.geometry().page_bytes);
        // A page in many parts takes five times its bytes at most.
        let buffer_bytes = (u64::from(pages) + 8) * (page_bytes + 128);
        let length = 16 * buffer_bytes;
        let begin = match before {
            Some(before) if FIRST_JOURNAL + length >= before.begin => before.end + 1,
            _ => FIRST_JOURNAL,
        };
        let head = before.map_or(0, |before| HEAD_EVERY - before.head);
        // Heads count here though they cannot be put right: whatever was begun with a generation, it wrote that first.
        let generation_at = |at| read_head(backend, at).map(|head| long(&sound(&head).unwrap_or(head), 8));
        let generation = generation_at(0)?.max(generation_at(HEAD_EVERY)?).wrapping_add(1);
        // The head that was found may not be safe yet, and the older one is written over.
        backend.sync()?;
        write_head(backend, head, generation, 0..0)?;
        backend.sync()?;
        let end = begin + length;
        let (at, named) = (begin, BTreeSet::new());
        let mut ram = Self { head, generation, begin, end, at, long_at: 0, is_alone: true, named };
        for (lpn, held) in waiting {
            ram.keep(backend, lpn, sequence, held)?;
        }
        ram.long_at = ram.at + 4 * buffer_bytes;
        backend.write_log(Slot::Ram, ram.end, &MARK)?;
        backend.sync()?;
        write_head(backend, head, generation, begin..end)?;
        backend.sync()?;
        write_head(backend, HEAD_EVERY - head, generation, 0..0)?;
        Ok(ram)
    }

    /// The newest journal, and what it says of each page; nothing if there never was one.
    pub fn load(backend: &impl Backend) -> Result<Option<Loaded>, Fault> {
        let mut newest: Option<Self> = None;
        let heads = [(0, read_head(backend, 0)?), (HEAD_EVERY, read_head(backend, HEAD_EVERY)?)];
        for (at, bytes) in heads {
            let Some(bytes) = sound(&bytes) else { continue };
            let [generation, begin, end] = [8, 16, 24].map(|at| long(&bytes, at));
            if end == 0 {
                continue;
            }
            let is_alone = newest.is_none();
            if newest.as_ref().is_none_or(|newest| newest.generation < generation) {
                let (head, named) = (at, BTreeSet::new());
                newest = Some(Self { head, generation, begin, end, at: begin, long_at: end, is_alone, named });
            } else if let Some(newest) = &mut newest {
                newest.is_alone = false;
            }
        }
        let Some(mut ram) = newest else {
            // Only the first journal of all is begun while the other head is blank, perhaps but for a wrong bit.
            let is_blank = |head: &Head| head.iter().map(|byte| byte.count_ones()).sum::<u32>() <= 1;
            if !heads.iter().any(|(_, head)| is_blank(head)) {
                return Err(lost("beginning"));
            }
            return Ok(None);
        };
        let mut mark = [0];
        backend.read_log(Slot::Ram, ram.end, &mut mark)?;
        if mark == [0] {
            return Err(lost("end"));
        }
        let mut kept: BTreeMap<u32, Kept> = BTreeMap::new();
        while let Some((lpn, sequence, held)) = ram.next(backend)? {
            let kept = kept.entry(lpn).or_default();
            match held {
                Some(held) => kept.pages.push((sequence, held)),
                None => *kept = Kept { trimmed: Some(sequence), ..Kept::default() },
            }
        }
        Ok(Some((ram, kept)))
    }

    /// Keeps a page as the buffer has it now; the drive has come to this sequence number.
    pub fn keep(&mut self, backend: &mut impl Backend, lpn: u32, sequence: u64, held: &Held) -> Result<(), Fault> {
        self.append(backend, record(lpn, sequence, Some(held)))?;
        self.named.insert(lpn);
        Ok(())
    }

    /// Says of those of these pages that have a record that they are trimmed.
    pub fn trim(&mut self, backend: &mut impl Backend, lpns: Range<u32>, sequence: u64) -> Result<(), Fault> {
        let named: Vec<u32> = self.named.range(lpns).copied().collect();
        for lpn in named {
            self.append(backend, record(lpn, sequence, None))?;
            self.named.remove(&lpn);
        }
        Ok(())
    }

    /// Whether it is time to begin another.
    pub fn is_long(&self) -> bool {
        self.at >= self.long_at
    }

    fn seed(&self) -> u64 {
        // A journal is shorter than 2^40 bytes.
        self.generation.rotate_left(40) ^ self.at
    }

    fn append(&mut self, backend: &mut impl Backend, record: Vec<u8>) -> Result<(), Fault> {
        let record = sealed(record, self.seed());
        assert!(self.at + record.len() as u64 <= self.end, "a journal of the buffer grew beyond its end");
        backend.write_log(Slot::Ram, self.at, &record)?;
        self.at += record.len() as u64;
        Ok(())
    }

    /// The next record, if it is whole: page, sequence number, and what was written unless it is a trim.
    fn next(&mut self, backend: &impl Backend) -> Result<Option<(u32, u64, Option<Held>)>, Fault> {
        if self.at + RECORD_BYTES as u64 > self.end {
            return Ok(None);
        }
        let mut bytes = vec![0; RECORD_BYTES];
        backend.read_log(Slot::Ram, self.at, &mut bytes)?;
        let [lpn, kind, parts, page_bytes] = [24, 28, 32, 36].map(|at| word(&bytes, at));
        let parts_end = RECORD_BYTES as u64 + u64::from(parts) * PART_BYTES as u64;
        if self.at + parts_end + u64::from(page_bytes) > self.end {
            return Ok(None);
        }
        let parts_end = parts_end as usize;
        bytes.resize(parts_end + page_bytes as usize, 0);
        backend.read_log(Slot::Ram, self.at, &mut bytes)?;
        if !is_whole(&bytes, self.seed()) {
            return Ok(None);
        }
        self.at += bytes.len() as u64;
        let part = |part: &[u8]| word(part, 0) as usize..word(part, 4) as usize;
        let held = (kind != TRIM).then(|| Held {
            context: WriteContext::default(),
            page: bytes[parts_end..].into(),
            written: bytes[RECORD_BYTES..parts_end].chunks_exact(PART_BYTES).map(part).collect(),
            whole: kind == WHOLE,
            base: Some(long(&bytes, 16)).filter(|&base| base != NO_VERSION),
            number: 0,
        });
        Ok(Some((lpn, long(&bytes, 8), held)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryBackend;
    use ssdlab_nand::{Geometry, Parallelism, ProgramOrder};

    fn held(byte: u8) -> Held {
        let context = WriteContext::default();
        Held { context, page: [byte; 64].into(), written: Vec::new(), whole: true, base: None, number: 0 }
    }

    /// Flash of 64 byte pages, and a journal on it that follows another and holds page 5.
    fn second_journal() -> (MemoryBackend, Ram) {
        let (order, parallelism) = (ProgramOrder::Ascending, Parallelism::SINGLE);
        let geometry = Geometry { page_bytes: 64, pages_per_block: 2, blocks: 3, order, parallelism };
        let mut backend = MemoryBackend::new(geometry);
        let first = Ram::begin(&mut backend, None, 4, 1, [(4, &held(4))].into_iter()).unwrap();
        let second = Ram::begin(&mut backend, Some(&first), 4, 2, [(5, &held(5))].into_iter()).unwrap();
        (backend, second)
    }

    /// Pages with a record.
    fn pages(backend: &MemoryBackend) -> Vec<u32> {
        Ram::load(backend).unwrap().unwrap().1.into_keys().collect()
    }

    /// Goal: one wrong bit of a head is put right, and with more of them no older journal is taken. Method: each bit of
    /// the newer of two heads flipped, and another one.
    #[test]
    fn no_older_journal_is_taken_for_a_damaged_one() {
        let (backend, ram) = second_journal();
        for bit in 0..8 * HEAD_BYTES {
            let mut backend = backend.clone();
            let mut head = read_head(&backend, ram.head).unwrap();
            for (bit, wrong) in [(bit, 1), ((bit + 40) % (8 * HEAD_BYTES), 2)] {
                head[bit / 8] ^= 1 << (bit % 8);
                backend.write_log(Slot::Ram, ram.head, &head).unwrap();
                match wrong {
                    1 => assert_eq!(pages(&backend), [5], "bit {bit}"),
                    _ => assert!(Ram::load(&backend).is_err(), "bit {bit} and another"),
                }
            }
        }
    }

    /// Goal: what an interrupted beginning wrote is no record of the next one, in the same place. Method: its last head
    /// is not begun, or torn.
    #[test]
    fn a_beginning_that_was_interrupted_leaves_no_record() {
        for torn in [false, true] {
            let (mut backend, second) = second_journal();
            let before = [0, HEAD_EVERY].map(|at| (at, read_head(&backend, at).unwrap()));
            let third = Ram::begin(&mut backend, Some(&second), 4, 3, [(6, &held(6))].into_iter()).unwrap();
            for (at, head) in before {
                backend.write_log(Slot::Ram, at, &head).unwrap();
            }
            // What it writes first.
            write_head(&mut backend, third.head, third.generation, 0..0).unwrap();
            if torn {
                backend.write_log(Slot::Ram, third.head + HEAD_BYTES as u64 / 2, &[7; HEAD_BYTES / 2]).unwrap();
            }
            let (before, _) = Ram::load(&backend).unwrap().unwrap();
            assert_eq!((before.generation, pages(&backend)), (second.generation, vec![5]));
            Ram::begin(&mut backend, Some(&before), 4, 3, std::iter::empty()).unwrap();
            assert_eq!(pages(&backend), [0; 0], "torn {torn}");
        }
    }
}
