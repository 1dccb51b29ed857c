//! Slow reference FTL with page mapping: a textbook implementation with which the fast FTL is compared.
//!
//! Validity is a stored flag, victims are found by a scan over all blocks, and nothing is counted incrementally. It
//! must emit exactly the same flash operations as the fast FTL. It supports one victim at a time, FIFO allocation of
//! free blocks, greedy and FIFO victims, garbage collection into the host's open block or a separate one, several
//! planes, and program units of several pages.

use std::collections::VecDeque;

use ssdlab_core::{BlockId, Lpn, Ppn};
use ssdlab_ftl::page::PageOptions;
use ssdlab_ftl::{Shape, gc};
use ssdlab_nand::{Cause, FlashSink, Role, Source, SpareArea};

#[derive(Clone)]
struct Block {
    /// Logical page and validity of each written page; padding is invalid.
    pages: Vec<(u32, bool)>,
    /// Sequence number at which the block was closed; `None` if the block is open or free.
    closed_at: Option<u64>,
}

impl Block {
    fn valid(&self) -> usize {
        self.pages.iter().filter(|(_, valid)| *valid).count()
    }
}

/// A plane of the drive, with its own free and open blocks and its own garbage collection.
#[derive(Clone)]
struct Plane {
    free: VecDeque<u32>,
    /// Open block for host writes.
    host: Option<u32>,
    /// Open block for relocated pages, if they do not share the host's open block.
    relocated: Option<u32>,
}

/// Textbook FTL with page mapping.
pub struct Twin {
    shape: Shape,
    options: PageOptions,
    map: Vec<Option<(u32, u32)>>,
    blocks: Vec<Block>,
    planes: Vec<Plane>,
    /// Plane of the previous host page.
    latest: Option<usize>,
    closings: u64,
    sequence: u64,
}

impl Twin {
    /// Creates the FTL of an erased device.
    pub fn new(shape: Shape, options: PageOptions) -> Self {
        let each = shape.blocks / shape.planes;
        let plane = |plane| Plane { free: (plane * each..(plane + 1) * each).collect(), host: None, relocated: None };
        Self {
            shape,
            options,
            map: vec![None; shape.logical_pages as usize],
            blocks: vec![Block { pages: Vec::new(), closed_at: None }; shape.blocks as usize],
            planes: (0..shape.planes).map(plane).collect(),
            latest: None,
            closings: 0,
            sequence: 0,
        }
    }

    fn is_shared(&self) -> bool {
        !self.options.placement.info.role.own_gc_block
    }

    fn plane_of(&self, block: u32) -> usize {
        (block / (self.shape.blocks / self.shape.planes)) as usize
    }

    fn is_full(&self, open: Option<u32>) -> bool {
        open.is_none_or(|block| self.blocks[block as usize].pages.len() == self.shape.pages_per_block as usize)
    }

    fn is_short(&self, plane: usize) -> bool {
        let Plane { free, host, relocated } = &self.planes[plane];
        let pages_per_block = self.shape.pages_per_block as usize;
        let unwritten =
            |open: &Option<u32>| open.map_or(0, |block| pages_per_block - self.blocks[block as usize].pages.len());
        let spare = if self.is_shared() { 1 } else { 2 };
        free.len() * pages_per_block + unwritten(host) + unwritten(relocated) <= spare * pages_per_block
    }

    /// True if the plane holds its maximum number of logical pages even without page `lpn`.
    fn is_full_without(&self, plane: usize, lpn: u32) -> bool {
        let others = self.map.iter().enumerate().filter(|&(other, _)| other != lpn as usize);
        let there = others.filter(|(_, place)| place.is_some_and(|(block, _)| self.plane_of(block) == plane)).count();
        let Shape { blocks, planes, pages_per_block, .. } = self.shape;
        there as u32 >= (blocks / planes - self.options.reserve_blocks()) * pages_per_block
    }

    /// True if the host's program unit is incomplete.
    fn has_begun(&self, plane: usize) -> bool {
        let written = self.planes[plane].host.map_or(0, |block| self.blocks[block as usize].pages.len());
        !written.is_multiple_of(self.shape.program_unit as usize)
    }

    /// Closes a full block.
    fn closed_if_full(&mut self, open: Option<u32>) -> Option<u32> {
        if !self.is_full(open) {
            return open;
        }
        if let Some(block) = open {
            self.blocks[block as usize].closed_at = Some(self.closings);
            self.closings += 1;
        }
        None
    }

    /// Returns an open block with room for a page: the given block, or a free block if the given block is full, which
    /// is then closed.
    fn writable(&mut self, plane: usize, open: Option<u32>) -> Option<u32> {
        self.closed_if_full(open).or_else(|| self.planes[plane].free.pop_front())
    }

    fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence - 1
    }

    fn append(&mut self, block: u32, lpn: u32) -> (Ppn, SpareArea) {
        let page = self.blocks[block as usize].pages.len() as u32;
        self.blocks[block as usize].pages.push((lpn, true));
        if let Some((block, page)) = self.map[lpn as usize].replace((block, page)) {
            self.blocks[block as usize].pages[page as usize].1 = false;
        }
        let oob = SpareArea { lpn: Lpn(lpn), sequence: self.next_sequence(), role: Role::Data };
        (Ppn(block * self.shape.pages_per_block + page), oob)
    }

    fn victim(&self, plane: usize) -> u32 {
        let of_plane =
            |&(number, block): &(usize, &Block)| self.plane_of(number as u32) == plane && block.closed_at.is_some();
        let closed = self.blocks.iter().enumerate().filter(of_plane);
        let victim = match self.options.gc {
            policy if policy.is(&gc::fifo::INFO) => closed.min_by_key(|(_, block)| block.closed_at),
            policy if policy.is(&gc::greedy::INFO) => closed.min_by_key(|(_, block)| block.valid()),
            other => panic!("the reference FTL does not support {other:?}"),
        };
        victim.expect("the plane has a closed block").0 as u32
    }

    /// Writes `count` logical pages, starting at `lpn`.
    pub fn write<S: FlashSink>(&mut self, lpn: u32, count: u32, sink: &mut S) {
        for page in 0..count {
            let plane = self.next_plane(lpn + page, sink);
            self.make_room(plane, sink);
            self.planes[plane].host = self.writable(plane, self.planes[plane].host);
            let block = self.planes[plane].host.expect("a block is open");
            let (ppn, oob) = self.append(block, lpn + page);
            sink.program(ppn, oob, Source::Host(page), Cause::Host);
        }
    }

    /// Chooses the plane of a host page: the plane of the previous page until its program unit is complete, then the
    /// next plane with room.
    fn next_plane<S: FlashSink>(&mut self, lpn: u32, sink: &mut S) -> usize {
        let planes = self.planes.len();
        let mut plane = match self.latest {
            None => 0,
            Some(latest) if self.has_begun(latest) => latest,
            Some(latest) => (latest + 1) % planes,
        };
        while planes > 1 && self.is_full_without(plane, lpn) {
            self.pad(plane, sink);
            plane = (plane + 1) % planes;
        }
        self.latest = Some(plane);
        plane
    }

    /// Pads the program units that host writes have left incomplete.
    pub fn complete_units<S: FlashSink>(&mut self, sink: &mut S) {
        (0..self.planes.len()).for_each(|plane| self.pad(plane, sink));
    }

    fn pad<S: FlashSink>(&mut self, plane: usize, sink: &mut S) {
        while self.has_begun(plane) {
            self.make_room(plane, sink);
            // Garbage collection in `make_room` may have completed the program unit with copied pages.
            if !self.has_begun(plane) {
                return;
            }
            let block = self.planes[plane].host.expect("a program unit is open");
            let pages = &mut self.blocks[block as usize].pages;
            let ppn = Ppn(block * self.shape.pages_per_block + pages.len() as u32);
            pages.push((u32::MAX, false));
            let oob = SpareArea { lpn: Lpn(0), sequence: self.next_sequence(), role: Role::Padding };
            sink.program(ppn, oob, Source::Padding, Cause::Padding);
        }
    }

    fn make_room<S: FlashSink>(&mut self, plane: usize, sink: &mut S) {
        while self.is_short(plane) {
            self.collect(plane, sink);
        }
    }

    fn collect<S: FlashSink>(&mut self, plane: usize, sink: &mut S) {
        self.planes[plane].host = self.closed_if_full(self.planes[plane].host);
        self.planes[plane].relocated = self.closed_if_full(self.planes[plane].relocated);
        let victim = self.victim(plane);
        self.blocks[victim as usize].closed_at = None;
        for page in 0..self.shape.pages_per_block {
            let (lpn, valid) = self.blocks[victim as usize].pages[page as usize];
            if !valid {
                continue;
            }
            let Plane { host, relocated, .. } = self.planes[plane];
            let open = self.writable(plane, if self.is_shared() { host } else { relocated });
            if self.is_shared() {
                self.planes[plane].host = open;
            } else {
                self.planes[plane].relocated = open;
            }
            let (to, oob) = self.append(open.expect("a block is open"), lpn);
            sink.copy(Ppn(victim * self.shape.pages_per_block + page), to, oob, Cause::Gc);
        }
        sink.barrier();
        sink.erase(BlockId(victim), Cause::Gc);
        self.blocks[victim as usize].pages.clear();
        self.planes[plane].free.push_back(victim);
    }

    /// Trims `count` logical pages, starting at `lpn`.
    pub fn trim(&mut self, lpn: u32, count: u32) {
        self.sequence += 1;
        for lpn in lpn..lpn + count {
            if let Some((block, page)) = self.map[lpn as usize].take() {
                self.blocks[block as usize].pages[page as usize].1 = false;
            }
        }
    }
}
