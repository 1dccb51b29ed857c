//! Runs that continue, return and jump: temporal and spatial locality, modelled on a study of map caches.
//!
//! The walk treats the slots of `heads` regions as one address space, in address order. A run that reaches the end of a
//! region continues in the next region.

use std::collections::{BTreeSet, VecDeque};

use ssdlab_core::Rng;
use ssdlab_core::units::write_bytes;

use super::check::{countable, ensure, share};
use super::space::Space;
use crate::workload::Locality;
use crate::{Pattern, TraceError};

/// Maximum number of regions (8 MiB of region numbers).
const HEADS_MAX: u32 = 1 << 20;
/// Maximum number of earlier runs remembered.
const RUNS_MAX: u32 = 1 << 20;

impl Pattern {
    /// [`Pattern::Locality`] fitted to the first Android boot of the map cache document, for a span of 1 GiB in slots
    /// of 8 KiB. It matches 24 miss rates of segment caches (8 KiB to 256 KiB, segments of 1 to 8 KiB) within 20 %,
    /// averaged over seeds.
    pub const LOCALITY: Self = Self::Locality(Locality {
        jump: 5.4 / 100.0,
        advance: 0.79,
        back: 0.45,
        decay: 0.847,
        runs: 86,
        spread: 1.73,
        heads: 90,
        region_bytes: 2 << 20,
        stretches: 6,
    });
}

#[derive(Clone, Debug)]
pub(super) struct Walk {
    rules: Locality,
    /// Numbers of the regions in use, in address order.
    regions: Vec<u64>,
    /// Number of slots per region of the span.
    region_slots: u64,
    /// Number of slots in a region at which the largest request can start and still end within the region.
    starts: u64,
    /// Position of the current run, in slots of the concatenated regions.
    at: u64,
    /// Positions where earlier runs stopped, latest first.
    stopped: VecDeque<u64>,
}

impl Walk {
    pub fn new(rules: Locality, space: Space, rng: &mut Rng) -> Self {
        let (regions, region_slots, starts) = if rules.heads == 0 {
            (vec![0], space.starts(), space.starts())
        } else {
            let bytes = u64::from(rules.region_bytes);
            (regions(&rules, space, rng), bytes / space.align, (bytes - space.largest) / space.align + 1)
        };
        let at = rng.below(regions.len() as u64 * starts);
        Self { rules, regions, region_slots, starts, at, stopped: VecDeque::new() }
    }

    /// Draws the slot of the next request.
    pub fn next(&mut self, rng: &mut Rng) -> u64 {
        let slots = self.regions.len() as u64 * self.starts;
        if rng.unit() >= self.rules.jump {
            if rng.unit() < self.rules.advance {
                self.at = (self.at + 1) % slots;
            }
        } else if !self.stopped.is_empty() && rng.unit() < self.rules.back {
            let depth = self.depth(rng);
            let back = self.stopped.remove(depth).unwrap_or(self.at);
            self.stop();
            self.at = back;
        } else {
            self.stop();
            let octaves = libm::log2(slots as f64) * libm::pow(rng.unit(), self.rules.spread);
            let distance = libm::exp2(octaves) as u64 % slots;
            self.at = if rng.below(2) == 0 { self.at + distance } else { self.at + slots - distance } % slots;
        }
        let (region, slot) = (self.at / self.starts, self.at % self.starts);
        self.regions[region as usize] * self.region_slots + slot
    }

    fn stop(&mut self) {
        self.stopped.push_front(self.at);
        self.stopped.truncate(self.rules.runs as usize);
    }

    /// Draws the number of stopped runs to skip when returning: geometric, limited to the existing runs.
    fn depth(&self, rng: &mut Rng) -> usize {
        let (runs, decay) = (self.stopped.len(), self.rules.decay);
        if decay >= 1.0 {
            return rng.below(runs as u64) as usize;
        }
        let tail = 1.0 - rng.unit() * (1.0 - libm::pow(decay, runs as f64));
        ((libm::log(tail) / libm::log(decay)) as usize).min(runs - 1)
    }
}

/// Checks the probabilities, and that the regions fit into the span.
pub(super) fn check(rules: &Locality, space: Space) -> Result<(), TraceError> {
    let Locality { jump, advance, back, decay, runs, spread, heads, region_bytes, stretches } = *rules;
    for (field, value) in [("jump", jump), ("advance", advance), ("back", back)] {
        share(field, value)?;
    }
    ensure!(decay > 0.0 && decay <= 1.0, "decay", "{decay} is not above 0 and at most 1; set it to 0.9");
    let is_positive = spread > 0.0 && spread.is_finite();
    ensure!(is_positive, "spread", "{spread} is not a positive exponent; set it to 2");
    countable("runs", runs, RUNS_MAX)?;
    if heads == 0 {
        return Ok(());
    }
    space.check_slots("region_bytes", region_bytes)?;
    space.check_holds_largest("region_bytes", region_bytes)?;
    let whole = space.span / u64::from(region_bytes);
    let most = whole.min(HEADS_MAX.into());
    let heads = u64::from(heads);
    let (region, span) = (write_bytes(region_bytes.into()), write_bytes(space.span));
    let why = format!("{heads} regions of {region} exceed the {most} that fit in the span {span}");
    ensure!(heads <= most, "heads", "{why}; lower it to {most}");
    let most = heads.min(whole - heads + 1);
    let why = format!("{heads} of {whole} regions cannot form {stretches} stretches; set it to {most}");
    ensure!((1..=most).contains(&stretches.into()), "stretches", "{why}");
    Ok(())
}

/// Draws the numbers of the regions in use: stretches of random lengths, separated by random gaps of at least one
/// region.
fn regions(rules: &Locality, space: Space, rng: &mut Rng) -> Vec<u64> {
    let whole = space.span / u64::from(rules.region_bytes);
    let (heads, stretches) = (u64::from(rules.heads), u64::from(rules.stretches));
    let lengths = parts(heads, stretches, rng);
    // The gaps before the first and after the last stretch may be empty.
    let gaps = parts(whole - heads + 2, stretches + 1, rng);
    let (mut numbers, mut next) = (Vec::with_capacity(heads as usize), 0);
    for (index, (length, gap)) in lengths.into_iter().zip(gaps).enumerate() {
        next += gap - u64::from(index == 0);
        numbers.extend(next..next + length);
        next += length;
    }
    numbers
}

/// Splits `whole` into `parts` parts of at least 1; all splits are equally likely.
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

    const FITTED: Locality = match Pattern::LOCALITY {
        Pattern::Locality(rules) => rules,
        _ => unreachable!(),
    };

    /// Workload of 100,000 requests of 8 KiB (one slot) in 1 GiB.
    fn walk(rules: Locality) -> Workload {
        Workload {
            sizes: vec![(8192, 1.0)],
            align_bytes: 8192,
            span_bytes: 1 << 30,
            ..workload(Pattern::Locality(rules))
        }
    }

    fn slots(rules: Locality) -> Vec<u64> {
        generate(&walk(rules)).iter().map(|request| request.offset / 8192).collect()
    }

    fn share(steps: &[u64], test: impl Fn(u64, u64) -> bool) -> f64 {
        steps.windows(2).filter(|pair| test(pair[0], pair[1])).count() as f64 / (steps.len() - 1) as f64
    }

    #[test]
    fn runs_stay_advance_and_jump_as_configured() {
        let rules = Locality { jump: 0.2, advance: 0.6, back: 0.0, spread: 1.0, heads: 0, ..FITTED };
        let slots = slots(rules);
        // One in 17 jumps is shorter than 2 slots. Half of the short jumps go ahead and look like an advance.
        let hidden = 0.2 / 34.0;
        // The standard deviations are below 0.0016; the bound is six times that.
        for (actual, expected) in [
            (share(&slots, |slot, next| next == slot), 0.8 * 0.4),
            (share(&slots, |slot, next| next == slot + 1), 0.8 * 0.6 + hidden),
            (share(&slots, |slot, next| slot.abs_diff(next) > 1 || next + 1 == slot), 0.2 - hidden),
        ] {
            assert!((actual - expected).abs() < 0.01, "{actual} instead of {expected}");
        }
    }

    /// Goal: the depth of returns matches the settings. Method: every request jumps. Runs are identified by their
    /// slots, as new places are far apart, and tracked in a separate list.
    #[test]
    fn returns_have_a_geometric_depth() {
        let rules = Locality { jump: 1.0, back: 0.9, decay: 0.8, runs: 50, spread: 0.01, heads: 0, ..FITTED };
        let mut stopped = VecDeque::new();
        let (mut depths, mut new, mut last) = ([0_u32; 50], 0, None);
        for slot in slots(rules) {
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
        let requests = slots(FITTED);
        let regions: BTreeSet<u64> = requests.iter().map(|slot| slot / 256).collect();
        assert_eq!(regions.len(), 90);
        assert_eq!(regions.iter().filter(|&&region| !regions.contains(&(region + 1))).count(), 6);
        let all = Locality { heads: 512, stretches: 1, ..FITTED };
        assert!(slots(all).iter().all(|&slot| slot < 1 << 17));
        // Requests larger than a slot also stay within their region.
        let mut large = walk(FITTED);
        large.sizes = vec![(65_536, 1.0)];
        assert!(generate(&large).iter().all(|r| r.offset >> 21 == (r.end() - 1) >> 21));
    }

    /// Goal: the fitted walk has the miss rates of its source. Method: stack distances of segment caches, averaged over
    /// seeds of 24,561 look-ups; expected values from the map cache document.
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
            let requests = generate(&Workload { seed, requests: 24_561, ..walk(FITTED) });
            for (segment, row) in misses.iter_mut().enumerate() {
                // A segment of 1 KiB (4-byte entries) maps 2 MiB; larger ones map proportionally more.
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
        let message = |rules| refusal(&walk(rules));
        assert_eq!(message(FITTED), "");
        assert!(message(Locality { jump: 1.5, ..FITTED }).contains("jump: 1.5 is not a share"));
        assert!(message(Locality { decay: 0.0, ..FITTED }).contains("decay: 0 is not above 0"));
        assert!(message(Locality { spread: f64::NAN, ..FITTED }).contains("spread: NaN is not a positive exponent"));
        assert!(
            message(Locality { runs: 0, ..FITTED }).contains("runs: 0 is out of range, 1 to 1048576; raise it to 1")
        );
        assert_eq!(
            message(Locality { heads: 513, ..FITTED }),
            "workload heads: 513 regions of 2MiB exceed the 512 that fit in the span 1GiB; lower it to 512"
        );
        assert_eq!(
            message(Locality { heads: 510, ..FITTED }),
            "workload stretches: 510 of 512 regions cannot form 6 stretches; set it to 3"
        );
        assert!(message(Locality { region_bytes: 10_000, ..FITTED }).contains("not a multiple of the alignment"));
        // The region size is not checked if there are no regions.
        assert_eq!(message(Locality { heads: 0, region_bytes: 10_000, decay: 1.0, ..FITTED }), "");
        let large = Workload { sizes: vec![(4 << 20, 1.0)], ..walk(FITTED) };
        assert!(refusal(&large).contains("region_bytes: 2MiB is smaller than a request of 4MiB; raise it to 4MiB"));
    }
}
