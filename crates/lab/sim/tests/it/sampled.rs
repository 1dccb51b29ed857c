//! Goal: a drive with a sampled steady state resembles a drive that is overwritten completely. Method: compares write
//! amplification under further overwrites, for every victim policy and two over-provisionings.

use ssdlab_core::Nanos;
use ssdlab_ftl::FtlChoice;
use ssdlab_ftl::choice::LOG_FTLS;
use ssdlab_ftl::gc::{self, VICTIMS};
use ssdlab_ftl::map::{dftl, ram};
use ssdlab_ftl::page::{Allocation, PageOptions, Trigger};
use ssdlab_ftl::placement::{PLACEMENTS, own};
use ssdlab_nand::{Collected, Commands, Parallelism, Units};
use ssdlab_sim::{
    Clock, DriveOptions, Method, Outcome, Overwrite, Precondition, Replay, Setup, SimError, States, cache_key, run,
    run_with_states,
};
use ssdlab_testkit::drives::{PLAIN, TIMING, array};
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
    run(&Setup { precondition, ..setup.clone() }, &mut SliceSource::new(requests), &mut ())
}

fn every_policy() -> impl Iterator<Item = PageOptions> {
    let victims = VICTIMS.iter().map(|info| PageOptions { gc: info.defaults(), ..SMALL_OPTIONS });
    let placements = PLACEMENTS.iter().map(|info| PageOptions { placement: info.defaults(), ..SMALL_OPTIONS });
    let trigger = Trigger::Partial { low: 3, step: 4, every: 1 };
    let partial = PageOptions { trigger, allocation: Allocation::LeastWorn, ..SMALL_OPTIONS };
    victims.chain(placements).chain([partial])
}

/// Write amplification over four further overwrites is the same within 0.5 %. With random victims its standard
/// deviation between drives is 0.6 %, so means of several drives are compared.
#[test]
fn a_sampled_drive_amplifies_writes_like_an_exact_drive() {
    for options in every_policy() {
        let drives = if options.gc.is(&gc::random::INFO) { 8 } else { 1 };
        for spare_share in [0.15, 0.28] {
            let setup = drive(FtlChoice::Page(options, ram::INFO.defaults()), spare_share);
            let amplification = |method| {
                let of = |seed| {
                    let setup = Setup { seed, ..setup.clone() };
                    let writes = random_writes(&setup, 4 + seed, 4 * setup.logical_pages as usize);
                    let summary = prepared(&setup, method, &writes).expect("runs").summary;
                    let sampled = summary.precondition.sampled_planes;
                    assert_eq!(sampled, (method == Method::Sampled).then_some(PLANES / 2), "{options:?}");
                    summary.write_amplification.expect("pages were written")
                };
                (1..=drives).map(of).sum::<f64>() / drives as f64
            };
            let (exact, sampled) = (amplification(Method::Exact), amplification(Method::Sampled));
            let apart = (sampled / exact - 1.0).abs();
            assert!(apart < 0.005, "{options:?}, spare {spare_share}: exact {exact}, sampled {sampled}");
        }
    }
}

/// Goal: the planes of a sampled drive stay in step, so that one command programs two planes. Method: compares
/// multi-plane commands and throughput with an exact drive.
#[test]
fn dies_of_a_sampled_drive_program_their_planes_together() {
    let options = PageOptions { placement: own::INFO.defaults(), ..SMALL_OPTIONS };
    let mut setup = drive(FtlChoice::Page(options, ram::INFO.defaults()), 0.28);
    setup.geometry.parallelism = array(4, 2, 1, 2);
    setup.replay = Replay::Closed { depth: 64, per_stream: false, think: Nanos::ZERO };
    let commands = Commands { multiplane: true, ..PLAIN.commands };
    let writes = random_writes(&setup, 5, (64 * PLANES * PAGES_PER_BLOCK) as usize);
    let figures = |method, commands| {
        let setup = Setup { clock: Clock::Event(TIMING, DriveOptions { commands, ..PLAIN }), ..setup.clone() };
        let summary = prepared(&setup, method, &writes).expect("runs").summary;
        let iops = summary.time.and_then(|time| time.iops).expect("a drive in time");
        (summary.drive.expect("a drive in time").multiplane_commands as f64, iops)
    };
    let (exact, sampled) = (figures(Method::Exact, commands), figures(Method::Sampled, commands));
    assert_eq!(figures(Method::Sampled, PLAIN.commands).0, 0.0);
    assert!(sampled.0 > 0.9 * exact.0 && sampled.0 < 1.1 * exact.0, "exact {exact:?}, sampled {sampled:?}");
    assert!((sampled.1 / exact.1 - 1.0).abs() < 0.03, "exact {exact:?}, sampled {sampled:?}");
}

/// Goal: a drive with superblocks is sampled by sections and can be saved, but is not cached. Method: a run from the
/// saved drive must execute the same operations as a run that prepares the drive.
#[test]
fn superblocks_are_sampled_by_sections() {
    let mut setup = drive(FtlChoice::Page(SMALL_OPTIONS, ram::INFO.defaults()), 0.28);
    setup.geometry.units = Units { collected: Collected::Superblock, per_flash_page: 4, ..Units::PAGE };
    (setup.geometry.blocks, setup.geometry.pages_per_block) = (BLOCKS_PER_PLANE, PLANES * PAGES_PER_BLOCK);
    setup.geometry.parallelism = array(4, 4, 1, 1);
    setup.precondition = Precondition { fill: 1.0, overwrite: Overwrite::Steady(Method::Sampled) };
    let writes = random_writes(&setup, 3, setup.logical_pages as usize);
    let path = std::env::temp_dir().join(format!("ssdlab-sections.{}.drive", std::process::id()));
    let with = |states, requests: &[Request]| {
        run_with_states(&setup, states, &mut SliceSource::new(requests), &mut ()).expect("runs").summary
    };
    let fresh = with(States::default(), &writes);
    with(States { save: Some(&path), ..States::default() }, &[]);
    let loaded = with(States { from: Some(&path), ..States::default() }, &writes);
    std::fs::remove_file(&path).expect("it is there");
    // The drive is small, so the sampled section is as large as possible: half of a superblock.
    assert_eq!(fresh.precondition.sampled_sections, Some(2));
    assert_eq!((fresh.flash.0, fresh.precondition), (loaded.flash.0, loaded.precondition));
    assert_eq!(cache_key(&Setup { logical_pages: 1 << 20, ..setup.clone() }), None);
    let refused = |setup: Setup| {
        let error = prepared(&setup, Method::Sampled, &[]).expect_err("cannot be sampled").to_string();
        assert!(error.contains("superblocks without parity"), "{error}");
    };
    refused(Setup { check: true, ..setup.clone() });
    // With parity, a word line of 16 dies holds 15 program units of data.
    setup.geometry.units.parity = 15;
    setup.geometry.pages_per_block -= setup.geometry.pages_per_block / 16;
    setup.logical_pages -= setup.logical_pages / 16;
    refused(setup);
}

/// By default, small drives are overwritten exactly. Sampling is refused if planes depend on each other, and with the
/// data check.
#[test]
fn unsuitable_drives_are_not_sampled() {
    let page = FtlChoice::Page(SMALL_OPTIONS, ram::INFO.defaults());
    let setup = drive(page, 0.28);
    let left_open = prepared(&setup, Method::Auto, &[]).expect("runs").summary;
    assert_eq!(left_open.precondition.sampled_planes, None);
    let refused = |setup: &Setup| {
        let error = prepared(setup, Method::Sampled, &[]).expect_err("cannot be sampled").to_string();
        assert!(
            error.starts_with("precondition.overwrite.steady.method: \"sampled\" needs check = false, page mapping"),
            "{error}"
        );
    };
    refused(&Setup { check: true, ..setup.clone() });
    refused(&drive(FtlChoice::Page(SMALL_OPTIONS, dftl::INFO.defaults()), 0.5));
    refused(&drive(FtlChoice::Log(LOG_FTLS[0].defaults(), 64), 0.5));
    let mut one_plane = setup;
    one_plane.geometry.parallelism = Parallelism::SINGLE;
    refused(&one_plane);
}
