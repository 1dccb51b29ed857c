//! Goal: a drive keeps its promises despite a wrong bit in a log, a note of safe programs or a head of a protected
//! buffer's journal. If the log is lost, trims may be lost too. Method: flips a bit between two mounts, and continues
//! to compare the drive with the model.

use ssdlab_core::{Lpn, Ppn, Rng};
use ssdlab_device::{
    Backend, Content, Drive, DriveError, FaultBackend, FaultPlan, MemoryBackend, PowerCut, SPARE_BYTES, Slot,
};
use ssdlab_nand::Role;

use crate::drives::{any_buffer, of_blocks, smallest};
use crate::world::{Lie, Stop, World, lose_log};

/// Offsets of the heads of a protected buffer's journals.
const HEADS: [u64; 2] = [0, 4 << 10];
/// Size of a journal head in bytes.
const HEAD_BYTES: u64 = 32;
/// Number of bytes to read from the start of a log; the logs of these drives are shorter.
const LOG_BYTES: usize = 4 << 10;

/// Flips a bit of a journal head, or of the written part of a log or note, often near its end. Returns a description.
fn flip(flash: &mut MemoryBackend, rng: &mut Rng) -> String {
    let (slot, at) = if rng.below(4) == 0 {
        (Slot::BufferJournal, HEADS[rng.below(2) as usize] + rng.below(HEAD_BYTES))
    } else {
        let slot = [Slot::A, Slot::B, Slot::Safe][rng.below(3) as usize];
        let mut log = [0; LOG_BYTES];
        flash.read_log(slot, 0, &mut log).expect("memory can be read");
        let end = log.iter().rposition(|&byte| byte != 0).unwrap_or(0) as u64 + 1;
        let from = if rng.below(2) == 0 { 0 } else { end.saturating_sub(200) };
        (slot, from + rng.below(end - from))
    };
    let mut byte = [0];
    flash.read_log(slot, at, &mut byte).expect("memory can be read");
    let bit = rng.below(8);
    flash.write_log(slot, at, &[byte[0] ^ 1 << bit]).expect("memory takes it");
    format!("{slot:?}, byte {at}, bit {bit}")
}

/// Mounts a damaged copy of a drive and continues to use it, including another power loss.
fn live_with(damaged: &mut World<MemoryBackend>, rng: &mut Rng) -> Result<(), Stop> {
    let mount = |world: &mut World<MemoryBackend>| {
        let report = world.drive.mount().map_err(|error| Stop::Broken(error.to_string()))?;
        world.take_stock_of(report.full_scan)
    };
    mount(damaged)?;
    (0..rng.below(20)).try_for_each(|_| damaged.request())?;
    if rng.below(2) == 0 {
        damaged.drive.cut_power();
        mount(damaged)?;
    }
    damaged.flush_all()?;
    damaged.drive.cut_power();
    mount(damaged)
}

#[test]
fn one_wrong_bit_breaks_no_promise_now_or_later() {
    for seed in 0..ssdlab_tiers::cases(16).cases.into() {
        let mut rng = Rng::named(seed, "damage");
        let kinds = if seed % 2 == 0 { smallest() } else { of_blocks(4 + 2 * (seed % 4) as u32) };
        for base in kinds {
            let mut kind = any_buffer(base, &mut rng);
            kind.options.journal_blocks = 1 + rng.below(12) as u32;
            let plan = FaultPlan { seed, ..FaultPlan::default() };
            let mut world = World::new(&kind, MemoryBackend::new(kind.geometry), plan, seed, Lie::None);
            for round in 0..6 {
                if rng.below(2) == 0 {
                    world.drive.backend_mut().cut_power(PowerCut { after: rng.below(150), torn: true });
                }
                let worked = (0..rng.below(100)).try_for_each(|_| world.request());
                match worked.and_then(|()| if rng.below(3) == 0 { world.shut_down() } else { Ok(()) }) {
                    Ok(()) | Err(Stop::Off) => {}
                    Err(stop) => panic!("seed {seed}, {}: {stop:?}", kind.name),
                }
                kind = any_buffer(kind, &mut rng);
                world = world.powered(&kind);
                for _ in 0..6 {
                    let mut flash = world.drive.backend().clone().into_inner();
                    let flipped = flip(&mut flash, &mut rng);
                    let flash = FaultBackend::new(flash, plan).expect("memory can be read");
                    // If older copies become valid again, the smallest drives may have no room for garbage collection.
                    match live_with(&mut world.resumed(&kind, flash), &mut rng) {
                        Ok(()) | Err(Stop::WornOut) => {}
                        Err(stop) => {
                            let buffer = kind.options.buffer;
                            panic!("seed {seed}, {}, {buffer:?}, round {round}, {flipped}: {stop:?}", kind.name)
                        }
                    }
                }
                world.drive.mount().expect("nothing is wrong with it");
                world.take_stock().unwrap_or_else(|stop| panic!("seed {seed}, {}: {stop:?}", kind.name));
            }
        }
    }
}

/// Goal: reading a flushed page that the flash has lost is an error, even if the log is lost too. A page that was not
/// flushed is replaced by its previous copy. Method: writes the page twice, with a flush after the first write, and
/// with or without a flush after the second write; then flips a bit of the second copy. This copy is the last page
/// programmed in its block, so its spare area looks the same as after an interrupted program. After the second flush,
/// only the second copy is right, so reading must fail. Without the second flush, the first copy (all ones) may be
/// read.
#[test]
fn a_scan_returns_no_older_copy_of_a_flushed_page() {
    for kind in smallest() {
        for flushed in [false, true] {
            let flash = FaultBackend::new(MemoryBackend::new(kind.geometry), FaultPlan::default());
            let flash = flash.expect("memory can be read").never_failing();
            let mut drive = Drive::create(flash, kind.options).expect("a sound drive");
            let page_bytes = kind.geometry.page_bytes as usize;
            drive.write(0, &vec![1; page_bytes], true).expect("there is room");
            drive.write(0, &vec![2; page_bytes], flushed).expect("there is room");
            drive.cut_power();
            let mut flash = drive.into_backend().into_inner();
            let mut spare = [0; SPARE_BYTES];
            let mut second = (0, Ppn(0));
            for ppn in (0..kind.geometry.pages() as u32).map(Ppn) {
                flash.read_spares(ppn, &mut spare).expect("memory can be read");
                match Content::decode(ppn, &spare) {
                    Content::Programmed(found) if found.oob.lpn == Lpn(0) && found.oob.role != Role::Map => {
                        second = second.max((found.oob.sequence, ppn));
                    }
                    _ => {}
                }
            }
            let (_, second) = second;
            let mut page = vec![0; page_bytes];
            flash.read(second, &mut page, &mut spare).expect("memory can be read");
            page[0] ^= 1;
            flash.program(second, &page, &spare).expect("memory takes it");
            lose_log(&mut flash);
            let flash = FaultBackend::new(flash, FaultPlan::default()).expect("memory can be read").never_failing();
            let mut drive = Drive::off(flash, kind.options).expect("a sound drive");
            assert!(drive.mount().expect("the flash can be read").full_scan);
            let read = drive.read(0, &mut page);
            if flushed {
                assert!(matches!(read, Err(DriveError::Unreadable(Lpn(0)))), "{}: {read:?}, {page:?}", kind.name);
            } else {
                assert!(read.is_ok() && page == vec![1; page_bytes], "{}: {read:?}, {page:?}", kind.name);
            }
        }
    }
}
