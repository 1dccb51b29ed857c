//! Tables of counters in documents, generated between two markers from the counters' declarations.

use ssdlab_cache::{Transitions, WriteBackCounters};
use ssdlab_core::Counters;
use ssdlab_core::counters::Counter;
use ssdlab_sched::{BlockCounters, ThrottleCounters};
use ssdlab_sim::{BufferCounters, ControllerCounters, HostCounters};
use std::fmt::Write;
use std::io::{Error, ErrorKind, Result};

/// Counter tables of [docs/results.md](../../../../docs/results.md), each with the `result.json` key of its counters.
static TABLES: &[(&str, &[Counter])] = &[
    ("cache.counters", WriteBackCounters::COUNTERS),
    ("cache.pools.transitions", Transitions::COUNTERS),
    ("host", HostCounters::COUNTERS),
    ("drive.block.counters", BlockCounters::COUNTERS),
    ("drive.block.throttling", ThrottleCounters::COUNTERS),
    ("drive.buffer", BufferCounters::COUNTERS),
    ("drive.controller", ControllerCounters::COUNTERS),
];

/// Returns the document with all tables regenerated; fails if the markers of a table are missing.
pub fn with_tables(document: &str) -> Result<String> {
    TABLES.iter().try_fold(document.to_owned(), |text, (key, counters)| {
        let (begin, end) = (format!("<!-- counters of {key}: generated -->\n"), "<!-- end of counters -->");
        let parts = text.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
        let (before, after) = parts.ok_or_else(|| {
            Error::new(ErrorKind::InvalidData, format!("the markers around the counter table of {key} are missing"))
        })?;
        Ok(format!("{before}{begin}\n{}\n{end}{after}", table(counters)))
    })
}

fn table(counters: &[Counter]) -> String {
    let mut text = String::from("| key | unit | meaning |\n|---|---|---|\n");
    for Counter { name, unit, help } in counters {
        writeln!(text, "| `{name}` | {unit} | {} |", phrase(help)).expect("writing to a string succeeds");
    }
    text
}

/// Converts a sentence to the text of a table cell: makes the first letter lower case and removes the full stop.
fn phrase(sentence: &str) -> String {
    let sentence = sentence.trim_end_matches('.');
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_written_only_between_their_markers() {
        let section =
            |key: &str| format!("{key} is old\n<!-- counters of {key}: generated -->\nold\n<!-- end of counters -->\n");
        let document: String = TABLES.iter().map(|(key, _)| section(key)).collect();
        let written = with_tables(&document).unwrap();
        assert!(written.contains("| `pages_read` | pages | logical pages touched by reads |\n"));
        assert_eq!(written.matches("old\n").count(), TABLES.len());
        assert_eq!(with_tables(&written).unwrap(), written);
        let error = with_tables(&document.replace("counters of host:", "counters of guest:")).unwrap_err();
        assert_eq!(error.to_string(), "the markers around the counter table of host are missing");
    }
}
