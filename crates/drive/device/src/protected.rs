//! Journal of a write buffer with power-loss protection, stored next to the flash.
//!
//! ```text
//! 0      two heads, 4 KiB each: checksum, generation, start and maximum end of the head's journal
//! then   two journals in turn, each followed by a mark; a record: checksum, sequence number, version, page, kind,
//!        parts | parts written | the page
//! ```
//! Each page that the buffer accepts, and each trim of a recorded page, is recorded before it is acknowledged.
//! Checksums are seeded with generation and position, so that a journal ends at the first incomplete record. When a
//! journal is long, the waiting pages are written to a second journal, and its head is written last. Then the head of
//! the first journal is wiped. A single wrong bit of a head is corrected.
//!
//! While a journal is being started, a head that refers to no journal contains the generation number of the new
//! journal. If the start is interrupted, this number is not reused. So a later journal at the same offset does not
//! accept the records of the interrupted one.
//!
//! The record of a partly written page applies to the version of the page that is on flash at that time. After a power
//! loss of the computer, the flash may have another version. In that case, neither the partial write nor the writes
//! before it were flushed. The partial write is then dropped, and an earlier record is used.
//!
//! Programs are not recorded. A record is outdated if the version of its page on flash is at or above the recorded
//! sequence number, or if the page was trimmed since. The next mount programs the pages of all records that are not
//! outdated, even if the drive then has another buffer.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;

use ssdlab_ftl::WriteContext;
use twox_hash::XxHash3_64;

use crate::backend::{Backend, Fault, Slot};
use crate::bits::{corrected, u32_at, u64_at};
use crate::buffer::BufferedPage;

const HEAD_BYTES: usize = 32;
type Head = [u8; HEAD_BYTES];
const HEAD_EVERY: u64 = 4 << 10;
const FIRST_JOURNAL: u64 = 2 * HEAD_EVERY;
/// Length in bytes of a record's header, which precedes the written ranges and the page data.
const RECORD_BYTES: usize = 40;
const PART_BYTES: usize = 8;

/// Mark at the end of a buffer journal, written when the journal starts. If the mark is missing, the file was
/// truncated.
const MARK: [u8; 1] = [0xFF];

const TRIM: u32 = 0;
const PART: u32 = 1;
const WHOLE: u32 = 2;

/// Version of a page that has no copy on the flash.
const NO_VERSION: u64 = u64::MAX;

#[derive(Debug)]
pub(crate) struct BufferJournal {
    head: u64,
    generation: u64,
    begin: u64,
    end: u64,
    at: u64,
    /// Position in the journal beyond which a new journal should be started.
    long_at: u64,
    /// True if this is the only journal: the other head refers to no journal.
    pub is_alone: bool,
    /// Pages whose latest record in the journal is not a trim.
    named: BTreeSet<u32>,
}

/// Records of one page in a buffer journal.
#[derive(Debug, Default)]
pub(crate) struct PageRecords {
    /// Sequence number of the latest trim of the page in the buffer journal.
    pub trimmed: Option<u64>,
    /// Sequence number of the latest trim of this page that is recorded in the log after the log's last checkpoint.
    pub logged_trim: Option<u64>,
    /// Recorded writes of the page, oldest first, each with its sequence number.
    pub pages: Vec<(u64, BufferedPage)>,
}

/// A buffer journal, and its records keyed by page.
pub(crate) type Loaded = (BufferJournal, BTreeMap<u32, PageRecords>);

/// Returns a sequence number above all sequence numbers and versions in a journal. If the drive reused one of those
/// numbers, a partial write in the journal could be applied to the wrong copy of its page.
pub(crate) fn above(kept: &BTreeMap<u32, PageRecords>) -> u64 {
    let named = kept.values().flat_map(|kept| {
        let pages = kept.pages.iter().flat_map(|(sequence, held)| [Some(*sequence), held.base]);
        pages.chain([kept.trimmed]).flatten()
    });
    named.max().map_or(0, |number| number + 1)
}

/// Overwrites the first eight bytes with the checksum of the bytes that follow them.
fn sealed(mut bytes: Vec<u8>, seed: u64) -> Vec<u8> {
    let checksum = XxHash3_64::oneshot_with_seed(seed, &bytes[8..]);
    bytes[..8].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

fn is_whole(bytes: &[u8], seed: u64) -> bool {
    u64_at(bytes, 0) == XxHash3_64::oneshot_with_seed(seed, &bytes[8..])
}

fn read_head(backend: &impl Backend, at: u64) -> Result<Head, Fault> {
    let mut head = [0; HEAD_BYTES];
    backend.read_log(Slot::BufferJournal, at, &mut head)?;
    Ok(head)
}

/// Returns a journal head with a single wrong bit corrected.
fn sound(head: &Head) -> Option<Head> {
    corrected(head, |head| is_whole(head, 0))
}

fn lost(part: &str) -> Fault {
    let missing = format!("the {part} of the write buffer's journal is missing; restore the drive from a backup");
    io::Error::new(io::ErrorKind::UnexpectedEof, missing).into()
}

/// Writes the head of a journal that occupies the range `journal`; an empty range means no journal.
fn write_head(backend: &mut impl Backend, at: u64, generation: u64, journal: Range<u64>) -> Result<(), Fault> {
    let head = [0, generation, journal.start, journal.end].map(u64::to_le_bytes).concat();
    backend.write_log(Slot::BufferJournal, at, &sealed(head, 0))
}

/// Encodes a record of a page in the buffer, or of a trim.
fn record(lpn: u32, sequence: u64, held: Option<&BufferedPage>) -> Vec<u8> {
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

impl BufferJournal {
    /// Starts a journal with the waiting pages of a buffer of `pages` pages. All earlier operations are safe
    /// afterwards.
    pub fn begin<'a>(
        backend: &mut impl Backend,
        before: Option<&Self>,
        pages: u32,
        sequence: u64,
        waiting: impl Iterator<Item = (u32, &'a BufferedPage)>,
    ) -> Result<Self, Fault> {
        let page_bytes = u64::from(backend.geometry().page_bytes);
        // Even for a page written in many small parts, the record is at most five times as long as the page.
        let buffer_bytes = (u64::from(pages) + 8) * (page_bytes + 128);
        let length = 16 * buffer_bytes;
        let begin = match before {
            Some(before) if FIRST_JOURNAL + length >= before.begin => before.end + 1,
            _ => FIRST_JOURNAL,
        };
        let head = before.map_or(0, |before| HEAD_EVERY - before.head);
        // The generation number of a damaged head must not be reused either. The start of a journal first writes a head
        // with the new number.
        let generation_at = |at| read_head(backend, at).map(|head| u64_at(&sound(&head).unwrap_or(head), 8));
        let generation = generation_at(0)?.max(generation_at(HEAD_EVERY)?).wrapping_add(1);
        // Syncs the backend first. The head that was loaded may not be safe yet, and the next write overwrites the
        // older of the two heads.
        backend.sync()?;
        write_head(backend, head, generation, 0..0)?;
        backend.sync()?;
        let end = begin + length;
        let (at, named) = (begin, BTreeSet::new());
        let mut journal = Self { head, generation, begin, end, at, long_at: 0, is_alone: true, named };
        for (lpn, held) in waiting {
            journal.keep(backend, lpn, sequence, held)?;
        }
        journal.long_at = journal.at + 4 * buffer_bytes;
        backend.write_log(Slot::BufferJournal, journal.end, &MARK)?;
        backend.sync()?;
        write_head(backend, head, generation, begin..end)?;
        backend.sync()?;
        write_head(backend, HEAD_EVERY - head, generation, 0..0)?;
        Ok(journal)
    }

    /// Loads the newest journal and its records; None if there never was a journal.
    pub fn load(backend: &impl Backend) -> Result<Option<Loaded>, Fault> {
        let mut newest: Option<Self> = None;
        let heads = [(0, read_head(backend, 0)?), (HEAD_EVERY, read_head(backend, HEAD_EVERY)?)];
        for (at, bytes) in heads {
            let Some(bytes) = sound(&bytes) else { continue };
            let [generation, begin, end] = [8, 16, 24].map(|at| u64_at(&bytes, at));
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
        let Some(mut journal) = newest else {
            // A head without content (apart from at most one wrong bit) exists only until the first journal is
            // complete.
            let is_blank = |head: &Head| head.iter().map(|byte| byte.count_ones()).sum::<u32>() <= 1;
            if !heads.iter().any(|(_, head)| is_blank(head)) {
                return Err(lost("beginning"));
            }
            return Ok(None);
        };
        let mut mark = [0];
        backend.read_log(Slot::BufferJournal, journal.end, &mut mark)?;
        if mark == [0] {
            return Err(lost("end"));
        }
        let mut kept: BTreeMap<u32, PageRecords> = BTreeMap::new();
        while let Some((lpn, sequence, held)) = journal.next(backend)? {
            let kept = kept.entry(lpn).or_default();
            match held {
                Some(held) => kept.pages.push((sequence, held)),
                None => *kept = PageRecords { trimmed: Some(sequence), ..PageRecords::default() },
            }
        }
        Ok(Some((journal, kept)))
    }

    /// Records the current contents of a page in the buffer. `sequence` is the drive's current sequence number.
    pub fn keep(
        &mut self,
        backend: &mut impl Backend,
        lpn: u32,
        sequence: u64,
        held: &BufferedPage,
    ) -> Result<(), Fault> {
        self.append(backend, record(lpn, sequence, Some(held)))?;
        self.named.insert(lpn);
        Ok(())
    }

    /// Records a trim of the pages in `lpns` whose latest record in the journal is a write.
    pub fn trim(&mut self, backend: &mut impl Backend, lpns: Range<u32>, sequence: u64) -> Result<(), Fault> {
        let named: Vec<u32> = self.named.range(lpns).copied().collect();
        for lpn in named {
            self.append(backend, record(lpn, sequence, None))?;
            self.named.remove(&lpn);
        }
        Ok(())
    }

    /// True if this journal is so long that a new one should replace it.
    pub fn is_long(&self) -> bool {
        self.at >= self.long_at
    }

    fn seed(&self) -> u64 {
        // The bits of the generation number and of the position do not overlap, because a journal is shorter than 2^40
        // bytes.
        self.generation.rotate_left(40) ^ self.at
    }

    fn append(&mut self, backend: &mut impl Backend, record: Vec<u8>) -> Result<(), Fault> {
        let record = sealed(record, self.seed());
        assert!(self.at + record.len() as u64 <= self.end, "a buffer journal exceeds its region");
        backend.write_log(Slot::BufferJournal, self.at, &record)?;
        self.at += record.len() as u64;
        Ok(())
    }

    /// Reads the next complete record of the journal: page, sequence number, and the contents unless it is a trim.
    fn next(&mut self, backend: &impl Backend) -> Result<Option<(u32, u64, Option<BufferedPage>)>, Fault> {
        if self.at + RECORD_BYTES as u64 > self.end {
            return Ok(None);
        }
        let mut bytes = vec![0; RECORD_BYTES];
        backend.read_log(Slot::BufferJournal, self.at, &mut bytes)?;
        let [lpn, kind, parts, page_bytes] = [24, 28, 32, 36].map(|at| u32_at(&bytes, at));
        let parts_end = RECORD_BYTES as u64 + u64::from(parts) * PART_BYTES as u64;
        if self.at + parts_end + u64::from(page_bytes) > self.end {
            return Ok(None);
        }
        let parts_end = parts_end as usize;
        bytes.resize(parts_end + page_bytes as usize, 0);
        backend.read_log(Slot::BufferJournal, self.at, &mut bytes)?;
        if !is_whole(&bytes, self.seed()) {
            return Ok(None);
        }
        self.at += bytes.len() as u64;
        let part = |part: &[u8]| u32_at(part, 0) as usize..u32_at(part, 4) as usize;
        let held = (kind != TRIM).then(|| BufferedPage {
            context: WriteContext::default(),
            page: bytes[parts_end..].into(),
            written: bytes[RECORD_BYTES..parts_end].chunks_exact(PART_BYTES).map(part).collect(),
            whole: kind == WHOLE,
            base: Some(u64_at(&bytes, 16)).filter(|&base| base != NO_VERSION),
            number: 0,
        });
        Ok(Some((lpn, u64_at(&bytes, 8), held)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryBackend;
    use ssdlab_nand::Geometry;

    fn held(byte: u8) -> BufferedPage {
        let context = WriteContext::default();
        BufferedPage { context, page: [byte; 64].into(), written: Vec::new(), whole: true, base: None, number: 0 }
    }

    /// Creates flash of 64-byte pages with a second journal that holds page 5.
    fn second_journal() -> (MemoryBackend, BufferJournal) {
        let geometry = Geometry::single_plane(64, 2, 3);
        let mut backend = MemoryBackend::new(geometry);
        let first = BufferJournal::begin(&mut backend, None, 4, 1, [(4, &held(4))].into_iter()).unwrap();
        let second = BufferJournal::begin(&mut backend, Some(&first), 4, 2, [(5, &held(5))].into_iter()).unwrap();
        (backend, second)
    }

    fn pages(backend: &MemoryBackend) -> Vec<u32> {
        BufferJournal::load(backend).unwrap().unwrap().1.into_keys().collect()
    }

    /// Goal: one wrong bit of a head is corrected; more wrong bits never make an older journal valid. Method: flips
    /// each bit of the newer head alone, and together with another bit.
    #[test]
    fn an_older_journal_never_replaces_a_damaged_one() {
        let (backend, journal) = second_journal();
        for bit in 0..8 * HEAD_BYTES {
            let mut backend = backend.clone();
            let mut head = read_head(&backend, journal.head).unwrap();
            for (bit, wrong) in [(bit, 1), ((bit + 40) % (8 * HEAD_BYTES), 2)] {
                head[bit / 8] ^= 1 << (bit % 8);
                backend.write_log(Slot::BufferJournal, journal.head, &head).unwrap();
                match wrong {
                    1 => assert_eq!(pages(&backend), [5], "bit {bit}"),
                    _ => assert!(BufferJournal::load(&backend).is_err(), "bit {bit} and another"),
                }
            }
        }
    }

    /// Goal: if the start of a journal is interrupted, its records do not count in the next journal at the same place.
    /// Method: removes or tears the head that is written last, then starts a journal without records.
    #[test]
    fn an_interrupted_start_leaves_no_records() {
        for torn in [false, true] {
            let (mut backend, second) = second_journal();
            let before = [0, HEAD_EVERY].map(|at| (at, read_head(&backend, at).unwrap()));
            let third = BufferJournal::begin(&mut backend, Some(&second), 4, 3, [(6, &held(6))].into_iter()).unwrap();
            for (at, head) in before {
                backend.write_log(Slot::BufferJournal, at, &head).unwrap();
            }
            // The start of a journal first writes this head, which names no journal.
            write_head(&mut backend, third.head, third.generation, 0..0).unwrap();
            if torn {
                backend
                    .write_log(Slot::BufferJournal, third.head + HEAD_BYTES as u64 / 2, &[7; HEAD_BYTES / 2])
                    .unwrap();
            }
            let (before, _) = BufferJournal::load(&backend).unwrap().unwrap();
            assert_eq!((before.generation, pages(&backend)), (second.generation, vec![5]));
            BufferJournal::begin(&mut backend, Some(&before), 4, 3, std::iter::empty()).unwrap();
            assert_eq!(pages(&backend), [0; 0], "torn {torn}");
        }
    }
}
