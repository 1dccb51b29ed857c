//! Goal: a drive keeps its promises over many mounts and counts the mounts. Mounts may be interrupted, change the write
//! buffer, or lack the log. Method: compares random workloads and mounts with the model, on flash with and without
//! failures.

use ssdlab_core::{BlockId, Ppn, Rng};
use ssdlab_device::{
    Backend, Content, Drive, DriveError, FaultPlan, MemoryBackend, Options, PowerCut, SPARE_BYTES, Slot,
};
use ssdlab_nand::Geometry;

use crate::crash::failing;
use crate::drives::{any_buffer, of_blocks, roomy, smallest};
use crate::world::{Lie, Stop, World};

/// Number of all mounts, and of mounts without a previous shutdown; None if unknown.
type Counted = Option<(u64, u64)>;

#[test]
fn promises_are_kept_over_many_mounts() {
    for seed in 0..ssdlab_tiers::cases(16).cases.into() {
        let mut rng = Rng::named(seed, "mounts");
        let (kinds, plan) = match seed % 3 {
            0 => (smallest(), FaultPlan { seed, ..FaultPlan::default() }),
            1 => (of_blocks(4 + 2 * (seed % 4) as u32), FaultPlan { seed, ..FaultPlan::default() }),
            _ => (roomy(), failing(seed)),
        };
        for base in kinds {
            let mut kind = any_buffer(base, &mut rng);
            kind.options.journal_blocks = 1 + rng.below(12) as u32;
            let mut world = World::new(&kind, MemoryBackend::new(kind.geometry), plan, seed, Lie::None);
            let mut counted: Counted = Some((0, 0));
            // After a scan, the first change starts a log; there may have been no change.
            let mut scanned = false;
            'rounds: for round in 0..25 {
                let place = format!("seed {seed}, {}, {:?}, round {round}", kind.name, kind.options.buffer);
                if rng.below(3) > 0 {
                    let cut = PowerCut { after: rng.below(120), torn: rng.below(4) > 0 };
                    world.drive.backend_mut().cut_power(cut);
                }
                let requests = if rng.below(6) == 0 { 300 } else { rng.below(60) };
                let worked = (0..requests).try_for_each(|_| world.request());
                let ended = worked.and_then(|()| if rng.below(3) == 0 { world.shut_down() } else { Err(Stop::Off) });
                let mut clean = ended.is_ok();
                match ended {
                    Ok(()) | Err(Stop::Off) => {}
                    Err(Stop::WornOut) => break 'rounds,
                    Err(stop) => panic!("{place}: {stop:?}"),
                }
                let (mut log_lost, may_lack_log) = (false, scanned);
                loop {
                    kind = any_buffer(kind, &mut rng);
                    world = world.powered(&kind);
                    // On failing flash, the smallest drives may recover more old copies than they can collect.
                    if seed % 3 != 2 && rng.below(12) == 0 {
                        log_lost = true;
                        world.lose_log();
                    }
                    if rng.below(2) == 0 {
                        let cut = PowerCut { after: rng.below(40), torn: rng.below(4) > 0 };
                        world.drive.backend_mut().cut_power(cut);
                    }
                    let mounted = world.drive.mount();
                    world.drive.backend_mut().restore_power();
                    match mounted {
                        Ok(report) => {
                            let may_scan = log_lost || may_lack_log;
                            assert!(may_scan || !report.full_scan && (report.clean || !clean), "{place}: {report:?}");
                            let health = world.drive.health();
                            let found = (health.power_cycles, health.unsafe_shutdowns);
                            counted = counted.filter(|_| !may_scan);
                            let one_more = |(cycles, unsafe_ones)| (cycles + 1, unsafe_ones + u64::from(!report.clean));
                            assert_eq!(counted.map_or(found, one_more), found, "{place}");
                            (counted, scanned) = (Some(found), report.full_scan);
                            break;
                        }
                        // If the interrupted shutdown was recorded, the next mount is clean.
                        Err(DriveError::Off) => (counted, clean) = (None, false),
                        Err(error) => panic!("{place}: {error}"),
                    }
                }
                match world.take_stock_of(log_lost || scanned) {
                    Ok(()) => {}
                    Err(Stop::WornOut) => break 'rounds,
                    Err(stop) => panic!("{place}, then {:?}: {stop:?}", kind.options.buffer),
                }
            }
        }
    }
}

/// Goal: a mount without a log writes no log; the first change starts a log, which then works as usual. Method: reads
/// drives without a log, mounts them again, and changes them with each type of request.
#[test]
fn the_first_change_after_a_scan_begins_the_log() {
    type Change = fn(&mut Drive<MemoryBackend>, &[u8]) -> Result<(), DriveError>;
    let changes: [Change; 4] = [
        |drive, page| drive.write(0, page, true),
        |drive, page| drive.trim(0, page.len() as u64, true),
        |drive, page| drive.write_zeroes(0, page.len() as u64, true),
        |drive, page| drive.program_zeroes(0, page.len() as u64, true),
    ];
    for kind in roomy() {
        let page_bytes = kind.geometry.page_bytes as usize;
        for change in changes {
            let mut drive = Drive::create(MemoryBackend::new(kind.geometry), kind.options).expect("a sound drive");
            let mut pages: Vec<Vec<u8>> = (1..=4).map(|number| vec![number; page_bytes]).collect();
            for (lpn, page) in pages.iter().enumerate() {
                drive.write((lpn * page_bytes) as u64, page, true).expect("there is room");
            }
            for slot in [Slot::A, Slot::B] {
                drive.backend_mut().write_log(slot, 0, &[0; 8]).expect("memory takes it");
            }
            let mount = |drive: &mut Drive<MemoryBackend>, pages: &[Vec<u8>]| {
                let report = drive.mount().expect("the flash can be read");
                drive.check().unwrap_or_else(|broken| panic!("{}: {broken}", kind.name));
                let mut found = vec![0; page_bytes];
                for (lpn, page) in pages.iter().enumerate() {
                    drive.read((lpn * page_bytes) as u64, &mut found).expect("it is there");
                    assert!(found == *page, "{}, page {lpn}", kind.name);
                }
                report.full_scan
            };
            for _ in 0..2 {
                assert!(mount(&mut drive, &pages), "{}: nothing has changed, so there must be no log", kind.name);
            }
            let anew = vec![9; page_bytes];
            change(&mut drive, &anew).expect("there is room");
            let mut first = vec![0; page_bytes];
            drive.read(0, &mut first).expect("it is there");
            pages[0] = first;
            assert!(!mount(&mut drive, &pages), "{}: the change must have started a log", kind.name);
        }
    }
}

/// Goal: a large checkpoint, which several threads write in several rounds, agrees with flash and map, including
/// trimmed pages. Method: writes and trims large drives at random, shuts them down, mounts, checks and reads them.
#[test]
fn a_large_drive_survives_a_remount() {
    for kind in roomy() {
        let mut rng = Rng::named(1, kind.name);
        let (geometry, more) = (kind.geometry, 2200);
        let geometry = Geometry { blocks: geometry.blocks + more, ..geometry };
        let logical_pages = kind.options.logical_pages + more * geometry.pages_per_block;
        let options = Options { logical_pages, journal_blocks: geometry.blocks, ..kind.options };
        let mut drive = Drive::create(MemoryBackend::new(geometry), options).expect("a sound drive");
        let bytes = geometry.page_bytes as usize;
        let at = |lpn: u32| u64::from(lpn) * bytes as u64;
        let mut pages = vec![0_u8; logical_pages as usize];
        for write in 0..2 * logical_pages {
            // Writes in order first, because merges of log blocks are then cheaper.
            let lpn = if write < logical_pages { write } else { rng.below(logical_pages.into()) as u32 };
            let number = 1 + rng.below(255) as u8;
            if write >= logical_pages && rng.below(3) == 0 {
                drive.trim(at(lpn), bytes as u64, false).expect("the power is on");
                pages[lpn as usize] = 0;
            } else if write < logical_pages || rng.below(10) == 0 {
                drive.write(at(lpn), &vec![number; bytes], false).expect("there is room");
                pages[lpn as usize] = number;
            }
        }
        drive.shut_down().expect("the power is on");
        let report = drive.mount().expect("the flash can be read");
        assert!(report.clean && !report.full_scan, "{}: {report:?}", kind.name);
        drive.check().unwrap_or_else(|broken| panic!("{}: {broken}", kind.name));
        let mut found = vec![0; bytes];
        for (lpn, &number) in (0..).zip(&pages) {
            drive.read(at(lpn), &mut found).expect("it is there");
            assert!(found.iter().all(|&byte| byte == number), "{}, page {lpn}", kind.name);
        }
    }
}

/// Goal: no sequence number is used twice, even if a bad block has the highest sequence number. Method: marks the block
/// with the highest sequence number as bad and destroys the log.
#[test]
fn a_mount_without_a_log_knows_the_sequence_numbers_of_bad_blocks() {
    for kind in roomy() {
        let page = vec![7; kind.geometry.page_bytes as usize];
        let mut drive = Drive::create(MemoryBackend::new(kind.geometry), kind.options).expect("a sound drive");
        for lpn in 0..kind.options.logical_pages as usize {
            drive.write((lpn * page.len()) as u64, &page, false).expect("there is room");
        }
        drive.shut_down().expect("the power is on");
        let (before, block) = newest(drive.backend());
        drive.backend_mut().mark_bad(block).expect("memory takes it");
        for slot in [Slot::A, Slot::B] {
            drive.backend_mut().write_log(slot, 0, &[0; 8]).expect("memory takes it");
        }
        assert!(drive.mount().expect("the flash can be read").full_scan);
        drive.write(0, &page, true).expect("there is room");
        let (after, written) = newest(drive.backend());
        assert!(after > before && written != block, "{}: {after} in {written} after {before} in {block}", kind.name);
    }
}

/// Returns the highest sequence number on the flash, and the block that contains it.
fn newest(flash: &impl Backend) -> (u64, BlockId) {
    let pages = flash.geometry().pages_per_block;
    let mut spares = vec![0; pages as usize * SPARE_BYTES];
    let mut newest = (0, BlockId(0));
    for block in (0..flash.geometry().blocks).map(BlockId) {
        let first = block.0 * pages;
        flash.read_spares(Ppn(first), &mut spares).expect("memory can be read");
        for (ppn, spare) in (first..).map(Ppn).zip(spares.as_chunks().0) {
            if let Content::Programmed(found) = Content::decode(ppn, spare) {
                newest = newest.max((found.oob.sequence, block));
            }
        }
    }
    newest
}
