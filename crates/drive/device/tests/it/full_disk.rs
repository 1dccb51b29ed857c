//! Goal: a full disk loses no acknowledged data. Method: memory accepts a number of writes, then a part of the next
//! write, and reports the system's error for a full disk. The number takes every value. Later the disk has room again,
//! and the drive continues to work.

use std::io;

use ssdlab_core::{BlockId, Ppn, Rng};
use ssdlab_device::{
    Backend, DriveError, Fault, FaultBackend, FaultPlan, MemoryBackend, SPARE_BYTES, Slot, SpareBytes,
};
use ssdlab_nand::Geometry;

use crate::drives::{Kind, all_buffers, smallest};
use crate::world::{Lie, Stop, World};

#[derive(Clone)]
struct Disk {
    inner: MemoryBackend,
    /// Number of writes until the disk is full.
    room: u64,
    /// True if only one write fails; the disk then has room again.
    once: bool,
    rng: Rng,
}

fn no_room() -> Fault {
    Fault::Io(io::ErrorKind::StorageFull.into())
}

impl Disk {
    /// Counts a write. Returns None if the write is complete; otherwise returns the number of completed parts, of
    /// `parts`.
    fn begins(&mut self, parts: usize) -> Option<usize> {
        if self.room > 0 {
            self.room -= 1;
            return None;
        }
        if self.once {
            self.room = u64::MAX;
        }
        Some(self.rng.below(parts as u64) as usize)
    }
}

impl Backend for Disk {
    fn geometry(&self) -> &Geometry {
        self.inner.geometry()
    }

    fn read(&self, ppn: Ppn, page: &mut [u8], spare: &mut SpareBytes) -> Result<(), Fault> {
        self.inner.read(ppn, page, spare)
    }

    fn read_spares(&self, first: Ppn, spares: &mut [u8]) -> Result<(), Fault> {
        self.inner.read_spares(first, spares)
    }

    fn program(&mut self, ppn: Ppn, page: &[u8], spare: &SpareBytes) -> Result<(), Fault> {
        let Some(part) = self.begins(3) else { return self.inner.program(ppn, page, spare) };
        let mut written = [0; SPARE_BYTES];
        let half = part.saturating_sub(1) * SPARE_BYTES / 2;
        written[..half].copy_from_slice(&spare[..half]);
        if part > 0 {
            self.inner.program(ppn, page, &written)?;
        }
        Err(no_room())
    }

    fn erase(&mut self, block: BlockId) -> Result<(), Fault> {
        let pages = self.geometry().pages_per_block;
        let Some(erased) = self.begins(pages as usize) else { return self.inner.erase(block) };
        let mut kept = Vec::new();
        for ppn in (block.0 * pages + erased as u32..(block.0 + 1) * pages).map(Ppn) {
            let (mut page, mut spare) = (vec![0; self.geometry().page_bytes as usize], [0; SPARE_BYTES]);
            self.inner.read(ppn, &mut page, &mut spare)?;
            kept.push((ppn, page, spare));
        }
        self.inner.erase(block)?;
        kept.iter().try_for_each(|(ppn, page, spare)| self.inner.program(*ppn, page, spare))?;
        Err(no_room())
    }

    fn sync(&mut self) -> Result<(), Fault> {
        self.inner.sync()
    }

    fn is_bad(&self, block: BlockId) -> bool {
        self.inner.is_bad(block)
    }

    fn mark_bad(&mut self, block: BlockId) -> Result<(), Fault> {
        self.inner.mark_bad(block)
    }

    fn read_log(&self, slot: Slot, offset: u64, bytes: &mut [u8]) -> Result<(), Fault> {
        self.inner.read_log(slot, offset, bytes)
    }

    fn write_log(&mut self, slot: Slot, offset: u64, bytes: &[u8]) -> Result<(), Fault> {
        let Some(part) = self.begins(bytes.len()) else { return self.inner.write_log(slot, offset, bytes) };
        self.inner.write_log(slot, offset, &bytes[..part])?;
        Err(no_room())
    }
}

/// Sends requests to a drive whose disk is full after `room` writes, for one write or longer. Returns true if all
/// requests succeeded.
fn fill(kind: &Kind, room: u64, once: bool) -> Result<bool, String> {
    let broken = |when: &str, stop: Stop| format!("{}, room for {room}, once {once}, {when}: {stop:?}", kind.name);
    let inner = MemoryBackend::new(kind.geometry);
    let blank = Disk { inner, room: u64::MAX, once, rng: Rng::named(room, "parts") };
    let mut world = World::new(kind, blank, FaultPlan::default(), 5, Lie::None);
    let roomy = |room: u64| {
        move |flash: FaultBackend<Disk>| {
            let disk = Disk { room, ..flash.into_inner() };
            FaultBackend::new(disk, FaultPlan::default()).expect("it can be read")
        }
    };
    world = world.reopened(kind, roomy(room));
    let filled = match world.drive.mount() {
        Ok(_) => (0..40).try_for_each(|_| world.request()),
        Err(DriveError::Medium { .. }) => Err(Stop::Full),
        Err(error) => return Err(broken("mounted", Stop::Broken(error.to_string()))),
    };
    match filled {
        Ok(()) => return Ok(true),
        Err(Stop::Full) => {}
        Err(stop) => return Err(broken("in use", stop)),
    }
    // While the disk is full, the mount may fail with the same error.
    match world.drive.mount() {
        Ok(_) => match world.take_stock() {
            Ok(()) | Err(Stop::Full) => {}
            Err(stop) => return Err(broken("still full", stop)),
        },
        Err(DriveError::Medium { error, .. }) if error.kind() == io::ErrorKind::StorageFull => {}
        Err(error) => return Err(broken("still full", Stop::Broken(error.to_string()))),
    }
    world = world.reopened(kind, roomy(u64::MAX));
    world.drive.mount().map_err(|error| broken("with room", Stop::Broken(error.to_string())))?;
    world.take_stock().map_err(|stop| broken("with room", stop))?;
    world.go_on(12).map_err(|stop| broken("going on", stop))?;
    Ok(false)
}

#[test]
fn a_disk_that_is_full_at_any_write_loses_nothing() {
    for (number, kind) in all_buffers(smallest()).into_iter().enumerate() {
        let once = number % 2 == 0;
        let last = (0..).find(|&room| fill(&kind, room, once).unwrap_or_else(|broken| panic!("{broken}")));
        assert!(last.is_some_and(|writes| writes > 60), "{}: {last:?}", kind.name);
    }
}
