//! Goal: the fast FTL equals the slow reference FTL. Method: both get the same random operations, and must emit the
//! same sequence of flash operations.

use proptest::prelude::*;
use ssdlab_core::{BlockId, Lpn, Ppn};
use ssdlab_ftl::gc;
use ssdlab_ftl::page::{PageFtl, PageOptions};
use ssdlab_ftl::{Ftl, Shape, WriteContext, placement};
use ssdlab_nand::{Cause, FlashSink, ProgramOrder, Source, SpareArea};
use ssdlab_testkit::twin::Twin;

#[derive(Clone, Copy, PartialEq, Debug)]
enum FlashOp {
    Read(Ppn, Cause),
    Program(Ppn, SpareArea, Source, Cause),
    Erase(BlockId, Cause),
}

#[derive(Default)]
struct Log(Vec<FlashOp>);

impl FlashSink for Log {
    fn read(&mut self, ppn: Ppn, cause: Cause) {
        self.0.push(FlashOp::Read(ppn, cause));
    }

    fn program(&mut self, ppn: Ppn, oob: SpareArea, source: Source, cause: Cause) {
        self.0.push(FlashOp::Program(ppn, oob, source, cause));
    }

    fn erase(&mut self, block: BlockId, cause: Cause) {
        self.0.push(FlashOp::Erase(block, cause));
    }
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(500))]

    #[test]
    fn fast_and_reference_ftl_emit_the_same_operations(
        greedy in any::<bool>(),
        own in any::<bool>(),
        program_unit in 1_u32..7,
        units_per_block in 1_u32..5,
        planes in 1_u32..4,
        data_blocks in 1_u32..6,
        spare_blocks in 0_u32..3,
        operations in proptest::collection::vec((0_u32..64, 1_u32..4, 0_u32..10), 1..400),
    ) {
        let options = PageOptions::new(if greedy { gc::greedy::INFO.defaults() } else { gc::fifo::INFO.defaults() }, if own { &placement::own::INFO } else { &placement::shared::INFO });
        let pages_per_block = (program_unit * units_per_block).max(2).next_multiple_of(program_unit);
        let logical_pages = data_blocks * pages_per_block;
        let blocks = (data_blocks + spare_blocks + options.reserve_blocks() * planes).next_multiple_of(planes);
        let (page_bytes, order) = (4096, ProgramOrder::Ascending);
        let shape = Shape { logical_pages, page_bytes, blocks, pages_per_block, order, planes, program_unit };
        let mut fast = PageFtl::new(shape, options, 1).expect("large enough");
        let mut obvious = Twin::new(shape, options);
        let (mut fast_log, mut obvious_log) = (Log::default(), Log::default());
        for (page, count, kind) in operations {
            let lpn = page % logical_pages;
            let count = count.min(logical_pages - lpn);
            match kind {
                0 => {
                    fast.trim(Lpn(lpn), count, &mut fast_log);
                    obvious.trim(lpn, count);
                }
                1 => {
                    fast.complete_units(false, &mut fast_log);
                    obvious.complete_units(&mut obvious_log);
                }
                _ => {
                    fast.write(Lpn(lpn), count, WriteContext::default(), &mut fast_log);
                    obvious.write(lpn, count, &mut obvious_log);
                }
            }
        }
        prop_assert_eq!(fast_log.0, obvious_log.0);
    }
}
