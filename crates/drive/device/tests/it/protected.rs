//! Tests of a write buffer with power-loss protection: it needs fewer programs, and its pages survive power losses.

use ssdlab_device::{Drive, FaultBackend, FaultPlan, MemoryBackend};

use crate::crash::Trial;
use crate::drives::{Kind, buffered, protected, roomy, smallest};
use crate::world::{Lie, Stop, World};

fn page_bytes(kind: &Kind) -> usize {
    kind.geometry.page_bytes as usize
}

/// Checks that overwrites and flushes cause no programs with a protected buffer, but with an unprotected buffer each
/// flush does.
#[test]
fn a_flush_programs_nothing() {
    for kind in smallest() {
        let programs = |kind: Kind| {
            let mut drive = Drive::create(MemoryBackend::new(kind.geometry), kind.options).expect("a sound drive");
            for round in 0..10_u8 {
                drive.write(0, &vec![round; page_bytes(&kind)], round % 2 == 0).expect("it can be written");
                drive.flush().expect("it can be flushed");
            }
            drive.counts().programs[0]
        };
        assert_eq!((programs(protected(kind)), programs(buffered(kind))), (0, 10), "{}", kind.name);
    }
}

/// Checks that a mount recovers the buffered pages even if the drive then has another write buffer or none.
#[test]
fn buffered_pages_survive_a_change_of_the_buffer() {
    for kind in smallest() {
        for after in [kind, buffered(kind), protected(kind)] {
            let before = protected(kind);
            let mut drive = Drive::create(MemoryBackend::new(kind.geometry), before.options).expect("a sound drive");
            drive.write(0, &vec![7; page_bytes(&kind)], false).expect("it can be written");
            // Writes a part of a page; the rest of the page is zeros.
            drive.write(page_bytes(&kind) as u64 + 3, &[9; 5], false).expect("it can be written");
            assert_eq!(drive.buffered_pages(), 2);
            let mut drive = Drive::off(drive.into_backend(), after.options).expect("a sound drive");
            let report = drive.mount().expect("it can be mounted");
            assert_eq!((report.operations.programs[0], drive.buffered_pages()), (2, 0), "{}", kind.name);
            let mut read = vec![1; 2 * page_bytes(&kind)];
            drive.read(0, &mut read).expect("it can be read");
            let mut expected = [vec![7; page_bytes(&kind)], vec![0; page_bytes(&kind)]].concat();
            expected[page_bytes(&kind) + 3..page_bytes(&kind) + 8].fill(9);
            assert_eq!(read, expected, "{}", kind.name);
        }
    }
}

#[test]
fn a_shutdown_empties_the_buffer() {
    for kind in smallest().into_iter().map(protected) {
        let mut drive = Drive::create(MemoryBackend::new(kind.geometry), kind.options).expect("a sound drive");
        drive.write(0, &[3], false).expect("it can be written");
        drive.shut_down().expect("it can be shut down");
        let mut drive = Drive::off(drive.into_backend(), kind.options).expect("a sound drive");
        let report = drive.mount().expect("it can be mounted");
        assert!(report.clean && report.operations.programs[0] == 0, "{}: {report:?}", kind.name);
    }
}

/// Goal: remains of an interrupted start of a journal are not read as records. Method: workloads that need several
/// journals, with a power cut at every operation.
#[test]
fn a_journal_counts_only_once_it_is_complete() {
    for kind in smallest().into_iter().map(protected) {
        let trial = Trial { requests: 80, twice: false, ..Trial::new(kind, 1) };
        let points = trial.exhaust(&MemoryBackend::new(kind.geometry)).unwrap_or_else(|broken| panic!("{broken}"));
        assert!(points > 150, "{}: {points} cut points", kind.name);
    }
}

/// Checks that a read-only drive keeps acknowledged pages that never reached the flash, over many mounts.
#[test]
fn a_worn_out_drive_keeps_buffered_pages() {
    for kind in roomy().into_iter().map(protected) {
        let plan = FaultPlan { programs: 40, erases: 40, seed: 3, ..FaultPlan::default() };
        let mut world = World::new(&kind, MemoryBackend::new(kind.geometry), plan, 3, Lie::None);
        let stopped = (0..100_000).find_map(|_| world.request().err());
        assert!(matches!(stopped, Some(Stop::WornOut)), "{}: {stopped:?}", kind.name);
        for mount in 0..3 {
            world = world.reopened(&kind, |flash| {
                FaultBackend::new(flash.into_inner(), FaultPlan::default()).expect("it can be read")
            });
            world.drive.mount().unwrap_or_else(|error| panic!("{}: {error}", kind.name));
            world.take_stock().unwrap_or_else(|stop| panic!("{}, mount {mount}: {stop:?}", kind.name));
        }
    }
}
