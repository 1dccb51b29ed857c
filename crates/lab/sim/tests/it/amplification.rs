//! Goal: steady-state write amplification under uniform random writes meets the analytic values within 1 %. Method: N
//! closed blocks hold exactly alpha x U pages, in addition to the open block and one spare block. Garbage collection
//! writes to the host's open block. The drive is filled and overwritten six times; three further overwrites are
//! measured. `ssdlab validate` covers every row of the reference table; these rows are the fast ones.

use ssdlab_core::Rng;
use ssdlab_ftl::FtlChoice;
use ssdlab_ftl::gc::{self, VictimChoice};
use ssdlab_ftl::map::ram;
use ssdlab_ftl::page::{PageOptions, Trigger};
use ssdlab_ftl::placement;
use ssdlab_sim::{Overwrite, Precondition, Setup, run};
use ssdlab_testkit::{SMALL_OPTIONS, analytic, small_setup};
use ssdlab_trace::{Op, Progress, Request, Source, TraceError};

/// Uniform random writes of one page.
struct Uniform {
    rng: Rng,
    pages: u64,
    left: u64,
}

impl Source for Uniform {
    fn fill(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize, TraceError> {
        let count = (max as u64).min(self.left);
        for _ in 0..count {
            let offset = self.rng.below(self.pages) * 4096;
            out.push(Request { time_ns: 0, offset, bytes: 4096, op: Op::Write, flags: 0, stream: 0 });
        }
        self.left -= count;
        Ok(count as usize)
    }

    fn progress(&self) -> Progress {
        Progress { done: 0, total: None }
    }

    fn rewind(&mut self) -> Result<(), TraceError> {
        unreachable!("the source is replayed once")
    }
}

fn measured(gc: VictimChoice, spare: f64, blocks: u32, pages_per_block: u32) -> f64 {
    measured_on(1, gc, spare, blocks, pages_per_block)
}

fn measured_on(planes: u32, gc: VictimChoice, spare: f64, blocks: u32, pages_per_block: u32) -> f64 {
    let mut setup = small_setup(blocks + 2 * planes, pages_per_block, 0);
    setup.geometry.parallelism.channels = planes;
    let logical_pages = (f64::from(blocks * pages_per_block) * (1.0 - spare)).round() as u32;
    let pages = u64::from(logical_pages);
    let setup = Setup {
        logical_pages,
        ftl: FtlChoice::Page(PageOptions { gc, ..SMALL_OPTIONS }, ram::INFO.defaults()),
        precondition: Precondition { fill: 1.0, overwrite: Overwrite::None },
        warmup_requests: 6 * pages,
        ..setup
    };
    let mut source = Uniform { rng: Rng::named(5, "uniform"), pages, left: 9 * pages };
    run(&setup, &mut source, &mut ()).expect("runs").summary.write_amplification.expect("written")
}

#[test]
fn write_amplification_meets_the_closed_forms() {
    let alpha = |spare: f64| 1.0 / (1.0 - spare);
    let rows = [
        (
            "greedy 64, 10 %",
            measured(gc::greedy::INFO.defaults(), 0.10, 4_000, 64),
            analytic::greedy(alpha(0.10), 64.0),
        ),
        (
            "greedy 128, 20 %",
            measured(gc::greedy::INFO.defaults(), 0.20, 2_000, 128),
            analytic::greedy(alpha(0.20), 128.0),
        ),
        ("fifo, 7 %", measured(gc::fifo::INFO.defaults(), 0.07, 4_000, 64), analytic::fifo(alpha(0.07))),
        ("random, 20 %", measured(gc::random::INFO.defaults(), 0.20, 4_000, 64), analytic::random(alpha(0.20))),
        (
            "d = 2, 15 %",
            measured(gc::d_choices::INFO.with(&[2]), 0.15, 4_000, 64),
            analytic::d_choices(alpha(0.15), 64, 2),
        ),
        (
            "d = 10, 28 %",
            measured(gc::d_choices::INFO.with(&[10]), 0.28, 4_000, 64),
            analytic::d_choices(alpha(0.28), 64, 10),
        ),
        // A window of one block is FIFO.
        (
            "window 1, 15 %",
            measured(gc::windowed_greedy::INFO.with(&[1]), 0.15, 4_000, 64),
            analytic::fifo(alpha(0.15)),
        ),
    ];
    for (name, ours, theory) in rows {
        let off = (ours / theory - 1.0) * 100.0;
        assert!(off.abs() < 1.0, "{name}: {ours:.4} against {theory:.4} ({off:+.2} %)");
    }
}

/// Collection within planes costs no more than collection over all blocks, because host pages are spread evenly over
/// the planes. A device of many planes has the write amplification of a device with a single plane of that size. A
/// single large plane amplifies slightly more than many small planes, because each small plane has an open block beyond
/// its share of the over-provisioning.
#[test]
fn planes_do_not_change_write_amplification() {
    let greedy = |planes, blocks, spare| measured_on(planes, gc::greedy::INFO.defaults(), spare, blocks, 64);
    for over_provisioning in [0.28, 0.07] {
        let spare = 1.0 - 1.0 / (1.0 + over_provisioning);
        let large = greedy(1, 4_096, spare);
        let (many, one) = (greedy(64, 4_096, spare), greedy(1, 4_096 / 64, spare));
        let off = (many / one - 1.0) * 100.0;
        assert!(off.abs() < 2.0, "{over_provisioning}, 64 planes: {many:.4} against {one:.4} ({off:+.2} %)");
        assert!(many < 1.02 * large, "{over_provisioning}, 64 planes: {many:.4} against {large:.4}");
        // With as many blocks per plane as in real drives, the open block has no measurable effect.
        let roomy = |planes| measured_on(planes, gc::greedy::INFO.defaults(), spare, 16 * 1_024, 16);
        let (many, large) = (roomy(16), roomy(1));
        let off = (many / large - 1.0) * 100.0;
        assert!(off.abs() < 2.0, "{over_provisioning}, 16 large planes: {many:.4} against {large:.4} ({off:+.2} %)");
    }
}

/// Goal: the measured effective over-provisioning predicts write amplification, also on drives with few blocks, where
/// the over-provisioning without the reserve is off by factors. Method: compares write amplification under uniform
/// writes with the closed form of greedy collection, for few and many blocks per plane, all triggers and both
/// placements.
#[test]
fn the_measured_over_provisioning_gives_write_amplification() {
    let (own, shared) = (&placement::own::INFO, &placement::shared::INFO);
    let (batch, few, many) = (Trigger::Batch { low: 4, high: 16 }, 8, 800);
    let partial = Trigger::Partial { low: 4, step: 8, every: 1 };
    let mut worst_by_reserve: f64 = 0.0;
    // Number of planes, and per plane the numbers of data blocks and of further blocks.
    for (planes, data, beyond, placement, trigger) in [
        (16, few, 22, own, batch),
        (16, few, 8, own, Trigger::Batch { low: 2, high: 4 }),
        (16, few, 8, shared, Trigger::Batch { low: 2, high: 4 }),
        (16, few, 8, own, partial),
        (16, few, 4, own, Trigger::Victim),
        (4, 32, 26, own, batch),
        (1, 80, 26, own, batch),
        (1, many, 60, shared, Trigger::Victim),
        (2, many, 60, own, batch),
    ] {
        let pages_per_block = 128;
        let mut setup = small_setup((data + beyond) * planes, pages_per_block, 0);
        setup.geometry.parallelism.channels = planes;
        let logical_pages = data * planes * pages_per_block;
        let pages = u64::from(logical_pages);
        let setup = Setup {
            logical_pages,
            ftl: FtlChoice::Page(
                PageOptions { placement: placement.defaults(), trigger, ..SMALL_OPTIONS },
                ram::INFO.defaults(),
            ),
            precondition: Precondition { fill: 1.0, overwrite: Overwrite::None },
            warmup_requests: 6 * pages,
            ..setup
        };
        let mut source = Uniform { rng: Rng::named(5, "uniform"), pages, left: 12 * pages };
        let summary = run(&setup, &mut source, &mut ()).expect("runs").summary;
        let measured = summary.collection.and_then(|collection| collection.effective_op).expect("collected");
        let ours = summary.write_amplification.expect("written");
        let theory = |over_provisioning: f64| analytic::greedy(1.0 + over_provisioning, f64::from(pages_per_block));
        let off = (theory(measured) / ours - 1.0) * 100.0;
        let case = format!("{planes} planes of {data} and {beyond} blocks, {} {trigger:?}", placement.name);
        assert!(off.abs() < 1.5, "{case}: {ours:.4} against {:.4} at {measured:.4} ({off:+.2} %)", theory(measured));
        worst_by_reserve = worst_by_reserve.max(theory(summary.device.op_without_reserve) / ours);
    }
    assert!(worst_by_reserve > 2.0, "{worst_by_reserve}");
}

/// Goal: write amplification of batched collection meets the closed form over whole rounds, because all planes collect
/// together. Method: a drive of 1 GiB with 16 planes, measured over few and over many rounds. In a round, the host
/// writes `high - low + 1` blocks per plane. A round that is cut off adds or hides the copies of at most one round.
#[test]
fn batches_give_write_amplification_over_whole_rounds() {
    let (planes, data, pages_per_block, low, high) = (16, 64, 256, 4, 16);
    let trigger = Trigger::Batch { low, high };
    let options = PageOptions { trigger, ..SMALL_OPTIONS };
    // 7 % over-provisioning without the reserve, in whole blocks.
    let blocks = (data + 5 + options.reserve_blocks()) * planes;
    let mut setup = small_setup(blocks, pages_per_block, 0);
    setup.geometry.parallelism.channels = planes;
    let logical_pages = data * planes * pages_per_block;
    let pages = u64::from(logical_pages);
    let round = u64::from((high - low + 1) * pages_per_block * planes);
    let mut worst: f64 = 0.0;
    for eighths_of_rounds in [12, 20, 28, 36, 800] {
        let setup = Setup {
            logical_pages,
            ftl: FtlChoice::Page(options, ram::INFO.defaults()),
            precondition: Precondition { fill: 1.0, overwrite: Overwrite::None },
            warmup_requests: 6 * pages,
            ..setup.clone()
        };
        let written = eighths_of_rounds * round / 8;
        let mut source = Uniform { rng: Rng::named(5, "uniform"), pages, left: 6 * pages + written };
        let summary = run(&setup, &mut source, &mut ()).expect("runs").summary;
        let measured = summary.collection.and_then(|collection| collection.effective_op).expect("collected");
        let ours = summary.write_amplification.expect("written");
        let theory = analytic::greedy(1.0 + measured, f64::from(pages_per_block));
        let off = (theory / ours - 1.0).abs();
        let rounds = eighths_of_rounds as f64 / 8.0;
        assert!(off < 0.015 + 1.0 / rounds, "{rounds} rounds: {ours:.4} against {theory:.4}");
        worst = worst.max(off);
    }
    assert!(worst > 0.03, "incomplete rounds have no effect: {worst}");
}
