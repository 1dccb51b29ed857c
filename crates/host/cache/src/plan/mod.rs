//! Benefit of compressing part of a page cache, in closed form.
//!
//! The model is from Harper, "Viability of Time-Memory Trade-Offs in Large Data Sets", Dakota State University 2018. A
//! share of the memory, `C_%`, holds compressed pages, so that more pages are cached. In return every fault compresses
//! a victim, and every hit on a compressed page decompresses it. A [`Correction`] replaces an unrealistic assumption of
//! the model.

mod popularity;

pub use popularity::Popularity;

use thiserror::Error;

/// Resolution of the search: it varies the compressed share of the memory in steps of 1 / `STEPS`.
const STEPS: u32 = 1_000;

/// Returns the compressed share of the memory at a step of the search.
fn share_at(step: u32) -> f64 {
    f64::from(step) / f64::from(STEPS)
}

/// Error: a parameter is out of range.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{what} is {value}, but must {must}")]
pub struct PlanError {
    what: &'static str,
    value: String,
    must: &'static str,
}

impl PlanError {
    fn new(what: &'static str, value: impl ToString, must: &'static str) -> Self {
        Self { what, value: value.to_string(), must }
    }
}

/// Cache memory, data set and device of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// Memory of the cache in bytes: Harper's `T_Bytes`.
    pub budget_bytes: f64,
    /// Size of the cached data set: `N_Bufs` times `B_Size`.
    pub data_bytes: f64,
    /// Size of a page in bytes: `B_Size`.
    pub page_bytes: f64,
    /// Time to read a page from the device, in microseconds: "Disk Read" of table 4.
    pub device_us: f64,
    /// Distribution of requests over pages.
    pub popularity: Popularity,
}

/// Performance of a compressor on one page: a column of Harper's table 4.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compressor {
    /// Compression ratio (raw / compressed) of compressible pages: `C_Ratio`.
    pub ratio: f64,
    /// Time to compress a page, in microseconds.
    pub compress_us: f64,
    /// Time to decompress a page, in microseconds.
    pub decompress_us: f64,
    /// Share of compressible pages; 1 in Harper's model. See [`Correction::Incompressible`].
    pub shrinking: f64,
}

/// A correction of Harper's model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Correction {
    /// A cache without a compressed pool never compresses a page. In Harper's model, every fault compresses a page,
    /// even at `C_%` = 0.
    EmptyPoolIsFree,
    /// The most popular pages are kept uncompressed, which is the aim of every replacement policy. In Harper's model,
    /// all cached pages are equally popular. The probability that a hit page is compressed (%ChanceComp) is therefore
    /// the share of compressed pages.
    HotPagesRaw,
    /// A compressed page that is hit is decompressed for the request, but stays compressed in the cache. In Harper's
    /// model it swaps with an uncompressed page, which is then compressed, as in a cache that moves every page on a
    /// hit. For all other caches, this correction gives a lower bound on the cost.
    RestoreInPlace,
    /// Incompressible pages never stay compressed, although the cache tries to compress them. In Harper's model every
    /// page shrinks by the mean ratio.
    Incompressible,
}

impl Correction {
    /// All corrections and their names.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::EmptyPoolIsFree, "empty-pool-is-free"),
        (Self::HotPagesRaw, "hot-pages-raw"),
        (Self::RestoreInPlace, "restore-in-place"),
        (Self::Incompressible, "incompressible"),
    ];
}

/// Predicted performance of the cache when a given share of the memory holds compressed pages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Share of the memory that holds compressed pages: `C_%`.
    pub share: f64,
    /// Hit ratio of uncompressed and compressed pages together: `HR%`.
    pub hit_ratio: f64,
    /// Share of the requests that hit a compressed page: `HR% * %ChanceComp`.
    pub compressed_hit_ratio: f64,
    /// Mean time of a page request, in microseconds. A hit on an uncompressed page takes no time.
    pub us: f64,
    /// 99th percentile of the page request time, in microseconds.
    pub p99_us: f64,
}

/// The cache whose size is planned, and the compressor of its pages.
#[derive(Clone, Debug)]
pub struct Plan {
    memory: Memory,
    compressor: Compressor,
}

impl Plan {
    /// Creates a plan. Fails if a number is not finite or out of range; the error names the first such number.
    pub fn new(memory: Memory, compressor: Compressor) -> Result<Self, PlanError> {
        let Memory { budget_bytes, data_bytes, page_bytes, device_us, .. } = memory;
        let Compressor { ratio, compress_us, decompress_us, shrinking } = compressor;
        let within = |what, value: f64, least: f64, most: f64, must| {
            if (least..=most).contains(&value) { Ok(()) } else { Err(PlanError::new(what, value, must)) }
        };
        let most = f64::MAX;
        within("the page size in bytes", page_bytes, 1.0, most, "be at least 1")?;
        within("the cache memory in bytes", budget_bytes, page_bytes, most, "hold at least one page")?;
        within("the data size in bytes", data_bytes, page_bytes, most, "be at least one page")?;
        within("the page read time of the device in us", device_us, 0.0, most, "be 0 or more")?;
        within("the compression ratio", ratio, 1.0, most, "be 1 or more, because incompressible pages are stored raw")?;
        within("the time to compress a page in us", compress_us, 0.0, most, "be 0 or more")?;
        within("the time to decompress a page in us", decompress_us, 0.0, most, "be 0 or more")?;
        within("the share of compressible pages", shrinking, 0.0, 1.0, "be from 0 to 1")?;
        Ok(Self { memory, compressor })
    }

    /// Hit ratio without compression: `f` in Harper's chapter 4, section "Introduction", and figure 1.
    pub fn raw_hit_ratio(&self) -> f64 {
        self.hits(self.memory.budget_bytes / self.memory.data_bytes)
    }

    /// Mean time of a request without compression, in microseconds: a fault costs one disk read (section
    /// "Objective #2").
    pub fn raw_us(&self) -> f64 {
        self.memory.device_us * (1.0 - self.raw_hit_ratio())
    }

    /// Predicts the performance of the cache when a fraction `share` of its memory holds compressed pages. Without
    /// corrections, this is Harper's model.
    ///
    /// Hits are `g` of the section "Introduction" of chapter 4. Costs follow the generalised function before figure 12:
    /// `R_cost * HR% * %ChanceComp + miss cost * (1 - HR%)`.
    pub fn point(&self, share: f64, corrections: &[Correction]) -> Result<Point, PlanError> {
        if !(0.0..=1.0).contains(&share) {
            let shown = format!("{} %", 100.0 * share);
            return Err(PlanError::new("the share of memory for compressed pages", shown, "be from 0 to 100 %"));
        }
        Ok(self.at(share, corrections))
    }

    fn at(&self, share: f64, corrections: &[Correction]) -> Point {
        let has = |correction| corrections.contains(&correction);
        let Compressor { ratio, compress_us, decompress_us, shrinking } = self.compressor;
        // Size of the cached data relative to the whole data set.
        let cached = self.memory.budget_bytes / self.memory.data_bytes;
        let raw = cached * (1.0 - share);
        let compressed = cached * share * ratio;
        let raw_hits = self.hits(raw);
        let hit_ratio = if has(Correction::Incompressible) {
            // The compressed pool skips incompressible pages, so it holds pages further down the popularity ranking.
            let reach = if shrinking > 0.0 { compressed / shrinking } else { 0.0 };
            raw_hits + shrinking * (self.hits(raw + reach) - raw_hits)
        } else {
            self.hits(raw + compressed)
        };
        let compressed_hit_ratio = if has(Correction::HotPagesRaw) {
            hit_ratio - raw_hits
        } else {
            hit_ratio * compressed / (raw + compressed)
        };
        let compress_us = if share == 0.0 && has(Correction::EmptyPoolIsFree) { 0.0 } else { compress_us };
        let hit_us = decompress_us + if has(Correction::RestoreInPlace) { 0.0 } else { compress_us };
        let load_us = self.memory.device_us + compress_us;
        let us = hit_us * compressed_hit_ratio + load_us * (1.0 - hit_ratio);
        let p99_us = exceeded_by([(hit_us, compressed_hit_ratio), (load_us, 1.0 - hit_ratio)], 0.01);
        Point { share, hit_ratio, compressed_hit_ratio, us, p99_us }
    }

    /// Returns the point with the shortest mean time; on ties, the point with the least compressed memory. The search
    /// varies the compressed share of the memory in steps of 0.1 %.
    pub fn best(&self, corrections: &[Correction]) -> Point {
        let points = (0..=STEPS).map(|step| self.at(share_at(step), corrections));
        points.reduce(|best, point| if point.us < best.us { point } else { best }).unwrap_or_else(|| self.at(0.0, &[]))
    }

    /// Returns the smallest fraction of compressed memory at which the cache is faster than without compression; None
    /// if no such fraction exists.
    pub fn break_even(&self, corrections: &[Correction]) -> Option<f64> {
        let raw_us = self.raw_us();
        first_below_zero(|share| self.at(share, corrections).us - raw_us)
    }

    /// Returns the smallest compressed share of the memory at which this plan beats `other`; None if no share does.
    pub fn passes(&self, other: &Self, corrections: &[Correction]) -> Option<f64> {
        first_below_zero(|share| self.at(share, corrections).us - other.at(share, corrections).us)
    }

    /// Returns the page read time, in microseconds, of the fastest device on which compression pays off; None if there
    /// is no such device. Compression also pays off on all slower devices.
    pub fn device_break_even_us(&self, corrections: &[Correction]) -> Option<f64> {
        let raw_hits = self.raw_hit_ratio();
        let fast = Self { memory: Memory { device_us: 0.0, ..self.memory.clone() }, compressor: self.compressor };
        (1..=STEPS)
            .map(|step| fast.at(share_at(step), corrections))
            // Ignores hit-ratio gains that are within the rounding error.
            .filter(|point| point.hit_ratio - raw_hits > 1e-12)
            .map(|point| point.us / (point.hit_ratio - raw_hits))
            .reduce(f64::min)
    }

    fn hits(&self, share: f64) -> f64 {
        self.memory.popularity.hit_ratio(share, (self.memory.data_bytes / self.memory.page_bytes).max(1.0))
    }
}

/// Returns the (1 - `share`) quantile of the request time: the smallest time that at most a fraction `share` of the
/// requests exceed. `times` lists pairs (time, fraction of the requests that take this time); all remaining requests
/// take no time.
fn exceeded_by(mut times: [(f64, f64); 2], share: f64) -> f64 {
    times.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut slower = 0.0;
    for (us, requests) in times {
        slower += requests;
        if slower > share {
            return us;
        }
    }
    0.0
}

/// Returns the smallest compressed share of the memory at which `function` is negative.
fn first_below_zero(function: impl Fn(f64) -> f64) -> Option<f64> {
    // Treats negative values within the rounding error as zero.
    let negative = |share: f64| function(share) < -1e-9;
    let step = (0..=STEPS).find(|&step| negative(share_at(step)))?;
    let (mut above, mut below) = (share_at(step.max(1) - 1), share_at(step));
    for _ in 0..40 {
        let middle = above.midpoint(below);
        *(if negative(middle) { &mut below } else { &mut above }) = middle;
    }
    Some(below)
}

#[cfg(test)]
mod tests;
