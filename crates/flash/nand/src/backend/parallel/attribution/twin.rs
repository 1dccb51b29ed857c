//! Tests that requests are charged for the actual causes of their delay. The test issues random requests to random
//! arrays, and logs which operations occupy each die between successive events. It then computes the cause of each wait
//! from this log, interval by interval.

use std::collections::BTreeMap;

use ssdlab_core::{BlockId, Lpn, Nanos, Ppn, Rng};

use super::super::die::{Cells, Command, Registers};
use super::super::ops::{Kind, NONE};
use super::super::scheduler::DIE_SCHEDULERS;
use super::super::{ArrayOptions, JobKind, NEVER, ParallelFlash, Requester, UntimedFlash};
use super::{CAUSES, StallCause, StallTimes};
use crate::backend::Flash;
use crate::{
    Cause, Commands, FlashSink, Geometry, Interruption, PageTimes, Parallelism, ProgramOrder, Role, Source, SpareArea,
    StripeOrder, Suspend, Timing, Units,
};

const BLOCKS_PER_PLANE: u32 = 4;
const PAGES_PER_BLOCK: u32 = 8;
const WORLDS: u64 = 150;

/// Identifies an operation by its die and its number on that die.
type Id = (u32, u64);

/// An operation as it was emitted.
#[derive(Clone, Copy, Debug)]
struct Emitted {
    job: u32,
    at_ns: u64,
    kind: Kind,
    cause: Cause,
    block: u32,
}

/// Operations that occupy a die between two successive events.
#[derive(Clone, Debug, Default)]
struct Held {
    /// Operations that are being executed in the cells (read, program or erase).
    cells: Vec<Id>,
    /// Operations that a host read has interrupted.
    interrupted: Vec<Id>,
    suspending: bool,
    /// Operations whose data waits for the bus or is being transferred.
    on_bus: Vec<Id>,
    /// Programs whose data is in the registers.
    loaded: Vec<Id>,
}

struct World {
    flash: ParallelFlash,
    dies: u32,
    emitted: BTreeMap<Id, Emitted>,
    /// Operations in the order in which they were emitted.
    order: Vec<Id>,
    /// For each interval between events: its start, and the operations on each die.
    log: Vec<(u64, Vec<Held>)>,
    ended: Vec<(Id, u64)>,
    cache_program: bool,
}

impl World {
    fn new(rng: &mut Rng) -> Self {
        let mut coin = || rng.below(2) == 0;
        let commands =
            Commands { multiplane: coin(), cache_read: coin(), cache_program: coin(), ..Commands::default() };
        let copyback = coin();
        let mut interruption = || Interruption {
            time: Nanos(rng.below(300)),
            spread: Nanos(rng.below(2) * 100),
            slice: Nanos(rng.below(2) * 250),
            resume: Nanos(rng.below(2) * 30),
            limit: 1 + rng.below(3) as u32,
        };
        let (erase, program) = (interruption(), interruption());
        let suspend = match rng.below(3) {
            0 => Suspend::Never,
            1 => Suspend::Erase(erase),
            _ => Suspend::EraseAndProgram { erase, program },
        };
        let mut level = |most: u64| 1 + rng.below(most) as u32;
        let parallelism = Parallelism {
            channels: level(3),
            ways: level(2),
            dies: level(2),
            planes: level(2),
            order: StripeOrder::CWDP,
        };
        let geometry = Geometry {
            page_bytes: 4096,
            pages_per_block: PAGES_PER_BLOCK,
            blocks: BLOCKS_PER_PLANE * parallelism.planes(),
            order: ProgramOrder::Any,
            parallelism,
            units: Units::PAGE,
        };
        let timing = Timing {
            read: PageTimes::of(&[Nanos(90), Nanos(131)]).expect("two"),
            program: PageTimes::uniform(Nanos(700)),
            erase: Nanos(2_900),
            slc: None,
            transfer_per_kib: Nanos(1 + rng.below(60)),
            copyback,
            partial_read: false,
        };
        let scheduler = DIE_SCHEDULERS[rng.below(DIE_SCHEDULERS.len() as u64) as usize];
        let commands = Commands { suspend, ..commands };
        let options = ArrayOptions { commands, scheduler, seed: 1, memory_survives: true };
        let mut flash = ParallelFlash::new(&geometry, &timing, options, UntimedFlash::new(&geometry, None));
        flash.attribute_latency();
        let dies = parallelism.dies();
        let cache_program = commands.cache_program;
        let (emitted, order, log, ended) = (BTreeMap::new(), Vec::new(), Vec::new(), Vec::new());
        Self { flash, dies, emitted, order, log, ended, cache_program }
    }

    fn held(&self) -> Vec<Held> {
        let id = |index: u32| (u32::from(self.flash.ops[index].die), self.flash.ops[index].number);
        let list = |first: u32| {
            let next = |&index: &u32| Some(self.flash.ops[index].next).filter(|&next| next != NONE);
            std::iter::successors(Some(first), next).map(id).collect::<Vec<_>>()
        };
        let all = |command: Command| list(command.first);
        let of_die = |die: u32| {
            let die = &self.flash.dies[die as usize];
            let mut held = Held::default();
            match die.cells {
                Cells::Busy(work) => held.cells = all(work.command),
                Cells::Full(command) => held.on_bus = all(command),
                Cells::Suspending => held.suspending = true,
                Cells::Idle => {}
            }
            match die.registers {
                // For a read, lists only the operations whose pages have not been transferred yet; the other operations
                // of the command have ended.
                Registers::Moving(command) if command.reads => held.on_bus.extend(list(command.transfer)),
                Registers::Moving(command) => held.on_bus.extend(all(command)),
                Registers::Loaded(command) => held.loaded = all(command),
                Registers::Free => {}
            }
            if let Some(suspended) = die.suspended {
                held.interrupted = all(suspended.work.command);
                held.loaded.extend(suspended.loaded.into_iter().flat_map(all));
            }
            held
        };
        (0..self.dies).map(of_die).collect()
    }

    /// Logs the operations that occupy each die after an event.
    fn look(&mut self) {
        let now_ns = self.flash.now_ns();
        let held = self.held();
        if let Some((_, before)) = self.log.last() {
            let ids = |held: &Held| {
                [&held.cells, &held.interrupted, &held.on_bus, &held.loaded].into_iter().flatten().copied().collect()
            };
            for (before, now) in before.iter().zip(&held) {
                let (before, now): (Vec<Id>, Vec<Id>) = (ids(before), ids(now));
                self.ended.extend(before.into_iter().filter(|id| !now.contains(id)).map(|id| (id, now_ns)));
            }
        }
        self.log.push((now_ns, held));
    }

    fn advance(&mut self) {
        self.flash.advance();
        self.look();
    }

    /// Submits the operations that `emit` emits as one job.
    fn job(&mut self, owner: u32, kind: JobKind, emit: impl FnOnce(&mut Logged<'_>)) {
        self.flash.submit(owner, Requester::default(), kind);
        let Self { flash, emitted, order, .. } = self;
        let mut logged = Logged { flash, emitted, order, job: owner, kind };
        emit(&mut logged);
        self.flash.submitted();
        self.look();
    }

    fn kind_of(&self, id: Id) -> StallCause {
        let Emitted { cause, kind, .. } = self.emitted[&id];
        match cause {
            Cause::Host if kind == Kind::Read => StallCause::HostReads,
            Cause::Host => StallCause::HostWrites,
            Cause::ReadModifyWrite => StallCause::PartialPages,
            Cause::MapLoad | Cause::MapWriteBack | Cause::MapUpdate | Cause::MapGc => StallCause::Map,
            _ => StallCause::Collection,
        }
    }

    /// Returns the cause charged to the waiting operation `id` of `job` while the operations in `held` occupy its die.
    fn charged(&self, id: Id, job: u32, held: &Held) -> StallCause {
        if held.on_bus.contains(&id) {
            return StallCause::Bus;
        }
        let does = self.does(held);
        let own = |id: &Id| {
            let op = self.emitted[id];
            op.job == job && op.cause == Cause::Host && self.kind_of(*id) == does
        };
        if held.cells.iter().any(own) { StallCause::Service } else { does }
    }

    /// Returns the cause charged to waiting operations while the operations in `held` occupy their die.
    fn does(&self, held: &Held) -> StallCause {
        if let Some(&first) = held.cells.first() {
            return self.kind_of(first);
        }
        let interrupted = held.interrupted.first().map(|&id| self.kind_of(id));
        match interrupted {
            Some(kind) if held.suspending => kind,
            _ if !held.on_bus.is_empty() || !held.loaded.is_empty() => StallCause::Bus,
            Some(kind) => kind,
            None => StallCause::Dependency,
        }
    }

    /// Returns the time spent on each cause, summed over all dies and computed from the log alone.
    fn dies(&self) -> StallTimes {
        let mut time = StallTimes::default();
        for pair in self.log.windows(2) {
            let [(begin_ns, held), (next_ns, _)] = pair else { unreachable!("two") };
            held.iter().for_each(|held| time[self.does(held) as usize] += next_ns - begin_ns);
        }
        time
    }

    /// Returns the operations of the same job that must end before operation `id` may begin.
    fn waits_for(&self, id: Id) -> Vec<Id> {
        let op = self.emitted[&id];
        let before =
            || self.order.iter().copied().take_while(|&other| other != id).collect::<Vec<_>>().into_iter().rev();
        let own = |other: &Id| self.emitted[other].job == op.job;
        let latest = |cause: Cause, most: usize| {
            before().filter(own).filter(|other| self.emitted[other].cause == cause).take(most).collect::<Vec<_>>()
        };
        let mut blockers = match (op.kind, op.cause) {
            (Kind::Read, Cause::Host | Cause::ReadModifyWrite) => latest(Cause::MapLoad, 1),
            (Kind::Program, Cause::Host) => latest(Cause::ReadModifyWrite, 2),
            _ => Vec::new(),
        };
        let behind = before().find(|other| self.emitted[other].block == op.block).filter(own);
        blockers.extend(behind.filter(|behind| {
            let first = self.emitted[behind].kind;
            let overlaps = self.cache_program && first == Kind::Program && op.kind == Kind::Program;
            first != Kind::Read && !overlaps
        }));
        blockers
    }

    /// Attributes the time from when an operation was emitted to its end to causes, using only the log.
    fn path(&self, id: Id) -> [u64; CAUSES] {
        let Emitted { job, at_ns, .. } = self.emitted[&id];
        let end = |id: Id| self.ended.iter().rposition(|&(ended, _)| ended == id).expect("it ended");
        let last = self.waits_for(id).into_iter().max_by_key(|&id| end(id));
        let (mut parts, from_ns) = match last {
            Some(other) => (self.path(other), self.ended[end(other)].1),
            None => ([0; CAUSES], at_ns),
        };
        let until_ns = self.ended[end(id)].1;
        for (index, (begin_ns, held)) in self.log.iter().enumerate() {
            let next_ns = self.log.get(index + 1).map_or(*begin_ns, |&(next_ns, _)| next_ns);
            let (begin_ns, next_ns) = ((*begin_ns).max(from_ns), next_ns.min(until_ns));
            if begin_ns < next_ns {
                parts[self.charged(id, job, &held[id.0 as usize]) as usize] += next_ns - begin_ns;
            }
        }
        parts
    }
}

/// Flash that logs the operations emitted.
struct Logged<'w> {
    flash: &'w mut ParallelFlash,
    emitted: &'w mut BTreeMap<Id, Emitted>,
    order: &'w mut Vec<Id>,
    job: u32,
    kind: JobKind,
}

impl Logged<'_> {
    fn note(&mut self, ppn: u32, kind: Kind, cause: Cause) {
        let block = ppn / PAGES_PER_BLOCK;
        let die = self.flash.layout.at(Ppn(block * PAGES_PER_BLOCK)).die;
        let number = self.flash.dies[die as usize].emitted;
        let waited = matches!(cause, Cause::Host | Cause::ReadModifyWrite | Cause::MapLoad);
        let job = if waited && self.kind == JobKind::Request { self.job } else { NONE };
        let at_ns = self.flash.now_ns();
        self.order.push((die, number));
        self.emitted.insert((die, number), Emitted { job, at_ns, kind, cause, block });
    }

    fn read(&mut self, ppn: u32, cause: Cause) {
        self.note(ppn, Kind::Read, cause);
        self.flash.read(Ppn(ppn), cause);
    }

    fn program(&mut self, ppn: u32, source: Source, cause: Cause) {
        self.note(ppn, Kind::Program, cause);
        self.flash.program(Ppn(ppn), SpareArea { lpn: Lpn(0), sequence: 0, role: Role::Data }, source, cause);
    }

    fn erase(&mut self, block: u32, cause: Cause) {
        self.note(block * PAGES_PER_BLOCK, Kind::Erase, cause);
        self.flash.erase(BlockId(block), cause);
    }
}

fn requests_of(rng: &mut Rng, world: &mut World, jobs: u32) {
    let pages = world.dies * world.flash.chips.planes_per_die * BLOCKS_PER_PLANE * PAGES_PER_BLOCK;
    for owner in 0..jobs {
        for _ in 0..rng.below(7) {
            if world.flash.next_ns() != NEVER {
                world.advance();
            }
        }
        let kind = match rng.below(6) {
            0 => JobKind::BufferedPage,
            1 => JobKind::Collection,
            _ => JobKind::Request,
        };
        world.job(owner, kind, |flash| {
            let mut page = || rng.below(u64::from(pages)) as u32;
            if kind == JobKind::Collection || page() % 4 == 0 {
                // Garbage collection for a request that needs free pages: a copy, then an erase.
                let (from, to) = (page(), page());
                flash.read(from, Cause::Gc);
                flash.program(to, Source::Copy(Ppn(from)), Cause::Gc);
                flash.erase(from / PAGES_PER_BLOCK, Cause::Gc);
            }
            if kind == JobKind::Collection {
                return;
            }
            let count = 1 + page() % 4;
            let writes = kind == JobKind::BufferedPage || page() % 2 == 0;
            let (load, partial) = (page() % 3 == 0, page() % 3 == 0);
            if load {
                flash.read(page(), Cause::MapLoad);
                flash.program(page(), Source::Map, Cause::MapWriteBack);
            }
            if writes && partial {
                flash.read(page(), Cause::ReadModifyWrite);
            }
            let first = page();
            for page in 0..count {
                let ppn = (first + page * (1 + first % 9)) % pages;
                if writes {
                    flash.program(ppn, Source::Host(page), Cause::Host);
                } else {
                    flash.read(ppn, Cause::Host);
                }
            }
        });
    }
    while world.flash.next_ns() != NEVER {
        world.advance();
    }
}

#[test]
fn charges_match_the_log() {
    let mut seen = [0; CAUSES];
    for seed in 0..WORLDS {
        let mut rng = Rng::named(seed, "waits");
        let mut world = World::new(&mut rng);
        requests_of(&mut rng, &mut world, 40);
        assert_eq!(world.flash.stalls_of_dies(), Some(world.dies()), "world {seed}");
        while let Some(done) = world.flash.take_done() {
            let job = done.owner;
            // A request does not wait for operations of other jobs.
            let Some(last) = world.ended.iter().rev().find(|(id, _)| world.emitted[id].job == job) else { continue };
            let expected = world.path(last.0);
            let elapsed_ns = last.1 - world.emitted[&last.0].at_ns;
            let stalls = *world.flash.stalls_of(job).expect("attribution is on");
            assert_eq!(
                stalls.iter().sum::<u64>(),
                elapsed_ns,
                "seed {seed}, request {job}: the times of all causes must add up to the latency"
            );
            assert_eq!(stalls, expected, "seed {seed}, request {job}");
            seen.iter_mut().zip(stalls).for_each(|(seen, part)| *seen += part);
        }
    }
    assert!(seen.iter().all(|&ns| ns > 0), "every cause must occur: {seen:?}");
}
