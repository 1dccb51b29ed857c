//! Slab allocator of the compressed pool: chunks of one size, each divided into blocks of one size class. A [`Place`]
//! is the position of a block.
//!
//! Block sizes are multiples of a 32nd of a page, which bounds internal fragmentation. Pages can be moved to empty a
//! chunk, which bounds external fragmentation. An empty chunk can serve another size class or be freed.

use ssdlab_core::mem::prefetch;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    chunk: u32,
    index: u16,
    /// Size of the chunk's blocks as a number of steps (see `STEPS`), copied here to avoid a look-up in the chunk
    /// table.
    class: u8,
}

struct Chunk {
    /// Size of the chunk's blocks as a number of steps; see `STEPS`.
    class: usize,
    /// Slot of the page in each block of the chunk, or [`FREE`].
    owners: Vec<u32>,
    free: Vec<u16>,
    /// Position of this chunk in its size class's list of chunks with free blocks.
    position: u32,
}

const FREE: u32 = u32::MAX;
/// Fixed size of a chunk's table entry, including the allocator's overhead.
const ENTRY_BYTES: usize = size_of::<Chunk>() + size_of::<Box<[u8]>>() + 64;
/// Size of a cache line of the processor.
const LINE_BYTES: usize = 64;
/// Number of block sizes up to the page size. All block sizes are multiples of the smallest, called a step.
const STEPS: usize = 32;
/// Number of larger size classes that are searched for a free block if the page's own class has none.
const NEIGHBOURS: usize = 2;

pub struct Slabs {
    chunk_bytes: usize,
    step_bytes: usize,
    chunks: Vec<Option<Chunk>>,
    /// Memory buffer of each chunk, in the same order as `chunks`.
    bytes: Vec<Box<[u8]>>,
    unused: Vec<u32>,
    /// Memory of empty chunks, which any size class may use.
    empty: Vec<Box<[u8]>>,
    /// For each size class, the numbers of the chunks with free blocks.
    partial: Vec<Vec<u32>>,
    in_use: usize,
    /// Memory in bytes of the lists `owners` and `free` of all chunks.
    table_bytes: usize,
    pages: usize,
    /// Total length in bytes of all blocks, free or in use.
    cut_bytes: usize,
    /// Total length in bytes of all blocks in use.
    place_bytes: usize,
    /// Total length in bytes of all compressed pages.
    content_bytes: usize,
}

impl Slabs {
    /// Creates an allocator without chunks; `chunk_bytes` must be at least `page_bytes`.
    pub fn new(chunk_bytes: usize, page_bytes: usize) -> Self {
        Self {
            chunk_bytes,
            step_bytes: page_bytes / STEPS,
            chunks: Vec::new(),
            bytes: Vec::new(),
            unused: Vec::new(),
            empty: Vec::new(),
            partial: vec![Vec::new(); STEPS + 1],
            in_use: 0,
            table_bytes: 0,
            pages: 0,
            cut_bytes: 0,
            place_bytes: 0,
            content_bytes: 0,
        }
    }

    fn class(&self, bytes: usize) -> usize {
        bytes.div_ceil(self.step_bytes).max(1)
    }

    /// Returns the maximum memory in bytes that an additional chunk needs.
    pub fn chunk_cost(&self) -> usize {
        self.chunk_bytes + self.chunk_bytes / self.step_bytes * (size_of::<u32>() + size_of::<u16>()) + ENTRY_BYTES
    }

    /// Returns the memory in bytes of all chunks and tables.
    pub fn bytes(&self) -> usize {
        self.chunks() * (self.chunk_bytes + ENTRY_BYTES) + self.table_bytes
    }

    /// Returns the number of all chunks, including empty ones.
    pub fn chunks(&self) -> usize {
        self.in_use + self.empty.len()
    }

    pub fn pages(&self) -> usize {
        self.pages
    }

    pub fn content_bytes(&self) -> usize {
        self.content_bytes
    }

    /// Returns the internal fragmentation in bytes: unused bytes in blocks that hold a page.
    pub fn internal_bytes(&self) -> usize {
        self.place_bytes - self.content_bytes
    }

    /// Returns the external fragmentation in bytes: memory of all chunks, minus the blocks in use.
    pub fn external_bytes(&self) -> usize {
        self.chunks() * self.chunk_bytes - self.place_bytes
    }

    /// Returns the total length in bytes of all free blocks.
    pub fn free_bytes(&self) -> usize {
        self.cut_bytes - self.place_bytes
    }

    /// Prefetches the `len` bytes of a page into the processor's cache.
    pub fn prefetch(&self, place: Place, len: usize) {
        let bytes = self.get(place, len);
        (0..len).step_by(LINE_BYTES).for_each(|at| prefetch(bytes, at));
    }

    pub fn add_chunk(&mut self) {
        self.empty.push(vec![0; self.chunk_bytes].into());
    }

    /// Frees an empty chunk; returns false if no chunk is empty.
    pub fn give_chunk_back(&mut self) -> bool {
        self.empty.pop().is_some()
    }

    /// Copies a compressed page into a free block for slot `owner`. Returns `None` if no suitable block is free. Tables
    /// may grow by at most `room_bytes`.
    pub fn store(&mut self, content: &[u8], owner: u32, room_bytes: usize) -> Option<Place> {
        let class = self.class(content.len());
        let nearest = (class..=(class + NEIGHBOURS).min(STEPS)).find(|&class| !self.partial[class].is_empty());
        let chunk = match nearest {
            // Prefers to divide an empty chunk rather than use a block of a larger size class, which would waste
            // memory.
            Some(nearest) if nearest == class || self.empty.is_empty() => self.partial[nearest].last().copied()?,
            _ => self.cut(class, room_bytes)?,
        };
        Some(self.put(chunk, content, owner))
    }

    /// Divides an empty chunk, if any, into blocks of size class `class`. The table of the chunk must fit in
    /// `room_bytes`.
    fn cut(&mut self, class: usize, room_bytes: usize) -> Option<u32> {
        let places = self.chunk_bytes / (class * self.step_bytes);
        let table_bytes = places * (size_of::<u32>() + size_of::<u16>());
        let bytes = if table_bytes <= room_bytes { self.empty.pop()? } else { return None };
        let chunk = Chunk {
            class,
            owners: vec![FREE; places],
            free: (0..places as u16).rev().collect(),
            position: self.partial[class].len() as u32,
        };
        self.in_use += 1;
        self.table_bytes += table_bytes;
        self.cut_bytes += places * class * self.step_bytes;
        let number = self.unused.pop().unwrap_or_else(|| {
            self.chunks.push(None);
            self.bytes.push(Box::default());
            self.chunks.len() as u32 - 1
        });
        self.chunks[number as usize] = Some(chunk);
        self.bytes[number as usize] = bytes;
        self.partial[class].push(number);
        Some(number)
    }

    fn chunk(&mut self, number: u32) -> &mut Chunk {
        self.chunks[number as usize].as_mut().expect("the chunk is in use")
    }

    fn put(&mut self, number: u32, content: &[u8], owner: u32) -> Place {
        let chunk = self.chunk(number);
        let index = chunk.free.pop().expect("every chunk in the list has a free block");
        chunk.owners[usize::from(index)] = owner;
        let (full, class) = (chunk.free.is_empty(), chunk.class);
        if full {
            self.unlist(number);
        }
        let place = Place { chunk: number, index, class: class as u8 };
        let start = self.start(place);
        self.bytes[number as usize][start..start + content.len()].copy_from_slice(content);
        self.pages += 1;
        self.place_bytes += class * self.step_bytes;
        self.content_bytes += content.len();
        place
    }

    /// Returns the offset in bytes of a block in its chunk.
    fn start(&self, Place { index, class, .. }: Place) -> usize {
        usize::from(index) * usize::from(class) * self.step_bytes
    }

    fn unlist(&mut self, number: u32) {
        let chunk = self.chunk(number);
        let (class, position) = (chunk.class, chunk.position as usize);
        self.partial[class].swap_remove(position);
        if let Some(&moved) = self.partial[class].get(position) {
            self.chunk(moved).position = position as u32;
        }
    }

    /// Returns the first `len` bytes of the page in the block at `place`.
    pub fn get(&self, place: Place, len: usize) -> &[u8] {
        let start = self.start(place);
        &self.bytes[place.chunk as usize][start..start + len]
    }

    /// Frees the block at `place`, which holds a page of `len` bytes.
    pub fn free(&mut self, place: Place, len: usize) {
        let class = usize::from(place.class);
        let position = self.partial[class].len() as u32;
        let chunk = self.chunk(place.chunk);
        chunk.owners[usize::from(place.index)] = FREE;
        let was_full = chunk.free.is_empty();
        chunk.free.push(place.index);
        let empty = chunk.free.len() == chunk.owners.len();
        if was_full {
            chunk.position = position;
            self.partial[class].push(place.chunk);
        }
        self.pages -= 1;
        self.place_bytes -= class * self.step_bytes;
        self.content_bytes -= len;
        if empty {
            self.unlist(place.chunk);
            self.retire(place.chunk);
        }
    }

    /// Makes an empty chunk available to any size class. The chunk must not be in a list of chunks with free blocks.
    fn retire(&mut self, number: u32) {
        let chunk = self.chunks[number as usize].take().expect("the chunk is in use");
        self.unused.push(number);
        self.in_use -= 1;
        self.table_bytes -= chunk.owners.len() * (size_of::<u32>() + size_of::<u16>());
        self.cut_bytes -= chunk.owners.len() * chunk.class * self.step_bytes;
        self.empty.push(std::mem::take(&mut self.bytes[number as usize]));
    }

    /// Empties the chunk with the fewest occupied bytes. `len_of` returns the length of a slot's page. Returns the
    /// slots whose pages moved to another chunk, each with the page's new position, and the slots whose pages were
    /// dropped, because no other chunk had room for them.
    pub fn empty_one(&mut self, len_of: impl Fn(u32) -> usize) -> (Vec<(u32, Place)>, Vec<u32>) {
        let used = |chunk: &Chunk| (chunk.owners.len() - chunk.free.len()) * chunk.class;
        let chunks = self.chunks.iter().enumerate().filter_map(|(number, chunk)| Some((number, chunk.as_ref()?)));
        let Some((number, _)) = chunks.min_by_key(|(_, chunk)| used(chunk)) else {
            return (Vec::new(), Vec::new());
        };
        let number = number as u32;
        if !self.chunk(number).free.is_empty() {
            self.unlist(number);
        }
        let chunk = self.chunks[number as usize].take().expect("the chunk is in use");
        // Removes the chunk from its list and takes its memory out, so that its pages can move only to other chunks.
        let bytes = std::mem::take(&mut self.bytes[number as usize]);
        let place_bytes = chunk.class * self.step_bytes;
        let (mut moved, mut lost) = (Vec::new(), Vec::new());
        for (index, &owner) in chunk.owners.iter().enumerate().filter(|(_, owner)| **owner != FREE) {
            let len = len_of(owner);
            self.pages -= 1;
            self.place_bytes -= place_bytes;
            self.content_bytes -= len;
            match self.partial[chunk.class].last() {
                Some(&other) => {
                    let start = index * place_bytes;
                    moved.push((owner, self.put(other, &bytes[start..start + len], owner)));
                }
                None => lost.push(owner),
            }
        }
        self.chunks[number as usize] = Some(chunk);
        self.bytes[number as usize] = bytes;
        self.retire(number);
        (moved, lost)
    }

    /// Flips a bit of the page in the block at `place`, as faulty memory would.
    #[cfg(all(test, not(feature = "shuttle")))]
    pub fn flip_bit(&mut self, place: Place) {
        let start = self.start(place);
        self.bytes[place.chunk as usize][start + 5] ^= 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const ROOM: usize = 1 << 20;

    /// Returns page contents that identify the slot.
    fn content(slot: u32, len: usize) -> Vec<u8> {
        (0..len).map(|at| (slot as usize * 31 + at) as u8).collect()
    }

    proptest! {
        #![proptest_config(ssdlab_tiers::cases(256))]

        /// Checks contents and totals against a map of the pages. A method that empties a chunk must report every
        /// dropped page.
        #[test]
        fn slabs_keep_their_contents(steps in prop::collection::vec((0_u8..10, 0_u32..40, 1_usize..=1024), 1..300)) {
            let mut slabs = Slabs::new(4096, 1024);
            let mut held: BTreeMap<u32, (Place, usize)> = BTreeMap::new();
            for (action, slot, len) in steps {
                match action {
                    0 => slabs.add_chunk(),
                    1 => { slabs.give_chunk_back(); }
                    2 => {
                        let chunks = slabs.chunks();
                        let (moved, lost) = slabs.empty_one(|slot| held[&slot].1);
                        for (slot, place) in moved { held.get_mut(&slot).unwrap().0 = place; }
                        for slot in lost { prop_assert!(held.remove(&slot).is_some()); }
                        prop_assert_eq!(slabs.chunks(), chunks);
                    }
                    _ => match held.remove(&slot) {
                        Some((place, len)) => slabs.free(place, len),
                        None => if let Some(place) = slabs.store(&content(slot, len), slot, ROOM) {
                            held.insert(slot, (place, len));
                        }
                    }
                }
                for (&slot, &(place, len)) in &held {
                    prop_assert_eq!(slabs.get(place, len), &content(slot, len)[..]);
                }
                prop_assert_eq!(slabs.pages(), held.len());
                prop_assert_eq!(slabs.content_bytes(), held.values().map(|(_, len)| len).sum::<usize>());
                prop_assert_eq!(
                    slabs.chunks() * 4096,
                    slabs.content_bytes() + slabs.internal_bytes() + slabs.external_bytes()
                );
                prop_assert!(slabs.bytes() <= slabs.chunks() * slabs.chunk_cost());
                prop_assert!(slabs.internal_bytes() <= held.len() * 32 * (NEIGHBOURS + 1));
            }
        }
    }

    #[test]
    fn a_chunk_serves_one_class_until_it_is_empty() {
        let mut slabs = Slabs::new(4096, 1024);
        assert_eq!(slabs.store(&[1; 1000], 0, ROOM), None);
        slabs.add_chunk();
        let places: Vec<_> = (0..4).map(|slot| slabs.store(&[slot as u8; 1000], slot, ROOM).unwrap()).collect();
        assert_eq!(slabs.store(&[1; 1000], 4, ROOM), None);
        assert_eq!((slabs.internal_bytes(), slabs.external_bytes()), (4 * 24, 0));
        slabs.free(places[2], 1000);
        assert_eq!(slabs.store(&[1; 10], 4, ROOM), None, "another class");
        assert_eq!(slabs.external_bytes(), 1024);
        [0, 1, 3].iter().for_each(|&slot| slabs.free(places[slot], 1000));
        assert!(slabs.store(&[1; 10], 4, ROOM).is_some());
        assert!(!slabs.give_chunk_back());
    }

    #[test]
    fn a_chunk_is_cut_only_if_its_table_fits() {
        let mut slabs = Slabs::new(4096, 1024);
        slabs.add_chunk();
        let before = slabs.bytes();
        assert_eq!(slabs.store(&[1; 1000], 0, 4 * 6 - 1), None);
        assert_eq!(slabs.bytes(), before);
        assert!(slabs.store(&[1; 1000], 0, 4 * 6).is_some());
        assert_eq!(slabs.bytes(), before + 4 * 6);
    }
}
