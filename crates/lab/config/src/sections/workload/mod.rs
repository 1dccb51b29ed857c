//! Settings of the generated workload, for runs without a trace. Each address pattern declares a table of its
//! parameters in its own file; the options are derived from these tables.

mod arrival;
mod filebench;

use super::blocks::CAPACITY;
use crate::checker::{Checker, Read};
use crate::kind::Kind;
use crate::parameters;
use crate::table::{KIB, MEBI, OptionSpec, Section, bytes, count, option, percent};
use arrival::ARRIVALS;
use filebench::FILEBENCH;
use ssdlab_core::units::write_bytes;
use ssdlab_sim::Fit;
use ssdlab_trace::{FILE_SYSTEM_MIN, PATTERNS, Pattern, TraceError, Workload};

const PATTERN: &str = "workload.pattern";

pub(crate) const SECTION: Section = Section {
    name: "workload",
    help: "Generated workload, for runs without a trace.",
    used: &[],
    options: || [&patterns()[..], &filebench::options(), arrival::OPTIONS, OPTIONS].concat(),
};

/// Returns the option that selects the pattern, and the options for the parameters of all address patterns.
fn patterns() -> Vec<OptionSpec> {
    let names = PATTERNS.iter().map(|info| (info.name, info.help)).chain([FILEBENCH]);
    let mut options = vec![
        option(PATTERN, Kind::of_names(names))
            .default(PATTERNS[0].name)
            .example(PATTERNS[1].name)
            .help("Address pattern of the requests."),
    ];
    options.extend(parameters::of_members(PATTERN, &PATTERNS));
    options
}

const OPTIONS: &[OptionSpec] = &[
    // At ten million requests per second, 10^12 requests last more than a day.
    count("workload.requests", 0..=1_000_000_000_000)
        .default("1000000")
        .example("50000")
        .help("Maximum total number of requests of all queues, up to 10^12."),
    percent("workload.reads", 0.0..=100.0)
        .default("30%")
        .example("0%")
        .help("Share of reads among the requests; all others are writes. The pattern `copy_files` has no reads."),
    option("workload.size", Kind::Sizes)
        .default("4KiB")
        .example("4KiB:70%,64KiB:30%")
        .help("Request size, or a mix of sizes whose shares add up to 100 %."),
    bytes("workload.align", 512..=KIB * MEBI)
        .default("4KiB")
        .example("16KiB")
        .help("Alignment: addresses are multiples of this size."),
    option("workload.span", Kind::Span)
        .default("device")
        .example("1GiB")
        .help("Size of the address range, from the start of the device; `device` is the whole device."),
];

impl Checker<'_> {
    /// Reads the settings of the generated workload.
    pub(crate) fn workload(&mut self, page_bytes: u32, capacity_bytes: u64, fit: Fit) -> Read<Workload> {
        let violations = self.violations.len();
        let sizes = self.sizes("workload.size")?;
        let align_bytes = self.small("workload.align")?;
        let span_bytes = self.span("workload.span")?.unwrap_or(capacity_bytes);
        if span_bytes > capacity_bytes && fit == Fit::Error {
            let [span, capacity] = [span_bytes, capacity_bytes].map(write_bytes);
            self.report("workload.span", format!("{span} exceeds the capacity; lower it to {capacity}"));
        }
        if !align_bytes.is_multiple_of(page_bytes) && !page_bytes.is_multiple_of(align_bytes) {
            // Suggests a lower alignment that divides the page size or is a multiple of it. Page sizes and their
            // divisors are powers of two.
            let below =
                if align_bytes < page_bytes { 1 << align_bytes.ilog2() } else { align_bytes / page_bytes * page_bytes };
            let [align, page, below] = [align_bytes, page_bytes, below].map(|bytes| write_bytes(bytes.into()));
            let message =
                format!("{align} is neither a multiple nor a divisor of the page size {page}; lower it to {below}");
            self.report("workload.align", message);
        }
        if u64::from(align_bytes) > span_bytes {
            let most = match span_bytes / u64::from(page_bytes) {
                0 => 1 << span_bytes.ilog2(),
                pages => pages * u64::from(page_bytes),
            };
            let [align, span, most] = [align_bytes.into(), span_bytes, most].map(write_bytes);
            self.report("workload.align", format!("{align} exceeds the span of {span}; lower it to {most}"));
        }
        let pattern = match self.name(PATTERN)? == FILEBENCH.0 {
            true => Pattern::Filebench(self.filebench()?),
            false => Pattern::Addresses(self.chosen(PATTERN, &PATTERNS)?),
        };
        if matches!(pattern, Pattern::Filebench(_)) && capacity_bytes < FILE_SYSTEM_MIN {
            let least = write_bytes(FILE_SYSTEM_MIN);
            let message = format!("\"filebench\" needs a capacity of at least {least}; raise {CAPACITY} to {least}");
            self.report(PATTERN, message);
        }
        let arrival = self.variant("workload.arrival", &ARRIVALS)?;
        let workload = Workload {
            pattern,
            arrival,
            queues: self.workload_queues(arrival)?,
            requests: self.count("workload.requests")?,
            reads: self.share("workload.reads")?,
            sizes,
            align_bytes,
            span_bytes,
            seed: self.count("seed")?,
        };
        if self.violations.len() == violations
            && let Err(error) = workload.check()
        {
            match error {
                TraceError::Workload { field, why } => self.report(&self.key_of(field)?, why),
                other => self.report(PATTERN, other.to_string()),
            }
        }
        Ok(workload)
    }

    /// Returns the key of the setting for a field of the workload.
    fn key_of(&self, field: &str) -> Read<String> {
        let key = match field {
            "reads" => "reads",
            "requests" => "requests",
            "sizes" => "size",
            "align_bytes" => "align",
            "span_bytes" => "span",
            "queues" => "queues",
            "per_second" => return Ok(format!("workload.arrival.{}.rate", self.name("workload.arrival")?)),
            other => {
                let pattern = self.name(PATTERN)?;
                let own = match other {
                    "file_bytes" => "file_size",
                    other => other.trim_end_matches("_bytes").trim_end_matches("_ns"),
                };
                return Ok(format!("{PATTERN}.{pattern}.{own}"));
            }
        };
        Ok(format!("workload.{key}"))
    }
}
