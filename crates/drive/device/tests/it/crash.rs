//! Goal: after a power loss at any flash operation, a drive keeps its promises and continues to work. Method: compares
//! random workloads with a model of the contents that are allowed. The power is cut at every operation in turn, and
//! again at every operation of the following mount. Flash has no failures, failing programs and erases, or faults of
//! every kind.

use std::thread;
use std::time::Instant;

use ssdlab_core::Rng;
use ssdlab_device::{Backend, FaultBackend, FaultPlan, MemoryBackend, PowerCut};

use crate::drives::{Kind, all_buffers, roomy, smallest};
use crate::world::{Lie, Stop, World, lose_log};

/// A workload and its power cuts.
#[derive(Clone, Copy)]
pub struct Trial {
    pub kind: Kind,
    pub plan: FaultPlan,
    pub torn: bool,
    pub seed: u64,
    /// Number of requests in the workload.
    pub requests: u32,
    /// True if the power is also cut during the following mount.
    pub twice: bool,
    pub lie: Lie,
    /// True if the power loss also destroys the log, so that the mount must scan all of the flash.
    pub log_lost: bool,
}

impl Trial {
    pub fn new(kind: Kind, seed: u64) -> Self {
        Self {
            kind,
            plan: FaultPlan::default(),
            torn: true,
            seed,
            requests: 60,
            twice: true,
            lie: Lie::None,
            log_lost: false,
        }
    }

    fn world<B: Backend + 'static>(&self, backend: B) -> World<B> {
        World::new(&self.kind, backend, self.plan, self.seed, self.lie)
    }

    fn broken(&self, what: &str, cut: u64, again: Option<u64>) -> String {
        let Self { kind, torn, seed, plan, log_lost, .. } = self;
        format!(
            "{}, buffer {:?}, seed {seed}, torn {torn}, log lost {log_lost}, {plan:?}: cut after {cut}, then {again:?}: {what}",
            kind.name, kind.options.buffer
        )
    }

    /// Cuts the power after every operation of the workload; returns the number of cut points.
    pub fn exhaust<B: Backend + Clone + 'static>(&self, blank: &B) -> Result<u64, String> {
        let mut points = 0;
        for after in 0.. {
            match self.cut(blank, after)? {
                0 => break,
                more => points += more,
            }
        }
        Ok(points)
    }

    /// Cuts the power after `after` operations of the workload, and after each operation of the following mount.
    /// Returns the number of cut points, or None if the workload has fewer operations.
    pub fn cut<B: Backend + Clone + 'static>(&self, blank: &B, after: u64) -> Result<u64, String> {
        let mut world = self.world(blank.clone());
        world.drive.backend_mut().cut_power(PowerCut { after, torn: self.torn });
        match (0..self.requests).try_for_each(|_| world.request()) {
            Ok(()) | Err(Stop::WornOut) => return Ok(0),
            Err(Stop::Off) => {}
            Err(stop) => return Err(self.broken(&stop.what(), after, None)),
        }
        let mut cut = world.drive.backend().clone();
        if self.log_lost {
            cut.restore_power();
            lose_log(&mut cut);
        }
        let mount_operations =
            self.resume(&world, cut.clone(), None).map_err(|what| self.broken(&what, after, None))?;
        let again = if self.twice { mount_operations } else { 0 };
        for again in 0..again {
            self.resume(&world, cut.clone(), Some(again)).map_err(|what| self.broken(&what, after, Some(again)))?;
        }
        Ok(1 + again)
    }

    /// Mounts the drive, cuts the power after some operations, mounts again and continues. Returns the number of
    /// operations of the mount.
    fn resume<B: Backend + Clone + 'static>(
        &self,
        world: &World<B>,
        mut flash: FaultBackend<B>,
        cut: Option<u64>,
    ) -> Result<u64, String> {
        flash.restore_power();
        let before = flash.operations();
        if let Some(after) = cut {
            flash.cut_power(PowerCut { after, torn: self.torn });
        }
        let mut world = world.resumed(&self.kind, flash);
        let mut mounted = world.drive.mount();
        let operations = world.drive.backend().operations() - before;
        if cut.is_some() {
            if mounted.is_ok() {
                return Err("a repeated mount executes other operations".into());
            }
            world.drive.backend_mut().restore_power();
            mounted = world.drive.mount();
        }
        let scanned = mounted.map_err(|error| error.to_string())?.full_scan;
        if scanned && !self.log_lost {
            return Err("the log was lost".into());
        }
        let went_on = world
            .take_stock_of(self.log_lost)
            // Some drives get no further requests, so that remains of an interrupted mount are not overwritten.
            .and_then(|()| world.go_on(world.drive.counts().programmed() as u32 % 3 * 6))
            .and_then(|()| world.trim_for_good());
        match went_on {
            Ok(()) | Err(Stop::Off | Stop::WornOut) => Ok(operations),
            Err(stop) => Err(stop.what()),
        }
    }
}

fn blank(kind: &Kind) -> MemoryBackend {
    MemoryBackend::new(kind.geometry)
}

/// Returns a fault plan with failing programs and erases.
pub fn failing(seed: u64) -> FaultPlan {
    FaultPlan { programs: 60, erases: 15, seed, ..FaultPlan::default() }
}

/// Returns a fault plan with failing programs and erases, lost pages, and bad blocks from the factory.
pub fn faulty(seed: u64) -> FaultPlan {
    let mut rng = Rng::named(seed, "plans");
    let mut one_in = |choices: [u64; 3]| choices[rng.below(3) as usize];
    FaultPlan {
        programs: one_in([25, 60, 150]),
        erases: one_in([15, 40, 0]),
        reads: one_in([25, 80, 0]),
        flips: one_in([10, 25, 60]),
        factory: one_in([0, 0, 25]),
        seed,
    }
}

/// Generates the trials of a seed: on flash without faults, on failing flash, or with faults of every kind and
/// sometimes a lost log. Drives on failing flash have spare blocks.
fn trials(seed: u64) -> impl Iterator<Item = Trial> {
    let (kinds, plan) = match seed % 3 {
        0 => (smallest(), FaultPlan::default()),
        1 => (roomy(), faulty(seed)),
        _ => (roomy(), failing(seed)),
    };
    let log_lost = seed % 6 == 4;
    // Some workloads are longer, and some power cuts do not tear the interrupted operation.
    let (requests, torn) = (24 + 36 * (seed % 4) as u32, seed % 5 != 4);
    let of = move |kind| Trial { requests, torn, plan, log_lost, ..Trial::new(kind, seed) };
    all_buffers(kinds).into_iter().map(of)
}

/// Cuts the power of drives of all kinds, with new seeds, until at least `least` cut points were tested.
fn cut_everywhere(least: u64) -> u64 {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut points = 0;
    for seed in 0.. {
        let cut = |trial: Trial| trial.exhaust(&blank(&trial.kind));
        points += thread::scope(|scope| {
            let share = |first| trials(seed).skip(first).step_by(threads);
            let work: Vec<_> = (0..threads)
                .map(|first| scope.spawn(move || share(first).map(cut).sum::<Result<u64, String>>()))
                .collect();
            let done = work.into_iter().map(|work| work.join().expect("a trial does not panic"));
            done.sum::<Result<u64, String>>().unwrap_or_else(|broken| panic!("{broken}"))
        });
        if points >= least {
            break;
        }
    }
    points
}

/// Returns the requested number of cut points; `make crash` requests many.
fn asked_for() -> u64 {
    std::env::var("SSDLAB_CRASH_POINTS").ok().map_or(750, |points| points.parse().expect("a number of cut points"))
}

#[test]
#[allow(clippy::print_stdout)]
fn every_promise_is_kept_wherever_the_power_is_cut() {
    let begun = Instant::now();
    let points = cut_everywhere(asked_for());
    println!("{points} cut points in {:.1} s, no broken promise", begun.elapsed().as_secs_f64());
}

#[test]
fn nothing_is_lost_while_the_power_lasts() {
    for kind in all_buffers(smallest()) {
        let mut world = Trial::new(kind, 1).world(blank(&kind));
        if let Err(stop) = world.go_on(2_000) {
            panic!("{}, {:?}: {stop:?}", kind.name, kind.options.buffer);
        }
    }
}
