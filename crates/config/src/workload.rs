//! The settings of the generated workload.

use crate::settings::{Checker, Read};
use crate::value::write_bytes;
use ssdlab_sim::Fit;
use ssdlab_trace::{Arrival, Filebench, Generator, Locality, PERSONALITIES, Pattern, Placement, Seeding, Streams};
use ssdlab_trace::{TraceError, Workload};

impl Checker<'_> {
    /// The generated workload.
    pub(crate) fn workload(&mut self, page_bytes: u32, capacity_bytes: u64, fit: Fit) -> Read<Workload> {
        let told = self.violations.len();
        let sizes = self.sizes("workload.size")?;
        let align_bytes = self.small("workload.align")?;
        let span_bytes = self.span("workload.span")?.unwrap_or(capacity_bytes);
        if span_bytes > capacity_bytes && fit == Fit::Error {
            let message = format!(
                "{} is more than the device holds; lower it to {} or set host.fit to \"wrap\"",
                write_bytes(span_bytes),
                write_bytes(capacity_bytes)
            );
            self.report("workload.span", message);
        }
        if !align_bytes.is_multiple_of(page_bytes) && !page_bytes.is_multiple_of(align_bytes) {
            let message = format!(
                "{} neither divides the page size {} nor is a multiple of it",
                write_bytes(u64::from(align_bytes)),
                write_bytes(u64::from(page_bytes))
            );
            self.report("workload.align", message);
        }
        if u64::from(align_bytes) > span_bytes {
            let message = format!(
                "{} is more than the span {}; lower it or raise workload.span",
                write_bytes(u64::from(align_bytes)),
                write_bytes(span_bytes)
            );
            self.report("workload.align", message);
        }
        let pattern = self.pattern()?;
        let streams = if let Pattern::Sequential { streams } = pattern { u64::from(streams) } else { 1 };
        let stretch = span_bytes / streams;
        let largest = sizes.iter().map(|&(bytes, _)| u64::from(bytes)).max().unwrap_or(0);
        if largest > stretch {
            let of = if streams > 1 { format!(" of each of {streams} streams") } else { String::new() };
            let message = format!(
                "{} is more than the span {}{of}; lower it or raise workload.span",
                write_bytes(largest),
                write_bytes(stretch)
            );
            self.report("workload.size", message);
        }
        let workload = Workload {
            pattern,
            arrival: self.arrival()?,
            requests: self.count("workload.requests")?,
            reads: self.share("workload.reads")?,
            sizes,
            align_bytes,
            span_bytes,
            seed: self.count("seed")?,
        };
        // What the generator refuses is refused here, where the settings have their names.
        if self.violations.len() == told
            && let Err(error) = Generator::new(&workload)
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
            "sizes" => "size",
            "align_bytes" => "align",
            "span_bytes" => "span",
            "per_second" => return Ok(format!("workload.arrival.{}.rate", self.choice("workload.arrival")?)),
            other => {
                let pattern = self.choice("workload.pattern")?;
                let own = match other {
                    "file_bytes" => "file_size",
                    other => other.trim_end_matches("_bytes").trim_end_matches("_ns"),
                };
                return Ok(format!("workload.pattern.{pattern}.{own}"));
            }
        };
        Ok(format!("workload.{key}"))
    }

    fn pattern(&self) -> Read<Pattern> {
        match self.choice("workload.pattern")? {
            "uniform" => Ok(Pattern::Uniform),
            "zipf" => Ok(Pattern::Zipf { theta: self.float("workload.pattern.zipf.theta")? }),
            "hot_cold" => Ok(Pattern::HotCold {
                hot_requests: self.share("workload.pattern.hot_cold.hot_requests")?,
                hot_space: self.share("workload.pattern.hot_cold.hot_space")?,
                placement: match self.choice("workload.pattern.hot_cold.placement")? {
                    "together" => Placement::Together,
                    "scattered" => Placement::Scattered,
                    other => return Err(self.unknown("workload.pattern.hot_cold.placement", other)),
                },
            }),
            "sequential" => Ok(Pattern::Sequential { streams: self.small("workload.pattern.sequential.streams")? }),
            "streams" => Ok(Pattern::Streams(Streams {
                streams: self.small("workload.pattern.streams.streams")?,
                length: self.count("workload.pattern.streams.length")?,
                sequential: self.share("workload.pattern.streams.sequential")?,
                block_bytes: self.small("workload.pattern.streams.block")?,
                sub_block_bytes: self.small("workload.pattern.streams.sub_block")?,
                block_headers: self.share("workload.pattern.streams.block_headers")?,
                sub_block_headers: self.share("workload.pattern.streams.sub_block_headers")?,
                shuffle: self.share("workload.pattern.streams.shuffle")?,
                random_headers: self.flag("workload.pattern.streams.random_headers")?,
            })),
            "copy_files" => Ok(Pattern::CopyFiles {
                files: self.small("workload.pattern.copy_files.files")?,
                file_bytes: self.bytes("workload.pattern.copy_files.file_size")?,
            }),
            "oltp" => Ok(Pattern::Oltp {
                block_bytes: self.small("workload.pattern.oltp.block")?,
                hot_blocks: self.share("workload.pattern.oltp.hot_blocks")?,
                hot_requests: self.share("workload.pattern.oltp.hot_requests")?,
                idle_blocks: self.share("workload.pattern.oltp.idle_blocks")?,
            }),
            "locality" => Ok(Pattern::Locality(Locality {
                jump: self.share("workload.pattern.locality.jump")?,
                advance: self.share("workload.pattern.locality.advance")?,
                back: self.share("workload.pattern.locality.back")?,
                decay: self.float("workload.pattern.locality.decay")?,
                runs: self.small("workload.pattern.locality.runs")?,
                spread: self.float("workload.pattern.locality.spread")?,
                heads: self.small("workload.pattern.locality.heads")?,
                region_bytes: self.small("workload.pattern.locality.region")?,
                stretches: self.small("workload.pattern.locality.stretches")?,
            })),
            "filebench" => Ok(Pattern::Filebench(self.filebench()?)),
            other => Err(self.unknown("workload.pattern", other)),
        }
    }

    fn filebench(&self) -> Read<Filebench> {
        let key = "workload.pattern.filebench.personality";
        let name = self.choice(key)?;
        let Some(personality) = PERSONALITIES.iter().find(|personality| personality.name == name) else {
            return Err(self.unknown(key, name));
        };
        Ok(Filebench {
            personality,
            files: self.small("workload.pattern.filebench.files")?,
            file_bytes: self.bytes("workload.pattern.filebench.file_size")?,
            threads: self.small("workload.pattern.filebench.threads")?,
            cache_bytes: self.bytes("workload.pattern.filebench.cache")?,
            seeding: match self.choice("workload.pattern.filebench.seeding")? {
                "filebench" => Seeding::Filebench,
                "independent" => Seeding::Independent,
                other => return Err(self.unknown("workload.pattern.filebench.seeding", other)),
            },
            max_bio_bytes: self.small("workload.pattern.filebench.max_bio")?,
            think_ns: self.nanos("workload.pattern.filebench.think")?.0,
            service_ns: self.nanos("workload.pattern.filebench.service")?.0,
            depth: self.small("workload.pattern.filebench.depth")?,
            bytes_per_s: self.bandwidth("workload.pattern.filebench.bandwidth")?.unwrap_or(u64::MAX),
        })
    }

    fn arrival(&self) -> Read<Arrival> {
        match self.choice("workload.arrival")? {
            "closed" => Ok(Arrival::Closed),
            "fixed" => Ok(Arrival::Fixed { per_second: self.rate("workload.arrival.fixed.rate")? as f64 }),
            "poisson" => Ok(Arrival::Poisson { per_second: self.rate("workload.arrival.poisson.rate")? as f64 }),
            other => Err(self.unknown("workload.arrival", other)),
        }
    }
}
