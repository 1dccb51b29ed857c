//! LeaFTL: a learned map. Each linear function (line) predicts the flash pages of up to 256 successive logical pages,
//! with an error of at most `gamma` pages.
//!
//! ```text
//! placed(lpn, ppn):  buffer the pair; once `buffer` pairs are buffered, for each group of 256 logical pages, in order:
//!                    fit lines through the pages, each as long as it stays within `gamma` pages
//!                    a new line goes to level 0; older lines lose its pages; a line that still overlaps it goes down
//! read(lpn):         the line of the first level that has the page predicts its ppn; a wrong ppn costs a read
//! ```
//! A line for one page takes 5 bytes. A line for more pages takes 8 bytes, plus a byte for each gap between its pages
//! unless the pages are evenly spaced. Each group takes 4 more bytes.
//!
//! The map is in RAM. Lines are fitted to pages in the order of their writes. The drive does not sort its write buffer
//! by page, so lines are short unless the host writes in order. Use this map with one plane, because successive writes
//! to several planes use flash pages that do not lie on one line.
//!
//! Source: Sun, Li, Sun, Sun, Vucinic, Huang, "LeaFTL: a learning-based flash translation layer for solid-state
//! drives", ASPLOS 2023. The rules follow the authors' simulator, but its list of recent spare areas is left out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use ssdlab::map::{self, Lookup, MapInfo, MapModel, MapRules, PageFtl};
use ssdlab::{Archive, Archived, NameTaken, Parameter, Settings, Unit};

/// Adds the map to ssdlab. The setting `ftl.page.map=leaftl` then selects it.
///
/// # Errors
/// Fails if another map already has this name.
pub fn register() -> Result<(), NameTaken> {
    map::register(&LEAFTL)
}

const GAMMA: Parameter = Parameter::new(
    "gamma",
    Unit::Count("pages"),
    0,
    [0, 128],
    "Maximum error of a predicted flash page number, in pages.",
)
.example(4);

const BUFFER: Parameter = Parameter::new(
    "buffer",
    Unit::Count("pages"),
    2048,
    [1, 1 << 24],
    "Number of exact mappings buffered before linear functions are fitted to them.",
)
.example(256);

/// Registry entry of this map.
static LEAFTL: MapInfo = MapInfo {
    name: "leaftl",
    help: "learned map in RAM: linear functions predict the flash page of each logical page (LeaFTL)",
    source: "Sun et al., ASPLOS 2023",
    parameters: &[GAMMA, BUFFER],
    role: MapRules {
        // No map pages are in flash.
        pages: |_, _, _| 0,
        problems: |_, _| Vec::new(),
        build: Some(|shape, options, seed, settings| {
            let map = LeaFtl::new(settings, shape.logical_pages);
            Ok(Box::new(PageFtl::with_map(shape, options, map, seed)?))
        }),
    },
};

/// Number of logical pages in a group.
const GROUP: u32 = 256;
/// If a group has more levels than this, each of its lines moves to the newest level in which it overlaps no other
/// line.
const LEVELS: usize = 10;

/// Set of pages of a group, with one bit per page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
struct Members([u64; 4]);

impl Members {
    fn add(&mut self, page: u8) {
        self.0[usize::from(page) / 64] |= 1 << (page % 64);
    }

    fn has(&self, page: u8) -> bool {
        self.0[usize::from(page) / 64] >> (page % 64) & 1 == 1
    }

    fn remove_all(&mut self, others: &Self) {
        self.0.iter_mut().zip(others.0).for_each(|(own, other)| *own &= !other);
    }

    fn iter(&self) -> impl DoubleEndedIterator<Item = u8> {
        (0..=u8::MAX).filter(|&page| self.has(page))
    }
}

/// A line that maps pages of a group to flash pages.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
struct Segment {
    members: Members,
    first: u8,
    last: u8,
    /// Slope in flash pages per logical page, rounded to a 16-bit floating-point number.
    slope: f64,
    /// Flash page that the line predicts for page 0 of the group.
    base: f64,
}

impl Segment {
    fn predict(&self, page: u8) -> u32 {
        (self.slope * f64::from(page) + self.base).round_ties_even() as u32
    }

    /// Returns the distance between successive pages of the line; None if the distances differ.
    fn stride(&self) -> Option<u8> {
        let pages: Vec<u8> = self.members.iter().collect();
        let stride = pages.get(1)? - pages[0];
        pages.windows(2).all(|pair| pair[1] - pair[0] == stride).then_some(stride)
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    /// Removes pages, and shortens the line to its remaining pages. Returns false if no page is left.
    fn remove(&mut self, pages: &Members) -> bool {
        self.members.remove_all(pages);
        let (first, last) = (self.members.iter().next(), self.members.iter().next_back());
        if let (Some(first), Some(last)) = (first, last) {
            (self.first, self.last) = (first, last);
        }
        first.is_some()
    }

    fn bytes(&self) -> u64 {
        let inside = || (self.first..self.last).filter(|&page| self.members.has(page) != self.members.has(page + 1));
        match self.stride() {
            _ if self.first == self.last => 5,
            Some(_) => 8,
            None => 8 + inside().count() as u64,
        }
    }
}

/// Rounds a positive slope to a 16-bit floating-point number.
fn half(slope: f64) -> f64 {
    let exponent = ((slope.to_bits() >> 52 & 0x7ff) as i64 - 1023).max(-14);
    let scale = f64::from_bits(((1023 + 10 - exponent) as u64) << 52);
    (slope * scale).round_ties_even() / scale
}

/// Fits lines through the (logical page, flash page) points of a group, in ascending order of logical page.
fn fit(points: &[(u8, u32)], gamma: u32) -> Vec<Segment> {
    // A tolerance of exactly 0 would make the two bounding lines coincide, so no point could lie strictly between them.
    let gamma = if gamma == 0 { 1e-4 } else { f64::from(gamma) };
    let mut segments = Vec::new();
    let mut rest = points;
    while let Some(&(first, place)) = rest.first() {
        let (x0, y0) = (f64::from(first), f64::from(place));
        let mut taken = 1;
        // The two bounding lines, with the smallest and the largest slope within the tolerance, cross at the pivot.
        let (mut pivot, mut slopes) = ((x0, y0), [1.0, 1.0]);
        while let Some(&(page, place)) = rest.get(taken) {
            let before = rest[taken - 1];
            let (x, y) = (f64::from(page), f64::from(place));
            // Flash pages on a line increase with the logical pages, with a slope of at most 1.
            if place <= before.1 || place - before.1 > u32::from(page - before.0) {
                break;
            }
            if taken == 1 {
                slopes = [(y - y0 - 2.0 * gamma) / (x - x0), (y - y0 + 2.0 * gamma) / (x - x0)];
                pivot = ((x0 + x) / 2.0, (y0 + y) / 2.0);
            } else {
                let [low, high] = slopes.map(|slope| pivot.1 + slope * (x - pivot.0));
                if y <= low || y >= high {
                    break;
                }
                let to = |y: f64| (y - pivot.1) / (x - pivot.0);
                slopes = [slopes[0].max(to(y - gamma)), slopes[1].min(to(y + gamma))];
            }
            taken += 1;
        }
        let slope = if taken == 1 { 1.0 } else { half((slopes[0] + slopes[1]) / 2.0) };
        let mut members = Members::default();
        rest[..taken].iter().for_each(|&(page, _)| members.add(page));
        let last = rest[taken - 1].0;
        segments.push(Segment { members, first, last, slope, base: pivot.1 - slope * pivot.0 });
        rest = &rest[taken..];
    }
    segments
}

/// The lines of a group, newest level first. Lines of the same level do not overlap.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
struct Group {
    levels: Vec<Vec<Segment>>,
}

impl Group {
    fn find(&self, page: u8) -> Option<&Segment> {
        self.levels.iter().flatten().find(|segment| segment.members.has(page))
    }

    fn insert(&mut self, new: Segment) {
        if self.levels.is_empty() {
            self.levels.push(Vec::new());
        }
        let mut down = Vec::new();
        let stride = new.stride();
        self.levels[0].retain_mut(|old| {
            if !old.overlaps(&new) {
                return true;
            }
            // A line with evenly spaced pages keeps the pages that the new line hides, because recording the gap would
            // take memory.
            let in_phase = stride.is_some_and(|stride| new.first.abs_diff(old.first).is_multiple_of(stride));
            let hides = stride.is_some() && old.stride() == stride && in_phase;
            let encloses = old.first < new.first && new.last < old.last;
            if hides && encloses {
                down.push(*old);
                return false;
            }
            if !old.remove(&new.members) {
                return false;
            }
            if old.overlaps(&new) {
                down.push(*old);
            }
            !old.overlaps(&new)
        });
        self.levels[0].push(new);
        if !down.is_empty() {
            self.levels.insert(1, down);
        }
        if self.levels.len() > LEVELS {
            self.lift();
        }
    }

    /// Removes pages that newer lines hide, and moves each line to the first level in which it overlaps no other line.
    fn lift(&mut self) {
        let mut hidden = Members::default();
        let mut levels: Vec<Vec<Segment>> = Vec::new();
        for mut segment in std::mem::take(&mut self.levels).into_iter().flatten() {
            if !segment.remove(&hidden) {
                continue;
            }
            hidden.0.iter_mut().zip(segment.members.0).for_each(|(all, own)| *all |= own);
            match levels.iter_mut().find(|level| !level.iter().any(|other| other.overlaps(&segment))) {
                Some(level) => level.push(segment),
                None => levels.push(vec![segment]),
            }
        }
        self.levels = levels;
    }

    fn bytes(&self) -> u64 {
        if self.levels.is_empty() { 0 } else { 4 + self.levels.iter().flatten().map(Segment::bytes).sum::<u64>() }
    }
}

/// The learned map.
struct LeaFtl {
    gamma: u32,
    capacity: usize,
    /// Flash page of each logical page that lines do not cover yet.
    buffer: BTreeMap<u32, u32>,
    groups: Vec<Group>,
}

impl LeaFtl {
    fn new(settings: &Settings, logical_pages: u32) -> Self {
        Self {
            gamma: settings.get(GAMMA.name) as u32,
            capacity: settings.get(BUFFER.name) as usize,
            buffer: BTreeMap::new(),
            groups: vec![Group::default(); logical_pages.div_ceil(GROUP) as usize],
        }
    }

    /// Fits lines through the buffered pages.
    fn learn(&mut self) {
        let pages: Vec<(u32, u32)> = std::mem::take(&mut self.buffer).into_iter().collect();
        for group in pages.chunk_by(|a, b| a.0 / GROUP == b.0 / GROUP) {
            let points: Vec<(u8, u32)> = group.iter().map(|&(lpn, ppn)| ((lpn % GROUP) as u8, ppn)).collect();
            for segment in fit(&points, self.gamma) {
                self.groups[(group[0].0 / GROUP) as usize].insert(segment);
            }
        }
    }
}

impl MapModel for LeaFtl {
    /// False, because the map is in RAM: a lookup costs a flash read only if the prediction was wrong.
    const CHARGED: bool = false;

    fn pages(&self) -> u32 {
        0
    }

    fn look_up(&mut self, _lpn: u32) -> Lookup {
        Lookup::HIT
    }

    fn changed(&mut self, _lpn: u32) {}

    fn placed(&mut self, lpn: u32, ppn: u32) {
        self.buffer.insert(lpn, ppn);
        if self.buffer.len() >= self.capacity {
            self.learn();
        }
    }

    fn finds(&mut self, lpn: u32, ppn: u32) -> bool {
        let line = || self.groups[(lpn / GROUP) as usize].find((lpn % GROUP) as u8);
        self.buffer.contains_key(&lpn) || line().is_some_and(|line| line.predict((lpn % GROUP) as u8) == ppn)
    }

    fn moved(&mut self, _lpn: u32) -> Option<u32> {
        None
    }

    fn written(&mut self, _page: u32) {}

    fn load_bytes(&self) -> u32 {
        0
    }

    fn knows_whole_pages(&self) -> bool {
        true
    }

    /// Returns the memory size of the lines in bytes, without the buffer.
    fn ram_bytes(&self) -> u64 {
        self.groups.iter().map(Group::bytes).sum()
    }

    fn memory_bytes(&self) -> u64 {
        let segments = self.groups.iter().flat_map(|group| &group.levels).map(Vec::len).sum::<usize>();
        (size_of_val(&self.groups[..]) + segments * size_of::<Segment>()) as u64
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self { gamma: _, capacity: _, buffer, groups } = self;
        archive.value(buffer)?;
        archive.value(groups)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab::simulate;

    /// Eight logical pages with gaps, in successive flash pages.
    const POINTS: [(u8, u32); 8] =
        [(0, 1000), (1, 1001), (2, 1002), (5, 1003), (6, 1004), (9, 1005), (10, 1006), (11, 1007)];

    /// Returns a map that has learned the points, and the number of flash reads if each page is read once.
    fn learned(gamma: u64) -> (LeaFtl, u64) {
        let mut map = LeaFtl::new(&Settings::with(&[GAMMA, BUFFER], &[gamma, 8]), 256);
        POINTS.iter().for_each(|&(lpn, ppn)| map.placed(lpn.into(), ppn));
        let reads = POINTS.iter().map(|&(lpn, ppn)| 2 - u64::from(map.finds(lpn.into(), ppn))).sum();
        (map, reads)
    }

    fn lines(map: &LeaFtl) -> Vec<usize> {
        map.groups[0].levels.iter().map(Vec::len).collect()
    }

    #[test]
    fn lines_fit_within_gamma() {
        let (map, reads) = learned(0);
        assert_eq!((lines(&map), map.ram_bytes(), reads), (vec![3], 24 + 4, 8));

        let (map, reads) = learned(1);
        assert_eq!((lines(&map), map.ram_bytes(), reads), (vec![1], 12 + 4, 9));
        let line = map.groups[0].levels[0][0];
        assert_eq!((line.slope, (line.base * 1e6).round()), (0.585_449_218_75, 1_000_207_275.0));
        assert_eq!(line.predict(2), 1001);

        for gamma in [4, 16] {
            let (map, reads) = learned(gamma);
            assert_eq!((lines(&map), reads), (vec![1], 10));
            let line = map.groups[0].levels[0][0];
            assert_eq!((line.slope, (line.base * 1e6).round()), (0.619_140_625, 1_000_190_430.0));
            assert_eq!((line.predict(2), line.predict(9)), (1001, 1006));
        }
    }

    #[test]
    fn evenly_spaced_pages_take_8_bytes() {
        for pages in [vec![0, 1, 2, 3, 4, 5, 6, 7], vec![0, 2, 4, 6, 8]] {
            let points: Vec<(u8, u32)> = pages.into_iter().zip(1000..).collect();
            for gamma in [0, 1, 4, 16] {
                let lines = fit(&points, gamma);
                assert_eq!((lines.len(), lines[0].bytes()), (1, 8), "{points:?} with gamma {gamma}");
            }
        }
        assert_eq!(fit(&[(7, 1000)], 0)[0].bytes(), 5);
    }

    /// Pages 5 and 6 are written again. With gamma 0, they had a separate line, which is replaced. With gamma 1, the
    /// line of all pages loses them and moves down a level; it takes 8 bytes and two bytes for gaps.
    #[test]
    fn new_lines_hide_older_ones() {
        for (gamma, levels, bytes) in [(0, vec![3], 24), (1, vec![1, 1], 8 + 10)] {
            let (mut map, _) = learned(gamma);
            map.placed(5, 2000);
            map.placed(6, 2001);
            map.learn();
            assert_eq!((lines(&map), map.ram_bytes()), (levels, bytes + 4));
            assert!(map.finds(5, 2000) && map.finds(6, 2001) && map.finds(0, 1000));
        }
    }

    /// Each line encloses the next line and needs a new level, until lines are lifted. Page `i` is the first page of
    /// line `i`.
    #[test]
    fn lifted_lines_still_find_their_pages() {
        let mut group = Group::default();
        for i in 0..=20_u8 {
            let points: Vec<(u8, u32)> = (i..=255 - i).zip(1000 * u32::from(i)..).collect();
            fit(&points, 0).into_iter().for_each(|line| group.insert(line));
        }
        assert_eq!(group.levels.len(), 21);
        for i in 0..=20_u8 {
            let places = [i, 255 - i].map(|page| group.find(page).map(|line| line.predict(page)));
            let first = 1000 * u32::from(i);
            assert_eq!(places, [first, first + 255 - 2 * u32::from(i)].map(Some));
        }
        // This line hides all other lines.
        let points: Vec<(u8, u32)> = (0..=255).zip(0..).collect();
        fit(&points, 0).into_iter().for_each(|line| group.insert(line));
        assert_eq!((group.levels.len(), group.bytes()), (1, 8 + 4));
    }

    /// Checks that after sequential writes, the map takes less than a byte for each of the 8,192 pages. The simulation
    /// checks every operation and every page read.
    #[test]
    fn a_learned_map_is_small_for_sequential_writes() {
        register().unwrap();
        let drive =
            ["device.capacity=32MiB", "nand.pages_per_block=64", "workload.requests=10000", "ftl.page.map=leaftl"];
        let of = |more: &[&str]| simulate(&[&drive[..], more].concat()).unwrap();
        let sequential = of(&["precondition.overwrite=none", "workload.pattern=sequential", "workload.reads=0%"]);
        assert!(sequential.device.mapping_table_bytes < 8192);
        let random = of(&["workload.reads=30%", "ftl.page.map.leaftl.gamma=4"]);
        assert!(random.check.unwrap().page_reads_checked > 0);
        assert!(random.device.mapping_table_bytes > sequential.device.mapping_table_bytes);
    }
}

/// Conformance tests on random small drives.
#[cfg(test)]
mod conformance {
    ssdlab_conformance::map!(super::LEAFTL);
}
