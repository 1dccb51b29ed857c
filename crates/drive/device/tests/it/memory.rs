//! Tests of a drive in memory. Its flash keeps pages unchanged, so the data of a long request is stored in one step.

use ssdlab_core::Rng;
use ssdlab_device::{Drive, MemoryBackend};

use crate::drives::{buffered, of_blocks};

/// Goal: a drive reads like plain memory. Method: every FTL, with and without a buffer, gets requests of up to two
/// thirds of the drive, which cause collections and merges during a request. Power losses occur after a flush.
#[test]
fn a_drive_in_memory_reads_as_memory() {
    for seed in 0..u64::from(ssdlab_tiers::cases(6).cases) {
        for kind in of_blocks(24).into_iter().flat_map(|kind| [kind, buffered(kind)]) {
            let page = kind.geometry.page_bytes as usize;
            let mut drive = Drive::create(MemoryBackend::new(kind.geometry), kind.options).expect("a sound drive");
            let mut memory = vec![0; kind.options.logical_pages as usize * page];
            let mut rng = Rng::named(seed, kind.name);
            let mut below = |limit: usize| rng.below(limit as u64) as usize;
            for step in 0..120_usize {
                let bytes = below(2 * memory.len() / 3);
                let offset = below(memory.len() - bytes);
                // Most requests consist of whole pages; the others begin or end within a page.
                let (offset, bytes) =
                    if below(3) > 0 { (offset / page * page, bytes / page * page) } else { (offset, bytes) };
                let range = offset..offset + bytes;
                match below(8) {
                    0 => {
                        drive.trim(offset as u64, bytes as u64, false).expect("it can be trimmed");
                        let whole = offset.next_multiple_of(page)..range.end / page * page;
                        if !whole.is_empty() {
                            memory[whole].fill(0);
                        }
                    }
                    1 => {
                        drive.flush().expect("it can be flushed");
                        drive.cut_power();
                        drive.mount().expect("it can be mounted");
                    }
                    _ => {
                        memory[range.clone()].iter_mut().for_each(|byte| *byte = step as u8 + below(100) as u8);
                        drive.write(offset as u64, &memory[range], false).expect("it can be written");
                    }
                }
                let mut read = vec![1; memory.len()];
                drive.read(0, &mut read).expect("it can be read");
                assert!(read == memory, "{}, seed {seed}, step {step}", kind.name);
                let from = below(memory.len()) as u64;
                let runs = drive.allocation(from, memory.len() as u64 - from).expect("it is on");
                let first = drive.first_run(from, memory.len() as u64 - from).expect("it is on");
                assert_eq!((runs[0].0.end, runs[0].1), first, "{}, seed {seed}, step {step}", kind.name);
            }
        }
    }
}
