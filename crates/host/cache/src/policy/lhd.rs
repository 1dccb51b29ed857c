//! LHD: evicts the item with the lowest hit density (expected hits per space and time), from a random sample.
//!
//! ```text
//! age(x):      accesses since the insertion or last hit of x, in units that usually keep it below `ages`
//! class(x):    logarithm of the sum of the last two ages at which x was hit; 0 without two hits
//! hits, evictions(class, age): event counts, multiplied by 0.9 every `period` accesses
//! density(class, age), recomputed then:  hits at this age or later  /  sum of the remaining ages of these hits and
//!                                        of the evictions at this age or later
//!                                        (class + 1) / (age + 1) in the first period
//! rank(x):     density(class(x), age(x)) / size(x), plus 1 for an explorer; below all others at the last age
//! access(x):   hit: count the hit and record its age
//!              else while x does not fit: of 32 random items and the eight suspects, evict the one of least rank;
//!                   count the eviction;  E = 0.9 E + 0.1 rank
//!              x becomes an explorer with probability 1/32, while explorers take less than `explore`
//!              x was inserted, is no explorer, and rank(x) < E: x replaces the oldest suspect
//! ```
//! Source: Beckmann, Chen, Cidon, "LHD: improving cache hit rate by maximizing hit density", NSDI 2018, sections 4 and
//! 5, for one application. Other constants follow the authors' simulator. Ages span at least 32 times the number of
//! cached items, and the unit of ages doubles as the cache fills. Counts are fixed-point, so that sums do not depend on
//! order.

use ssdlab_core::{Parameter, Rng, Unit};

use super::{Policy, PolicyInfo, PolicyRules, make_room, random};
use crate::Access;
use crate::bag::Bag;
use crate::per_item::PerItem;

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "lhd",
    help: "Evicts the item with the lowest hit density (expected hits per size and time) from a random sample.",
    source: "Beckmann et al., NSDI 2018",
    parameters: &[
        Parameter::new(
            "period",
            Unit::Count("accesses"),
            1 << 20,
            [1, 1 << 40],
            "Number of accesses between updates of the hit densities.",
        ),
        Parameter::new(
            "explore",
            Unit::Percent,
            1,
            [0, 100],
            "Maximum share of the cache for explorers (items that are cached longer, to learn their hit \
                   densities).",
        ),
        random::SEED,
    ],
    role: PolicyRules::any_size(&|settings, capacity, items| {
        Box::new(Lhd {
            cached: Bag::new(items, capacity),
            ages: PerItem::new(UNKNOWN, items),
            densities: Densities::new(capacity),
            suspects: [None; SUSPECTS],
            next_suspect: 0,
            victims_rank: 0.0,
            explorers_left: settings.share("explore", capacity) as i64,
            period: settings.get("period"),
            now: 1,
            rng: Rng::named(settings.get("seed"), "LHD"),
            capacity,
        })
    }),
};

/// Upper and lower limits on the number of distinct ages, both powers of two. Between them, there is one age per four
/// units of capacity, which keeps the tables small relative to the cache.
const AGES_MOST: u64 = 4096;
const AGES_LEAST: u64 = 64;
/// Minimum range of the age table, in accesses per cached item.
const SPAN: u64 = 32;
const SAMPLE: usize = 32;
const SUSPECTS: usize = 8;
/// While units are left for explorers, an inserted or hit item becomes an explorer with a probability of
/// 1 / `EXPLORERS`.
const EXPLORERS: u64 = 32;
/// Value of one event (hit or eviction) in the fixed-point counts.
const ONE: u64 = 1 << 20;

/// Hit densities by class and age.
#[derive(Debug)]
struct Densities {
    /// Number of distinct ages, a power of two; the last age includes all higher ages.
    ages: usize,
    /// Hits by class and age. The class of an item depends on the sum of its ages at its last two hits: class 0 holds
    /// sums of `ages` or more, the lower bound of the sum halves with each further class, and the last class holds a
    /// sum of 0.
    hits: Vec<u64>,
    evictions: Vec<u64>,
    densities: Vec<f64>,
    /// Binary logarithm of the number of accesses per unit of age.
    shift: u32,
    /// True once the first learning period has ended.
    learnt: bool,
}

impl Densities {
    fn new(capacity: u64) -> Self {
        let ages = (capacity / 4).clamp(AGES_LEAST, AGES_MOST).next_power_of_two() as usize;
        let places = (ages.ilog2() as usize + 2) * ages;
        let at_first = |at: usize| (at / ages + 1) as f64 / (at % ages + 1) as f64;
        Self {
            ages,
            hits: vec![0; places],
            evictions: vec![0; places],
            densities: (0..places).map(at_first).collect(),
            shift: 0,
            learnt: false,
        }
    }

    /// Converts a number of accesses since an item's insertion or last hit to an age, in units of 2^`shift` accesses.
    fn age(&self, accesses: u64) -> usize {
        (accesses >> self.shift).min(self.ages as u64 - 1) as usize
    }

    /// Returns the table offset of a class, given the sum of an item's last two hit ages.
    fn class(&self, sum: u64) -> usize {
        let halvings = self.ages.ilog2();
        let class =
            if sum >= self.ages as u64 { 0 } else { sum.checked_ilog2().map_or(halvings + 1, |log| halvings - log) };
        class as usize * self.ages
    }

    /// Enlarges the unit of age to suit the number of cached items.
    fn fit(&mut self, items: u64) {
        while (self.ages as u64 / SPAN) << self.shift < items {
            self.shift += 1;
            for counts in [&mut self.hits, &mut self.evictions] {
                for class in counts.chunks_exact_mut(self.ages) {
                    for age in 0..self.ages {
                        class[age] = if age < self.ages / 2 { class[2 * age] + class[2 * age + 1] } else { 0 };
                    }
                }
            }
            if self.learnt {
                self.compute();
            }
        }
    }

    fn end_period(&mut self) {
        for counts in [&mut self.hits, &mut self.evictions] {
            counts.iter_mut().for_each(|count| *count = *count * 9 / 10);
        }
        self.learnt = true;
        self.compute();
    }

    fn compute(&mut self) {
        for class in (0..self.densities.len()).step_by(self.ages) {
            let (mut hits, mut events, mut time) = (0, 0, 0_u128);
            for at in (class..class + self.ages).rev() {
                hits += self.hits[at];
                events += self.hits[at] + self.evictions[at];
                time += u128::from(events);
                self.densities[at] = if time == 0 { 0.0 } else { hits as f64 / time as f64 };
            }
        }
    }
}

/// State of a cached item: the times and ages of its last hits.
#[derive(Clone, Copy, Debug)]
struct Ages {
    /// Time of the item's insertion or last hit.
    since: u64,
    /// Ages of the item at its last two hits.
    hit: u32,
    hit_before: u32,
    explorer: bool,
}

const UNKNOWN: Ages = Ages { since: 0, hit: 0, hit_before: AGES_MOST as u32, explorer: false };

#[derive(Debug)]
struct Lhd {
    cached: Bag,
    ages: PerItem<Ages>,
    densities: Densities,
    suspects: [Option<u32>; SUSPECTS],
    next_suspect: usize,
    /// Moving average of the ranks of victims.
    victims_rank: f64,
    /// Number of capacity units left for explorers: items that are kept longer to learn their hit densities.
    explorers_left: i64,
    period: u64,
    /// Time of the current or the next access: one more than the number of accesses before it.
    now: u64,
    rng: Rng,
    capacity: u64,
}

impl Lhd {
    /// Returns the index of the counters for a hit or eviction of a cached item.
    fn place(&self, item: u32) -> usize {
        let Ages { since, hit, hit_before, .. } = self.ages[item];
        self.densities.class(u64::from(hit) + u64::from(hit_before)) + self.densities.age(self.now - since)
    }

    fn rank(&self, item: u32) -> f64 {
        let place = self.place(item);
        if place % self.densities.ages == self.densities.ages - 1 {
            return -1.0;
        }
        let explorer = if self.ages[item].explorer { 1.0 } else { 0.0 };
        self.densities.densities[place] / f64::from(self.cached.size(item)) + explorer
    }

    fn end_exploring(&mut self, item: u32) {
        if self.ages[item].explorer {
            self.explorers_left += i64::from(self.cached.size(item));
        }
    }
}

impl Policy for Lhd {
    fn access(&mut self, Access { item, size, .. }: Access, evicted: &mut Vec<u32>) -> bool {
        let hit = self.cached.has(item);
        let mut ages = UNKNOWN;
        if hit {
            let place = self.place(item);
            self.densities.hits[place] += ONE;
            self.end_exploring(item);
            ages.hit = (place % self.densities.ages) as u32;
            ages.hit_before = self.ages[item].hit;
        } else {
            make_room(self, size, evicted);
            self.cached.push(item, size);
            self.densities.fit(self.cached.len() as u64);
        }
        ages.since = self.now;
        ages.explorer = self.rng.below(EXPLORERS) == 0 && self.explorers_left > 0;
        self.ages[item] = ages;
        if ages.explorer {
            self.explorers_left -= i64::from(self.cached.size(item));
        } else if !hit && self.rank(item) < self.victims_rank {
            self.suspects[self.next_suspect] = Some(item);
            self.next_suspect = (self.next_suspect + 1) % SUSPECTS;
        }
        if self.now.is_multiple_of(self.period) {
            self.densities.end_period();
        }
        self.now += 1;
        hit
    }

    fn victim(&mut self) -> Option<u32> {
        let mut least: Option<(f64, u32)> = None;
        for draw in 0..SAMPLE + SUSPECTS {
            let drawn = match draw.checked_sub(SAMPLE) {
                None => Some(self.cached.draw(&mut self.rng)?),
                Some(suspect) => self.suspects[suspect].filter(|&item| self.cached.has(item)),
            };
            let Some(item) = drawn else { continue };
            let rank = self.rank(item);
            if least.is_none_or(|(least, _)| rank < least) {
                least = Some((rank, item));
            }
        }
        let (rank, victim) = least?;
        self.victims_rank = 0.9 * self.victims_rank + 0.1 * rank;
        let place = self.place(victim);
        self.densities.evictions[place] += ONE;
        self.remove(victim);
        Some(victim)
    }

    fn remove(&mut self, item: u32) {
        if self.cached.has(item) {
            self.end_exploring(item);
            self.cached.remove(item);
        }
    }

    super::held!(cached, only);

    fn grow(&mut self, items: u32) {
        self.cached.grow(items);
        self.ages.grow(items);
    }

    fn bytes(&self) -> usize {
        let Densities { hits, evictions, densities, .. } = &self.densities;
        let tables = size_of_val(&hits[..]) + size_of_val(&evictions[..]) + size_of_val(&densities[..]);
        self.cached.bytes() + self.ages.bytes() + tables
    }

    #[inline]
    fn prefetch(&self, item: u32) {
        self.cached.prefetch(item);
    }
}
