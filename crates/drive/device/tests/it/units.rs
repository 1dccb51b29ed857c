//! Tests of drives whose chips program several pages together. The pages in memory and the cost of a flush were worked
//! out by hand.

use ssdlab_device::{Drive, MemoryBackend, WriteBuffer};
use ssdlab_ftl::FtlChoice;
use ssdlab_ftl::page::{Fold, PageOptions, SlcOptions};
use ssdlab_nand::{Cause, Units};

use crate::drives::{Kind, of_blocks};

/// Returns a drive with superblocks, 8 pages per block and 2 pages per program unit. Its buffer programs each page
/// immediately.
fn superblocks(protected: bool) -> Kind {
    let mut kind = of_blocks(8).into_iter().find(|kind| kind.name == "page, superblocks").expect("a drive");
    kind.options.buffer = Some(WriteBuffer { pages: 1, high: 1, low: 0, protected });
    kind
}

fn create(kind: &Kind) -> Drive<MemoryBackend> {
    Drive::create(MemoryBackend::new(kind.geometry), kind.options).expect("a sound drive")
}

/// Returns the first byte of each of the first `pages` pages.
fn first_bytes(drive: &mut Drive<MemoryBackend>, pages: u64) -> Vec<u8> {
    let read = |page| {
        let mut bytes = [9];
        drive.read(page * 64, &mut bytes).map(|()| bytes[0]).expect("it can be read")
    };
    (0..pages).map(read).collect()
}

/// Goal: a power loss clears the third of three pages, because its program unit is incomplete, unless a flush added a
/// page of padding. Method: writes three pages, with and without a flush.
#[test]
fn a_flush_completes_the_program_unit() {
    for flushes in [false, true] {
        let mut drive = create(&superblocks(false));
        (0..3).for_each(|page| drive.write(page * 64, &[7; 64], false).expect("it can be written"));
        assert_eq!(first_bytes(&mut drive, 3), [7, 7, 7], "pages in memory can be read");
        if flushes {
            drive.flush().expect("it can be flushed");
        }
        assert_eq!(drive.counts().programs[Cause::Padding as usize], u64::from(flushes));
        drive.mount().expect("it can be mounted");
        assert_eq!(first_bytes(&mut drive, 4), [7, 7, if flushes { 7 } else { 0 }, 0]);
        assert_eq!(drive.check(), Ok(()));
    }
}

/// Checks that with power-loss protection, no page is lost and a flush adds no padding.
#[test]
fn protected_memory_needs_no_padding() {
    let mut drive = create(&superblocks(true));
    (0..3).for_each(|page| drive.write(page * 64, &[7; 64], true).expect("it can be written"));
    assert_eq!(drive.counts().programs[Cause::Padding as usize], 0);
    drive.mount().expect("it can be mounted");
    assert_eq!(first_bytes(&mut drive, 4), [7, 7, 7, 0]);
}

#[test]
fn an_slc_cache_is_refused() {
    let mut kind = superblocks(false);
    let FtlChoice::Page(options, map) = kind.options.ftl else { panic!("page mapping") };
    let slc = Some(SlcOptions { own_blocks: 1, share: 0, fold: Fold::Lazy, bypass: true, word_line: 2 });
    kind.options.ftl = FtlChoice::Page(PageOptions { slc, ..options }, map);
    let error = kind.options.check(&kind.geometry).expect_err("it is refused");
    assert_eq!(error, "a drive that stores data cannot have an SLC cache; set ftl.page.slc to \"none\"");
}

#[test]
fn parity_and_two_passes_are_refused() {
    let refused = |change: fn(&mut Units)| {
        let mut kind = superblocks(false);
        change(&mut kind.geometry.units);
        kind.options.check(&kind.geometry).expect_err("it is refused")
    };
    let parity = "a drive that stores data cannot have parity; set ftl.page.collect.superblock.parity to 0";
    assert_eq!(refused(|units| units.parity = 1), parity);
    let passes = "a drive that stores data must program in one pass; set nand.passes to \"one\"";
    assert_eq!(refused(|units| units.pass_distance = 1), passes);
}
