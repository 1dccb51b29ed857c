//! Goal: flash that fails loses nothing that can be read, never returns other data, and ends as a drive that can be read.
//! Method: fault plans of every kind under random requests, with the power lasting and cut.

use ssdlab_device::{Drive, DriveError, FaultPlan, MemoryBackend};

use crate::crash::Trial;
use crate::drives::{Kind, buffered, roomy, smallest};
use crate::world::{Lie, Stop, World};

fn world(kind: &Kind, plan: FaultPlan, seed: u64) -> World<MemoryBackend> {
    World::new(kind, MemoryBackend::new(kind.geometry), plan, seed, Lie::None)
}

fn plan(seed: u64) -> FaultPlan {
    FaultPlan { seed, ..FaultPlan::default() }
}

#[test]
fn a_page_that_is_damaged_is_an_error_and_never_other_data() {
    for kind in smallest() {
        for kind in [kind, buffered(kind)] {
            let mut world = world(&kind, FaultPlan { flips: 40, reads: 60, ..plan(1) }, 1);
            if let Err(stop) = world.go_on(1_500) {
                panic!("{}, {:?}: {stop:?}", kind.name, kind.options.buffer);
            }
            assert!(world.drive.health().media_errors > 0, "{}: no fault happened", kind.name);
        }
    }
}

/// Every drive with blocks to spare is used until they are gone.
#[test]
fn blocks_fail_until_the_drive_can_only_be_read() {
    for kind in roomy() {
        let programs = if kind.options.spare_for_failures > 0 { 600 } else { 0 };
        for seed in 0..4 {
            // So rare that no two fail in the course of one request, for which the FTLs keep no room.
            let mut world = world(&kind, FaultPlan { programs, erases: 400, ..plan(seed) }, seed);
            let worn_out = (0..100_000).find_map(|_| world.request().err());
            assert!(matches!(worn_out, Some(Stop::WornOut)), "{}, seed {seed}: {worn_out:?}", kind.name);
            let refused = world.drive.write(0, &[1], false).expect_err("it is worn out");
            assert!(matches!(refused, DriveError::ReadOnly { bad, .. } if bad > 0), "{}: {refused}", kind.name);
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
            bad += world.drive.health().bad_blocks;
            match world.go_on(600) {
                Ok(()) | Err(Stop::WornOut) => {}
                Err(stop) => panic!("{}, seed {seed}: {stop:?}", kind.name),
            }
        }
    }
    assert!(bad > 0);
}

/// Failing flash whose power is cut.
#[test]
fn failures_and_cuts_together_lose_nothing() {
    let mut points = 0;
    for kind in roomy() {
        let programs = if kind.options.spare_for_failures > 0 { 60 } else { 0 };
        for kind in [kind, buffered(kind)] {
            let plan = FaultPlan { programs, erases: 15, ..plan(7) };
            // A mount draws from the same random stream, so it is not done twice the same.
            let trial = Trial { plan, twice: false, ..Trial::new(kind, 3) };
            points += trial.exhaust(&MemoryBackend::new(kind.geometry)).unwrap_or_else(|broken| panic!("{broken}"));
        }
    }
    assert!(points > 500, "{points}");
}

/// A log-block FTL cannot go on when a program fails: the drive stops, and nothing acknowledged is lost.
#[test]
fn a_failed_program_that_the_ftl_cannot_handle_stops_the_drive() {
    for kind in smallest() {
        let mut world = world(&kind, FaultPlan { programs: 100, ..plan(2) }, 2);
        let Some(Stop::Broken(text)) = (0..10_000).find_map(|_| world.request().err()) else {
            panic!("{}: no program failed", kind.name)
        };
        assert!(text.contains("the flash operation failed"), "{}: {text}", kind.name);
        assert!(matches!(world.drive.read(0, &mut [0]), Err(DriveError::Off)));
        world.drive.backend_mut().set_plan(FaultPlan::default());
        world.drive.mount().unwrap_or_else(|error| panic!("{}: {error}", kind.name));
        world.take_stock().unwrap_or_else(|stop| panic!("{}: {stop:?}", kind.name));
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
