//! LHD: the item with the least hits to expect for the room it takes until its next event gives way, of a sample.
//!
//! ```text
//! age(x):      accesses since x came in or was hit last, in units that keep it below `ages` as a rule
//! class(x):    by the logarithm of the sum of the last two ages at which x was hit; 0 if there were not two
//! hits, evictions(class, age): how many there were; every `period` accesses all are multiplied by 0.9
//! density(class, age), worked out then:  hits at this age or later  /  sum of the ages that these and the evictions
//!                                        then had left to come
//!                                        (class + 1) / (age + 1) before the first period is over
//! rank(x):     density(class(x), age(x)) / size(x), and 1 more for an explorer; below all others at the last age
//! access(x):   hit: note hit and age
//!              else while x does not fit: of 32 items drawn by chance and the eight suspects, the one of least rank
//!                   gives way; note the eviction;  E = 0.9 E + 0.1 rank
//!              x becomes an explorer with a chance of 1 in 32, as long as explorers take less than `explore`
//!              x came in, is no explorer, and rank(x) < E: x becomes a suspect in place of the eldest
//! ```
//! Source: Beckmann, Chen, Cidon, "LHD: improving cache hit rate by maximizing hit density", NSDI 2018, sections 4 and
//! 5, for one application; constants are those of the simulator of its authors where not said otherwise. Ages span at
//! least 32 times the items cached, and their unit doubles as a cache fills. Counts are in fixed point, so that sums do
//! not depend on order.

use ssdlab_core::{HugeVec, Parameter, Rng, Unit};

use super::{Policy, PolicyInfo, PolicyRules, random};
use crate::Access;
use crate::bag::Bag;
use crate::lists::grow;

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "lhd",
    help: "Of a sample, evicts the item with the least hits to expect for its size and time, by what was seen of its kind.",
    source: "Beckmann et al., NSDI 2018",
    parameters: &[
        Parameter {
            name: "period",
            unit: Unit::Count("accesses"),
            default: 1 << 20,
            min: 1,
            max: 1 << 40,
            example: None,
            help: "Accesses after which hit densities are worked out anew.",
        },
        Parameter {
            name: "explore",
            unit: Unit::Percent,
            default: 1,
            min: 0,
            max: 100,
            example: None,
            help: "Share of the cache for items that stay in order to learn.",
        },
        random::SEED,
    ],
    role: PolicyRules {
        sizes: true,
        needs_future: false,
        largest: u64::MAX,
        one_pass: None,
        build: |settings, capacity, items| {
            let mut policy = Lhd {
                cached: Bag::new(0, capacity),
                ages: HugeVec::filled(UNKNOWN, 0),
                densities: Densities::new(capacity),
                suspects: [None; SUSPECTS],
                next_suspect: 0,
                victims_rank: 0.0,
                explorers_left: settings.share("explore", capacity) as i64,
                period: settings.get("period"),
                now: 0,
                rng: Rng::named(settings.get("seed"), "LHD"),
                capacity,
            };
            policy.grow(items);
            Box::new(policy)
        },
    },
};

/// Most and fewest ages told apart, powers of two; between them one for each four units of the capacity, so that the
/// tables stay small beside the cache.
const AGES_MOST: u64 = 4096;
const AGES_LEAST: u64 = 64;
/// Ages told apart pass while so many times as many accesses are made as items are cached, at least.
const SPAN: u64 = 32;
const SAMPLE: usize = 32;
const SUSPECTS: usize = 8;
/// One item in so many becomes an explorer.
const EXPLORERS: u64 = 32;
/// What one event counts in fixed point.
const ONE: u64 = 1 << 20;

/// Hits to expect, by class and age.
#[derive(Debug)]
struct Densities {
    /// Ages told apart, a power of two; the last stands for all above.
    ages: usize,
    /// By class and age, as are the others: classes are ages from `ages` on, from half of that on, and so on, then 0.
    hits: Vec<u64>,
    evictions: Vec<u64>,
    densities: Vec<f64>,
    /// Accesses of a unit of age, as a power of two.
    shift: u32,
    /// Whether they were ever worked out.
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

    /// The age of something that began so many accesses ago.
    fn age(&self, accesses: u64) -> usize {
        (accesses >> self.shift).min(self.ages as u64 - 1) as usize
    }

    /// Where counts of an item begin of which the sum of the last two ages at which it was hit is this.
    fn class(&self, sum: u64) -> usize {
        let halvings = self.ages.ilog2();
        let class =
            if sum >= self.ages as u64 { 0 } else { sum.checked_ilog2().map_or(halvings + 1, |log| halvings - log) };
        class as usize * self.ages
    }

    /// Makes units of age large enough for so many cached items.
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
                self.work_out();
            }
        }
    }

    fn end_period(&mut self) {
        for counts in [&mut self.hits, &mut self.evictions] {
            counts.iter_mut().for_each(|count| *count = *count * 9 / 10);
        }
        self.learnt = true;
        self.work_out();
    }

    fn work_out(&mut self) {
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

/// What is known of a cached item.
#[derive(Clone, Copy, Debug)]
struct Ages {
    /// When it came in or was hit last.
    since: u64,
    /// Ages at which it was hit last and before that.
    hit: u32,
    hit_before: u32,
    explorer: bool,
}

const UNKNOWN: Ages = Ages { since: 0, hit: 0, hit_before: AGES_MOST as u32, explorer: false };

#[derive(Debug)]
struct Lhd {
    cached: Bag,
    ages: HugeVec<Ages>,
    densities: Densities,
    suspects: [Option<u32>; SUSPECTS],
    next_suspect: usize,
    /// Mean rank of victims, of late.
    victims_rank: f64,
    /// Units that explorers may still take.
    explorers_left: i64,
    period: u64,
    /// Accesses so far.
    now: u64,
    rng: Rng,
    capacity: u64,
}

impl Lhd {
    /// Where events of a cached item are counted at time `now`.
    fn place(&self, item: u32, now: u64) -> usize {
        let Ages { since, hit, hit_before, .. } = self.ages[item as usize];
        self.densities.class(u64::from(hit) + u64::from(hit_before)) + self.densities.age(now - since)
    }

    fn rank(&self, item: u32, now: u64) -> f64 {
        let place = self.place(item, now);
        if place % self.densities.ages == self.densities.ages - 1 {
            return -1.0;
        }
        let explorer = if self.ages[item as usize].explorer { 1.0 } else { 0.0 };
        self.densities.densities[place] / f64::from(self.cached.size(item)) + explorer
    }

    /// Has an item give way at time `now`.
    fn evict(&mut self, now: u64) -> Option<u32> {
        let mut least: Option<(f64, u32)> = None;
        for draw in 0..SAMPLE + SUSPECTS {
            let drawn = match draw.checked_sub(SAMPLE) {
                None => Some(self.cached.draw(&mut self.rng)?),
                Some(suspect) => self.suspects[suspect].filter(|&item| self.cached.has(item)),
            };
            let Some(item) = drawn else { continue };
            let rank = self.rank(item, now);
            if least.is_none_or(|(least, _)| rank < least) {
                least = Some((rank, item));
            }
        }
        let (rank, victim) = least?;
        self.victims_rank = 0.9 * self.victims_rank + 0.1 * rank;
        let place = self.place(victim, now);
        self.densities.evictions[place] += ONE;
        self.remove(victim);
        Some(victim)
    }

    fn end_exploring(&mut self, item: u32) {
        if self.ages[item as usize].explorer {
            self.explorers_left += i64::from(self.cached.size(item));
        }
    }
}

impl Policy for Lhd {
    fn access(&mut self, Access { item, size, .. }: Access, evicted: &mut Vec<u32>) -> bool {
        self.now += 1;
        let hit = self.cached.has(item);
        let mut ages = UNKNOWN;
        if hit {
            let place = self.place(item, self.now);
            self.densities.hits[place] += ONE;
            self.end_exploring(item);
            ages.hit = (place % self.densities.ages) as u32;
            ages.hit_before = self.ages[item as usize].hit;
        } else {
            while self.cached.units() + u64::from(size) > self.capacity {
                evicted.extend(self.evict(self.now));
            }
            self.cached.push(item, size);
            self.densities.fit(self.cached.len() as u64);
        }
        ages.since = self.now;
        ages.explorer = self.rng.below(EXPLORERS) == 0 && self.explorers_left > 0;
        self.ages[item as usize] = ages;
        if ages.explorer {
            self.explorers_left -= i64::from(self.cached.size(item));
        } else if !hit && self.rank(item, self.now) < self.victims_rank {
            self.suspects[self.next_suspect] = Some(item);
            self.next_suspect = (self.next_suspect + 1) % SUSPECTS;
        }
        if self.now.is_multiple_of(self.period) {
            self.densities.end_period();
        }
        hit
    }

    fn victim(&mut self) -> Option<u32> {
        // At the time of the access for which it gives way.
        self.evict(self.now + 1)
    }

    fn remove(&mut self, item: u32) {
        if self.cached.has(item) {
            self.end_exploring(item);
            self.cached.remove(item);
        }
    }

    super::held!(cached);

    fn grow(&mut self, items: u32) {
        self.cached.grow(items);
        grow(&mut self.ages, UNKNOWN, items as usize);
    }

    fn bytes(&self) -> usize {
        let Densities { hits, evictions, densities, .. } = &self.densities;
        let tables = size_of_val(&hits[..]) + size_of_val(&evictions[..]) + size_of_val(&densities[..]);
        self.cached.bytes() + size_of_val(&*self.ages) + tables
    }
}
