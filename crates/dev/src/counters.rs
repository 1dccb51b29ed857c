//! Tables of counters in documents, written between two marks from the counters' own declarations.

use ssdlab_cache::{StageCounters, Transitions};
use ssdlab_core::Counters;
use ssdlab_core::counters::Counter;
use ssdlab_sched::{BlockCounters, ThrottleCounters};
use ssdlab_sim::{BufferCounters, HostCounters};
use std::fmt::Write;
use std::io::{Error, ErrorKind, Result};

/// Every table of [docs/results.md](../../../docs/results.md), by the key that its counters have in `result.json`.
static TABLES: &[(&str, &[Counter])] = &[
    ("cache.counters", StageCounters::COUNTERS),
    ("cache.pools.transitions", Transitions::COUNTERS),
    ("host", HostCounters::COUNTERS),
    ("drive.block.counters", BlockCounters::COUNTERS),
    ("drive.block.throttling", ThrottleCounters::COUNTERS),
    ("drive.buffer", BufferCounters::COUNTERS),
];

/// A document with each of its tables as it is declared now.
///
/// # Errors
///
/// A table that the document has no place for.
pub fn with_tables(document: &str) -> Result<String> {
    TABLES.iter().try_fold(document.to_owned(), |text, (key, counters)| {
        let (begin, end) = (format!("<!-- counters of {key}: generated -->\n"), "<!-- end of counters -->");
        let placed = text.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
        let (before, after) =
            placed.ok_or_else(|| Error::new(ErrorKind::InvalidData, format!("no place for the counters of {key}")))?;
        Ok(format!("{before}{begin}\n{}\n{end}{after}", table(counters)))
    })
}

fn table(counters: &[Counter]) -> String {
    let mut text = String::from("| key | unit | meaning |\n|---|---|---|\n");
    for Counter { name, unit, help } in counters {
        writeln!(text, "| `{name}` | {unit} | {} |", phrase(help)).expect("a string takes all");
    }
    text
}

/// A sentence as the cell of a table.
fn phrase(sentence: &str) -> String {
    let sentence = sentence.trim_end_matches('.');
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_written_between_their_marks_and_nowhere_else() {
        let place =
            |key: &str| format!("{key} is old\n<!-- counters of {key}: generated -->\nold\n<!-- end of counters -->\n");
        let document: String = TABLES.iter().map(|(key, _)| place(key)).collect();
        let written = with_tables(&document).unwrap();
        assert!(written.contains("| `pages_read` | pages | logical pages touched by reads |\n"));
        assert_eq!(written.matches("old\n").count(), TABLES.len());
        assert_eq!(with_tables(&written).unwrap(), written);
        let error = with_tables(&document.replace("counters of host:", "counters of guest:")).unwrap_err();
        assert_eq!(error.to_string(), "no place for the counters of host");
    }
}
