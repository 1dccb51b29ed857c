//! Benchmark of the two-pool cache: compares hits on uncompressed pages with hits in other in-memory caches (crates),
//! and measures the overhead of a hit on a compressed page, excluding the codec.

use std::convert::Infallible;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Instant;

use ssdlab_codec::{Codec, CodecSpec, Corrupt};
use ssdlab_core::{Bytes, Rng};
use ssdlab_pool::{Demotion, Loader, Options, PageId, Pool, Share, policy};

use crate::machine::processor_seconds;
use crate::text::pages;
use crate::{Scale, head, machine};

/// Backing storage in memory.
struct Memory(Arc<Vec<Vec<u8>>>);

impl Loader for Memory {
    type Error = Infallible;

    fn load(&self, id: PageId, page: &mut [u8]) -> Result<(), Infallible> {
        page.copy_from_slice(&self.0[id as usize]);
        Ok(())
    }

    fn store(&self, _: PageId, _: &[u8]) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Returns the numbers below `items` in random order.
fn shuffled(items: usize) -> Vec<u64> {
    let mut order: Vec<u64> = (0..items as u64).collect();
    let mut rng = Rng::named(1, "scatter");
    (1..items).for_each(|at| order.swap(at, rng.below(at as u64 + 1) as usize));
    order
}

/// Returns `count` random numbers below `items`. Their popularity has a Zipf distribution with exponent 0.99, and the
/// popular numbers are scattered over the range.
fn zipf(items: usize, count: usize, seed: u64) -> Vec<u64> {
    let mut sums = Vec::with_capacity(items);
    let mut sum = 0.0;
    for rank in 1..=items {
        sum += (rank as f64).powf(-0.99);
        sums.push(sum);
    }
    let order = shuffled(items);
    let mut rng = Rng::named(seed, "zipf");
    (0..count).map(|_| order[sums.partition_point(|&below| below < rng.unit() * sum).min(items - 1)]).collect()
}

/// Cache that holds every page.
trait Cached: Sync {
    /// Calls `work` with a cached page, without copying the page.
    fn with<T>(&self, id: u64, work: impl FnOnce(&[u8]) -> T) -> T;

    /// Copies a page.
    fn copy(&self, id: u64, out: &mut [u8]) {
        self.with(id, |page| out.copy_from_slice(page));
    }
}

impl Cached for Pool<Memory> {
    fn with<T>(&self, id: u64, work: impl FnOnce(&[u8]) -> T) -> T {
        work(&self.get(id).expect("the storage never fails"))
    }

    fn copy(&self, id: u64, out: &mut [u8]) {
        self.read(id, out).expect("the storage never fails");
    }
}

type Page = Arc<[u8]>;

impl Cached for quick_cache::sync::Cache<u64, Page> {
    fn with<T>(&self, id: u64, work: impl FnOnce(&[u8]) -> T) -> T {
        work(&self.get(&id).expect("every page is cached"))
    }
}

impl Cached for moka::sync::Cache<u64, Page> {
    fn with<T>(&self, id: u64, work: impl FnOnce(&[u8]) -> T) -> T {
        work(&self.get(&id).expect("every page is cached"))
    }
}

impl Cached for foyer_memory::Cache<u64, Page> {
    fn with<T>(&self, id: u64, work: impl FnOnce(&[u8]) -> T) -> T {
        work(self.get(&id).expect("every page is cached").value())
    }
}

/// Reads one list of page numbers per thread; returns millions of reads per second and a checksum.
fn reads(cache: &impl Cached, ids: &[&[u64]], copies: bool, page_bytes: usize) -> (f64, u64) {
    let start = Barrier::new(ids.len());
    let results: Vec<(f64, u64)> = thread::scope(|scope| {
        let readers: Vec<_> = ids
            .iter()
            .map(|&ids| {
                let start = &start;
                scope.spawn(move || {
                    let mut out = vec![0; page_bytes];
                    let mut sum = 0_u64;
                    start.wait();
                    let began = Instant::now();
                    for &id in ids {
                        let first = |page: &[u8]| page.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
                        sum = sum.wrapping_add(if copies {
                            cache.copy(id, &mut out);
                            first(&out)
                        } else {
                            cache.with(id, first)
                        });
                    }
                    (ids.len() as f64 / began.elapsed().as_secs_f64() / 1e6, sum)
                })
            })
            .collect();
        readers.into_iter().map(|reader| reader.join().expect("readers do not panic")).collect()
    });
    results.into_iter().fold((0.0, 0), |(rate, sum), more| (rate + more.0, sum.wrapping_add(more.1)))
}

/// Prints the table of hits on uncompressed pages.
pub fn raw_hits(scale: Scale) {
    let (items, count, rounds) = scale.pick((100, 1_000, 1), (30_000, 30_000, 100));
    println!("## Two-pool cache: {items} pages, all uncompressed, Zipf reads with exponent 0.99\n");
    println!(
        "Millions of reads per second. Reads copy the page, or read its first word in place. Best of {rounds} rounds.\n"
    );
    head(
        "page | threads | read method | moka | quick_cache | foyer | two-pool cache | relative to the best other cache | result hash",
    );
    for page_bytes in [4096, 8192] {
        let all = Arc::new(pages(items, page_bytes));
        let shared = || all.iter().enumerate().map(|(id, page)| (id as u64, Page::from(&page[..])));
        let moka = moka::sync::Cache::new(4 * items as u64);
        let quick = quick_cache::sync::Cache::new(4 * items);
        let foyer = foyer_memory::CacheBuilder::new(4 * items).build();
        shared().for_each(|(id, page)| moka.insert(id, page));
        shared().for_each(|(id, page)| quick.insert(id, page));
        shared().for_each(|(id, page)| drop(foyer.insert(id, page)));
        moka.run_pending_tasks();
        let budget = Bytes((items * (page_bytes + 400) * 3 / 2 + (1 << 20)) as u64);
        let options = Options {
            share: Share::Fixed { percent: 0.0 },
            raw_policy: policy::policy("sieve").expect("the policy exists"),
            shards: scale.pick(1, 16),
            ..Options::new(budget, page_bytes as u32)
        };
        let pool = Pool::new(options, Memory(Arc::clone(&all))).expect("the options are valid");
        (0..items as u64).for_each(|id| pool.copy(id, &mut vec![0; page_bytes]));
        let ids: Vec<_> = (0..2).map(|thread| zipf(items, count * rounds, thread)).collect();
        for threads in [1, 2] {
            for copies in [false, true] {
                let mut best = [0.0_f64; 4];
                let mut sums = [0; 4];
                // The caches alternate in short rounds, so that interference affects all of them equally and some
                // rounds are free of it.
                for round in 0..rounds {
                    let ids: Vec<_> = ids[..threads].iter().map(|ids| &ids[round * count..][..count]).collect();
                    let results = [
                        reads(&moka, &ids, copies, page_bytes),
                        reads(&quick, &ids, copies, page_bytes),
                        reads(&foyer, &ids, copies, page_bytes),
                        reads(&pool, &ids, copies, page_bytes),
                    ];
                    best = std::array::from_fn(|cache| best[cache].max(results[cache].0));
                    sums = results.map(|(_, sum)| sum);
                    assert!(sums.iter().all(|&sum| sum == sums[0]), "all caches return the same data");
                }
                println!(
                    "| {} KiB | {threads} | {} | {:.1} | {:.1} | {:.1} | {:.1} | **{:.2}** | {:08x} |",
                    page_bytes >> 10,
                    if copies { "copy" } else { "in place" },
                    best[0],
                    best[1],
                    best[2],
                    best[3],
                    best[3] / best[0].max(best[1]).max(best[2]),
                    machine::hash(&sums[0].to_string()),
                );
            }
        }
        assert_eq!(pool.transitions().misses, items as u64, "all timed reads hit uncompressed pages");
    }
    println!();
}

/// Measures only the codec: decompresses all pages in the given order, and compresses one page after each
/// decompression. Returns microseconds per page.
fn codec_alone(spec: &CodecSpec, all: &[Vec<u8>], order: &[u64], frames: usize) -> f64 {
    let page_bytes = all[0].len();
    let mut codec = spec.build().expect("the codec is available");
    let mut out = vec![0; page_bytes];
    let compressed: Vec<_> = all
        .iter()
        .map(|page| {
            let length = codec.compress(page, &mut out).expect("the page is compressible");
            out[..length].to_vec()
        })
        .collect();
    // Compresses as many different frames as the pool has, so that this loop has the same CPU cache misses as the pool.
    let mut raw: Vec<_> = all[..frames].to_vec();
    let began = processor_seconds();
    for (at, &id) in order.iter().enumerate() {
        let frame = &mut raw[at % frames];
        black_box(codec.compress(frame, &mut out));
        codec.decompress(&compressed[id as usize], frame).expect("the page is intact");
    }
    (processor_seconds() - began) * 1e6 / all.len() as f64
}

/// Codec that measures its own time.
struct Timed {
    codec: Box<dyn Codec>,
    nanos: Arc<AtomicU64>,
}

impl Timed {
    fn time<T>(&mut self, work: impl FnOnce(&mut dyn Codec) -> T) -> T {
        let began = Instant::now();
        let result = work(&mut *self.codec);
        self.nanos.fetch_add(began.elapsed().as_nanos() as u64, Relaxed);
        result
    }
}

impl Codec for Timed {
    fn compress(&mut self, page: &[u8], out: &mut [u8]) -> Option<usize> {
        self.time(|codec| codec.compress(page, out))
    }

    fn decompress(&mut self, bytes: &[u8], page: &mut [u8]) -> Result<(), Corrupt> {
        self.time(|codec| codec.decompress(bytes, page))
    }
}

/// Returns the measurement overhead of the clock per call, in microseconds.
fn clock_us() -> f64 {
    const CALLS: u32 = 10_000;
    (0..CALLS).map(|_| Instant::now().elapsed().as_nanos() as f64).sum::<f64>() / f64::from(CALLS) / 1e3
}

/// Prints the table of hits on compressed pages.
pub fn compressed_hits(scale: Scale) {
    let (items, rounds) = scale.pick((400, 1), (20_000, 40));
    println!("## Two-pool cache: hits on compressed pages, {items} pages of 4 KiB, processor time\n");
    println!(
        "All pages are read in place repeatedly, in sequential or one random order. Each read hits a compressed page: the reader decompresses the page and compresses a victim. For comparison, the codec does the same work alone, outside the pool. Separate runs measure the time that a hit spends in the codec; the rest of its time is overhead.\n"
    );
    head(
        "codec | order | hit including victim compression, us | codec alone, us | difference, us | codec in the pool, us | overhead, us | compressed pages per page of memory | external fragmentation, % | result hash",
    );
    let all = Arc::new(pages(items, 4096));
    let (sequential, random) = (("sequential", (0..items as u64).collect()), ("random", shuffled(items)));
    for (spec, (order_name, order)) in
        [("lz4", &sequential), ("lz4", &random), ("zstd:1", &sequential), ("zstd:3", &sequential)]
    {
        let codec: CodecSpec = spec.parse().expect("the codec exists");
        let options = Options {
            share: Share::Fixed { percent: 88.0 },
            codec: codec.clone(),
            max_stored_percent: 90.0,
            raw_policy: policy::policy("fifo").expect("the policy exists"),
            demotion: Demotion::Synchronous,
            shards: 1,
            chunk_bytes: scale.pick(8 << 10, 64 << 10),
            ..Options::new(Bytes((items * 4096) as u64), 4096)
        };
        let pool = Pool::new(options.clone(), Memory(Arc::clone(&all))).expect("the options are valid");
        let nanos = Arc::new(AtomicU64::new(0));
        let timed = {
            let (codec, nanos) = (codec.clone(), Arc::clone(&nanos));
            move || Ok(Box::new(Timed { codec: codec.build()?, nanos: Arc::clone(&nanos) }) as Box<dyn Codec>)
        };
        let timed =
            Pool::with_codec(options, Memory(Arc::clone(&all)), Arc::new(timed)).expect("the options are valid");
        let round = |pool: &Pool<Memory>| {
            let began = processor_seconds();
            order.iter().for_each(|&id| {
                pool.with(id, |page| {
                    black_box(page);
                });
            });
            (processor_seconds() - began) * 1e6 / items as f64
        };
        round(&pool);
        round(&timed);
        let before = pool.transitions();
        let [mut whole, mut alone, mut inside] = [f64::INFINITY; 3];
        for _ in 0..rounds {
            whole = whole.min(round(&pool));
            alone = alone.min(codec_alone(&codec, &all, order, pool.usage().raw_pages as usize));
            nanos.store(0, Relaxed);
            round(&timed);
            inside = inside.min(nanos.load(Relaxed) as f64 / 1e3 / items as f64 - 2.0 * clock_us());
        }
        let during = pool.transitions() - before;
        assert_eq!(during.compressed_hits, (items * rounds) as u64, "every read hits a compressed page");
        let usage = pool.usage();
        println!(
            "| {spec} | {order_name} | {whole:.2} | {alone:.2} | **{:.2}** | {inside:.2} | **{:.2}** | {:.2} | {:.1} | {:08x} |",
            whole - alone,
            whole - inside,
            usage.compressed_pages as f64 * 4096.0 / usage.compressed_bytes as f64,
            usage.external_fragmentation_bytes as f64 * 100.0 / usage.compressed_bytes as f64,
            machine::hash(&format!("{during:?}")),
        );
    }
    println!();
}

/// Prints the table of page compression.
pub fn compressing(scale: Scale) {
    let (items, rounds) = scale.pick((400, 1), (10_000, 7));
    println!("## Two-pool cache: loading and compressing pages of 4 KiB, one caller\n");
    head(
        "codec | synchronous compression, us | codec and copy alone, us | ratio | with a worker, us | compressed by workers, % | result hash",
    );
    let all = Arc::new(pages(items, 4096));
    for spec in ["lz4", "zstd:1", "zstd:3"] {
        let codec: CodecSpec = spec.parse().expect("the codec exists");
        let pool = |demotion| {
            let options = Options {
                codec: codec.clone(),
                max_stored_percent: 90.0,
                demotion,
                shards: 1,
                chunk_bytes: scale.pick(8 << 10, 64 << 10),
                ..Options::new(Bytes((items * 1024) as u64), 4096)
            };
            Pool::new(options, Memory(Arc::clone(&all))).expect("the options are valid")
        };
        let (synchronous, background) =
            (pool(Demotion::Synchronous), pool(Demotion::Background { workers: 1, batch: 16 }));
        let mut out = vec![0; 4096];
        let mut context = codec.build().expect("the codec is available");
        let mut best = [f64::INFINITY; 3];
        let mut time = |which: usize, work: &mut dyn FnMut(u64)| {
            let began = processor_seconds();
            (0..items as u64).for_each(work);
            best[which] = best[which].min((processor_seconds() - began) * 1e6 / items as f64);
        };
        for _ in 0..rounds {
            time(0, &mut |id| synchronous.copy(id, &mut out));
            let mut small = vec![0; 4096];
            time(1, &mut |id| {
                out.copy_from_slice(&all[id as usize]);
                black_box(context.compress(&out, &mut small));
            });
            time(2, &mut |id| background.copy(id, &mut out));
        }
        let counts = background.transitions();
        println!(
            "| {spec} | {:.2} | {:.2} | **{:.2}** | {:.2} | {:.0} | {:08x} |",
            best[0],
            best[1],
            best[1] / best[0],
            best[2],
            counts.demoted_by_workers as f64 * 100.0 / (counts.demoted_by_workers + counts.demoted_by_callers) as f64,
            machine::hash(&format!("{:?}", synchronous.transitions())),
        );
    }
}

/// Prints the tables of the two-pool cache.
pub fn report(scale: Scale) {
    raw_hits(scale);
    compressed_hits(scale);
    compressing(scale);
}
