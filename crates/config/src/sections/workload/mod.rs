//! The generated workload, for runs without a trace; a file for each kind of pattern.

mod arrival;
mod filebench;
mod files;
mod locality;
mod skew;
mod streams;

use super::blocks::CAPACITY;
use crate::checker::{Checker, Read, Reader};
use crate::kind::{Choices, Kind};
use crate::table::{Fallback, KIB, MEBI, OptionSpec, Section};
use arrival::ARRIVALS;
use ssdlab_core::units::write_bytes;
use ssdlab_sim::Fit;
use ssdlab_trace::{FILE_SYSTEM_MIN, Pattern, TraceError, Workload};

pub(crate) const SECTION: Section = Section {
    name: "workload",
    help: "The generated workload, for runs without a trace.",
    used: &[],
    options: || {
        let patterns = [skew::OPTIONS, streams::OPTIONS, files::OPTIONS, locality::OPTIONS].concat();
        [PATTERN, &patterns, &filebench::options(), arrival::OPTIONS, OPTIONS].concat()
    },
};

/// Every pattern.
static PATTERNS: Choices<Reader<Pattern>, 9> = Choices::new([
    ("uniform", "every address equally likely", |_| Ok(Pattern::Uniform)),
    skew::ZIPF,
    skew::HOT_COLD,
    streams::SEQUENTIAL,
    streams::STREAMS,
    files::COPY_FILES,
    files::OLTP,
    locality::LOCALITY,
    filebench::FILEBENCH,
]);

const PATTERN: &[OptionSpec] = &[OptionSpec {
    key: "workload.pattern",
    kind: PATTERNS.kind(),
    fallback: Fallback::Value("uniform"),
    help: "Which addresses are touched.",
    example: "zipf",
}];

const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "workload.requests",
        // More than a day at ten million a second.
        kind: Kind::Count { min: 0, max: 1_000_000_000_000 },
        fallback: Fallback::Value("1000000"),
        help: "How many requests, at most: 10^12, which take more than a day at ten million a second.",
        example: "50000",
    },
    OptionSpec {
        key: "workload.reads",
        kind: Kind::Percent { min: 0.0, max: 100.0 },
        fallback: Fallback::Value("30%"),
        help: "Share of the requests that read; the rest write. The pattern `copy_files` reads nothing.",
        example: "0%",
    },
    OptionSpec {
        key: "workload.size",
        kind: Kind::Sizes,
        fallback: Fallback::Value("4KiB"),
        help: "Request size, or a mix of sizes whose shares add up to 100 %.",
        example: "4KiB:70%,64KiB:30%",
    },
    OptionSpec {
        key: "workload.align",
        kind: Kind::Bytes { min: 512, max: KIB * MEBI },
        fallback: Fallback::Value("4KiB"),
        help: "Addresses are multiples of this.",
        example: "16KiB",
    },
    OptionSpec {
        key: "workload.span",
        kind: Kind::Span,
        fallback: Fallback::Value("device"),
        help: "Addresses lie in the first part of the device: a size, or `device` for all of it.",
        example: "1GiB",
    },
];

impl Checker<'_> {
    /// The generated workload.
    pub(crate) fn workload(&mut self, page_bytes: u32, capacity_bytes: u64, fit: Fit) -> Read<Workload> {
        let told = self.violations.len();
        let sizes = self.sizes("workload.size")?;
        let align_bytes = self.small("workload.align")?;
        let span_bytes = self.span("workload.span")?.unwrap_or(capacity_bytes);
        if span_bytes > capacity_bytes && fit == Fit::Error {
            let message = format!(
                "{} is more than the device holds; lower it to {}",
                write_bytes(span_bytes),
                write_bytes(capacity_bytes)
            );
            self.report("workload.span", message);
        }
        if !align_bytes.is_multiple_of(page_bytes) && !page_bytes.is_multiple_of(align_bytes) {
            // Pages are a power of two, and so is what divides them.
            let below =
                if align_bytes < page_bytes { 1 << align_bytes.ilog2() } else { align_bytes / page_bytes * page_bytes };
            let message = format!(
                "{} neither divides the page size {} nor is a multiple of it; lower it to {}",
                write_bytes(u64::from(align_bytes)),
                write_bytes(u64::from(page_bytes)),
                write_bytes(u64::from(below))
            );
            self.report("workload.align", message);
        }
        if u64::from(align_bytes) > span_bytes {
            // As above, of what the span holds.
            let most = match span_bytes / u64::from(page_bytes) {
                0 => 1 << span_bytes.ilog2(),
                pages => pages * u64::from(page_bytes),
            };
            let message = format!(
                "{} is more than the span {}; lower it to {}",
                write_bytes(u64::from(align_bytes)),
                write_bytes(span_bytes),
                write_bytes(most)
            );
            self.report("workload.align", message);
        }
        let pattern = self.variant("workload.pattern", &PATTERNS)?;
        if matches!(pattern, Pattern::Filebench(_)) && capacity_bytes < FILE_SYSTEM_MIN {
            let (least, capacity) = (write_bytes(FILE_SYSTEM_MIN), write_bytes(capacity_bytes));
            let message = format!(
                "\"filebench\" needs a file system of {least}, and the device holds {capacity}; raise {CAPACITY} to {least}"
            );
            self.report("workload.pattern", message);
        }
        let workload = Workload {
            pattern,
            arrival: self.variant("workload.arrival", &ARRIVALS)?,
            requests: self.count("workload.requests")?,
            reads: self.share("workload.reads")?,
            sizes,
            align_bytes,
            span_bytes,
            seed: self.count("seed")?,
        };
        if self.violations.len() == told
            && let Err(error) = workload.check()
        {
            match error {
                TraceError::Workload { field, why } => self.report(&self.key_of(field)?, why),
                other => self.report("workload.pattern", other.to_string()),
            }
        }
        Ok(workload)
    }

    /// The setting behind a field of the workload.
    fn key_of(&self, field: &str) -> Read<String> {
        let key = match field {
            "reads" => "reads",
            "requests" => "requests",
            "sizes" => "size",
            "align_bytes" => "align",
            "span_bytes" => "span",
            "per_second" => return Ok(format!("workload.arrival.{}.rate", self.name("workload.arrival")?)),
            other => {
                let pattern = self.name("workload.pattern")?;
                let own = match other {
                    "file_bytes" => "file_size",
                    other => other.trim_end_matches("_bytes").trim_end_matches("_ns"),
                };
                return Ok(format!("workload.pattern.{pattern}.{own}"));
            }
        };
        Ok(format!("workload.{key}"))
    }
}
