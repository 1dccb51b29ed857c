//! Goal: the log-block FTLs work as described in their documents. Method: the documents' worked examples and cost
//! tables on small filled devices, with copies and erases counted by hand.

use ssdlab_core::parameter::percent;
use ssdlab_core::{BlockId, Lpn, Ppn};
use ssdlab_ftl::log::bast::{self, BastFtl};
use ssdlab_ftl::log::fast::{self, FastFtl};
use ssdlab_ftl::log::faster::{self, FasterFtl};
use ssdlab_ftl::log::sbfast::{self, SbfastFtl};
use ssdlab_ftl::{Ftl, Shape, WriteContext};
use ssdlab_nand::{
    Cause, Counts, FlashSink, MergeCost, MergeKind, Note, ProgramOrder, RetireReason, Role, Source, SpareArea,
};

/// A sink that counts operations and stores notes.
#[derive(Default)]
struct Ledger {
    counts: Counts,
    notes: Vec<Note>,
}

impl FlashSink for Ledger {
    fn read(&mut self, ppn: Ppn, cause: Cause) {
        self.counts.read(ppn, cause);
    }

    fn program(&mut self, ppn: Ppn, oob: SpareArea, source: Source, cause: Cause) {
        self.counts.program(ppn, oob, source, cause);
    }

    fn erase(&mut self, block: BlockId, cause: Cause) {
        self.counts.erase(block, cause);
    }

    fn note(&mut self, note: Note) {
        self.notes.push(note);
    }
}

impl Ledger {
    /// Returns the numbers of copies and erases for a cause.
    fn cost(&self, cause: Cause) -> (u64, u64) {
        let index = cause as usize;
        assert_eq!(self.counts.reads[index], self.counts.programs[index], "a copy is a read and a program");
        (self.counts.programs[index], self.counts.erases[index])
    }

    /// Returns the numbers of switch, partial and full merges.
    fn merges(&self) -> [usize; 3] {
        MergeKind::ALL.map(|wanted| {
            self.notes.iter().filter(|n| matches!(n, Note::Merged { kind, .. } if *kind == wanted)).count()
        })
    }

    /// Returns the number of pages programmed in each log block that left the log.
    fn retired(&self) -> Vec<u32> {
        self.notes
            .iter()
            .filter_map(|n| if let Note::Retired { written, .. } = n { Some(*written) } else { None })
            .collect()
    }

    /// Returns the time of all operations except host programs in milliseconds, if a read takes 25 us, a program 200 us
    /// and an erase 2 ms.
    fn overhead_ms(&self) -> f64 {
        let copies = self.counts.programmed() - self.counts.programs[Cause::Host as usize];
        (copies * 225 + self.counts.erased() * 2000) as f64 / 1000.0
    }
}

/// Returns a device with `data_blocks` logical blocks, `log_blocks` log blocks and two further blocks.
fn shape(data_blocks: u32, pages_per_block: u32, log_blocks: u32) -> Shape {
    let logical_pages = data_blocks * pages_per_block;
    Shape {
        logical_pages,
        blocks: data_blocks + log_blocks + 2,
        page_bytes: 4096,
        pages_per_block,
        order: ProgramOrder::Any,
        planes: 1,
        program_unit: 1,
    }
}

fn filled<F: Ftl>(ftl: Result<F, String>, shape: Shape) -> F {
    let mut ftl = ftl.expect("the device is large enough");
    ftl.write(Lpn(0), shape.logical_pages, WriteContext::default(), &mut ());
    ftl
}

fn bast(data_blocks: u32, pages_per_block: u32, log_blocks: u32) -> BastFtl {
    let shape = shape(data_blocks, pages_per_block, log_blocks);
    filled(BastFtl::new(shape, log_blocks, &bast::INFO.defaults()), shape)
}

fn fast(data_blocks: u32, pages_per_block: u32, log_blocks: u32, sequential_blocks: u32) -> FastFtl {
    let shape = shape(data_blocks, pages_per_block, log_blocks);
    filled(FastFtl::new(shape, log_blocks, &fast::INFO.with(&[sequential_blocks.into()])), shape)
}

fn faster(random_blocks: u32, isolation_blocks: u32) -> FasterFtl {
    let log_blocks = random_blocks + isolation_blocks;
    let shape = shape(8, 4, log_blocks);
    let isolation = percent(100) * u64::from(isolation_blocks) / u64::from(log_blocks);
    let choice = faster::INFO.set(&[("sw", 0), ("isolation", isolation)]).expect("in range");
    filled(FasterFtl::new(shape, log_blocks, &choice), shape)
}

fn write<F: Ftl>(ftl: &mut F, pages: impl IntoIterator<Item = u32>) -> Ledger {
    let mut ledger = Ledger::default();
    for page in pages {
        ftl.write(Lpn(page), 1, WriteContext::default(), &mut ledger);
        assert_eq!(ftl.check(), Ok(()), "after writing page {page}");
    }
    ledger
}

/// True if the newest copies of these pages lie in one block, each at its own offset.
fn in_one_block<F: Ftl>(ftl: &F, pages: std::ops::Range<u32>, pages_per_block: u32) -> bool {
    let first = ftl.lookup(Lpn(pages.start)).expect("mapped").0;
    first.is_multiple_of(pages_per_block)
        && pages.clone().zip(first..).all(|(p, at)| ftl.lookup(Lpn(p)) == Some(Ppn(at)))
}

/// Checks the table of merge costs for blocks with 64 valid pages.
#[test]
fn merge_costs_match_the_table() {
    let switch = write(&mut fast(4, 64, 2, 1), 0..64);
    assert_eq!((switch.cost(Cause::SwitchMerge), switch.overhead_ms()), ((0, 1), 2.0));

    for copies in [1, 10, 63] {
        let partial = write(&mut fast(4, 64, 2, 1), (0..64 - copies).chain([64]));
        assert_eq!(partial.cost(Cause::PartialMerge), (u64::from(copies), 1));
        assert!((partial.overhead_ms() - (2.0 + 0.225 * f64::from(copies))).abs() < 1e-9);
    }

    let full_bast = write(&mut bast(4, 64, 1), [5, 64 + 5]);
    assert_eq!((full_bast.cost(Cause::FullMerge), full_bast.overhead_ms()), ((64, 2), 18.4));

    // 64 pages of four logical blocks fill the only random log block; the next page reclaims it.
    let full_fast = write(&mut fast(4, 64, 1, 0), (0..64).map(|i| i % 4 * 64 + i / 4).chain([20]));
    assert_eq!(full_fast.cost(Cause::FullMerge), (4 * 64, 4 + 1));
    assert!((full_fast.overhead_ms() - (4.0 * 16.4 + 2.0)).abs() < 1e-9);
    assert!(full_fast.notes.contains(&Note::Reclaimed { associated: 4, cost: MergeCost { copies: 256, erases: 5 } }));
}

/// SBFAST slides, "1. BAST - Full Merge": the log of pages 12 to 23 is full of 12 writes out of place.
#[test]
fn bast_full_merge_of_the_slides() {
    let mut ftl = bast(5, 12, 5);
    let fill = write(&mut ftl, [16, 17, 18, 19, 18, 19, 22, 20, 16, 14, 16, 17]);
    assert_eq!(fill.counts.erased(), 0);
    let merge = write(&mut ftl, [12]);
    assert_eq!((merge.merges(), merge.cost(Cause::FullMerge)), ([0, 0, 1], (12, 2)));
    let data = ftl.lookup(Lpn(13)).expect("mapped").0 - 1;
    assert!(data.is_multiple_of(12) && (13..24).all(|page| ftl.lookup(Lpn(page)) == Some(Ppn(data + page - 12))));
    assert_eq!(merge.retired(), [12]);
}

/// SBFAST slides, "1. BAST - Switch Merge": pages 36 to 47 were logged in order.
#[test]
fn bast_switch_merge_of_the_slides() {
    let mut ftl = bast(5, 12, 5);
    write(&mut ftl, 36..48);
    assert!(in_one_block(&ftl, 36..48, 12));
    let merge = write(&mut ftl, [40]);
    assert_eq!((merge.merges(), merge.cost(Cause::SwitchMerge)), ([1, 0, 0], (0, 1)));
}

/// SBFAST slides, "1. FAST - PartialMerge": the sequential log block holds pages 0 to 6; pages 7 to 11 are copied.
#[test]
fn fast_partial_merge_of_the_slides() {
    let mut ftl = fast(9, 12, 5, 1);
    write(&mut ftl, 0..7);
    let merge = write(&mut ftl, [48]);
    assert_eq!((merge.merges(), merge.cost(Cause::PartialMerge)), ([0, 1, 0], (5, 1)));
    assert!(in_one_block(&ftl, 0..12, 12));
}

/// Writes the first `pages` pages (4, or all 12 pages of the first block) of an empty drive twice in order. Further
/// writes then force the merge of the log block.
fn merged_on_an_unfilled_drive<F: Ftl>(ftl: Result<F, String>, pages: u32) -> Ledger {
    write(&mut ftl.expect("the device is large enough"), (0..pages).chain(0..pages).chain([12, 12]))
}

/// The papers name a merge by the state of the log block. A log block switches only if all its pages are programmed in
/// order. Otherwise a partial merge copies the remaining valid pages of the data block; there are none in this test.
#[test]
fn a_log_block_that_is_not_full_does_not_switch() {
    for (pages, merges) in [(4, [0, 1, 0]), (12, [1, 0, 0])] {
        let device = shape(4, 12, 2);
        let isolate_nothing = faster::INFO.set(&[("isolation", 0)]).expect("in range");
        let one_slb = sbfast::INFO.set(&[("slb", 1), ("sub_block", 4)]).expect("in range");
        for (ftl, done) in [
            ("bast", merged_on_an_unfilled_drive(BastFtl::new(device, 1, &bast::INFO.defaults()), pages)),
            ("fast", merged_on_an_unfilled_drive(FastFtl::new(device, 2, &fast::INFO.defaults()), pages)),
            ("faster", merged_on_an_unfilled_drive(FasterFtl::new(device, 2, &isolate_nothing), pages)),
            ("sbfast", merged_on_an_unfilled_drive(SbfastFtl::new(device, 2, &one_slb), pages)),
        ] {
            assert_eq!(done.merges(), merges, "{ftl}, {pages} pages");
            let [switch, partial, _] = merges.map(|count| (0, count as u64));
            assert_eq!((done.cost(Cause::SwitchMerge), done.cost(Cause::PartialMerge)), (switch, partial), "{ftl}");
        }
    }
}

/// Writes a page after the sequential log's next page, and a page before it (TECS paper, cases of the sequential log
/// block).
#[test]
fn fast_breaks_of_the_sequential_log() {
    let mut ftl = fast(4, 12, 3, 1);
    write(&mut ftl, 0..3);
    let gap = write(&mut ftl, [7]);
    // Pages 3 to 6 and 8 to 11 are copied around the host's page.
    assert_eq!((gap.merges(), gap.cost(Cause::PartialMerge)), ([0, 1, 0], (8, 1)));
    assert!(in_one_block(&ftl, 0..12, 12));

    write(&mut ftl, 12..16);
    let rewrite = write(&mut ftl, [13]);
    assert_eq!((rewrite.merges(), rewrite.cost(Cause::FullMerge)), ([0, 0, 1], (11, 2)));
    assert!(in_one_block(&ftl, 12..24, 12));

    // Writing page 0 of the owner again merges the current block and starts a new block.
    write(&mut ftl, 24..27);
    let again = write(&mut ftl, [24]);
    assert_eq!((again.merges(), again.cost(Cause::PartialMerge)), ([0, 1, 0], (9, 1)));
}

/// SBFAST slides, "block-thrashing issue": compares equally many writes to four logical blocks in turn and to one
/// logical block.
#[test]
fn bast_thrashes_on_the_sequence_of_the_slides() {
    let space = write(&mut bast(4, 4, 2), [0, 4, 8, 12, 4, 8, 12, 0, 0, 4, 12, 8]);
    assert_eq!(space.merges(), [0, 8, 1]);
    assert_eq!(space.retired(), [1, 1, 1, 1, 1, 1, 1, 2, 1]);
    assert_eq!((space.cost(Cause::PartialMerge), space.cost(Cause::FullMerge)), ((24, 8), (4, 2)));

    let time = write(&mut bast(4, 4, 2), [0, 1, 2, 3, 3, 2, 0, 1, 0, 0, 1, 2]);
    assert_eq!((time.merges(), time.retired()), ([1, 0, 1], vec![4, 4]));
    assert_eq!((time.cost(Cause::SwitchMerge), time.cost(Cause::FullMerge)), ((0, 1), (4, 2)));
}

fn sbfast(data_blocks: u32, sequential_blocks: u32, random_blocks: u32) -> SbfastFtl {
    let log_blocks = sequential_blocks + random_blocks;
    let shape = shape(data_blocks, 12, log_blocks);
    let choice = sbfast::INFO.set(&[("slb", sequential_blocks.into()), ("sub_block", 4)]).expect("in range");
    filled(SbfastFtl::new(shape, log_blocks, &choice), shape)
}

/// SBFAST slides, case 1.3.2.1, "before" and "after".
///
/// Three SLBs hold versions of pages 0 to 11. The first has page 7, the second has pages 0 to 3 and 10, and the newest
/// has pages 4, 5, 6, 8 and 9. Page 11 is in the random log. The slide merges the newest SLB, which neither LRU nor
/// FIFO would select. In this test, a second write of page 5, whose offset is already programmed, merges the newest
/// SLB. Seven pages are copied and one block is erased, as on the slide.
#[test]
fn sbfast_partial_merge_of_the_slides() {
    let mut ftl = sbfast(11, 3, 3);
    // The random log of the slide: pages 1, 2, 3 and 81 become invalid.
    write(&mut ftl, [1, 21, 75, 2, 39, 127, 11, 3]);
    write(&mut ftl, [4, 5, 6, 7, 8, 9]);
    write(&mut ftl, [4, 5, 6, 8, 9, 0, 1, 2, 3, 10]);
    write(&mut ftl, [4, 5, 6, 8, 9]);
    let of = |ftl: &SbfastFtl, page: u32| ftl.lookup(Lpn(page)).expect("mapped").0 / 12;
    let newest = of(&ftl, 4);
    assert!([5, 6, 8, 9].iter().all(|&page| of(&ftl, page) == newest));
    assert!([0, 1, 2, 3].iter().all(|&page| of(&ftl, page) == of(&ftl, 10)));
    assert!(of(&ftl, 7) != of(&ftl, 10) && of(&ftl, 7) != newest);

    let merge = write(&mut ftl, [5]);
    assert_eq!((merge.merges(), merge.cost(Cause::PartialMerge)), ([0, 1, 0], (7, 1)));
    assert!(
        [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11].iter().all(|&page| of(&ftl, page) == newest),
        "all pages except 5 must move"
    );
    // As on the slide, page 12 and its successors go to the freed SLB.
    let after = write(&mut ftl, 12..17);
    assert_eq!(after.counts.erased(), 0);
    let [opened, captured @ ..] = &after.notes[..] else { panic!("nothing was noted") };
    assert!(matches!(opened, Note::Opened { role: Role::SequentialLog, .. }), "not {opened:?}");
    assert_eq!(captured, (12..17).map(|page| Note::Captured(Lpn(page))).collect::<Vec<_>>());
}

/// SBFAST slides, case 2.2.1: reclaims a random log block with twelve pages from eleven logical blocks. One page is
/// copied to an SLB: "Erase = 10 Data + 1 Log".
///
/// The slide's third random log block holds page 147 a second time, which would invalidate the older copy; this test
/// uses page 149 instead. Pages 21, 31 and 149 belong to merged logical blocks and stay in their log block, as on the
/// slide.
#[test]
fn sbfast_full_merge_of_the_slides() {
    let mut ftl = sbfast(5930, 3, 3);
    write(&mut ftl, [27, 25, 551, 2141, 14, 3, 147, 91, 997, 67, 71_113, 7_143]);
    write(&mut ftl, [1, 21, 75, 2, 39, 127, 82, 99, 83, 86, 87, 79]);
    write(&mut ftl, [171, 315, 231, 81, 621, 3_121, 149, 17_413, 31, 110, 111, 113]);
    // In the newest SLB of pages 0 to 11, the offset of page 3 is still erased.
    write(&mut ftl, [4, 6, 7, 8, 9]);
    let stays = [21, 31, 149].map(|page| ftl.lookup(Lpn(page)));
    let slb = ftl.lookup(Lpn(4)).expect("mapped").0 / 12;

    let merge = write(&mut ftl, [3_997]);
    assert_eq!(merge.cost(Cause::FullMerge).1, 10 + 1);
    assert_eq!(merge.merges(), [0, 0, 10]);
    assert_eq!(ftl.lookup(Lpn(3)), Some(Ppn(slb * 12 + 3)));
    assert_eq!([21, 31, 149].map(|page| ftl.lookup(Lpn(page))), stays);
    // One page is copied to the SLB, and twelve pages are copied for each of ten blocks, including outdated copies.
    assert_eq!(merge.cost(Cause::FullMerge).0, 1 + 10 * 12);
}

/// FASTer: a completely valid block gets its second chance without copies. When it becomes the oldest block again, all
/// its pages are cold.
#[test]
fn faster_gives_whole_blocks_their_second_chance_in_place() {
    let mut ftl = faster(2, 0);
    write(&mut ftl, [1, 5, 9, 13, 17, 21, 25, 29]);
    let next = write(&mut ftl, [2]);
    assert_eq!(next.cost(Cause::SecondChance), (0, 0));
    assert_eq!((next.merges(), next.cost(Cause::FullMerge)), ([0, 0, 4], (4 * 4, 4 + 1)));
}

/// FASTer: valid pages are copied to the newest block for their second chance, and later merged or isolated.
#[test]
fn faster_copies_valid_pages_once_before_they_count_as_cold() {
    for isolation_blocks in [0, 2] {
        let mut ftl = faster(2, isolation_blocks);
        write(&mut ftl, [1, 5, 9, 13, 1, 21, 25, 29]);
        // The oldest block has the valid pages 5, 9 and 13: they are copied, and page 2 follows them.
        let second = write(&mut ftl, [2]);
        assert_eq!((second.cost(Cause::SecondChance), second.merges()), ((3, 0), [0, 0, 0]));
        assert_eq!(second.counts.erased(), 1);
        // The other block rotates. In this block, pages 5, 9 and 13 are cold, but page 2 is not.
        let cold = write(&mut ftl, [6]);
        assert_eq!(cold.cost(Cause::SecondChance), (1, 0));
        if isolation_blocks == 0 {
            assert_eq!((cold.merges(), cold.cost(Cause::FullMerge)), ([0, 0, 3], (12, 3 + 1)));
        } else {
            assert_eq!((cold.merges(), cold.cost(Cause::Isolation)), ([0, 0, 0], (3, 0)));
        }
    }
}

/// Checks that a quarter of the isolation area and half of a log block are not rounded, for any number of pages per
/// block.
#[test]
fn faster_does_not_round_its_limits() {
    let small = |log_blocks: u32, parameters: &[(&str, u64)]| {
        let shape = shape(8, 3, log_blocks);
        let choice = faster::INFO.set(&[&[("sw", 0)], parameters].concat()).expect("in range");
        filled(FasterFtl::new(shape, log_blocks, &choice), shape)
    };
    // Of the three pages in the oldest block, only page 7 is valid, and it has already had its second chance.
    for (keep_sparse, copies) in [(0, 0), (1, 1)] {
        let mut ftl = small(2, &[("isolation", 0), ("keep_sparse", keep_sparse)]);
        write(&mut ftl, [1, 4, 7, 1, 4, 10, 1, 4, 1, 4]);
        let log = write(&mut ftl, [13]);
        assert_eq!((log.cost(Cause::SecondChance), log.merges()), ((copies, 0), [0, 0, 1 - copies as usize]));
    }
    // Six pages become cold after a second chance in place, and page 2 after a copy. Two of nine pages are free.
    let mut ftl = small(5, &[("isolation", percent(60))]);
    let filling = write(&mut ftl, [1, 4, 7, 10, 13, 16, 19, 22, 2, 5, 19, 22, 19, 22, 19, 22, 19]);
    assert_eq!((filling.cost(Cause::Isolation), filling.merges()), ((7, 0), [0, 0, 0]));
    assert_eq!(write(&mut ftl, [22]).merges(), [0, 0, 1]);
}

/// Goal: if a log block leaves the log without a merge, because all its pages are outdated or copied, its erase counts
/// as garbage collection. Method: most writes go to a few pages, so that whole blocks become outdated, also in FASTer's
/// isolation area.
#[test]
fn erases_without_a_merge_are_garbage_collection() {
    fn without_merges<F: Ftl>(mut ftl: F) -> Vec<RetireReason> {
        let mut draw = 1_u32;
        let mut retired = Vec::new();
        for _ in 0..4000 {
            draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Half of the writes go to a quarter of the pages, recursively.
            let page = (draw >> 20) % (32 >> (draw >> 8).trailing_ones().min(4));
            let written = write(&mut ftl, [page]);
            if written.merges() == [0, 0, 0] {
                assert_eq!(written.cost(Cause::FullMerge).1, 0, "page {page}");
                retired.extend(written.notes.iter().filter_map(|note| match note {
                    Note::Retired { reason, .. } => Some(*reason),
                    _ => None,
                }));
            }
        }
        retired
    }
    let device = shape(8, 4, 6);
    let one_slb = sbfast::INFO.set(&[("slb", 1), ("sub_block", 4)]).expect("in range");
    for (name, reasons, retired) in [
        ("fast", &[RetireReason::Oldest][..], without_merges(fast(8, 4, 6, 1))),
        ("faster", &[RetireReason::Oldest, RetireReason::Drained], without_merges(faster(4, 2))),
        ("sbfast", &[RetireReason::Oldest], without_merges(filled(SbfastFtl::new(device, 6, &one_slb), device))),
    ] {
        reasons.iter().for_each(|reason| assert!(retired.contains(reason), "{name}: {reason:?}"));
    }
}

/// Goal: the note about a reclaim covers all work for which a host page waits. It is emitted exactly if a full merge
/// occurs, or if any merge occurs while a block of the random log is reclaimed.
#[test]
fn a_reclaim_covers_all_work_for_which_a_page_waits() {
    fn most_merged<F: Ftl>(mut ftl: F) -> u32 {
        let mut draw = 1_u32;
        let mut next = 0;
        let mut most = 0;
        for _ in 0..4000 {
            draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Every second page follows the previous one.
            next = if (draw >> 8).is_multiple_of(2) { draw >> 16 } else { next + 1 } % 32;
            let written = write(&mut ftl, [next]);
            let merged = |note: &Note| matches!(note, Note::Merged { .. });
            let oldest = |note: &Note| matches!(note, Note::Retired { reason: RetireReason::Oldest, .. });
            let after_oldest = written.notes.iter().skip_while(|note| !oldest(note));
            let mut expected = Vec::new();
            if written.merges()[2] > 0 || after_oldest.into_iter().any(merged) {
                let copies = written.counts.programmed() - written.counts.programs[Cause::Host as usize];
                let cost = MergeCost { copies: copies as u32, erases: written.counts.erased() as u32 };
                let associated = written.merges().iter().sum::<usize>() as u32;
                expected.push(Note::Reclaimed { associated, cost });
                most = most.max(associated);
            }
            let told: Vec<Note> =
                written.notes.into_iter().filter(|note| matches!(note, Note::Reclaimed { .. })).collect();
            assert_eq!(told, expected, "page {next}");
        }
        most
    }
    let device = shape(8, 4, 6);
    let slbs = |slb, rlb_merge| {
        let settings = sbfast::INFO.set(&[("slb", slb), ("sub_block", 2), ("rlb_merge", rlb_merge)]).expect("in range");
        most_merged(filled(SbfastFtl::new(device, 6, &settings), device))
    };
    assert_eq!(most_merged(bast(8, 4, 6)), 1);
    let faster = [faster(4, 0), faster(4, 2)].map(most_merged);
    for most in
        [most_merged(fast(8, 4, 6, 0)), most_merged(fast(8, 4, 6, 1)), faster[0], faster[1], slbs(2, 0), slbs(2, 1)]
    {
        assert!(most > 1);
    }
}

/// Reclaims a random log block with pages of four logical blocks. The page of one logical block completes a sequential
/// log block. This logical block is merged partially in FAST, and by a switch in SBFAST.
#[test]
fn a_reclaim_counts_logical_blocks_however_they_are_merged() {
    let reclaims = |written: &Ledger| -> Vec<(u32, MergeCost)> {
        let told = |note: &Note| match *note {
            Note::Reclaimed { associated, cost } => Some((associated, cost)),
            _ => None,
        };
        written.notes.iter().filter_map(told).collect()
    };
    let cost = |copies, erases| MergeCost { copies, erases };
    let mut ftl = fast(8, 4, 2, 1);
    let written = write(&mut ftl, [3, 5, 9, 13, 0, 1, 17]);
    assert_eq!((written.merges(), reclaims(&written)), ([0, 1, 3], vec![(4, cost(2 + 3 * 4, 4 + 1))]));

    let device = shape(8, 4, 2);
    let one_slb = sbfast::INFO.set(&[("slb", 1), ("sub_block", 4)]).expect("in range");
    let sbfast = || filled(SbfastFtl::new(device, 2, &one_slb), device);
    let written = write(&mut sbfast(), [3, 5, 9, 13, 0, 1, 2, 17]);
    assert_eq!((written.merges(), reclaims(&written)), ([1, 0, 3], vec![(4, cost(1 + 3 * 4, 4 + 1))]));
    // All valid pages go to the sequential log block, which switches.
    let written = write(&mut sbfast(), [3, 3, 3, 3, 0, 1, 2, 17]);
    assert_eq!((written.merges(), reclaims(&written)), ([1, 0, 0], vec![(1, cost(1, 1 + 1))]));
}

/// Checks that on an empty device, first writes go to the data block, and merges do not copy unwritten pages.
#[test]
fn blank_pages_cost_nothing() {
    let shape = shape(4, 8, 2);
    let mut ftl = BastFtl::new(shape, 2, &bast::INFO.with(&[1])).expect("large enough");
    assert_eq!(write(&mut ftl, [3, 0, 9]).counts.programmed(), 3);
    write(&mut ftl, [3, 11, 9, 9]);
    let merge = write(&mut ftl, [11, 16, 16]);
    // Logical block 0 has two valid pages; one of them is in the log at another offset.
    assert_eq!((merge.merges(), merge.cost(Cause::FullMerge)), ([0, 0, 1], (2, 2)));
}

/// Checks that impossible devices are rejected with a message that contains the numbers.
#[test]
fn impossible_devices_are_refused() {
    let text = |shape, log_blocks| BastFtl::new(shape, log_blocks, &bast::INFO.defaults()).err().unwrap_or_default();
    let small = text(Shape { blocks: 9, ..shape(8, 4, 0) }, 1);
    assert!(small.contains("needs 10 blocks (") && small.ends_with("but the device has 9"), "{small}");
    assert_eq!(text(shape(8, 4, 1), 1), "");
    assert_eq!(text(shape(8, 4, 1), 0), "the FTL needs at least 1 log block, but has only 0");
    let fast = FastFtl::new(shape(8, 4, 1), 1, &fast::INFO.defaults()).err();
    assert_eq!(fast.as_deref(), Some("the FTL needs at least 2 log blocks, but has only 1"));
}
