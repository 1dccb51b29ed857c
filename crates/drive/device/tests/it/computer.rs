//! Goal: when the computer loses power, a drive's file still holds all flushed data. Method: a disk that keeps all
//! writes before the latest sync, and a random subset of the later writes. Pages, spare areas and sectors of a log are
//! kept or lost independently.

use ssdlab_core::{BlockId, Ppn, Rng};
use ssdlab_device::{
    Backend, DriveError, Fault, FaultBackend, FaultPlan, MemoryBackend, Options, PowerCut, SPARE_BYTES, Slot,
    SpareBytes, WriteBuffer,
};
use ssdlab_nand::Geometry;

use crate::drives::{Kind, all_buffers, any_buffer, of_blocks, smallest};
use crate::world::{Lie, Stop, World};

/// Size of a sector, which a disk writes completely or not at all.
const SECTOR_BYTES: u64 = 512;

/// Seeds for which a drive once broke its promise or accepted no more writes.
const FOUND: [u64; 3] = [127, 739, 2707];

/// A write since the latest sync, which a power loss may lose.
#[derive(Clone)]
enum Write {
    Page(Ppn, Vec<u8>),
    Spare(Ppn, SpareBytes),
    Erase(BlockId),
    Bad(BlockId),
    Log(Slot, u64, Vec<u8>),
}

impl Write {
    fn kind(&self) -> u64 {
        match self {
            Self::Page(..) => 0,
            Self::Spare(..) => 1,
            Self::Erase(_) => 2,
            Self::Bad(_) => 3,
            Self::Log(Slot::BufferJournal, ..) => 4,
            Self::Log(..) => 5,
        }
    }
}

struct Disk {
    /// Contents of the disk at the latest sync.
    safe: MemoryBackend,
    now: MemoryBackend,
    unsafe_writes: Vec<Write>,
}

impl Disk {
    fn new(kind: &Kind) -> Self {
        let blank = MemoryBackend::new(kind.geometry);
        Self { safe: blank.clone(), now: blank, unsafe_writes: Vec::new() }
    }

    /// Returns the contents of the disk after a power loss of the computer.
    fn crashed(self, rng: &mut Rng) -> Result<Self, Fault> {
        let Self { mut safe, unsafe_writes, .. } = self;
        let mut page = vec![0; safe.geometry().page_bytes as usize];
        let mut spare = [0; SPARE_BYTES];
        // The share of writes that the disk keeps is random, from nearly none to nearly all. In some power losses, the
        // share of one kind of writes is very different from the share of the other kinds.
        let (kept_of_8, odd) = (rng.below(9), rng.below(10));
        for write in unsafe_writes {
            let kept_of_8 = match write.kind() == odd {
                true if kept_of_8 < 5 => 8,
                true => 0,
                false => kept_of_8,
            };
            if rng.below(8) >= kept_of_8 {
                continue;
            }
            match write {
                Write::Page(ppn, written) => {
                    safe.read(ppn, &mut page, &mut spare)?;
                    safe.program(ppn, &written, &spare)?;
                }
                Write::Spare(ppn, written) => {
                    safe.read(ppn, &mut page, &mut spare)?;
                    safe.program(ppn, &page, &written)?;
                }
                Write::Erase(block) => safe.erase(block)?,
                Write::Bad(block) => safe.mark_bad(block)?,
                Write::Log(slot, at, bytes) => safe.write_log(slot, at, &bytes)?,
            }
        }
        Ok(Self { now: safe.clone(), safe, unsafe_writes: Vec::new() })
    }
}

impl Backend for Disk {
    fn geometry(&self) -> &Geometry {
        self.now.geometry()
    }

    fn read(&self, ppn: Ppn, page: &mut [u8], spare: &mut SpareBytes) -> Result<(), Fault> {
        self.now.read(ppn, page, spare)
    }

    fn read_spares(&self, first: Ppn, spares: &mut [u8]) -> Result<(), Fault> {
        self.now.read_spares(first, spares)
    }

    fn program(&mut self, ppn: Ppn, page: &[u8], spare: &SpareBytes) -> Result<(), Fault> {
        self.unsafe_writes.extend([Write::Page(ppn, page.to_vec()), Write::Spare(ppn, *spare)]);
        self.now.program(ppn, page, spare)
    }

    fn erase(&mut self, block: BlockId) -> Result<(), Fault> {
        let is_page = |write: &Write| matches!(write, Write::Page(..));
        assert!(!self.unsafe_writes.iter().any(is_page), "block {block} is erased before its copies are synced");
        self.unsafe_writes.push(Write::Erase(block));
        self.now.erase(block)
    }

    fn sync(&mut self) -> Result<(), Fault> {
        self.unsafe_writes.clear();
        self.safe.clone_from(&self.now);
        Ok(())
    }

    fn is_bad(&self, block: BlockId) -> bool {
        self.now.is_bad(block)
    }

    fn mark_bad(&mut self, block: BlockId) -> Result<(), Fault> {
        self.unsafe_writes.push(Write::Bad(block));
        self.now.mark_bad(block)
    }

    fn read_log(&self, slot: Slot, offset: u64, bytes: &mut [u8]) -> Result<(), Fault> {
        self.now.read_log(slot, offset, bytes)
    }

    fn write_log(&mut self, slot: Slot, offset: u64, bytes: &[u8]) -> Result<(), Fault> {
        let mut at = offset;
        let mut rest = bytes;
        while !rest.is_empty() {
            let (sector, behind) = rest.split_at(rest.len().min((SECTOR_BYTES - at % SECTOR_BYTES) as usize));
            self.unsafe_writes.push(Write::Log(slot, at, sector.to_vec()));
            at += sector.len() as u64;
            rest = behind;
        }
        self.now.write_log(slot, offset, bytes)
    }
}

/// Returns the unmounted drive after a power loss; if `crashes` is true, the computer may also have lost power.
fn found(world: World<Disk>, kind: &Kind, plan: FaultPlan, crashes: bool, rng: &mut Rng) -> World<Disk> {
    world.reopened(kind, |mut flash| {
        flash.restore_power();
        if !crashes {
            return flash;
        }
        let disk = flash.into_inner().crashed(rng).expect("memory takes it");
        FaultBackend::new(disk, plan).expect("it can be read")
    })
}

/// Mounts each drive several times between power losses, with different write buffers; mounts may be interrupted too.
#[test]
fn a_computer_that_loses_its_power_keeps_flushed_data() {
    for seed in (0..ssdlab_tiers::cases(3).cases.into()).chain(FOUND) {
        let mut rng = Rng::named(seed, "computers");
        for first in all_buffers(smallest()) {
            let mut kind = first;
            let keeps_buffer = rng.below(2) == 0;
            let torn = FaultPlan { seed, ..FaultPlan::default() };
            let mut world = World::new(&kind, Disk::new(&kind), torn, 4 + seed, Lie::None).over_a_disk();
            // With several planes, a plane may get more recovered older copies than it can collect.
            let may_wear_out = kind.geometry.parallelism.planes() > 1;
            let mut crash = 0;
            while crash < 40 {
                let place = format!("seed {seed}, {}, {:?}, crash {crash}", kind.name, kind.options.buffer);
                // The power fails between two requests, or during a request or a mount.
                let cut = (rng.below(2) == 0).then(|| PowerCut { after: rng.below(90), torn: true });
                if let Some(cut) = cut {
                    world.drive.backend_mut().cut_power(cut);
                }
                let requests = if rng.below(20) == 0 { 200 } else { rng.below(30) };
                match (0..requests).try_for_each(|_| world.request()) {
                    Ok(()) | Err(Stop::Off) => {}
                    Err(Stop::WornOut) if may_wear_out => break,
                    Err(stop) => panic!("{place}: {stop:?}"),
                }
                let mut mounted = false;
                while !mounted {
                    if !keeps_buffer {
                        kind = any_buffer(kind, &mut rng);
                    }
                    let crashes = rng.below(4) > 0;
                    crash += u32::from(crashes);
                    world = found(world, &kind, torn, crashes, &mut rng);
                    if rng.below(3) == 0 {
                        world.drive.backend_mut().cut_power(PowerCut { after: rng.below(50), torn: true });
                    }
                    match world.drive.mount() {
                        Ok(report) => assert!(!report.full_scan, "{place}"),
                        Err(DriveError::Off) => continue,
                        Err(error) => panic!("{place}: {error}"),
                    }
                    mounted = true;
                    world.drive.backend_mut().restore_power();
                    world.take_stock().unwrap_or_else(|stop| panic!("{place}: {stop:?}"));
                }
            }
        }
    }
}

/// Tests the rule that [`Disk::erase`] checks, on drives without a log, whose records would sync the disk.
#[test]
fn a_mount_without_a_log_makes_copies_safe_before_it_erases() {
    let mut erases = 0;
    for seed in 0..ssdlab_tiers::cases(5).cases.into() {
        for kind in smallest() {
            let mut rng = Rng::named(seed, "logs lost");
            let plan = FaultPlan { seed, ..FaultPlan::default() };
            let mut world = World::new(&kind, Disk::new(&kind), plan, seed, Lie::None);
            for _ in 0..10 {
                world.drive.backend_mut().cut_power(PowerCut { after: 20 + rng.below(150), torn: true });
                let _ = (0..100).try_for_each(|_| world.request());
                world.drive.backend_mut().restore_power();
                world.drive.cut_power();
                world.lose_log();
                let report = world.drive.mount().unwrap_or_else(|error| panic!("seed {seed}, {}: {error}", kind.name));
                assert!(report.full_scan);
                erases += report.operations.erased();
                match world.take_stock_of(true) {
                    Ok(()) => {}
                    Err(Stop::WornOut) => break,
                    Err(stop) => panic!("seed {seed}, {}: {stop:?}", kind.name),
                }
            }
        }
    }
    assert!(erases > 0);
}

/// Writes parts of a few pages to a protected buffer. Checks that versions of copies that the computer has lost are not
/// reused.
#[test]
fn parts_belong_to_the_copies_that_they_were_written_to() {
    for seed in 0..ssdlab_tiers::cases(15).cases.into() {
        let mut rng = Rng::named(seed, "parts");
        for base in of_blocks(8) {
            let pages = 1 + rng.below(3) as u32;
            let high = 1 + rng.below(pages.into()) as u32;
            let buffer = WriteBuffer { pages, high, low: rng.below(high.into()) as u32, protected: true };
            let kind = Kind { options: Options { buffer: Some(buffer), ..base.options }, ..base };
            let plan = FaultPlan { seed, ..FaultPlan::default() };
            let mut world = World::new(&kind, Disk::new(&kind), plan, seed, Lie::None).over_a_disk();
            for round in 0..40 {
                let place = format!("seed {seed}, {}, {buffer:?}, round {round}", kind.name);
                let flushed = if rng.below(3) == 0 { world.flush_all() } else { Ok(()) };
                let written = flushed.and_then(|()| (0..rng.below(12)).try_for_each(|_| world.write_to_few()));
                written.unwrap_or_else(|stop| panic!("{place}: {stop:?}"));
                let mut crashes = true;
                loop {
                    world = found(world, &kind, plan, crashes, &mut rng);
                    crashes = rng.below(4) == 0;
                    if rng.below(3) > 0 {
                        world.drive.backend_mut().cut_power(PowerCut { after: rng.below(16), torn: false });
                    }
                    match world.drive.mount() {
                        Ok(_) => break,
                        Err(DriveError::Off) => {}
                        Err(error) => panic!("{place}: {error}"),
                    }
                }
                world.drive.backend_mut().restore_power();
                world.take_stock().unwrap_or_else(|stop| panic!("{place}: {stop:?}"));
            }
        }
    }
}
