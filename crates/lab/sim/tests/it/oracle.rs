//! Goal: on every device and with every option, reads return the last write, no NAND rule is broken, and counts add up.
//! Method: random small devices and requests with the data check, for every registered victim policy.

use std::collections::BTreeMap;

use proptest::prelude::*;
use ssdlab_core::Lpn;
use ssdlab_core::parameter::percent;
use ssdlab_ftl::choice::{LOG_FTLS, MAPS, Visitor};
use ssdlab_ftl::gc::VICTIMS;
use ssdlab_ftl::log::{bast, fast, faster, sbfast};
use ssdlab_ftl::map::ram;
use ssdlab_ftl::page::PageOptions;
use ssdlab_ftl::placement::PLACEMENTS;
use ssdlab_ftl::{Ftl, FtlChoice, WriteContext};
use ssdlab_nand::{Cause, Counts, FlashSink, ProgramOrder};
use ssdlab_sim::check::data_checker::DataChecker;
use ssdlab_sim::{Overwrite, Precondition, Setup, run};
use ssdlab_testkit::strategies::{modern_setups, requests, setups, slc_setups};
use ssdlab_testkit::{SMALL_OPTIONS, small_setup, visit};
use ssdlab_trace::{Op, Request, SliceSource};

fn checked(setup: &Setup, requests: &[Request]) -> ssdlab_sim::Outcome {
    run(setup, &mut SliceSource::new(requests), &mut ()).expect("the data check finds nothing")
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(5_000))]

    #[test]
    fn every_read_returns_the_last_write(setup in setups(), requests in requests(300)) {
        let outcome = checked(&setup, &requests);
        let summary = &outcome.summary;
        let (reads, programs) = (summary.flash.0.reads, summary.flash.0.programs);
        prop_assert_eq!(programs[Cause::Host as usize], summary.host.pages_written);
        prop_assert_eq!(programs[Cause::ReadModifyWrite as usize], 0);
        // Every copy is one read and one program; every host read is a flash read unless unmapped.
        let copies = [Cause::Gc, Cause::MapGc].into_iter().chain(Cause::ALL[3..8].iter().copied());
        for cause in copies {
            prop_assert_eq!(programs[cause as usize], reads[cause as usize], "{}", cause.name());
        }
        prop_assert_eq!(programs[Cause::MapLoad as usize], 0);
        if let Some(map) = &summary.map {
            // Each page that the host touches is looked up. A partly written page is also looked up for the read of its
            // old data.
            let host = &summary.host;
            prop_assert_eq!(map.reads.count, host.pages_read + host.partial_pages_written);
            prop_assert_eq!(map.changes.count, host.pages_written + host.pages_trimmed);
            prop_assert!(reads[Cause::MapLoad as usize] <= map.all.count - map.all.hits);
        }
        if let Some(log) = &summary.log {
            let merges = log.merges;
            prop_assert_eq!(merges.switch.copies, 0);
            prop_assert_eq!(merges.partial.copies, programs[Cause::PartialMerge as usize]);
            // SBFAST also copies pages to sequential log blocks when it reclaims.
            prop_assert!(merges.full.copies <= programs[Cause::FullMerge as usize]);
            prop_assert!(log.utilisation_mean.is_none_or(|mean| mean > 0.0 && mean <= 1.0));
        }
        prop_assert_eq!(summary.flash.0.reads[0], summary.host.pages_read - summary.host.unmapped_pages_read);
        prop_assert_eq!(summary.wear.erases, summary.flash.0.erased());
        if let Some(latency) = &summary.latency {
            prop_assert_eq!(latency.all.map(|all| all.count), Some(requests.len() as u64));
        }
        for (name, column) in outcome.series.columns().into_iter().skip(2) {
            let total = match name {
                "host_pages_written" => summary.host.pages_written,
                "flash_pages_programmed" => summary.flash.0.programmed(),
                "blocks_erased" => summary.wear.erases,
                _ => continue,
            };
            prop_assert_eq!(column.iter().sum::<u64>(), total, "{}", name);
        }
    }

    #[test]
    fn each_operation_is_checked_once(setup in setups(), requests in requests(300)) {
        let precondition = Precondition { fill: 0.0, overwrite: Overwrite::None };
        let summary = checked(&Setup { precondition, ..setup.clone() }, &requests).summary;
        let check = summary.check.expect("a run that is checked");
        let Counts { reads, programs, erases } = summary.flash.0;
        let operations = [reads, programs, erases].iter().flatten().sum::<u64>();
        prop_assert_eq!(check.flash_operations_checked, operations);
        prop_assert_eq!(check.page_reads_checked, summary.host.pages_read + summary.host.partial_pages_written);
    }

    #[test]
    fn collection_in_advance_loses_nothing(
        setup in prop_oneof![3 => setups(), 1 => modern_setups(), 1 => slc_setups()], requests in requests(300)
    ) {
        prop_assert_eq!(visit(&setup, ReadBetweenCollections { setup: &setup, requests: &requests }), None);
    }

    #[test]
    fn internal_state_stays_consistent(
        setup in prop_oneof![3 => setups(), 1 => modern_setups(), 1 => slc_setups()], requests in requests(60)
    ) {
        let planes = setup.geometry.areas();
        let check = CheckAfterEach { requests: &requests, logical_pages: setup.logical_pages, planes };
        prop_assert_eq!(visit(&setup, check), Ok(()));
    }
}

/// Returns pages of a small device for any request, modulo the size of the device.
fn pages_of(request: &Request, logical_pages: u32) -> (Lpn, u32) {
    let lpn = Lpn((request.offset / 512) as u32 % logical_pages);
    (lpn, (request.bytes / 512).min(logical_pages - lpn.0))
}

/// Lets the FTL collect in advance. The request serves as a source of random numbers for plane and amount.
fn collect_ahead<F: Ftl, S: FlashSink>(ftl: &mut F, planes: u32, request: &Request, sink: &mut S) {
    let plane = (request.offset / 128) as u32 % planes;
    ftl.background(plane, (request.offset / 128 % 8) as u32, request.bytes / 128 % 16, sink);
}

/// Collects in the background until no plane has work left.
fn exhaust_background<F: Ftl, S: FlashSink>(ftl: &mut F, planes: u32, sink: &mut S) -> Result<(), String> {
    // `count` visits every plane in each round; `any` would stop at the first plane with work.
    let mut round = || (0..planes).filter(|&plane| ftl.background(plane, u32::MAX, 3, sink)).count() > 0;
    let ends = (0..100_000).any(|_| !round());
    ends.then_some(()).ok_or_else(|| "background collection does not end".into())
}

/// Serves writes; for all other requests, collects in advance and reads. Returns the first violation that the data
/// checker finds.
struct ReadBetweenCollections<'a> {
    setup: &'a Setup,
    requests: &'a [Request],
}

impl Visitor for ReadBetweenCollections<'_> {
    type Output = Option<String>;

    fn plain<F: Ftl + Send + 'static>(self, mut ftl: F) -> Option<String> {
        let pages = self.setup.logical_pages;
        let planes = self.setup.geometry.areas();
        let mut checker = DataChecker::new(self.setup);
        for request in self.requests {
            let (lpn, count) = pages_of(request, pages);
            if request.op == Op::Write {
                checker.expect_write(lpn, count);
                ftl.write(lpn, count, WriteContext::default(), &mut checker);
            } else {
                collect_ahead(&mut ftl, planes, request, &mut checker);
                ftl.read(lpn, count, Cause::Host, &mut checker);
            }
        }
        let ended = exhaust_background(&mut ftl, planes, &mut checker);
        ftl.read(Lpn(0), pages, Cause::Host, &mut checker);
        ended.and_then(|()| ftl.check()).err().or_else(|| checker.violation().map(str::to_owned))
    }
}

/// Serves each request and then checks the internal state of the FTL.
struct CheckAfterEach<'a> {
    requests: &'a [Request],
    logical_pages: u32,
    planes: u32,
}

impl Visitor for CheckAfterEach<'_> {
    type Output = Result<(), String>;

    fn plain<F: Ftl + Send + 'static>(self, mut ftl: F) -> Result<(), String> {
        let mut counts = Counts::default();
        for request in self.requests {
            let (lpn, count) = pages_of(request, self.logical_pages);
            match request.op {
                Op::Write => ftl.write(lpn, count, WriteContext::default(), &mut counts),
                Op::Trim => ftl.trim(lpn, count, &mut counts),
                _ => collect_ahead(&mut ftl, self.planes, request, &mut counts),
            }
            ftl.check()?;
        }
        exhaust_background(&mut ftl, self.planes, &mut counts)?;
        ftl.check()
    }
}

/// Returns the name of the log-block FTL, or of the map of page mapping.
const fn name(ftl: &FtlChoice) -> &'static str {
    match ftl {
        FtlChoice::Page(_, map) => map.info.name,
        FtlChoice::Log(choice, _) => choice.info.name,
    }
}

/// The random devices must be useful tests: they include every registered FTL and map, and most runs copy pages.
#[test]
fn random_devices_collect_garbage() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let names = MAPS.iter().map(|info| info.name).chain(LOG_FTLS.iter().map(|info| info.name));
    let mut worlds: BTreeMap<&str, (u32, u32)> = names.map(|name| (name, (0, 0))).collect();
    for _ in 0..500 {
        let setup = setups().new_tree(&mut runner).expect("nothing is rejected").current();
        let requests = requests(300).new_tree(&mut runner).expect("nothing is rejected").current();
        let programs = checked(&setup, &requests).summary.flash.0.programs;
        let (all, copying) = worlds.get_mut(name(&setup.ftl)).expect("of the tables");
        *all += 1;
        *copying += u32::from(programs[2..].iter().sum::<u64>() > 0);
    }
    for (ftl, (all, copying)) in worlds {
        assert!(copying > 20 && copying * 2 > all, "{ftl}: only {copying} of {all} runs copied a page");
    }
}

/// Serves all sequences of five operations (six in tier `deep`). Repeats each sequence once, so that collection runs,
/// and then reads all pages.
fn exhaust(setup: &Setup, alphabet: &[(Op, u64, u32)]) {
    let request = |(op, page, pages): (Op, u64, u32)| Request {
        time_ns: 0,
        offset: page * 4096,
        bytes: pages * 4096,
        op,
        flags: 0,
        stream: 0,
    };
    let length = if ssdlab_tiers::is_deep() { 6 } else { 5 };
    for code in 0..alphabet.len().pow(length) {
        let digit = |place| alphabet[code / alphabet.len().pow(place) % alphabet.len()];
        let mut requests: Vec<Request> = (0..length).map(|place| request(digit(place))).collect();
        requests.extend_from_within(..);
        requests.push(request((Op::Read, 0, setup.logical_pages)));
        checked(setup, &requests);
    }
}

/// The smallest devices of each kind with page mapping: two logical pages, two-page blocks, one or two planes.
#[test]
fn all_short_sequences_are_served_by_page_mapping() {
    let alphabet = [(Op::Write, 0, 1), (Op::Write, 1, 1), (Op::Write, 0, 2), (Op::Read, 0, 2), (Op::Trim, 0, 1)];
    // Every victim policy and every placement; random devices combine them.
    let victims = VICTIMS.iter().map(|policy| PageOptions { gc: policy.defaults(), ..SMALL_OPTIONS });
    let placements = PLACEMENTS.iter().map(|info| PageOptions { placement: info.defaults(), ..SMALL_OPTIONS });
    for options in victims.chain(placements) {
        for planes in [1, 2] {
            let mut setup = small_setup(8, 2, 0);
            setup.ftl = FtlChoice::Page(options, ram::INFO.defaults());
            setup.logical_pages = 2;
            setup.geometry.parallelism.planes = planes;
            setup.geometry.blocks = planes * (1 + options.reserve_blocks());
            setup.check = true;
            exhaust(&setup, &alphabet);
        }
    }
}

/// The smallest devices with log blocks: two logical blocks of two pages, and the minimum number of log blocks.
#[test]
fn all_short_sequences_are_served_by_log_blocks() {
    let alphabet = [(Op::Write, 0, 1), (Op::Write, 1, 1), (Op::Write, 2, 1), (Op::Write, 3, 1), (Op::Trim, 1, 2)];
    let sbfast = |sub_block| sbfast::INFO.set(&[("slb", 1), ("sub_block", sub_block)]).expect("in range");
    for (choice, log_blocks) in [
        (bast::INFO.defaults(), 1),
        (fast::INFO.defaults(), 2),
        (fast::INFO.with(&[0]), 1),
        (faster::INFO.set(&[("isolation", percent(50))]).expect("2 of 4"), 4),
        (faster::INFO.set(&[("sw", 0), ("isolation", 0)]).expect("in range"), 1),
        (sbfast(1), 2),
        (sbfast(2), 2),
    ] {
        let ftl = FtlChoice::Log(choice, log_blocks);
        for order in [ProgramOrder::Any, ProgramOrder::Ascending] {
            for fill in [0.0, 1.0] {
                let mut setup = small_setup(8, 2, 0);
                setup.ftl = ftl;
                setup.logical_pages = 4;
                setup.geometry.blocks = 2 + log_blocks + ftl.reserve_blocks();
                setup.geometry.order = order;
                setup.precondition.fill = fill;
                setup.check = true;
                exhaust(&setup, &alphabet);
            }
        }
    }
}

/// The oracle itself must be able to fail: it detects wrong operations.
#[test]
fn the_oracle_detects_a_wrong_ftl() {
    use ssdlab_core::{BlockId, Ppn};
    use ssdlab_nand::{Role, Source, SpareArea};

    let program = |checker: &mut DataChecker, ppn, lpn, sequence| {
        checker.expect_write(Lpn(lpn), 1);
        checker.program(
            Ppn(ppn),
            SpareArea { lpn: Lpn(lpn), sequence, role: Role::Data },
            Source::Host(0),
            Cause::Host,
        );
    };
    let found = |act: &dyn Fn(&mut DataChecker)| {
        let mut checker = DataChecker::new(&small_setup(8, 4, 1));
        program(&mut checker, 0, 5, 0);
        act(&mut checker);
        checker.violation().unwrap_or_default().to_owned()
    };
    assert_eq!(found(&|_| {}), "");
    assert!(found(&|checker| program(checker, 0, 5, 1)).contains("already programmed"));
    let passed = |checker: &mut DataChecker| {
        program(checker, 2, 5, 1);
        program(checker, 1, 6, 2);
    };
    assert!(found(&passed).contains("block 0 is 3, not 1"));
    assert!(found(&|checker| program(checker, 1, 5, 0)).contains("sequence"));
    assert!(found(&|checker| checker.read(Ppn(9), Cause::Host)).contains("not programmed"));
    assert!(found(&|checker| checker.erase(BlockId(0), Cause::Gc)).contains("only copy of logical page 5"));
    let copy = |checker: &mut DataChecker, lpn| {
        checker.copy(Ppn(0), Ppn(4), SpareArea { lpn: Lpn(lpn), sequence: 1, role: Role::Data }, Cause::Gc)
    };
    assert!(found(&|checker| copy(checker, 6)).contains("holds logical page 5, not 6"));
    assert!(
        found(&|checker| {
            copy(checker, 5);
            checker.erase(BlockId(0), Cause::Gc);
        })
        .contains("without a barrier")
    );
    assert_eq!(
        found(&|checker| {
            copy(checker, 5);
            checker.barrier();
            checker.erase(BlockId(0), Cause::Gc);
        }),
        ""
    );
}
