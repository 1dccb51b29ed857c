//! Goal: a drive whose steady state is taken over from a part of its planes is like one that was overwritten as a whole.
//! Method: both are made for every victim policy and several over-provisionings, and compared: write amplification under
//! further random overwrites, and how many valid pages the blocks hold.

use ssdlab_ftl::FtlChoice;
use ssdlab_ftl::choice::LOG_FTLS;
use ssdlab_ftl::gc::VICTIMS;
use ssdlab_ftl::map::{dftl, ram};
use ssdlab_ftl::page::{Allocation, PageOptions, Trigger};
use ssdlab_ftl::placement::PLACEMENTS;
use ssdlab_nand::Parallelism;
use ssdlab_sim::{Method, Outcome, Overwrite, Precondition, Setup, SimError, run};
use ssdlab_testkit::{SMALL_OPTIONS, random_writes, small_setup};
use ssdlab_trace::{Request, SliceSource};

const PLANES: u32 = 16;
const BLOCKS_PER_PLANE: u32 = 128;
const PAGES_PER_BLOCK: u32 = 64;

fn drive(ftl: FtlChoice, spare_share: f64) -> Setup {
    let blocks = PLANES * BLOCKS_PER_PLANE;
    let mut setup = small_setup(blocks, PAGES_PER_BLOCK, 0);
    setup.geometry.parallelism = Parallelism { planes: PLANES, ..Parallelism::SINGLE };
    setup.ftl = ftl;
    let held = blocks - setup.reserve_blocks();
    setup.logical_pages = (f64::from(held * PAGES_PER_BLOCK) / (1.0 + spare_share)) as u32;
    setup
}

fn prepared(setup: &Setup, method: Method, requests: &[Request]) -> Result<Outcome, SimError> {
    let precondition = Precondition { fill: 1.0, overwrite: Overwrite::Steady(method) };
    run(&Setup { precondition, ..*setup }, &mut SliceSource::new(requests), &mut ())
}

fn every_policy() -> impl Iterator<Item = PageOptions> {
    let victims = VICTIMS.iter().map(|info| PageOptions { gc: info.defaults(), ..SMALL_OPTIONS });
    let placements = PLACEMENTS.iter().map(|&placement| PageOptions { placement, ..SMALL_OPTIONS });
    let trigger = Trigger::Partial { low: 3, step: 4 };
    let partial = PageOptions { trigger, allocation: Allocation::LeastWorn, ..SMALL_OPTIONS };
    victims.chain(placements).chain([partial])
}

/// Write amplification of both over four further overwrites of the drive is the same within 0.5 %.
#[test]
fn a_sampled_drive_amplifies_writes_as_an_exact_one() {
    for options in every_policy() {
        for spare_share in [0.15, 0.28] {
            let setup = drive(FtlChoice::Page(options, ram::INFO.defaults()), spare_share);
            let writes = random_writes(&setup, 5, 4 * setup.logical_pages as usize);
            let amplification = |method| {
                let summary = prepared(&setup, method, &writes).expect("runs").summary;
                let sampled = summary.precondition.sampled_planes;
                assert_eq!(sampled, (method == Method::Sampled).then_some(PLANES / 2), "{options:?}");
                summary.write_amplification.expect("pages were written")
            };
            let (exact, sampled) = (amplification(Method::Exact), amplification(Method::Sampled));
            let apart = (sampled / exact - 1.0).abs();
            assert!(apart < 0.005, "{options:?}, spare {spare_share}: exact {exact}, sampled {sampled}");
        }
    }
}

/// The drive that is left open is small, and exact; where planes depend on each other, or a shadow would have to know what
/// was written, sampling is refused.
#[test]
fn what_cannot_be_sampled_is_refused() {
    let page = FtlChoice::Page(SMALL_OPTIONS, ram::INFO.defaults());
    let setup = drive(page, 0.28);
    let left_open = prepared(&setup, Method::Auto, &[]).expect("runs").summary;
    assert_eq!(left_open.precondition.sampled_planes, None);
    let refused = |setup: &Setup| {
        let error = prepared(setup, Method::Sampled, &[]).expect_err("cannot be sampled").to_string();
        assert!(error.starts_with("precondition.overwrite.steady.method: only a drive of page mapping"), "{error}");
    };
    refused(&Setup { check: true, ..setup });
    refused(&drive(FtlChoice::Page(SMALL_OPTIONS, dftl::INFO.defaults()), 0.5));
    refused(&drive(FtlChoice::Log(LOG_FTLS[0].defaults(), 64), 0.5));
    let mut one_plane = setup;
    one_plane.geometry.parallelism = Parallelism::SINGLE;
    refused(&one_plane);
}
