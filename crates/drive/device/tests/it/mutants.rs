//! Goal: the crash test detects bugs. Method: runs it on drives with one planted bug each.

use ssdlab_core::{BlockId, Ppn, Rng};
use ssdlab_device::{Backend, Content, Fault, FaultPlan, MemoryBackend, PowerCut, Slot, Spare, SpareBytes};
use ssdlab_nand::Geometry;

use crate::crash::{Trial, faulty};
use crate::drives::{Kind, all_buffers, buffered, roomy, smallest};
use crate::world::{Lie, Stop, World};

/// A planted bug, which affects the data on the flash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mistake {
    /// The new checkpoint overwrites the current one.
    CheckpointInPlace,
    /// The header of a checkpoint is written before its body.
    CheckpointReordered,
    /// The journal is written at a flush instead of before the change of a block.
    LateJournal,
    /// A copy gets a new version instead of the version of its source.
    VersionIgnored,
    /// The protected write buffer loses its pages at a power loss.
    RamForgets,
    /// All earlier programs are considered safe, including programs before the mount.
    TakenForSafe,
    /// No note records that all programs before an erase or a retired block are safe.
    NoNote,
}

/// Flash that implements the planted bug.
#[derive(Clone)]
struct Mutant {
    inner: MemoryBackend,
    mistake: Mistake,
    late: Vec<(Slot, u64, Vec<u8>)>,
    /// True if the header was written before the delayed body.
    headed: bool,
}

impl Mutant {
    fn catch_up(&mut self) -> Result<(), Fault> {
        std::mem::take(&mut self.late).iter().try_for_each(|(slot, at, bytes)| self.inner.write_log(*slot, *at, bytes))
    }
}

/// Size of a checkpoint's header in bytes.
const HEADER_BYTES: usize = 40;
/// Size in bytes of a journal record and the zeros that follow it.
const RECORD_BYTES: usize = 48;

impl Backend for Mutant {
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
        match Content::decode(ppn, spare) {
            Content::Programmed(written) => {
                let sequence = written.oob.sequence;
                let wrong = match self.mistake {
                    Mistake::VersionIgnored => Spare { version: sequence, ..written },
                    Mistake::TakenForSafe => Spare { safe: sequence, ..written },
                    _ => written,
                };
                self.inner.program(ppn, page, &wrong.encode(ppn, Some(page)))
            }
            _ => self.inner.program(ppn, page, spare),
        }
    }

    fn erase(&mut self, block: BlockId) -> Result<(), Fault> {
        self.inner.erase(block)
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
        let slot = if self.mistake == Mistake::CheckpointInPlace { Slot::A } else { slot };
        self.inner.read_log(slot, offset, bytes)
    }

    fn write_log(&mut self, slot: Slot, offset: u64, bytes: &[u8]) -> Result<(), Fault> {
        match self.mistake {
            Mistake::CheckpointInPlace => self.inner.write_log(Slot::A, offset, bytes),
            // The body is delayed until one operation after the header.
            Mistake::CheckpointReordered if bytes.len() == HEADER_BYTES && bytes[0] != 0 => {
                self.headed = true;
                self.inner.write_log(slot, offset, bytes)
            }
            Mistake::CheckpointReordered
                if slot != Slot::Safe && ![HEADER_BYTES, RECORD_BYTES].contains(&bytes.len()) =>
            {
                self.catch_up()?;
                self.headed = false;
                self.late.push((slot, offset, bytes.to_vec()));
                Ok(())
            }
            Mistake::CheckpointReordered => {
                if self.headed {
                    self.catch_up()?;
                }
                self.inner.write_log(slot, offset, bytes)
            }
            Mistake::LateJournal if bytes.len() == RECORD_BYTES => {
                if self.late.len() == 2 {
                    self.catch_up()?;
                }
                self.late.push((slot, offset, bytes.to_vec()));
                Ok(())
            }
            Mistake::LateJournal => {
                self.catch_up()?;
                self.inner.write_log(slot, offset, bytes)
            }
            Mistake::RamForgets if slot == Slot::BufferJournal => Ok(()),
            Mistake::NoNote if slot == Slot::Safe => Ok(()),
            Mistake::VersionIgnored | Mistake::RamForgets | Mistake::TakenForSafe | Mistake::NoNote => {
                self.inner.write_log(slot, offset, bytes)
            }
        }
    }
}

/// Returns the violation that the crash test finds in a few workloads; None if it finds none.
fn is_caught(kinds: impl Iterator<Item = Kind>, trial: impl Fn(Kind, u64) -> Result<u64, String>) -> Option<String> {
    kinds.flat_map(|kind| (0..6).map(move |seed| (kind, seed))).find_map(|(kind, seed)| trial(kind, seed).err())
}

fn caught(mistake: Mistake) -> Option<String> {
    is_caught(all_buffers(smallest()).into_iter(), |kind, seed| {
        let inner = MemoryBackend::new(kind.geometry);
        let trial = Trial { twice: false, requests: 120, ..Trial::new(kind, seed) };
        trial.exhaust(&Mutant { inner, mistake, late: Vec::new(), headed: false })
    })
}

#[test]
fn a_checkpoint_written_over_the_one_in_use_is_caught() {
    assert!(caught(Mistake::CheckpointInPlace).is_some());
}

#[test]
fn a_checkpoint_whose_header_comes_first_is_caught() {
    assert!(caught(Mistake::CheckpointReordered).is_some());
}

#[test]
fn a_late_journal_is_caught() {
    assert!(caught(Mistake::LateJournal).is_some());
}

#[test]
fn copies_that_lose_their_version_are_caught() {
    assert!(caught(Mistake::VersionIgnored).is_some());
}

#[test]
fn a_protected_buffer_that_forgets_is_caught() {
    assert!(caught(Mistake::RamForgets).is_some());
}

/// Plants bugs that make a mount treat a lost page as an interrupted program, although the block with the previous copy
/// was erased or retired meanwhile.
#[test]
fn lost_pages_treated_as_torn_are_caught() {
    let found = is_caught(roomy().into_iter(), |kind, seed| {
        let inner = MemoryBackend::new(kind.geometry);
        let trial = Trial { twice: false, plan: faulty(seed), ..Trial::new(kind, seed) };
        trial.exhaust(&Mutant { inner, mistake: Mistake::NoNote, late: Vec::new(), headed: false })
    });
    assert!(found.is_some());
}

#[test]
fn a_flush_that_does_nothing_is_caught() {
    let found = is_caught(smallest().into_iter().map(buffered), |kind, seed| {
        let trial = Trial { lie: Lie::Flush, twice: false, ..Trial::new(kind, seed) };
        trial.exhaust(&MemoryBackend::new(kind.geometry))
    });
    assert!(found.is_some());
}

/// Mounts several times without a log. Before each mount, a power cut tears a page.
fn without_logs<B: Backend + 'static>(kind: &Kind, flash: B, seed: u64) -> Result<(), String> {
    let mut rng = Rng::named(seed, "logs lost");
    let mut world = World::new(kind, flash, FaultPlan { seed, ..FaultPlan::default() }, seed, Lie::None);
    for round in 0..30 {
        world.drive.backend_mut().cut_power(PowerCut { after: rng.below(60), torn: true });
        let _ = (0..40).try_for_each(|_| world.request());
        world = world.powered(kind);
        // A mount without a log must also recognise pages torn before the previous mount.
        let log_lost = round % 3 == 2;
        if log_lost {
            world.lose_log();
        }
        world.drive.mount().map_err(|error| error.to_string())?;
        match world.take_stock_of(log_lost) {
            Ok(()) => {}
            Err(Stop::WornOut) => break,
            Err(stop) => return Err(format!("seed {seed}, {}, round {round}: {}", kind.name, stop.what())),
        }
    }
    Ok(())
}

#[test]
fn torn_pages_considered_safe_are_caught() {
    let mistaken = |kind: Kind, seed| {
        let inner = MemoryBackend::new(kind.geometry);
        without_logs(&kind, Mutant { inner, mistake: Mistake::TakenForSafe, late: Vec::new(), headed: false }, seed)
    };
    let found = is_caught(smallest().into_iter(), |kind, seed| mistaken(kind, seed).map(|()| 0));
    assert!(found.is_some());
    for seed in 0..ssdlab_tiers::cases(6).cases.into() {
        for kind in smallest() {
            without_logs(&kind, MemoryBackend::new(kind.geometry), seed).unwrap_or_else(|broken| panic!("{broken}"));
        }
    }
}
