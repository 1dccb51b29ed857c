//! Generates addresses with temporal and spatial locality. Requests form sequential runs: each request continues its
//! run, jumps to a new location or returns to an earlier one. The model follows a study of map caches.
//!
//! The random walk treats the slots of `heads` regions as one address space, in address order. A run that reaches the
//! end of a region continues in the next region.

use std::collections::{BTreeSet, VecDeque};

use ssdlab_core::parameter::{decimal, percent};
use ssdlab_core::units::write_bytes;
use ssdlab_core::{Info, Parameter, Rng, Settings, Unit};

use super::addresses::{Addresses, PatternInfo, PatternRules};
use super::check::ensure;
use super::space::{PART_MAX, RequestTarget, Space};
use crate::TraceError;

/// Maximum number of regions, and maximum number of remembered runs. A list of this many region numbers occupies 8 MiB.
const MOST: u64 = 1 << 20;
const ALL: [u64; 2] = [0, percent(100)];

pub(super) static INFO: PatternInfo = Info {
    name: "locality",
    help: "sequential runs within a few regions: each request continues its run, returns to an earlier run or starts a \
           new run. The defaults are fitted to the first boot of a phone, with `workload.align` and `workload.size` of \
           8KiB and a span of 1GiB. A slot has the size `workload.align`",
    source: "",
    parameters: PARAMETERS,
    role: PatternRules::of::<Walk>(),
};

/// Parameters of the random walk. Their defaults are fitted to the first boot of Android in the map-cache slides, for a
/// span of 1 GiB in slots of 8 KiB. The slides give 24 miss rates, for caches of 8 KiB to 256 KiB with segments of 1 to
/// 8 KiB. Averaged over seeds, the walk reproduces each rate within 20 %. The slides contain neither addresses nor a
/// model.
const PARAMETERS: &[Parameter] = &[
    Parameter::new("jump", Unit::Share, percent(54) / 10, ALL, "Chance that a request leaves its sequential run.")
        .example(percent(10)),
    Parameter::new(
        "advance",
        Unit::Share,
        percent(79),
        ALL,
        "Chance that a request that stays in its run goes to the next slot; otherwise it repeats the last slot.",
    )
    .example(percent(50)),
    Parameter::new(
        "back",
        Unit::Share,
        percent(45),
        ALL,
        "Chance that a request that leaves its run returns to the end of an earlier run; otherwise it starts a new run \
         elsewhere.",
    )
    .example(percent(60)),
    Parameter::new(
        "decay",
        Unit::Decimal,
        decimal(0.847),
        [decimal(0.01), decimal(1.0)],
        "Weight of recency: a request returns to the run that stopped d runs ago with a probability proportional to \
         `decay`^d.",
    )
    .example(decimal(0.93)),
    Parameter::new(
        "runs",
        Unit::Count("runs"),
        86,
        [1, MOST],
        "Number of most recent runs to which a request can return.",
    )
    .example(20),
    Parameter::new(
        "spread",
        Unit::Decimal,
        decimal(1.73),
        [decimal(0.01), decimal(100.0)],
        "Exponent that sets how far from the current run a new run starts: 2^(b u^`spread`) slots away, where b is \
         log2 of the number of slots and u is uniform from 0 to 1. With larger values, new runs start nearer.",
    )
    .example(decimal(2.5)),
    Parameter::new(
        "heads",
        Unit::Count("regions"),
        90,
        [0, MOST],
        "Number of regions that requests access; 0 uses the whole span.",
    )
    .example(0),
    Parameter::new("region", Unit::Bytes, 2 << 20, [512, PART_MAX], "Size of a region.").example(4 << 20),
    Parameter::new(
        "stretches",
        Unit::Count("stretches"),
        6,
        [1, MOST],
        "Number of groups of neighbouring regions; groups have random lengths and positions.",
    )
    .example(20),
];

/// State of the random walk, and the values of those [`PARAMETERS`] that every step needs.
#[derive(Debug)]
struct Walk {
    jump: f64,
    advance: f64,
    back: f64,
    decay: f64,
    runs: usize,
    spread: f64,
    align: u64,
    /// Numbers of the regions in use, in address order.
    regions: Vec<u64>,
    /// Number of slots per region of the span.
    region_slots: u64,
    /// Number of slots in a region where the largest request can start without passing the end of the region.
    starts: u64,
    /// Position of the current run, as a slot number. Slots are numbered over all regions, in address order.
    at: u64,
    /// Positions where earlier runs stopped, latest first.
    stopped: VecDeque<u64>,
}

impl Addresses for Walk {
    /// Checks that the regions fit into the span.
    fn check(settings: &Settings, space: Space) -> Result<(), TraceError> {
        let [heads, region_bytes, stretches] = ["heads", "region", "stretches"].map(|name| settings.get(name));
        if heads == 0 {
            return Ok(());
        }
        space.check_slots("region", region_bytes)?;
        space.check_holds_largest("region", region_bytes)?;
        let whole = space.span / region_bytes;
        let most = whole.min(MOST);
        let (region, span) = (write_bytes(region_bytes), write_bytes(space.span));
        let why = format!("exceeds the {most} regions of {region} that fit in the span of {span}");
        ensure!(heads <= most, "heads", "the number of regions {heads} {why}; lower it to {most}");
        let most = heads.min(whole - heads + 1);
        let why = format!("{heads} of {whole} regions cannot form {stretches} separate groups; set it to {most}");
        ensure!((1..=most).contains(&stretches), "stretches", "{why}");
        Ok(())
    }

    fn new(settings: &Settings, space: Space, rng: &mut Rng) -> Self {
        let [heads, bytes, stretches] = ["heads", "region", "stretches"].map(|name| settings.get(name));
        let (regions, region_slots, starts) = if heads == 0 {
            (vec![0], space.starts(), space.starts())
        } else {
            let regions = regions(space.span / bytes, heads, stretches, rng);
            (regions, bytes / space.align, (bytes - space.largest) / space.align + 1)
        };
        Self {
            jump: settings.fraction("jump"),
            advance: settings.fraction("advance"),
            back: settings.fraction("back"),
            decay: settings.decimal("decay"),
            runs: settings.get("runs") as usize,
            spread: settings.decimal("spread"),
            align: space.align,
            at: rng.below(regions.len() as u64 * starts),
            regions,
            region_slots,
            starts,
            stopped: VecDeque::new(),
        }
    }

    fn next(&mut self, bytes: u32, rng: &mut Rng) -> RequestTarget {
        let slots = self.regions.len() as u64 * self.starts;
        if rng.unit() >= self.jump {
            if rng.unit() < self.advance {
                self.at = (self.at + 1) % slots;
            }
        } else if !self.stopped.is_empty() && rng.unit() < self.back {
            let depth = self.depth(rng);
            let back = self.stopped.remove(depth).unwrap_or(self.at);
            self.stop();
            self.at = back;
        } else {
            self.stop();
            let octaves = libm::log2(slots as f64) * libm::pow(rng.unit(), self.spread);
            let distance = libm::exp2(octaves) as u64 % slots;
            self.at = if rng.below(2) == 0 { self.at + distance } else { self.at + slots - distance } % slots;
        }
        let (region, slot) = (self.at / self.starts, self.at % self.starts);
        let slot = self.regions[region as usize] * self.region_slots + slot;
        RequestTarget { offset: slot * self.align, bytes, stream: 0 }
    }
}

impl Walk {
    fn stop(&mut self) {
        self.stopped.push_front(self.at);
        self.stopped.truncate(self.runs);
    }

    /// Draws the stopped run to return to; returns how many remembered runs stopped after it. The distribution is
    /// geometric, truncated to the remembered runs.
    fn depth(&self, rng: &mut Rng) -> usize {
        let (runs, decay) = (self.stopped.len(), self.decay);
        if decay >= 1.0 {
            return rng.below(runs as u64) as usize;
        }
        let tail = 1.0 - rng.unit() * (1.0 - libm::pow(decay, runs as f64));
        ((libm::log(tail) / libm::log(decay)) as usize).min(runs - 1)
    }
}

/// Draws the numbers of the `heads` regions in use, of `whole` regions. They form `stretches` groups of random lengths,
/// separated by random gaps of at least one region.
fn regions(whole: u64, heads: u64, stretches: u64, rng: &mut Rng) -> Vec<u64> {
    let lengths = parts(heads, stretches, rng);
    // The gaps before the first and after the last group of regions may be empty.
    let gaps = parts(whole - heads + 2, stretches + 1, rng);
    let (mut numbers, mut next) = (Vec::with_capacity(heads as usize), 0);
    for (index, (length, gap)) in lengths.into_iter().zip(gaps).enumerate() {
        next += gap - u64::from(index == 0);
        numbers.extend(next..next + length);
        next += length;
    }
    numbers
}

/// Splits `whole` into `parts` parts of at least 1 each; all splits are equally likely.
fn parts(whole: u64, parts: u64, rng: &mut Rng) -> Vec<u64> {
    // Floyd's algorithm chooses distinct random cuts in 1..whole.
    let mut cuts = BTreeSet::new();
    for most in whole - parts + 1..whole {
        let cut = 1 + rng.below(most);
        cuts.insert(if cuts.contains(&cut) { most } else { cut });
    }
    cuts.insert(whole);
    let mut last = 0;
    cuts.into_iter().map(|cut| cut - std::mem::replace(&mut last, cut)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Workload;
    use crate::testing::{generate, refusal, workload};

    type Changes<'a> = &'a [(&'a str, u64)];

    /// Workload of 100,000 requests of 8 KiB (one slot) in 1 GiB.
    fn walk(changes: Changes<'_>) -> Workload {
        let workload = workload("locality", changes);
        Workload { sizes: vec![(8192, 1.0)], align_bytes: 8192, span_bytes: 1 << 30, ..workload }
    }

    fn slots(changes: Changes<'_>) -> Vec<u64> {
        generate(&walk(changes)).iter().map(|request| request.offset / 8192).collect()
    }

    fn share(steps: &[u64], test: impl Fn(u64, u64) -> bool) -> f64 {
        steps.windows(2).filter(|pair| test(pair[0], pair[1])).count() as f64 / (steps.len() - 1) as f64
    }

    #[test]
    fn runs_stay_advance_and_jump_as_configured() {
        let chances = [("jump", percent(20)), ("advance", percent(60)), ("back", 0)];
        let slots = slots(&[&chances[..], &[("spread", decimal(1.0)), ("heads", 0)]].concat());
        // One jump in 17 moves less than two slots. Half of these jumps lead to the next slot, as if the run continued.
        let hidden = 0.2 / 34.0;
        // The standard deviations of the measured shares are below 0.0016. The tolerance is six times as large.
        for (actual, expected) in [
            (share(&slots, |slot, next| next == slot), 0.8 * 0.4),
            (share(&slots, |slot, next| next == slot + 1), 0.8 * 0.6 + hidden),
            (share(&slots, |slot, next| slot.abs_diff(next) > 1 || next + 1 == slot), 0.2 - hidden),
        ] {
            assert!((actual - expected).abs() < 0.01, "{actual} instead of {expected}");
        }
    }

    /// Goal: requests return to earlier runs as often as the settings specify. Method: lets every request jump, and
    /// counts to which of the stopped runs it returns. New runs start far apart, so a slot identifies its run.
    #[test]
    fn returns_have_a_geometric_depth() {
        let chances = [("jump", percent(100)), ("back", percent(90)), ("decay", decimal(0.8)), ("runs", 50)];
        let changes = [&chances[..], &[("spread", decimal(0.01)), ("heads", 0)]].concat();
        let mut stopped = VecDeque::new();
        let (mut depths, mut new, mut last) = ([0_u32; 50], 0, None);
        for slot in slots(&changes) {
            match stopped.iter().position(|&other| other == slot) {
                Some(depth) => {
                    stopped.remove(depth);
                    depths[depth] += 1;
                }
                None => new += 1,
            }
            if let Some(last) = last.replace(slot) {
                stopped.push_front(last);
                stopped.truncate(50);
            }
        }
        assert!((f64::from(new) / 1e5 - 0.1).abs() < 0.01, "{new}");
        for depth in 0..8 {
            let expected = 0.9e5 * 0.2 * 0.8_f64.powi(depth as i32);
            assert!(
                (f64::from(depths[depth]) - expected).abs() < 6.0 * expected.sqrt() + 0.02 * expected,
                "{depths:?}"
            );
        }
    }

    #[test]
    fn addresses_stay_in_the_regions() {
        let requests = slots(&[]);
        let regions: BTreeSet<u64> = requests.iter().map(|slot| slot / 256).collect();
        assert_eq!(regions.len(), 90);
        assert_eq!(regions.iter().filter(|&&region| !regions.contains(&(region + 1))).count(), 6);
        assert!(slots(&[("heads", 512), ("stretches", 1)]).iter().all(|&slot| slot < 1 << 17));
        // Requests larger than a slot also stay within their region.
        let mut large = walk(&[]);
        large.sizes = vec![(65_536, 1.0)];
        assert!(generate(&large).iter().all(|r| r.offset >> 21 == (r.end() - 1) >> 21));
    }

    /// Goal: the random walk with fitted parameters reproduces the miss rates of the map-cache document. Method: counts
    /// the misses of segment caches by stack distance, averages them over seeds, and compares them with the rates of
    /// the document.
    #[test]
    fn fitted_misses_match_the_document() {
        let document = [
            [341.0, 245.0, 177.0, 106.0, 91.0, 89.0],
            [323.0, 218.0, 140.0, 79.0, 49.0, 49.0],
            [437.0, 243.0, 136.0, 73.0, 29.0, 27.0],
            [581.0, 339.0, 148.0, 67.0, 21.0, 18.0],
        ];
        let seeds = 1..=100;
        let mut misses = [[0.0; 6]; 4];
        for seed in seeds.clone() {
            let requests = generate(&Workload { seed, requests: 24_561, ..walk(&[]) });
            for (segment, row) in misses.iter_mut().enumerate() {
                // A segment of 1 KiB (4-byte entries) maps 2 MiB; larger segments map proportionally more.
                let mut stack: Vec<u64> = Vec::new();
                for request in &requests {
                    let number = request.offset >> (21 + segment);
                    let depth = stack.iter().position(|&other| other == number);
                    depth.map(|depth| stack.remove(depth));
                    stack.insert(0, number);
                    for (cache, cell) in row.iter_mut().enumerate() {
                        *cell += f64::from(depth.is_none_or(|depth| depth >= (8 << cache) >> segment)) / 100.0;
                    }
                }
            }
        }
        for (ours, theirs) in misses.iter().flatten().zip(document.iter().flatten()) {
            assert!((ours / theirs - 1.0).abs() < 0.2, "{ours} for {theirs} in {misses:?}");
        }
    }

    #[test]
    fn invalid_rules_are_rejected() {
        let message = |changes: Changes<'_>| refusal(&walk(changes));
        assert_eq!(message(&[]), "");
        assert_eq!(
            message(&[("heads", 513)]),
            "workload heads: the number of regions 513 exceeds the 512 regions of 2MiB that fit in the span of 1GiB; \
             lower it to 512"
        );
        assert_eq!(
            message(&[("heads", 510)]),
            "workload stretches: 510 of 512 regions cannot form 6 separate groups; set it to 3"
        );
        assert!(message(&[("region", 10_000)]).contains("not a multiple of the alignment"));
        // With no regions to place, an invalid region size is accepted.
        assert_eq!(message(&[("heads", 0), ("region", 10_000), ("decay", decimal(1.0))]), "");
        let large = Workload { sizes: vec![(4 << 20, 1.0)], ..walk(&[]) };
        assert!(refusal(&large).contains("region: 2MiB is smaller than a request of 4MiB; raise it to 4MiB"));
    }
}
