//! Goal: no sequence of requests, on no device and with no option, makes a read return anything but the
//! last write, breaks a NAND rule or loses count. Method: random small devices and requests through the
//! checked stack; every registered victim policy takes part.

use proptest::prelude::*;
use ssdlab_ftl::gc::POLICIES;
use ssdlab_ftl::page::{PageFtl, PageOptions, Survivors};
use ssdlab_ftl::{Counts, Ftl};
use ssdlab_sim::{FtlChoice, Setup, run};
use ssdlab_testkit::small_setup;
use ssdlab_testkit::strategies::{requests, setups};
use ssdlab_trace::{Op, Request, SliceSource};

fn checked(setup: &Setup, requests: &[Request]) -> ssdlab_sim::Outcome {
    run(setup, &mut SliceSource::new(requests), &mut ()).expect("the data check finds nothing")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

    #[test]
    fn every_read_returns_the_last_write(setup in setups(), requests in requests(300)) {
        let outcome = checked(&setup, &requests);
        let summary = &outcome.summary;
        let [host, rmw, gc] = summary.flash.0.programs;
        prop_assert_eq!(host, summary.host.pages_written);
        prop_assert_eq!(rmw, 0);
        // Every copy is one read and one program; every host read is a flash read unless unmapped.
        prop_assert_eq!(gc, summary.flash.0.reads[2]);
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
    fn internal_state_stays_consistent(setup in setups(), requests in requests(60)) {
        let FtlChoice::Page(options) = setup.ftl;
        let geometry = setup.geometry;
        let mut ftl = PageFtl::new(setup.logical_pages, geometry.blocks, geometry.pages_per_block, options, setup.seed)
            .expect("the device is large enough");
        let mut counts = Counts::default();
        for request in requests {
            let lpn = ssdlab_core::Lpn((request.offset / 512) as u32 % setup.logical_pages);
            let count = (request.bytes / 512).min(setup.logical_pages - lpn.0);
            match request.op {
                Op::Write => ftl.write(lpn, count, &mut counts),
                Op::Trim => ftl.trim(lpn, count, &mut counts),
                _ => {}
            }
            prop_assert_eq!(ftl.check(), Ok(()));
        }
    }
}

/// The random worlds must be worth living in: most of them collect garbage and copy pages.
#[test]
fn random_worlds_collect_garbage() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut copying = 0;
    for _ in 0..200 {
        let setup = setups().new_tree(&mut runner).expect("nothing is rejected").current();
        let requests = requests(300).new_tree(&mut runner).expect("nothing is rejected").current();
        copying += u32::from(checked(&setup, &requests).summary.flash.0.programs[2] > 0);
    }
    assert!(copying > 100, "only {copying} of 200 runs copied a page");
}

/// All sequences of six operations on the smallest device of each kind: two logical pages, two-page blocks.
#[test]
fn small_worlds_are_exhausted() {
    let alphabet: Vec<(Op, u64, u32)> =
        vec![(Op::Write, 0, 1), (Op::Write, 1, 1), (Op::Write, 0, 2), (Op::Read, 0, 2), (Op::Trim, 0, 1)];
    for policy in POLICIES {
        for survivors in [Survivors::Shared, Survivors::Own] {
            let mut setup = small_setup(8, 2, 0);
            let FtlChoice::Page(options) = setup.ftl;
            let options = PageOptions { gc: policy.example, survivors, ..options };
            setup.ftl = FtlChoice::Page(options);
            setup.logical_pages = 2;
            setup.geometry.blocks = 1 + options.reserve_blocks();
            setup.check = true;
            for code in 0..alphabet.len().pow(6) {
                let mut requests: Vec<Request> = (0..6)
                    .map(|place| alphabet[code / alphabet.len().pow(place) % alphabet.len()])
                    .map(|(op, page, pages)| Request {
                        time_ns: 0,
                        offset: page * 4096,
                        bytes: pages * 4096,
                        op,
                        flags: 0,
                        stream: 0,
                    })
                    .collect();
                // Twice over, so that collection runs, and a last look at everything.
                requests.extend_from_within(..);
                requests.push(Request { time_ns: 0, offset: 0, bytes: 8192, op: Op::Read, flags: 0, stream: 0 });
                checked(&setup, &requests);
            }
        }
    }
}

/// The oracle itself must be able to fail: a device that lies about a page is found out.
#[test]
fn the_oracle_notices_a_wrong_ftl() {
    use ssdlab_core::{BlockId, Lpn, Ppn};
    use ssdlab_ftl::{Cause, FlashSink, Oob, Source};
    use ssdlab_sim::shadow::Shadow;

    let program = |shadow: &mut Shadow, ppn, lpn, sequence| {
        shadow.begin_write(Lpn(lpn), 1);
        shadow.program(Ppn(ppn), Oob { lpn: Lpn(lpn), sequence }, Source::Host(0), Cause::Host);
    };
    let found = |act: &dyn Fn(&mut Shadow)| {
        let mut shadow = Shadow::new(&small_setup(8, 4, 1));
        program(&mut shadow, 0, 5, 0);
        act(&mut shadow);
        shadow.first_violation().unwrap_or_default().to_owned()
    };
    assert_eq!(found(&|_| {}), "");
    assert!(found(&|shadow| program(shadow, 0, 5, 1)).contains("programmed already"));
    assert!(found(&|shadow| program(shadow, 2, 5, 1)).contains("is at page 1, not 2"));
    assert!(found(&|shadow| program(shadow, 1, 5, 0)).contains("sequence"));
    assert!(found(&|shadow| shadow.read(Ppn(9), Cause::Host)).contains("not programmed"));
    assert!(found(&|shadow| shadow.erase(BlockId(0), Cause::Gc)).contains("only copy of logical page 5"));
    let copy = |shadow: &mut Shadow, lpn| shadow.copy(Ppn(0), Ppn(4), Oob { lpn: Lpn(lpn), sequence: 1 }, Cause::Gc);
    assert!(found(&|shadow| copy(shadow, 6)).contains("holds 5, not 6"));
    assert!(
        found(&|shadow| {
            copy(shadow, 5);
            shadow.erase(BlockId(0), Cause::Gc);
        })
        .contains("without a barrier")
    );
    assert_eq!(
        found(&|shadow| {
            copy(shadow, 5);
            shadow.barrier();
            shadow.erase(BlockId(0), Cause::Gc);
        }),
        ""
    );
}
