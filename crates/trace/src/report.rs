//! What a reader met on its way: everything that was not replayed as written is counted here.

use ssdlab_core::counters;

use crate::Format;

counters! {
    /// Counts of one ingestion.
    pub struct IngestCounts {
        requests: "requests", "Requests handed out, after splitting.";
        records: "records", "Lines (without blank ones) or binary records read.";
        bytes_in: "bytes", "Bytes read from the files, before decompression.";
        headers: "lines", "Header, comment and summary lines.";
        other_device: "requests", "Requests of devices that were not chosen.";
        other_actions: "records", "Events other than the chosen action, or file bookkeeping and waits (fio).";
        non_io: "records", "Records that move no data: messages, notes, pass-through commands.";
        unknown_op: "records", "Records whose operation is blank or not read, write, trim or flush; not replayed.";
        short_waits: "records", "Waits below 100 us in a fio log version 2, which that format discards.";
        zero_length: "requests", "Reads, writes and trims of no bytes; not replayed.";
        split_overlong: "requests", "Requests beyond 4 GiB, replayed in pieces of 2 GiB.";
        out_of_order: "requests", "Requests whose time is before an earlier line's; moved to their place.";
        late: "requests", "Of those, beyond the reorder window: kept in file order with the time of their predecessor.";
        bad_lines: "records", "Malformed lines or records skipped on request.";
        streams_folded: "requests", "Requests whose process did not fit the table of 65,535; counted to the last one.";
    }
}

/// What became of a trace's lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngestReport {
    /// The format the trace was read as.
    pub format: Format,
    /// The counts.
    pub counts: IngestCounts,
    /// The device that was replayed; `None` before the first request and where all are.
    pub device: Option<String>,
    /// Devices not chosen with their requests, most first; at most [`Self::DEVICES_LISTED`]. Complete at the end.
    pub other_devices: Vec<(String, u64)>,
    /// Message of the first malformed line that was skipped.
    pub first_bad: Option<String>,
    /// Sentences a person should read: what was left out and how to get it. Complete at the end of the trace.
    pub notes: Vec<String>,
}

impl IngestReport {
    /// Longest list of [`Self::other_devices`].
    pub const DEVICES_LISTED: usize = 32;

    pub(crate) fn new(format: Format) -> Self {
        Self {
            format,
            counts: IngestCounts::default(),
            device: None,
            other_devices: Vec::new(),
            first_bad: None,
            notes: Vec::new(),
        }
    }
}

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn digits_are_grouped() {
        assert_eq!([0, 999, 1000, 5123, 1_234_567].map(grouped), ["0", "999", "1,000", "5,123", "1,234,567"]);
    }
}
