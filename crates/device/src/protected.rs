//! Where a write buffer with power-loss protection keeps its pages: RAM that capacitors feed.
//!
//! ```text
//! 0      head: checksum, slots, bytes of a slot, generation
//! 4 KiB  slots: checksum, number of the write, page, whole or not, parts written, then these parts and the page
//! ```
//! A page goes to a free slot before the one that it had is cleared, so that wherever the power is cut one of the two is
//! whole; the higher number is newer. A slot is cleared when its page is on flash, or trimmed there. The next mount
//! programs what it finds, whatever buffer the drive has then: as if the capacitors had lasted for that.

use std::collections::BTreeMap;
use std::ops::Range;

use ssdlab_ftl::WriteContext;
use twox_hash::XxHash3_64;

use crate::backend::{Backend, Fault, Slot};
use crate::buffer::Held;

const HEAD_BYTES: usize = 24;
const FIRST_SLOT: u64 = 4 << 10;
/// Of a slot, before parts and page.
const SLOT_HEAD_BYTES: usize = 28;
const PART_BYTES: usize = 8;

/// The slots, and what is in them.
#[derive(Debug)]
pub(crate) struct Ram {
    slot_bytes: u64,
    /// Seed of the checksums: what an earlier layout left is no page.
    generation: u64,
    free: Vec<u32>,
    slots: BTreeMap<u32, u32>,
    /// Writes so far.
    number: u64,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn sealed(mut bytes: Vec<u8>, seed: u64) -> Vec<u8> {
    let checksum = XxHash3_64::oneshot_with_seed(seed, &bytes[8..]);
    bytes[..8].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

fn is_whole(bytes: &[u8], seed: u64) -> bool {
    long(bytes, 0) == XxHash3_64::oneshot_with_seed(seed, &bytes[8..])
}

/// A page found in a slot.
struct Found {
    number: u64,
    slot: u32,
    lpn: u32,
    held: Held,
}

impl Ram {
    /// RAM for so many pages, on a drive that has none or one with nothing in it.
    pub fn new(backend: &mut impl Backend, before: Option<Self>, pages: u32, page_bytes: u32) -> Result<Self, Fault> {
        // Every second byte written is the most parts that a page can have.
        let most_bytes = SLOT_HEAD_BYTES + (page_bytes as usize).div_ceil(2) * PART_BYTES + page_bytes as usize;
        // One more, for a page that is overwritten.
        let (slots, slot_bytes) = (pages + 1, most_bytes as u32);
        let generation = before.map_or(0, |ram| ram.generation + 1);
        let mut head = vec![0; 8];
        head.extend(slots.to_le_bytes());
        head.extend(slot_bytes.to_le_bytes());
        head.extend(generation.to_le_bytes());
        backend.write_log(Slot::Ram, 0, &sealed(head, 0))?;
        Ok(Self::empty(slots, slot_bytes, generation))
    }

    fn empty(slots: u32, slot_bytes: u32, generation: u64) -> Self {
        let free = (0..slots).rev().collect();
        Self { slot_bytes: slot_bytes.into(), generation, free, slots: BTreeMap::new(), number: 0 }
    }

    /// The RAM and what the latest loss of power left in it, oldest first; nothing if there never was any.
    pub fn load(backend: &mut impl Backend) -> Result<Option<(Self, Vec<(u32, Held)>)>, Fault> {
        let mut head = [0; HEAD_BYTES];
        backend.read_log(Slot::Ram, 0, &mut head)?;
        if !is_whole(&head, 0) {
            return Ok(None);
        }
        let mut ram = Self::empty(word(&head, 8), word(&head, 12), long(&head, 16));
        let mut found = Vec::new();
        for slot in ram.free.clone() {
            found.extend(ram.read(backend, slot)?);
        }
        found.sort_by_key(|found| found.number);
        for &Found { number, slot, lpn, .. } in &found {
            ram.number = number + 1;
            ram.free.retain(|&free| free != slot);
            if let Some(older) = ram.slots.insert(lpn, slot) {
                ram.clear(backend, older)?;
            }
        }
        found.retain(|found| ram.slots[&found.lpn] == found.slot);
        Ok(Some((ram, found.into_iter().map(|found| (found.lpn, found.held)).collect())))
    }

    /// Keeps a page as the buffer has it now.
    pub fn keep(&mut self, backend: &mut impl Backend, lpn: u32, held: &Held) -> Result<(), Fault> {
        let mut bytes = vec![0; 8];
        bytes.extend(self.number.to_le_bytes());
        bytes.extend(lpn.to_le_bytes());
        bytes.extend(u32::from(held.whole).to_le_bytes());
        bytes.extend((held.written.len() as u32).to_le_bytes());
        for Range { start, end } in &held.written {
            bytes.extend((*start as u32).to_le_bytes());
            bytes.extend((*end as u32).to_le_bytes());
        }
        bytes.extend(&*held.page);
        let slot = self.free.pop().expect("the buffer holds fewer pages than there are slots");
        backend.write_log(Slot::Ram, self.at(slot), &sealed(bytes, self.seed(slot)))?;
        self.number += 1;
        match self.slots.insert(lpn, slot) {
            Some(older) => self.clear(backend, older),
            None => Ok(()),
        }
    }

    /// Forgets a page that is on flash or trimmed there, if it is here.
    pub fn forget(&mut self, backend: &mut impl Backend, lpn: u32) -> Result<(), Fault> {
        match self.slots.remove(&lpn) {
            Some(slot) => self.clear(backend, slot),
            None => Ok(()),
        }
    }

    fn at(&self, slot: u32) -> u64 {
        FIRST_SLOT + u64::from(slot) * self.slot_bytes
    }

    fn seed(&self, slot: u32) -> u64 {
        self.generation << 32 | u64::from(slot)
    }

    fn clear(&mut self, backend: &mut impl Backend, slot: u32) -> Result<(), Fault> {
        self.free.push(slot);
        backend.write_log(Slot::Ram, self.at(slot), &[0; SLOT_HEAD_BYTES])
    }

    fn read(&self, backend: &impl Backend, slot: u32) -> Result<Option<Found>, Fault> {
        let page_bytes = backend.geometry().page_bytes as usize;
        let mut bytes = vec![0; SLOT_HEAD_BYTES];
        backend.read_log(Slot::Ram, self.at(slot), &mut bytes)?;
        let (number, lpn, whole, parts) = (long(&bytes, 8), word(&bytes, 16), word(&bytes, 20), word(&bytes, 24));
        let parts_end = SLOT_HEAD_BYTES + parts as usize * PART_BYTES;
        if parts == 0 || (parts_end + page_bytes) as u64 > self.slot_bytes {
            return Ok(None);
        }
        bytes.resize(parts_end + page_bytes, 0);
        backend.read_log(Slot::Ram, self.at(slot), &mut bytes)?;
        if !is_whole(&bytes, self.seed(slot)) {
            return Ok(None);
        }
        let part = |at: &[u8]| word(at, 0) as usize..word(at, 4) as usize;
        let written = bytes[SLOT_HEAD_BYTES..parts_end].chunks_exact(PART_BYTES).map(part).collect();
        let page = bytes[parts_end..].into();
        let held = Held { context: WriteContext::default(), page, written, whole: whole != 0, number: 0 };
        Ok(Some(Found { number, slot, lpn, held }))
    }
}
