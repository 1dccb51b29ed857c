//! Goal: a saved and loaded drive continues unchanged, with every FTL; other files are refused. Method: runs with and
//! without a break, for random set-ups and requests, and for every registered FTL, policy and map.

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use ssdlab_core::{Choice, Info};
use ssdlab_ftl::FtlChoice;
use ssdlab_ftl::choice::{LOG_FTLS, MAPS};
use ssdlab_ftl::gc::VICTIMS;
use ssdlab_ftl::map::cache::POLICIES;
use ssdlab_ftl::map::{ram, segments};
use ssdlab_ftl::page::{Allocation, PageOptions};
use ssdlab_ftl::placement::PLACEMENTS;
use ssdlab_sim::{
    Clock, Method, Monitor, Outcome, Overwrite, PreconditionSummary, Setup, SimError, States, Status, cache_key, run,
    run_with_states,
};
use ssdlab_testkit::drives::{on_any_drive, on_any_modern_drive};
use ssdlab_testkit::strategies::{modern_setups, requests, setups, slc_setups};
use ssdlab_testkit::{SMALL_OPTIONS, random_writes, small_setup};
use ssdlab_trace::{Op, Request, SliceSource};

/// A temporary file of one test.
struct Kept(PathBuf);

impl Kept {
    fn new(name: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        Self(folder.join(format!("{name}.{}.{:?}.drive", std::process::id(), std::thread::current().id())))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn run_kept(setup: &Setup, states: States<'_>, requests: &[Request]) -> Result<Outcome, SimError> {
    run_with_states(setup, states, &mut SliceSource::new(requests), &mut ())
}

/// Returns all results as text.
fn text(outcome: &Outcome) -> String {
    let summary = serde_json::to_string(&outcome.summary).expect("serialises");
    let log = outcome.log.as_ref().map(|log| format!("{:?}", (&log.associativity, &log.utilisation)));
    let latency = outcome.latency.each_ref().map(|histogram| histogram.buckets());
    format!("{summary} {:?} {:?} {latency:?} {log:?}", outcome.series.columns(), outcome.erase_counts)
}

/// Returns all results except preconditioning as text.
fn text_of_run(mut outcome: Outcome) -> String {
    outcome.summary.precondition = PreconditionSummary::default();
    // Findings depend on the preconditioning, too.
    outcome.summary.diagnosis.clear();
    text(&outcome)
}

/// Runs the requests with and without a break after the first `before` requests. Returns the results of the remaining
/// requests.
fn with_and_without_break(setup: &Setup, requests: &[Request], before: usize) -> (String, String) {
    let kept = Kept::new("break");
    run_kept(setup, States { save: Some(&kept.0), ..States::default() }, &requests[..before]).expect("runs");
    let second = run_kept(setup, States { from: Some(&kept.0), ..States::default() }, &requests[before..]);
    let in_one = Setup { warmup_requests: before as u64, ..setup.clone() };
    let in_one = run(&in_one, &mut SliceSource::new(requests), &mut ());
    (text_of_run(second.expect("goes on")), text_of_run(in_one.expect("runs")))
}

/// Runs the requests without a cached drive, with a file in which the drive is saved, and with the saved drive.
fn with_and_without_cache(setup: &Setup, requests: &[Request]) -> [String; 3] {
    let kept = Kept::new("cache");
    let cached = States { cache: Some(&kept.0), ..States::default() };
    [States::default(), cached, cached].map(|states| text(&run_kept(setup, states, requests).expect("runs")))
}

/// Disables the time model, because a loaded drive counts gathered pages as programmed, so that reads of these pages
/// take longer.
fn untimed(setup: Setup) -> Setup {
    Setup { clock: Clock::Count, ..setup }
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(1_000))]

    #[test]
    fn a_run_continues_as_if_without_a_break(
        setup in prop_oneof![3 => setups(), 1 => modern_setups().prop_map(untimed), 1 => slc_setups().prop_map(untimed)],
        requests in requests(200),
        check: bool,
        part in 0.0_f64..1.0,
    ) {
        let setup = Setup { check, ..setup.clone() };
        let before = (part * requests.len() as f64) as usize;
        let (second, in_one) = with_and_without_break(&setup, &requests, before);
        prop_assert_eq!(second, in_one);
    }

    #[test]
    fn results_do_not_depend_on_the_cache(
        setup in prop_oneof![3 => setups(), 1 => modern_setups()], requests in requests(100), check: bool
    ) {
        let [without, first, again] = with_and_without_cache(&Setup { check, ..setup.clone() }, &requests);
        prop_assert_eq!(&first, &without);
        prop_assert_eq!(&again, &without);
    }

    #[test]
    fn results_of_drives_in_time_do_not_depend_on_the_cache(
        setup in prop_oneof![3 => on_any_drive(), 1 => on_any_modern_drive()], requests in requests(60), check: bool
    ) {
        let [without, first, again] = with_and_without_cache(&Setup { check, ..setup.clone() }, &requests);
        prop_assert_eq!(&first, &without);
        prop_assert_eq!(&again, &without);
    }

    /// The saved drive has programmed its buffered pages, and all data passes the check.
    #[test]
    fn an_event_driven_drive_is_saved_with_all_written_data(
        setup in prop_oneof![3 => on_any_drive(), 1 => on_any_modern_drive()], requests in requests(60)
    ) {
        let kept = Kept::new("in-time");
        let first = run_kept(&setup, States { save: Some(&kept.0), ..States::default() }, &requests).expect("runs");
        let whole = setup.capacity_bytes();
        let read = Request { time_ns: 0, offset: 0, bytes: whole as u32, op: Op::Read, flags: 0, stream: 0 };
        let all = [&[read], &requests[..], &[read]].concat();
        let second = run_kept(&setup, States { from: Some(&kept.0), ..States::default() }, &all).expect("goes on");
        let buffer = first.summary.drive.as_ref().and_then(|drive| drive.buffer);
        let absorbed = buffer.map_or(0, |buffer| buffer.pages_overwritten + buffer.pages_trimmed);
        prop_assert_eq!(
            second.summary.precondition.host_pages_written,
            first.summary.precondition.host_pages_written + first.summary.host.pages_written - absorbed
        );
    }
}

/// Returns FTLs with every registered policy, placement and map, and every log-block FTL.
fn every_ftl() -> Vec<FtlChoice> {
    fn defaults<R>(table: &[&'static Info<R>]) -> impl Iterator<Item = Choice<R>> {
        table.iter().map(|info| info.defaults())
    }
    let page = |options, map| FtlChoice::Page(options, map);
    let in_ram = ram::INFO.defaults();
    let mut all: Vec<FtlChoice> = defaults(&LOG_FTLS).map(|log| FtlChoice::Log(log, 8)).collect();
    all.extend(defaults(&VICTIMS).map(|gc| page(PageOptions { gc, ..SMALL_OPTIONS }, in_ram)));
    all.extend(PLACEMENTS.iter().map(|info| page(PageOptions { placement: info.defaults(), ..SMALL_OPTIONS }, in_ram)));
    all.push(page(PageOptions { allocation: Allocation::LeastWorn, ..SMALL_OPTIONS }, in_ram));
    all.extend(defaults(&MAPS).map(|map| page(SMALL_OPTIONS, map)));
    all.extend((0..POLICIES.len() as u64).map(|policy| {
        let changes = [("cache", 64), ("segment", 16), ("entry", 4), ("policy", policy)];
        page(SMALL_OPTIONS, segments::INFO.set(&changes).expect("a small cache"))
    }));
    all
}

fn aged(ftl: FtlChoice) -> Setup {
    let mut setup = small_setup(64, 16, 0);
    setup.ftl = ftl;
    setup.logical_pages = 36 * 16;
    setup.precondition.fill = 1.0;
    setup.precondition.overwrite = Overwrite::Passes(1.5);
    setup
}

#[test]
fn every_ftl_continues_as_if_without_a_break() {
    for ftl in every_ftl() {
        let setup = aged(ftl);
        let (second, in_one) = with_and_without_break(&setup, &random_writes(&setup, setup.seed, 2_000), 900);
        assert_eq!(second, in_one, "{ftl:?}");
    }
}

/// A monitor that collects notes.
#[derive(Default)]
struct Notes(Vec<String>);

impl Monitor for Notes {
    fn report(&mut self, _status: &Status) -> ssdlab_sim::Control {
        ssdlab_sim::Control::Continue
    }

    fn note(&mut self, text: &str) {
        self.0.push(text.into());
    }
}

#[test]
fn a_damaged_cached_drive_is_preconditioned_again_with_a_note() {
    let setup = aged(FtlChoice::Page(SMALL_OPTIONS, ram::INFO.defaults()));
    let writes = random_writes(&setup, setup.seed, 500);
    let kept = Kept::new("damaged");
    let run = || {
        let mut notes = Notes::default();
        let states = States { cache: Some(&kept.0), ..States::default() };
        let outcome = run_with_states(&setup, states, &mut SliceSource::new(&writes), &mut notes);
        (text(&outcome.expect("runs")), notes.0)
    };
    let (first, notes) = run();
    assert_eq!(notes, [""; 0]);
    let whole = fs::read(&kept.0).expect("kept");
    // Damages bytes of the head, of each array and its padding, and of the frames.
    for at in (3..whole.len()).step_by(509).chain([whole.len() - 1]) {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        fs::write(&kept.0, damaged).expect("writable");
        let (result, notes) = run();
        assert_eq!((result, notes.len()), (first.clone(), 1), "byte {at}");
        assert!(notes[0].starts_with("the cached drive cannot be used"), "{notes:?}");
        assert_eq!(fs::read(&kept.0).expect("kept again"), whole, "byte {at}");
    }
}

/// Removes a file while a run uses it.
struct Removing<'a>(&'a PathBuf);

impl Monitor for Removing<'_> {
    fn report(&mut self, _status: &Status) -> ssdlab_sim::Control {
        let _ = fs::remove_file(self.0);
        ssdlab_sim::Control::Continue
    }
}

/// Goal: a run does not change its file, and does not need the file after loading. Method: two runs at once, and a run
/// whose file is removed meanwhile.
#[test]
fn runs_from_one_file_do_not_disturb_each_other() {
    let setup = aged(FtlChoice::Page(SMALL_OPTIONS, ram::INFO.defaults()));
    let kept = Kept::new("shared");
    run_kept(&setup, States { save: Some(&kept.0), ..States::default() }, &[]).expect("runs");
    let before = fs::read(&kept.0).expect("kept");
    let writes = random_writes(&setup, setup.seed, 2_000);
    let states = States { from: Some(&kept.0), ..States::default() };
    let go_on = || text(&run_kept(&setup, states, &writes).expect("goes on"));
    let [one, other] = std::thread::scope(|scope| {
        [scope.spawn(go_on), scope.spawn(go_on)].map(|thread| thread.join().expect("does not panic"))
    });
    assert_eq!(fs::read(&kept.0).expect("still there"), before);
    let last = run_with_states(&setup, states, &mut SliceSource::new(&writes), &mut Removing(&kept.0));
    assert!(!kept.0.exists());
    assert!(one == other && one == text(&last.expect("goes on")));
}

/// If the folder does not exist, the drive is not saved, but the run succeeds.
#[test]
fn a_cached_drive_that_cannot_be_written_gives_a_note() {
    let setup = aged(FtlChoice::Page(SMALL_OPTIONS, ram::INFO.defaults()));
    let nowhere = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("no such folder/drive");
    let mut notes = Notes::default();
    let states = States { cache: Some(&nowhere), ..States::default() };
    run_with_states(&setup, states, &mut SliceSource::new(&[]), &mut notes).expect("runs");
    assert!(notes.0[0].starts_with("cannot save the preconditioned drive"), "{:?}", notes.0);
    let states = States { save: Some(&nowhere), ..States::default() };
    let error = run_kept(&setup, states, &[]).expect_err("cannot be saved").to_string();
    assert!(error.contains("no such folder/drive: No such file or directory"), "{error}");
}

#[test]
fn a_different_drive_is_refused_with_the_differing_setting() {
    let setup = aged(FtlChoice::Page(SMALL_OPTIONS, ram::INFO.defaults()));
    let kept = Kept::new("other");
    run_kept(&setup, States { save: Some(&kept.0), ..States::default() }, &[]).expect("runs");
    let refused = |other: &Setup| {
        let states = States { from: Some(&kept.0), ..States::default() };
        run_kept(other, states, &[]).expect_err("another kind").to_string()
    };
    let ends = |error: String, expected: &str| {
        let expected = format!(": the drive was saved with {expected}, or save a matching drive with --save-state");
        assert!(error.ends_with(&expected), "{error}");
    };
    let page = |options| FtlChoice::Page(options, ram::INFO.defaults());
    let fifo = PageOptions { gc: ssdlab_ftl::gc::fifo::INFO.defaults(), ..SMALL_OPTIONS };
    ends(
        refused(&Setup { ftl: page(fifo), ..setup.clone() }),
        "ftl.page.gc = greedy, but this run has fifo; set ftl.page.gc=greedy",
    );
    ends(refused(&Setup { check: true, ..setup.clone() }), "check = false, but this run has true; set check=false");
    ends(
        refused(&Setup { logical_pages: setup.logical_pages - 1, ..setup.clone() }),
        "device.capacity = 2304KiB, but this run has 2300KiB; set device.capacity=2304KiB",
    );
    let geometry = ssdlab_nand::Geometry { blocks: setup.geometry.blocks + 1, ..setup.geometry };
    let blocks = format!(
        "{} erase blocks (device.op), but this run has {}; restore the earlier value of device.op",
        setup.geometry.blocks, geometry.blocks
    );
    ends(refused(&Setup { geometry, ..setup.clone() }), &blocks);
    // Settings that do not shape the state may differ.
    let timed = Setup { seed: 9, clock: Clock::Serial(ssdlab_testkit::drives::TIMING), ..setup.clone() };
    run_kept(&timed, States { from: Some(&kept.0), ..States::default() }, &[]).expect("the same drive");
    fs::write(&kept.0, "a trace").expect("writable");
    assert!(refused(&setup).contains("not an ssdlab drive file") || refused(&setup).contains("ends early"));
    fs::remove_file(&kept.0).expect("there");
    assert!(refused(&setup).contains("no such file; use a file saved with --save-state"));
}

/// The key of a preconditioned drive contains exactly the settings that determine the drive.
#[test]
fn different_drives_have_different_keys() {
    let setup = aged(FtlChoice::Page(SMALL_OPTIONS, ram::INFO.defaults()));
    assert_eq!(cache_key(&setup), None, "preconditioning a small drive is fast");
    let large = Setup { logical_pages: 1 << 20, ..setup.clone() };
    let key = cache_key(&large).expect("worth keeping");
    let other = |other: Setup| cache_key(&other).expect("worth keeping") != key;
    assert!(other(Setup { seed: 2, ..large.clone() }) && other(Setup { check: true, ..large.clone() }));
    assert!(other(Setup { logical_pages: (1 << 20) + 1, ..large.clone() }));
    let mut precondition = large.precondition;
    precondition.overwrite = Overwrite::Steady(Method::Auto);
    assert!(other(Setup { precondition, ..large.clone() }));
    let timed = Setup { clock: Clock::Serial(ssdlab_testkit::drives::TIMING), warmup_requests: 5, ..large.clone() };
    assert!(!other(timed));
}
