//! The captures, replayed.

use std::collections::VecDeque;
use std::fs::read_dir;
use std::path::{Path, PathBuf};

use ssdlab_core::Rng;

use super::capture::{Capture, Event, What};
use super::{Findings, Replayed, replay};
use crate::bio::{Bio, Direction, Flags, Priority};
use crate::elevator::{Device, SCHEDULERS, bfq, kyber, mq_deadline};
use crate::request::Requests;

/// The scheduler that a capture is of, with the settings of the capture.
fn model(name: &str, tunables: &[(String, u64)], rotational: bool) -> Option<Box<dyn Replayed>> {
    let scheduler = ["mq-deadline", "kyber", "bfq"].into_iter().find(|scheduler| name.starts_with(scheduler))?;
    let info = SCHEDULERS.iter().find(|info| info.name == scheduler)?;
    let known = |(name, _): &&(String, u64)| info.tunables.iter().any(|tunable| tunable.name == name);
    let tunables: Vec<_> = tunables.iter().filter(known).cloned().collect();
    let device = Device { sectors: u64::MAX, rotational, nr_requests: 1024 };
    Some(match scheduler {
        "mq-deadline" => Box::new(mq_deadline::oracle::model(&tunables)),
        "kyber" => Box::new(kyber::oracle::model(&tunables)),
        _ => Box::new(bfq::oracle::model(&tunables, &device)),
    })
}

#[expect(clippy::print_stderr, reason = "a skipped test must say so, and how well a scheduler does is worth knowing")]
fn say(what: &str) {
    eprintln!("{what}");
}

/// Replays a capture and says how the scheduler fares.
fn check(folder: &Path, name: &str) -> Option<Findings> {
    let capture = Capture::read(folder, name);
    let Some(mut model) = model(name, &capture.tunables, capture.rotational) else {
        say(&format!("skipped: {name} is of a scheduler that is not replayed"));
        return None;
    };
    let findings = replay(&mut *model, &capture);
    let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
    let Findings { decisions, equal, choices, equal_choices, nothing, equal_nothing, .. } = findings;
    let Findings { depths, equal_depths, own_depths, .. } = findings;
    say(&format!(
        "{name}: {:.2} % of {decisions} decisions are the kernel's, {:.2} % of {choices} with a choice; \
         {:.2} % of {nothing} refusals; {equal_depths} of {depths} depths, {own_depths} set",
        percent(equal, decisions),
        percent(equal_choices, choices),
        percent(equal_nothing, nothing),
    ));
    Some(findings)
}

fn excerpts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// Names of the captures in a folder.
fn captures(folder: &Path) -> Vec<String> {
    let Ok(entries) = read_dir(folder) else {
        say(&format!("skipped: {} is missing", folder.display()));
        return Vec::new();
    };
    let names = entries.filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    let suffix = ".insert-dispatch-complete.csv.zst";
    let mut names: Vec<_> = names.filter_map(|name| Some(name.strip_suffix(suffix)?.to_owned())).collect();
    names.sort();
    names
}

#[test]
fn every_capture() {
    let Some(root) = std::env::var_os("SSDLAB_TRACES") else {
        return say("skipped: SSDLAB_TRACES does not name the directory of real traces");
    };
    let folder = PathBuf::from(root).join("scheduler-oracle-linux6.18");
    for folder in [folder.join("loaded"), folder] {
        for name in captures(&folder) {
            check(&folder, &name);
        }
    }
}
