//! Goal: on failing flash, no readable data is lost, reads never return other data, and the drive finally becomes
//! read-only. Method: random requests with fault plans of every kind, with and without power cuts.

use ssdlab_device::{Drive, DriveError, FaultPlan, MemoryBackend};

use crate::crash::{Trial, failing, faulty};
use crate::drives::{Kind, all_buffers, protected, roomy, smallest};
use crate::world::{Lie, Stop, World};

fn world(kind: &Kind, plan: FaultPlan, seed: u64) -> World<MemoryBackend> {
    World::new(kind, MemoryBackend::new(kind.geometry), plan, seed, Lie::None)
}

fn plan(seed: u64) -> FaultPlan {
    FaultPlan { seed, ..FaultPlan::default() }
}

#[test]
fn a_page_that_is_damaged_is_an_error_and_never_other_data() {
    for kind in all_buffers(smallest()) {
        let mut world = world(&kind, FaultPlan { flips: 40, reads: 60, ..plan(1) }, 1);
        if let Err(stop) = world.go_on(1_500) {
            panic!("{}, {:?}: {stop:?}", kind.name, kind.options.buffer);
        }
        assert!(world.drive.health().media_errors > 0, "{}: no fault happened", kind.name);
    }
}

/// Uses every drive with spare blocks until no spare block is left.
#[test]
fn blocks_fail_until_the_drive_is_read_only() {
    for kind in roomy() {
        for seed in 0..4 {
            let mut world = world(&kind, FaultPlan { programs: 200, erases: 400, ..plan(seed) }, seed);
            let worn_out = (0..100_000).find_map(|_| world.request().err());
            assert!(matches!(worn_out, Some(Stop::WornOut)), "{}, seed {seed}: {worn_out:?}", kind.name);
            let health = world.drive.health();
            assert_eq!((health.available_spare, health.spare_blocks), (0, 0), "{}, seed {seed}", kind.name);
            let refused = world.drive.write(0, &[1], false).expect_err("it is worn out");
            assert!(matches!(refused, DriveError::ReadOnly { bad, .. } if bad > 0), "{}: {refused}", kind.name);
            world.take_stock().unwrap_or_else(|stop| panic!("{}, seed {seed}: {stop:?}", kind.name));
            // The state is permanent: it survives a power loss and a checkpoint.
            for in_good_order in [false, true] {
                if in_good_order {
                    world.drive.shut_down().unwrap_or_else(|error| panic!("{}, seed {seed}: {error}", kind.name));
                }
                world.drive.mount().unwrap_or_else(|error| panic!("{}, seed {seed}: {error}", kind.name));
                let refused = world.drive.write(0, &[1], false);
                assert!(matches!(refused, Err(DriveError::ReadOnly { .. })), "{}, seed {seed}: {refused:?}", kind.name);
                assert_eq!(world.drive.health().available_spare, 0, "{}, seed {seed}", kind.name);
            }
            world.take_stock().unwrap_or_else(|stop| panic!("{}, seed {seed}: {stop:?}", kind.name));
        }
    }
}

#[test]
fn blocks_bad_from_the_factory_are_never_used() {
    let mut bad = 0;
    for kind in roomy() {
        for seed in 0..4 {
            let mut world = world(&kind, FaultPlan { factory: 12, ..plan(seed) }, seed);
            let health = world.drive.health();
            bad += health.bad_blocks;
            assert!(health.available_spare == 100 || health.bad_blocks > 0, "{}: {health:?}", kind.name);
            // A new drive has empty counters, with and without bad blocks.
            assert_eq!((health.power_cycles, health.unsafe_shutdowns), (0, 0), "{}, seed {seed}", kind.name);
            match world.go_on(600) {
                Ok(()) | Err(Stop::WornOut) => {}
                Err(stop) => panic!("{}, seed {seed}: {stop:?}", kind.name),
            }
        }
    }
    assert!(bad > 0);
}

/// Combines failing flash with power cuts.
#[test]
fn failures_and_cuts_together_lose_nothing() {
    let mut points = 0;
    for kind in all_buffers(roomy()) {
        let trial = Trial { plan: failing(7), requests: 22, ..Trial::new(kind, 3) };
        points += trial.exhaust(&MemoryBackend::new(kind.geometry)).unwrap_or_else(|broken| panic!("{broken}"));
    }
    assert!(points > 500, "{points}");
}

/// Checks that a flushed page reads unchanged or as an error after faults of every kind and power losses, with and
/// without the log.
#[test]
fn faults_and_cuts_together_return_no_older_copies() {
    let mut points = 0;
    for (seed, log_lost) in [(1, false), (2, true)] {
        for kind in all_buffers(roomy()) {
            let trial = Trial { plan: faulty(seed), requests: 25, twice: false, log_lost, ..Trial::new(kind, seed) };
            points += trial.exhaust(&MemoryBackend::new(kind.geometry)).unwrap_or_else(|broken| panic!("{broken}"));
        }
    }
    assert!(points > 1_000, "{points}");
}

/// Checks that without a block reserved for failures, the drive becomes read-only after the first failed program. No
/// acknowledged data is lost, even after a power loss.
#[test]
fn without_blocks_to_spare_a_failed_program_ends_writing() {
    for kind in smallest().into_iter().flat_map(|kind| [kind, protected(kind)]) {
        for seed in 0..8 {
            let mut world = world(&kind, FaultPlan { programs: 100, ..plan(seed) }, seed);
            let stopped = (0..10_000).find_map(|_| world.request().err());
            assert!(matches!(stopped, Some(Stop::WornOut)), "{}, seed {seed}: {stopped:?}", kind.name);
            world.take_stock().unwrap_or_else(|stop| panic!("{}, seed {seed}: {stop:?}", kind.name));
            world.drive.mount().unwrap_or_else(|error| panic!("{}, seed {seed}: {error}", kind.name));
            world.take_stock().unwrap_or_else(|stop| panic!("{}, seed {seed}, mounted: {stop:?}", kind.name));
            // The state is permanent, although no block has been marked as bad yet.
            let refused = world.drive.write(0, &[1], false);
            assert!(matches!(refused, Err(DriveError::ReadOnly { .. })), "{}, seed {seed}: {refused:?}", kind.name);
        }
    }
}

#[test]
fn options_that_do_not_fit_the_flash_are_refused() {
    let kind = smallest()[0];
    let mut options = kind.options;
    options.logical_pages *= 100;
    let refused = Drive::create(MemoryBackend::new(kind.geometry), options).err().expect("too large");
    assert!(refused.to_string().contains("cannot hold"), "{refused}");
    assert_eq!(refused.errno(), 22);
}
