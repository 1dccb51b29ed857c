//! Goal: planes are written evenly and collected independently, also in the background. Method: counts the operations
//! on each plane of small devices.

use ssdlab_core::{BlockId, Lpn, Ppn, Rng};
use ssdlab_ftl::gc;
use ssdlab_ftl::log::bast::{self, BastFtl};
use ssdlab_ftl::page::{PageFtl, PageOptions, Trigger};
use ssdlab_ftl::placement::PLACEMENTS;
use ssdlab_ftl::{Ftl, Shape, WriteContext, placement};
use ssdlab_nand::{Cause, FlashSink, ProgramOrder, Source, SpareArea};

const PAGES_PER_BLOCK: u32 = 8;
const BLOCKS_PER_PLANE: u32 = 20;
const OPTIONS: PageOptions = PageOptions::new(gc::greedy::INFO.defaults(), &placement::own::INFO);

fn plane_of(ppn: Ppn) -> usize {
    (ppn.0 / PAGES_PER_BLOCK / BLOCKS_PER_PLANE) as usize
}

/// A sink that counts operations by plane.
#[derive(Default)]
struct ByPlane {
    host: [u32; 4],
    copies: [u32; 4],
    erases: [u32; 4],
    order: Vec<usize>,
}

impl FlashSink for ByPlane {
    fn read(&mut self, _ppn: Ppn, _cause: Cause) {}

    fn program(&mut self, ppn: Ppn, _oob: SpareArea, _source: Source, _cause: Cause) {
        self.host[plane_of(ppn)] += 1;
        self.order.push(plane_of(ppn));
    }

    fn erase(&mut self, block: BlockId, _cause: Cause) {
        self.erases[(block.0 / BLOCKS_PER_PLANE) as usize] += 1;
    }

    fn copy(&mut self, from: Ppn, to: Ppn, _oob: SpareArea, _cause: Cause) {
        assert_eq!(plane_of(from), plane_of(to), "a copy must stay in its plane");
        self.copies[plane_of(to)] += 1;
    }
}

/// Number of logical pages on a device with 640 pages and four planes.
const LOGICAL_PAGES: u32 = 400;

fn device(options: PageOptions) -> PageFtl {
    let planes = 4;
    let shape = Shape {
        logical_pages: LOGICAL_PAGES,
        page_bytes: 4096,
        blocks: planes * BLOCKS_PER_PLANE,
        pages_per_block: PAGES_PER_BLOCK,
        order: ProgramOrder::Ascending,
        planes,
        program_unit: 1,
    };
    PageFtl::new(shape, options, 1).expect("large enough")
}

fn write_at_random(ftl: &mut PageFtl, pages: u32, sink: &mut ByPlane, mut after_each: impl FnMut(&mut ByPlane)) {
    let mut rng = Rng::named(2, "writes");
    for _ in 0..pages {
        ftl.write(Lpn(rng.below(u64::from(LOGICAL_PAGES)) as u32), 1, WriteContext::default(), sink);
        after_each(sink);
    }
}

#[test]
fn host_pages_go_to_the_planes_in_turn() {
    for &placement in PLACEMENTS.iter() {
        let mut ftl = device(PageOptions { placement: placement.defaults(), ..OPTIONS });
        let mut done = ByPlane::default();
        ftl.write(Lpn(0), LOGICAL_PAGES, WriteContext::default(), &mut done);
        write_at_random(&mut ftl, 4_000, &mut done, |_| ());
        let each = (LOGICAL_PAGES + 4_000) / 4;
        assert_eq!(done.host, [each; 4]);
        assert!(done.order.chunks(4).all(|planes| planes == [0, 1, 2, 3]));
        assert!(done.copies.into_iter().all(|copies| copies > 100));
    }
}

/// Writes hot pages that always go to the same plane. The cold pages then fill the other plane, which host writes must
/// skip.
#[test]
fn a_full_plane_is_passed_over() {
    let mut ftl = device(OPTIONS);
    let mut done = ByPlane::default();
    for lpn in 0..LOGICAL_PAGES {
        ftl.write(Lpn(lpn), 1, WriteContext::default(), &mut done);
        (0..3).for_each(|hot| ftl.write(Lpn(hot), 1, WriteContext::default(), &mut done));
    }
    assert_eq!(ftl.check(), Ok(()));
    assert!(done.host.iter().min() < done.host.iter().max());
}

#[test]
fn partial_collection_copies_a_few_pages_at_a_time() {
    for every in [1, 4] {
        // Each of `every` host pages causes three copies on average.
        let step = 3 * every;
        let mut ftl = device(PageOptions { trigger: Trigger::Partial { low: 4, step, every }, ..OPTIONS });
        let mut done = ByPlane::default();
        ftl.write(Lpn(0), LOGICAL_PAGES, WriteContext::default(), &mut done);
        let (mut before, mut bursts) = (0, 0);
        write_at_random(&mut ftl, 8_000, &mut done, |done| {
            let copies = done.copies.iter().sum();
            assert!(copies <= before + step, "{} pages copied for one host page", copies - before);
            bursts += u32::from(copies > before);
            before = copies;
        });
        assert!(bursts * every <= 8_000, "{bursts} bursts for 8,000 pages");
        assert!(done.erases.into_iter().all(|erases| erases > 100));
        assert_eq!(ftl.check(), Ok(()));
    }
}

/// Runs one step of background collection in each plane; returns true if any plane emitted an operation.
fn background(ftl: &mut PageFtl, free_blocks: u32, pages: u32, done: &mut ByPlane) -> bool {
    (0..4).filter(|&plane| ftl.background(plane, free_blocks, pages, done)).count() > 0
}

#[test]
fn collection_in_the_background_reaches_its_goal_or_gives_up() {
    let mut ftl = device(OPTIONS);
    let mut done = ByPlane::default();
    assert!(!background(&mut ftl, 0, 4, &mut done), "an erased device has nothing to collect");
    ftl.write(Lpn(0), LOGICAL_PAGES, WriteContext::default(), &mut done);
    assert!(!background(&mut ftl, u32::MAX, 4, &mut done), "no block has an invalid page");
    write_at_random(&mut ftl, 2_000, &mut done, |_| ());
    let copied = |done: &ByPlane| done.copies.iter().sum::<u32>();
    let before = copied(&done);
    assert!(ftl.background(0, 1, 2, &mut done));
    assert!(copied(&done) <= before + 2);
    while background(&mut ftl, 1, 2, &mut done) {}
    // With one more free block per plane, the host does not wait until it has filled this block.
    let before = copied(&done);
    write_at_random(&mut ftl, 4 * PAGES_PER_BLOCK, &mut done, |_| ());
    assert_eq!(copied(&done), before);
    // In the end, only open blocks have invalid pages, and collection cannot free more pages.
    let calls = (0..100_000).take_while(|_| background(&mut ftl, u32::MAX, 2, &mut done)).count();
    assert!(calls > 0 && calls < 2_000, "{calls} calls");
    assert_eq!(ftl.check(), Ok(()));
}

#[test]
fn blocks_of_a_log_lie_on_successive_planes() {
    let shape = Shape {
        logical_pages: 16 * PAGES_PER_BLOCK,
        page_bytes: 4096,
        blocks: 4 * BLOCKS_PER_PLANE,
        pages_per_block: PAGES_PER_BLOCK,
        order: ProgramOrder::Ascending,
        planes: 4,
        program_unit: 1,
    };
    let mut ftl = BastFtl::new(shape, 2, &bast::INFO.defaults()).expect("large enough");
    ftl.write(Lpn(0), shape.logical_pages, WriteContext::default(), &mut ());
    let blocks: Vec<u32> =
        (0..6).map(|block| ftl.lookup(Lpn(block * PAGES_PER_BLOCK)).expect("written").0 / PAGES_PER_BLOCK).collect();
    assert_eq!(blocks, [0, BLOCKS_PER_PLANE, 2 * BLOCKS_PER_PLANE, 3 * BLOCKS_PER_PLANE, 1, BLOCKS_PER_PLANE + 1]);
}

#[test]
fn impossible_devices_are_refused() {
    let error = |logical_pages, blocks, planes, trigger| {
        let (page_bytes, pages_per_block, order) = (4096, 8, ProgramOrder::Ascending);
        let shape = Shape { logical_pages, page_bytes, blocks, pages_per_block, order, planes, program_unit: 1 };
        let options = PageOptions { trigger, ..OPTIONS };
        PageFtl::new(shape, options, 1).err().unwrap_or_default()
    };
    assert_eq!(error(8, 81, 4, Trigger::Victim), "81 blocks cannot be spread evenly over 4 planes");
    assert!(error(8, 80, 0, Trigger::Victim).contains("0 planes"));
    // Three blocks per plane are reserved.
    assert_eq!(error(68 * 8, 80, 4, Trigger::Victim), "");
    assert!(
        error(68 * 8 + 1, 80, 4, Trigger::Victim).contains("the 12 blocks that garbage collection and the map need")
    );
    assert!(error(8, 80, 4, Trigger::Partial { low: 1, step: 1, every: 1 }).contains("but low is 1, step is 1"));
    assert!(error(8, 80, 4, Trigger::Partial { low: 2, step: 0, every: 1 }).contains("but low is 2, step is 0"));
    assert_eq!(error(8, 80, 4, Trigger::Partial { low: 2, step: 1, every: 1 }), "");
}
