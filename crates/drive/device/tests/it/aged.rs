//! Drives that continue from the saved state of an FTL, whose writes had no data.

use ssdlab_core::{Archive, Lpn, Rng};
use ssdlab_device::{Backend, Drive, MemoryBackend, Slot};
use ssdlab_ftl::{DynFtl, Shape, WriteContext};
use ssdlab_nand::Counts;

use crate::drives::{Kind, all_buffers, of_blocks};

/// Returns an FTL of the given kind that has written and trimmed pages at random.
fn used(kind: &Kind, rng: &mut Rng) -> Box<dyn DynFtl> {
    let (geometry, options) = (&kind.geometry, &kind.options);
    let shape = Shape {
        logical_pages: options.logical_pages,
        page_bytes: geometry.page_bytes,
        blocks: geometry.blocks,
        pages_per_block: geometry.pages_per_block,
        order: geometry.order,
        planes: geometry.areas(),
        program_unit: geometry.program_unit(),
    };
    let mut ftl = options.ftl.build_dyn(shape, options.seed).expect("a sound kind");
    for _ in 0..rng.below(20 * u64::from(options.logical_pages)) {
        let (lpn, count) = some_pages(kind, rng);
        match rng.below(8) {
            0 => ftl.trim_dyn(lpn, count, &mut ()),
            _ => ftl.write_dyn(lpn, count, WriteContext::default(), &mut ()),
        }
    }
    ftl
}

fn some_pages(kind: &Kind, rng: &mut Rng) -> (Lpn, u32) {
    let count = 1 + rng.below(3) as u32;
    (Lpn(rng.below(u64::from(kind.options.logical_pages - count)) as u32), count)
}

/// Goal: a drive made from a used FTL reads as zeros, executes the same flash operations as the FTL, and mounts from
/// its log or from its spare areas. Method: FTLs of every kind write and trim at random. Then drive and FTL get the
/// same writes. Drives with a write buffer delay writes, so only their data are compared.
#[test]
fn a_drive_continues_from_the_state_of_an_ftl() {
    let mut rng = Rng::named(1, "aged drives");
    for (number, kind) in all_buffers([of_blocks(4), of_blocks(8)].concat()).into_iter().enumerate() {
        let name = format!("{number}, {}, {:?}", kind.name, kind.options.buffer);
        let mut ftl = used(&kind, &mut rng);
        let mut state = Vec::new();
        ftl.archive(&mut Archive::Save(&mut state)).expect("it can be saved");
        let flash = MemoryBackend::new(kind.geometry);
        let mut drive =
            Drive::create_from(flash, kind.options, &state).unwrap_or_else(|error| panic!("{name}: {error}"));
        drive.check().unwrap_or_else(|error| panic!("{name}: {error}"));
        let page_bytes = kind.geometry.page_bytes as usize;
        let mut model = vec![0; kind.options.logical_pages as usize * page_bytes];
        let mut counts = Counts::default();
        for step in 0..4 * kind.options.logical_pages {
            let (lpn, count) = some_pages(&kind, &mut rng);
            let at = lpn.index() * page_bytes;
            let data = &mut model[at..at + count as usize * page_bytes];
            data.fill(step as u8 | 1);
            drive.write(at as u64, data, false).unwrap_or_else(|error| panic!("{name}: {error}"));
            ftl.write_dyn(lpn, count, WriteContext::default(), &mut counts);
            if kind.options.buffer.is_none() {
                assert_eq!(*drive.counts(), counts, "{name}: write {step}");
            }
        }
        let mut read = vec![1; model.len()];
        for is_log_lost in [false, true] {
            drive.flush().expect("it is on");
            drive.check().unwrap_or_else(|error| panic!("{name}: {error}"));
            drive.cut_power();
            if is_log_lost {
                for slot in [Slot::A, Slot::B] {
                    drive.backend_mut().write_log(slot, 0, &[0; 64]).expect("it is in memory");
                }
            }
            let report = drive.mount().unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(report.full_scan, is_log_lost, "{name}");
            drive.read(0, &mut read).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(read == model, "{name}: drive and model have different data");
        }
    }
}

/// Checks that all pages of a drive made from a used FTL read as zeros, also after a mount without any write.
#[test]
fn a_drive_made_from_an_ftl_reads_as_zeros() {
    let mut rng = Rng::named(2, "aged drives");
    for kind in of_blocks(4) {
        let mut state = Vec::new();
        used(&kind, &mut rng).archive(&mut Archive::Save(&mut state)).expect("it can be saved");
        let flash = MemoryBackend::new(kind.geometry);
        let mut drive = Drive::create_from(flash, kind.options, &state).expect("a sound drive");
        let mut read = vec![1; kind.options.logical_pages as usize * kind.geometry.page_bytes as usize];
        for _ in 0..2 {
            drive.read(0, &mut read).expect("it is on");
            assert!(read.iter().all(|&byte| byte == 0), "{}", kind.name);
            drive.cut_power();
            drive.mount().unwrap_or_else(|error| panic!("{}: {error}", kind.name));
            read.fill(1);
        }
    }
}

/// Checks that the state of another FTL is rejected.
#[test]
fn a_state_of_another_ftl_is_refused() {
    let kinds = of_blocks(4);
    let mut state = Vec::new();
    used(&kinds[0], &mut Rng::named(3, "aged drives"))
        .archive(&mut Archive::Save(&mut state))
        .expect("it can be saved");
    let other = &kinds[1];
    let error =
        Drive::create_from(MemoryBackend::new(other.geometry), other.options, &state).err().expect("another FTL");
    assert!(error.to_string().starts_with("the state of the FTL cannot be loaded: "), "{error}");
}
