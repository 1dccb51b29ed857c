//! Goal: maps in flash cause the flash operations that their documents describe. Method: counts look-ups by hand on
//! small devices, and compares a map cache that holds every entry with page mapping, operation by operation.

use ssdlab_core::parameter::percent;
use ssdlab_core::{BlockId, Lpn, Ppn, Rng};
use ssdlab_ftl::gc;
use ssdlab_ftl::map::{self, Dftl, MapChoice, SegmentCache};
use ssdlab_ftl::page::{PageFtl, PageOptions};
use ssdlab_ftl::{Ftl, Shape, WriteContext, placement};
use ssdlab_nand::{Cause, FlashSink, Note, ProgramOrder, Source, SpareArea};

const OPTIONS: PageOptions = PageOptions::new(gc::fifo::INFO.defaults(), &placement::own::INFO);

/// Operations without physical page numbers, because these differ between devices of different sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Done {
    Read(Cause),
    Part(u32, Cause),
    Program(Lpn, Cause),
    Erase(Cause),
    Hit(bool),
}

#[derive(Default)]
struct Log(Vec<Done>);

impl FlashSink for Log {
    fn read(&mut self, _ppn: Ppn, cause: Cause) {
        self.0.push(Done::Read(cause));
    }

    fn read_part(&mut self, _ppn: Ppn, bytes: u32, cause: Cause) {
        self.0.push(Done::Part(bytes, cause));
    }

    fn program(&mut self, _ppn: Ppn, oob: SpareArea, _source: Source, cause: Cause) {
        self.0.push(Done::Program(oob.lpn, cause));
    }

    fn erase(&mut self, _block: BlockId, cause: Cause) {
        self.0.push(Done::Erase(cause));
    }

    fn note(&mut self, note: Note) {
        if let Note::LookedUp { hit, .. } = note {
            self.0.push(Done::Hit(hit));
        }
    }
}

fn during(act: impl FnOnce(&mut Log)) -> Vec<Done> {
    let mut log = Log::default();
    act(&mut log);
    log.0
}

fn read<F: Ftl>(ftl: &mut F, page: u32) -> Vec<Done> {
    during(|log| {
        ftl.read(Lpn(page), 1, Cause::Host, log);
    })
}

/// Returns a device with one plane. Map pages have the page size given to [`Dftl::new`] and [`SegmentCache::new`].
fn shape(logical_pages: u32, blocks: u32, pages_per_block: u32) -> Shape {
    Shape {
        logical_pages,
        page_bytes: 64,
        blocks,
        pages_per_block,
        order: ProgramOrder::Ascending,
        planes: 1,
        program_unit: 1,
    }
}

/// Returns a segment cache with LRU and entries of 4 bytes.
fn segment_cache(cache: u64, segment: u64) -> MapChoice {
    map::segments::INFO.set(&[("cache", cache), ("segment", segment)]).expect("in range")
}

/// Returns page mapping with 64 logical pages of 64 bytes. A map page has 16 entries of 4 bytes; a segment of 16 bytes
/// has 4 entries.
fn segments(cached: u64, segment_bytes: u32) -> PageFtl<SegmentCache> {
    let segment = u64::from(segment_bytes);
    let choice = segment_cache(cached * segment, segment);
    let device = shape(64, 60, 8);
    let map = SegmentCache::new(64, 64, &choice).expect("a sound cache");
    let mut ftl = PageFtl::with_map(device, OPTIONS, map, 1).expect("large enough");
    ftl.write(Lpn(0), 64, WriteContext::default(), &mut ());
    ftl
}

#[test]
fn a_segment_is_loaded_once_and_written_back_when_evicted() {
    use Cause::{Host, MapLoad, MapWriteBack};
    use Done::{Hit, Part, Program, Read};
    let mut ftl = segments(2, 16);
    // After the drive was filled, segments 14 and 15 are cached and dirty. Segment 0 evicts segment 14. Map page 3 is
    // only partly cached, so it is read, and then written with both segments.
    let first = read(&mut ftl, 0);
    assert_eq!(
        first,
        [Hit(false), Read(MapWriteBack), Program(Lpn(64 + 3), MapWriteBack), Part(16, MapLoad), Read(Host)]
    );
    // Segment 15 is clean now, and its eviction costs no operation.
    let second = read(&mut ftl, 7);
    assert_eq!(second, [Hit(false), Part(16, MapLoad), Read(Host)]);
    assert_eq!(read(&mut ftl, 4), [Hit(true), Read(Host)]);
    // A write makes segment 0 dirty. Segment 1 was used before segment 0 and is evicted first.
    during(|log| ftl.write(Lpn(1), 1, WriteContext::default(), log));
    let third = read(&mut ftl, 8);
    assert_eq!(third, [Hit(false), Part(16, MapLoad), Read(Host)]);
    let fourth = read(&mut ftl, 12);
    assert_eq!(fourth, [Hit(false), Read(MapWriteBack), Program(Lpn(64), MapWriteBack), Part(16, MapLoad), Read(Host)]);
}

/// Checks that a segment that is a whole map page is written without a previous read.
#[test]
fn whole_pages_are_written_without_a_read() {
    let mut ftl = segments(1, 64);
    let done = read(&mut ftl, 0);
    let expected = [
        Done::Hit(false),
        Done::Program(Lpn(64 + 3), Cause::MapWriteBack),
        Done::Part(64, Cause::MapLoad),
        Done::Read(Cause::Host),
    ];
    assert_eq!(done, expected);
}

/// Checks the document's size of the map of the map, for 30,480 MB in pages of 8 KB and segments of 1 to 8 KB.
#[test]
fn the_map_of_the_map_is_as_large_as_in_the_document() {
    for (segment_bytes, expected) in [(1 << 10, 60_960), (2 << 10, 30_480), (4 << 10, 15_240), (8 << 10, 7_620)] {
        let logical_pages = 30_480 << (20 - 13);
        let device = shape(logical_pages, 20_000, 256);
        let map =
            SegmentCache::new(logical_pages, 8 << 10, &segment_cache(512 << 10, segment_bytes)).expect("a sound cache");
        let ftl = PageFtl::with_map(device, OPTIONS, map, 1).expect("large enough");
        assert_eq!(ftl.mapping_table_bytes() - (512 << 10), expected);
    }
}

/// Returns a drive with DFTL that caches `entries` entries, at most half of them protected.
fn dftl(blocks: u32, entries: u64) -> PageFtl<Dftl> {
    let choice = map::dftl::INFO.set(&[("cmt", entries), ("protected", percent(50))]).expect("in range");
    let device = shape(64, blocks, 8);
    let map = Dftl::new(64, 64, &choice).expect("a sound table");
    PageFtl::with_map(device, OPTIONS, map, 1).expect("large enough")
}

/// Checks DFTL's worst case: two reads and a write of translation pages per host page.
#[test]
fn an_uncached_entry_costs_as_much_as_in_the_paper() {
    use Cause::{Host, MapLoad, MapWriteBack};
    use Done::{Hit, Part, Program, Read};
    let mut ftl = dftl(60, 2);
    ftl.write(Lpn(0), 64, WriteContext::default(), &mut ());
    // The eviction of entry 60 also wrote entry 61 of the same translation page; entries 62 and 63 changed later.
    let expected = [Hit(false), Read(MapWriteBack), Program(Lpn(64 + 3), MapWriteBack), Part(64, MapLoad), Read(Host)];
    assert_eq!(read(&mut ftl, 0), expected);
    assert_eq!(read(&mut ftl, 20), [Hit(false), Part(64, MapLoad), Read(Host)]);
    // Entry 0 is used again and becomes protected; therefore entry 20 is evicted next, although entry 0 is older.
    assert_eq!(read(&mut ftl, 0), [Hit(true), Read(Host)]);
    read(&mut ftl, 40);
    assert_eq!(read(&mut ftl, 0), [Hit(true), Read(Host)]);
    assert_eq!(read(&mut ftl, 20), [Hit(false), Part(64, MapLoad), Read(Host)]);
}

/// The victim and the new entry are in the same translation page. The page is written back before the new entry
/// changes.
#[test]
fn a_changed_new_entry_is_dirty_after_a_write_back() {
    use Cause::{Host, MapLoad, MapWriteBack};
    use Done::{Hit, Part, Program, Read};
    let write = |ftl: &mut PageFtl<Dftl>, page| during(|log| ftl.write(Lpn(page), 1, WriteContext::default(), log));
    let written_back = [Hit(false), Read(MapWriteBack), Program(Lpn(64), MapWriteBack), Part(64, MapLoad)];
    let mut ftl = dftl(60, 1);
    write(&mut ftl, 1);
    assert_eq!(
        write(&mut ftl, 2),
        [Hit(false), Program(Lpn(64), MapWriteBack), Part(64, MapLoad), Program(Lpn(2), Host)]
    );
    assert_eq!(read(&mut ftl, 3), written_back);
    assert_eq!(read(&mut ftl, 1), [Hit(false), Part(64, MapLoad), Read(Host)]);
    // A trim changes an entry too.
    for page in [1, 2] {
        during(|log| ftl.trim(Lpn(page), 1, log));
    }
    assert_eq!(read(&mut ftl, 1), written_back);
}

/// Checks that a map cache with room for every entry equals page mapping: it has the same host and GC operations in the
/// same order, and its only map operations are loads.
#[test]
fn a_cache_of_all_entries_equals_page_mapping() {
    // Four blocks stay unwritten for map pages, which are never written here.
    let blocks = 60;
    let mut page = PageFtl::new(shape(64, blocks - 4, 8), OPTIONS, 1).expect("large enough");
    let mut all = dftl(blocks, 64);
    let (mut page_log, mut all_log) = (Log::default(), Log::default());
    let mut rng = Rng::named(3, "writes");
    for _ in 0..5_000 {
        let lpn = Lpn(rng.below(64).min(rng.below(64)) as u32);
        if rng.below(4) == 0 {
            page.read(lpn, 1, Cause::Host, &mut page_log);
            all.read(lpn, 1, Cause::Host, &mut all_log);
        } else {
            page.write(lpn, 1, WriteContext::default(), &mut page_log);
            all.write(lpn, 1, WriteContext::default(), &mut all_log);
        }
    }
    let misses = all_log.0.iter().filter(|done| **done == Done::Hit(false)).count();
    assert!(misses <= 64, "{misses} misses, but each of the 64 entries may be loaded only once");
    all_log.0.retain(|done| !matches!(done, Done::Hit(_)));
    assert!(page_log.0.contains(&Done::Erase(Cause::Gc)), "the test must include garbage collection");
    assert_eq!(page_log.0, all_log.0);
}

#[test]
fn impossible_maps_are_refused() {
    let error = |choice: MapChoice| SegmentCache::new(64, 64, &choice).err().unwrap_or_default();
    assert_eq!(error(segment_cache(16, 16)), "");
    assert_eq!(error(segment_cache(8, 16)), "cache: 8B is not a multiple of the segment size 16B; set it to 16B");
    assert_eq!(error(segment_cache(128, 128)), "segment: 128B exceeds the page size 64B; lower it to 64B");
    assert!(
        SegmentCache::new(64, 60, &segment_cache(16, 16)).err().is_some_and(|error| error.contains("power of two"))
    );
    // For any protected share, at least one entry is on probation.
    let most = |entries| map::dftl::INFO.set(&[("cmt", entries), ("protected", percent(99))]).expect("in range");
    assert_eq!([1, 2, 50].map(|entries| map::dftl::protected(&most(entries))), [0, 1, 49]);
}
