//! Compares recordings with the FTL itself for random requests on random small drives of every FTL. The final state
//! must match the FTL's map, erase counts and operation counts. Each step must be consistent with the previous state.

use proptest::prelude::*;
use ssdlab_core::Lpn;
use ssdlab_explain::{Drive, Op, PageState, Recording, Request, State, Step, Use, What, record};
use ssdlab_ftl::choice::{LOG_FTLS, Visitor};
use ssdlab_ftl::log::{bast, faster};
use ssdlab_ftl::{Ftl, FtlChoice, Shape, WriteContext};
use ssdlab_nand::{Cause, Counts, ProgramOrder};
use ssdlab_testkit::strategies::setups;
use ssdlab_testkit::visit;

fn requests(pages: u32) -> impl Strategy<Value = Vec<Request>> {
    let op = prop_oneof![8 => Just(Op::Write), 1 => Just(Op::Read), 1 => Just(Op::Trim)];
    let place = prop_oneof![0..pages, 0..pages.min(5)];
    let request =
        (op, place, 1_u32..8).prop_map(move |(op, page, count)| Request { op, page, count: count.min(pages - page) });
    prop::collection::vec(request, 1..60)
}

/// Runs the same requests on the FTL and counts its operations.
struct Counted<'a> {
    drive: &'a Drive,
    requests: &'a [Request],
}

impl Visitor for Counted<'_> {
    type Output = Counts;

    fn plain<F: Ftl + Send + 'static>(self, mut ftl: F) -> Counts {
        ftl.write(Lpn(0), self.drive.filled, WriteContext::default(), &mut ());
        ftl.preload(&mut ());
        let mut counts = Counts::default();
        for &Request { op, page, count } in self.requests {
            match op {
                Op::Write => ftl.write(Lpn(page), count, WriteContext::default(), &mut counts),
                Op::Read => {
                    ftl.read(Lpn(page), count, Cause::Host, &mut counts);
                }
                Op::Trim => ftl.trim(Lpn(page), count, &mut counts),
            }
        }
        counts
    }
}

fn cause(name: &str) -> usize {
    Cause::ALL.iter().position(|cause| cause.name() == name).expect("the cause exists")
}

fn counted(steps: &[Step]) -> Counts {
    let mut counts = Counts::default();
    for step in steps {
        match *step {
            Step::Read { cause: name, .. } => counts.reads[cause(name)] += 1,
            Step::Program { cause: name, .. } => counts.programs[cause(name)] += 1,
            Step::Copy { cause: name, .. } => {
                counts.reads[cause(name)] += 1;
                counts.programs[cause(name)] += 1;
            }
            Step::Erase { cause: name, .. } => counts.erases[cause(name)] += 1,
            _ => {}
        }
    }
    counts
}

/// Checks that a step is consistent with the previous state.
fn check_step(state: &State, step: &Step, faster: bool) -> Result<(), TestCaseError> {
    match *step {
        Step::Read { ppn, cause: "host" } => prop_assert!(state.is_valid(ppn), "{step:?} reads an outdated copy"),
        Step::Program { ppn, .. } => prop_assert_eq!(state.pages[ppn as usize], PageState::default()),
        Step::Copy { from, to, lpn, cause, newest, .. } => {
            prop_assert_eq!(state.pages[from as usize].lpn, Some(lpn));
            prop_assert_eq!(state.pages[to as usize], PageState::default());
            prop_assert!(state.blocks[state.block_of(to) as usize].used != Use::Free, "{:?} into a free block", step);
            prop_assert_eq!(newest, state.is_valid(from));
            // FASTer gives every page one second chance.
            if faster && ["second_chance", "isolation"].contains(&cause) {
                prop_assert_eq!(state.pages[from as usize].second, cause == "isolation", "{:?}", step);
            }
        }
        Step::Erase { block, .. } => {
            let pages = state.pages.len() / state.blocks.len();
            let first = block as usize * pages;
            prop_assert!((first..first + pages).all(|ppn| !state.is_valid(ppn as u32)), "{step:?} loses data");
        }
        Step::Victim { block, valid, .. } => {
            let pages = state.pages.len() / state.blocks.len();
            let first = block as usize * pages;
            prop_assert_eq!((first..first + pages).filter(|&ppn| state.is_valid(ppn as u32)).count(), valid as usize);
        }
        Step::Opened { block, .. } => prop_assert_eq!(state.blocks[block as usize].used, Use::Free),
        _ => {}
    }
    Ok(())
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(300))]

    #[test]
    fn steps_lead_to_the_state_of_the_ftl(
        (setup, requests) in setups().prop_flat_map(|setup| {
            let requests = requests(setup.logical_pages);
            (Just(setup), requests)
        })
    ) {
        let mut drive = Drive::new(&setup.shape(), &setup.ftl, setup.seed);
        drive.filled = (setup.precondition.fill * f64::from(setup.logical_pages)) as u32;
        let keeps_rules = matches!(setup.ftl, FtlChoice::Log(choice, _)
            if choice.is(&faster::INFO) && choice.is_set("second_chance") && !choice.is_set("keep_sparse"));
        let recording = record(&drive, &[], &requests).map_err(TestCaseError::fail)?;
        prop_assert_eq!(drive.choice(), Ok(setup.ftl));

        let mut state = recording.start.clone();
        for step in &recording.steps {
            check_step(&state, step, keeps_rules)?;
            state.apply(step);
        }
        prop_assert_eq!(&state.map[..setup.logical_pages as usize], &recording.end.map[..]);
        let erases: Vec<u32> = state.blocks.iter().map(|block| block.erases).collect();
        prop_assert_eq!(&erases, &recording.end.erases);
        prop_assert_eq!(counted(&recording.steps), visit(&setup, Counted { drive: &drive, requests: &requests }));

        // A picture shows the same state, and words describe every step and span.
        let last = recording.steps.len();
        let frame = &recording.frames(last, last)[0];
        let valid = |(ppn, page): (u32, &ssdlab_explain::Page)| {
            page.valid == state.is_valid(ppn) && page.text.is_empty() == state.pages[ppn as usize].lpn.is_none()
        };
        prop_assert!((0..).zip(frame.blocks.iter().flat_map(|block| &block.pages)).all(valid));
        prop_assert_eq!(u64::from(frame.programs), counted(&recording.steps).programmed());
        prop_assert!(recording.sentences.len() == last && recording.sentences.iter().all(|line| line.ends_with('.')));
        prop_assert_eq!(recording.summaries.len(), recording.spans.len());

        // Every request, every merge and every look-up that missed is a span.
        let spans = |kind: fn(&What) -> bool| recording.spans.iter().filter(move |span| kind(&span.what)).count();
        let steps = |kind: fn(&Step) -> bool| recording.steps.iter().filter(|step| kind(step)).count();
        prop_assert_eq!(spans(|what| matches!(what, What::Request)), requests.len());
        prop_assert_eq!(spans(|what| matches!(what, What::Merge { .. })), steps(|step| matches!(step, Step::Merged { .. })));
        prop_assert_eq!(spans(|what| matches!(what, What::Miss { .. })), steps(|step| matches!(step, Step::LookedUp { hit: false, .. })));
        for span in &recording.spans {
            prop_assert!(span.from <= span.to && span.to < recording.steps.len());
            if let What::Merge { copies, erases, host, .. } = span.what {
                let steps = &recording.steps[span.from..=span.to];
                let counts = counted(steps);
                prop_assert_eq!(counts.erased(), u64::from(erases), "{:?}", span);
                prop_assert_eq!(counts.programmed(), u64::from(copies) + u64::from(host), "{:?}", span);
            }
            if let What::Reclaim { associated, .. } = span.what {
                let merged = recording.steps[span.from..=span.to].iter();
                let merged = merged.filter(|step| matches!(step, Step::Merged { .. })).count();
                prop_assert_eq!(merged as u32, associated, "{:?}", span);
            }
        }
        // Every erase of a merge is within the span of a merge or reclaim.
        let merges = |at: usize, span: &ssdlab_explain::Span| {
            matches!(span.what, What::Merge { .. } | What::Reclaim { .. }) && (span.from..=span.to).contains(&at)
        };
        for (at, step) in recording.steps.iter().enumerate() {
            if matches!(step, Step::Erase { cause: "switch_merge" | "partial_merge" | "full_merge", .. }) {
                prop_assert!(recording.spans.iter().any(|span| merges(at, span)), "{} {:?}", at, step);
            }
        }
        // A recording of the first half is a prefix of the whole recording.
        let half = &requests[..requests.len() / 2];
        let shorter = record(&drive, &[], half).map_err(TestCaseError::fail)?;
        prop_assert!(recording.steps.starts_with(&shorter.steps), "the first half is recorded differently");
        // A recording of the second half, after the first half was served, is a suffix of the whole recording.
        let later = record(&drive, half, &requests[half.len()..]).map_err(TestCaseError::fail)?;
        prop_assert!(recording.steps.ends_with(&later.steps), "the second half is recorded differently");
        prop_assert_eq!(recording.end, later.end);
    }
}

fn writes(pages: &[u32]) -> Vec<Request> {
    pages.iter().map(|&page| Request { op: Op::Write, page, count: 1 }).collect()
}

fn small(ftl: FtlChoice, log: u32) -> Drive {
    let shape = Shape {
        logical_pages: 16,
        page_bytes: 4096,
        blocks: 4 + log + 2,
        pages_per_block: 4,
        order: ProgramOrder::Any,
        planes: 1,
        program_unit: 1,
    };
    Drive { filled: 16, ..Drive::new(&shape, &ftl, 1) }
}

fn recorded(name: &str, log: u32, pages: &[u32]) -> Recording {
    let info = LOG_FTLS.iter().copied().find(|info| info.name == name).expect("the FTL exists");
    let drive = small(FtlChoice::Log(info.defaults(), log), log);
    record(&drive, &[], &writes(pages)).expect("the drive is valid")
}

/// BAST merges a block whose log was written out of order: two pages are copied from the log and two from the data
/// block.
#[test]
fn a_full_merge_names_its_source_blocks() {
    let recording = recorded("bast", 1, &[1, 0, 4]);
    let merge = recording.spans.iter().find_map(|span| match &span.what {
        What::Merge { lbn: 0, kind: "full", copies: 4, erases: 2, sources, host: false } => Some((span, sources)),
        _ => None,
    });
    let (span, sources) = merge.expect("one full merge of block 0, with the erase of its log block");
    assert_eq!(sources.iter().map(|source| source.used).collect::<Vec<_>>(), [Use::Log, Use::Data]);
    assert!(matches!(recording.steps[span.from], Step::Retired { reason: "evicted", written: 2, .. }));
    assert!(matches!(recording.steps[span.to], Step::Erase { cause: "full_merge", .. }));
    // Host page 4 waits for the merge.
    assert!(matches!(recording.steps[span.to + 3], Step::Reclaimed { associated: 1, copies: 4, erases: 2 }));
}

/// If FAST reclaims a log block with pages of three logical blocks, one span encloses three merges.
#[test]
fn reclaiming_a_log_block_encloses_its_merges() {
    let recording = recorded("fast", 2, &[1, 5, 9, 2, 13]);
    let reclaim = recording.spans.iter().find(|span| matches!(span.what, What::Reclaim { associated: 3, .. }));
    let reclaim = reclaim.expect("three logical blocks are merged");
    let inside = |span: &&ssdlab_explain::Span| {
        matches!(span.what, What::Merge { .. }) && reclaim.from <= span.from && span.to <= reclaim.to
    };
    assert_eq!(recording.spans.iter().filter(inside).count(), 3);
}

#[test]
fn invalid_recordings_are_refused_with_a_remedy() {
    let drive = small(FtlChoice::Log(bast::INFO.defaults(), 1), 1);
    let error = |drive: &Drive, pages: &[u32]| record(drive, &[], &writes(pages)).expect_err("invalid");
    let message = error(&drive, &[3, 16]);
    assert!(message.starts_with("requests: request 2 (page 16) is invalid; use pages 0 to 15"), "{message}");
    let large = Drive { blocks: 5930, ..drive.clone() };
    assert!(error(&large, &[]).contains("are 23720 pages, but at most 4096 can be drawn; lower device.capacity"));
    let tight = Drive { blocks: 4, ..drive.clone() };
    assert!(error(&tight, &[]).contains("the device has 4"));
    assert!(error(&drive, &[0; 30_000]).contains("more than 20000 steps"));
}

/// The page and the Python package use this JSON interface.
#[test]
fn the_json_interface_returns_recordings_frames_and_errors() {
    let drive =
        serde_json::to_string(&small(FtlChoice::Log(bast::INFO.defaults(), 1), 1)).expect("the drive is serializable");
    let answer = |requests: &str, more: &str| -> serde_json::Value {
        let question = format!(r#"{{"drive":{drive},"before":"","requests":"{requests}"{more}}}"#);
        serde_json::from_str(&ssdlab_explain::answer(&question)).expect("the answer is JSON")
    };
    let recording = &answer("3", "")["recording"];
    assert_eq!(recording["steps"][0]["step"], "request");
    assert_eq!(recording["sentences"][0], "The host writes page 3.");
    assert_eq!(answer(" ", "")["error"], "no requests; enter pages to write, such as 0 4 8-11");
    let frames = &answer("3", r#","frames":[0,1]"#)["frames"];
    assert_eq!(frames.as_array().map(Vec::len), Some(2));
    assert_eq!(frames[1]["blocks"][0]["name"], "D0");
    assert_eq!(frames[1]["blocks"][0]["pages"][3], serde_json::json!({"text": "3", "valid": true, "second": false}));
    let refused = &answer("3", r#","frames":[1,99]"#)["error"];
    assert_eq!(refused, "frames 1 to 99 do not exist; choose frames from 0 to 3");
}

/// Four pages fill the SLC cache in 4 x 0.1 ms. Two further pages wait for a fold (two reads, a program of a word line,
/// an erase), and are then programmed in SLC mode: 3.05 ms in total.
#[test]
fn a_full_slc_cache_is_folded() {
    let question = r#"{"drive": {"logical_pages": 16, "blocks": 9, "pages_per_block": 4, "page_bytes": 4096,
        "word_line": 2, "ascending": true, "planes": 1, "filled": 0, "seed": 1,
        "times": {"read_us": [60.0], "program_us": [800.0], "erase_us": 2000.0, "transfer_us_per_kib": 0.0,
            "copyback": false, "slc_us": [25.0, 100.0, 2000.0]},
        "ftl": {"page": {"victims": {"name": "greedy", "parameters": {}}, "survivors": "shared", "batch": null,
            "partial": null, "least_worn": true, "map": {"name": "ram", "parameters": {}},
            "slc": {"own_blocks": 2, "share": 0, "fold": "pressure", "bypass": false}}}},
        "before": "", "requests": "0-3 4-5"}"#;
    let answer: serde_json::Value =
        serde_json::from_str(&ssdlab_explain::answer(question)).expect("the answer is JSON");
    let recording = &answer["recording"];
    assert_eq!(recording["title"], "Page mapping, greedy, SLC cache");
    assert_eq!(recording["end"]["erases"], serde_json::json!([1, 0, 0, 0, 0, 0, 0, 0, 0]));
    let ended = recording["ended_ns"].as_array().expect("a time for each step");
    assert_eq!(ended.last(), Some(&serde_json::json!(400_000 + 3_050_000)));
    let sentences = recording["sentences"].as_array().expect("a sentence for each step");
    assert!(sentences.contains(&"Free space is short: B0 of the SLC cache is folded, with 2 valid pages.".into()));
}
