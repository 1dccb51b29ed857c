//! Baseline: a bare loop with page mapping and greedy garbage collection only.
//!
//! The baseline has no options, policies, sinks or checks. It simulates uniform random overwrites with the FTL's data
//! layout (lazy validity, dense counters with chunk minima, `u32` maps) in as little code as possible. The number of
//! pages per block is a power of two. The loop uses neither prefetching nor huge pages. Benchmarks compare the full
//! simulator with this baseline.

use ssdlab_core::Rng;

const CHUNK: usize = 64;

/// Number of pages that the host wrote, and number of pages programmed in flash.
pub struct Work {
    pub host: u64,
    pub programs: u64,
}

pub struct Loop {
    l2p: Vec<u32>,
    p2l: Vec<u32>,
    valid: Vec<u16>,
    min: Vec<u16>,
    shift: u32,
    next: u32,
    spare: u32,
    rng: Rng,
}

const FULL: u16 = u16::MAX;

impl Loop {
    /// Creates a device with `blocks` blocks of `1 << shift` pages each, filled with `pages` logical pages.
    pub fn filled(pages: u32, blocks: u32, shift: u32, seed: u64) -> Self {
        let size = 1_u32 << shift;
        let full = pages.div_ceil(size);
        let mut valid = vec![FULL; (blocks as usize).next_multiple_of(CHUNK)];
        // Blocks beyond the logical pages start closed and without valid pages. The last block is the spare block.
        for (block, valid) in valid.iter_mut().enumerate().take(blocks as usize - 1) {
            *valid = (u64::from(pages).saturating_sub(block as u64 * u64::from(size))).min(u64::from(size)) as u16;
        }
        let min = valid.chunks(CHUNK).map(|chunk| chunk.iter().copied().min().unwrap_or(FULL)).collect();
        let physical = blocks as usize * size as usize;
        let p2l = (0..physical as u32).map(|ppn| if ppn < pages { ppn } else { 0 }).collect();
        debug_assert!(full < blocks);
        // The next page to write is page 0 of a block, so the first write starts with garbage collection.
        Self {
            l2p: (0..pages).collect(),
            p2l,
            valid,
            min,
            shift,
            next: 0,
            spare: blocks - 1,
            rng: Rng::named(seed, "baseline"),
        }
    }

    /// Moves the valid pages of the block with the fewest valid pages to the spare block. Returns the next page to
    /// write and the number of moved pages.
    fn collect(&mut self) -> (u32, u64) {
        let least = self.min.iter().fold(FULL, |least, &min| least.min(min));
        let chunk = self.min.iter().position(|&min| min == least).unwrap_or(0);
        let victim = (chunk * CHUNK..).find(|&block| self.valid[block] == least).unwrap_or(0);
        let size = 1_u32 << self.shift;
        let (mut from, mut to) = ((victim as u32) << self.shift, self.spare << self.shift);
        for _ in 0..size {
            let lpn = self.p2l[from as usize];
            if self.l2p[lpn as usize] == from {
                self.l2p[lpn as usize] = to;
                self.p2l[to as usize] = lpn;
                to += 1;
            }
            from += 1;
        }
        self.valid[self.spare as usize] = size as u16;
        self.valid[victim] = FULL;
        for block in [self.spare as usize, victim] {
            let start = block / CHUNK * CHUNK;
            self.min[block / CHUNK] = self.valid[start..start + CHUNK].iter().fold(FULL, |least, &v| least.min(v));
        }
        self.spare = victim as u32;
        (to, u64::from(least))
    }

    /// Overwrites `writes` random pages; returns the numbers of host writes and programs.
    pub fn overwrite(&mut self, writes: u64) -> Work {
        let mut programs = writes;
        for _ in 0..writes {
            while self.next & ((1 << self.shift) - 1) == 0 {
                let (next, moved) = self.collect();
                self.next = next;
                programs += moved;
                if moved == 0 {
                    break;
                }
            }
            let lpn = self.rng.below(self.l2p.len() as u64) as usize;
            let old = std::mem::replace(&mut self.l2p[lpn], self.next);
            self.p2l[self.next as usize] = lpn as u32;
            self.next += 1;
            let block = (old >> self.shift) as usize;
            self.valid[block] -= 1;
            let min = &mut self.min[block / CHUNK];
            *min = (*min).min(self.valid[block]);
        }
        Work { host: writes, programs }
    }
}
