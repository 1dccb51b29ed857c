//! Report on reading a trace: counts all requests and entries that are not replayed exactly as recorded.

use ssdlab_core::counters;

use crate::Format;

counters! {
    /// Counts of one pass over a trace.
    pub struct IngestCounts {
        requests: "requests", "Requests read from the trace; each piece of a split request counts as one.";
        records: "records", "Non-blank lines or binary records read.";
        bytes_in: "bytes", "Bytes read from the files, before decompression.";
        headers: "lines", "Header, comment and summary lines.";
        other_device: "requests", "Requests to devices that are not replayed.";
        other_actions: "records", "Events whose action was not chosen (--action); in fio logs, waits and file operations (add, open, close).";
        non_io: "records", "Records without data transfer: messages, notes and pass-through commands.";
        unknown_op: "records", "Records without a known operation (read, write, trim or flush); not replayed.";
        short_waits: "records", "Waits below 100 us in version 2 fio logs; ignored, as the fio manual specifies.";
        zero_length: "requests", "Reads, writes and trims of 0 bytes; not replayed.";
        split_overlong: "requests", "Requests over 4 GiB, split into pieces of 2 GiB.";
        out_of_order: "requests", "Requests with an earlier timestamp than a previous line; sorted by time.";
        late: "requests", "Out-of-order requests beyond the reorder window; kept in file order, with the timestamp of the previous request.";
        bad_lines: "records", "Malformed lines or records that were skipped (--skip-bad).";
        streams_folded: "requests", "Requests of processes beyond the first 65,535; assigned to the last of these.";
    }
}

/// Report on reading a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngestReport {
    /// Format of the trace.
    pub format: Format,
    /// Counts of the requests read so far.
    pub counts: IngestCounts,
    /// Name of the device replayed; `None` before the first request, and if several devices are replayed.
    pub device: Option<String>,
    /// Devices left out, each with its name and request count, in descending order of the count; at most
    /// [`Self::DEVICES_LISTED`] devices. The list is complete at the end of the trace.
    pub other_devices: Vec<(String, u64)>,
    /// Message about the first malformed line, which was skipped.
    pub first_bad: Option<String>,
    /// Notes for the user: what was left out, and how to include it. The list is complete at the end of the trace.
    pub notes: Vec<String>,
}

impl IngestReport {
    /// Maximum number of devices in [`Self::other_devices`].
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

/// Formats a number with thousands separators: `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn digits_are_grouped() {
        assert_eq!([0, 999, 1000, 5123, 1_234_567].map(grouped), ["0", "999", "1,000", "5,123", "1,234,567"]);
    }
}
