//! Compares the simulated two-pool cache with the real one: the same reads and writes must give the same counts of all
//! common transitions. The codec shrinks pages to the lengths of the model.
#![cfg(not(feature = "shuttle"))]

use std::convert::Infallible;
use std::sync::Arc;

use ssdlab_cache::{CompressedPool, POLICIES, PageSizes, WriteBackCache, WriteBackOptions, WriteMode};
use ssdlab_codec::{Codec, Corrupt};
use ssdlab_core::counters::{Counter, Counters};
use ssdlab_core::{Bytes, Rng};
use ssdlab_pool::{Demotion, Loader, Options, PageId, Pool, Share};
use ssdlab_trace::{Op, Request};

const PAGE: u32 = 1024;
const SEED: u64 = 5;
/// All compressed pages have the same length, so that the real pool has no fragmentation.
const SIZES: PageSizes = PageSizes { ratio: 1.9, spread: 0.0, incompressible: 0.0, max_stored: 0.75 };

/// Storage of pages that contain their number and zeros.
struct Numbers;

impl Loader for Numbers {
    type Error = Infallible;

    fn load(&self, id: PageId, page: &mut [u8]) -> Result<(), Infallible> {
        page.fill(0);
        page[..8].copy_from_slice(&id.to_le_bytes());
        Ok(())
    }

    fn store(&self, _: PageId, _: &[u8]) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Codec that shortens a page to the length that the model predicts.
struct Model(PageSizes);

impl Codec for Model {
    fn compress(&mut self, page: &[u8], out: &mut [u8]) -> Option<usize> {
        let id = u64::from_le_bytes(page[..8].try_into().expect("the slice has eight bytes"));
        let length = self.0.stored_bytes(id, PAGE, SEED)? as usize;
        out[..length].copy_from_slice(&page[..length]);
        Some(length)
    }

    fn decompress(&mut self, bytes: &[u8], page: &mut [u8]) -> Result<(), Corrupt> {
        page.fill(0);
        page[..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
}

fn real(raw: &str, compressed: &str, sizes: PageSizes) -> Pool<Numbers> {
    let options = Options {
        share: Share::Fixed { percent: 40.0 },
        raw_policy: ssdlab_pool::policy::policy(raw).expect("the policy exists"),
        compressed_policy: ssdlab_pool::policy::policy(compressed).expect("the policy exists"),
        demotion: Demotion::Synchronous,
        shards: 1,
        ..Options::new(Bytes(400 << 10), PAGE)
    };
    Pool::with_codec(options, Numbers, Arc::new(move || Ok(Box::new(Model(sizes))))).expect("the options are valid")
}

/// Returns the numbers of uncompressed and compressed pages that fit in the real pools besides their tables.
fn capacity(raw: &str, compressed: &str) -> (u64, u64) {
    let pool = real(raw, compressed, SIZES);
    for id in 0..2_000 {
        pool.read(id, &mut [0; PAGE as usize]).expect("the page is loaded");
    }
    (pool.usage().raw_pages, pool.usage().compressed_pages)
}

#[test]
fn simulated_pools_match_the_real_ones() {
    let length = u64::from(SIZES.stored_bytes(0, PAGE, SEED).expect("the page shrinks"));
    for (raw, compressed, incompressible) in [
        ("lru", "fifo", 0.0),
        ("lru", "lru", 0.3),
        ("fifo", "fifo", 0.1),
        ("clock", "fifo", 0.2),
        ("sieve", "clock", 0.0),
        ("sieve", "fifo", 1.0),
    ] {
        let (raw_pages, compressed_pages) = capacity(raw, compressed);
        assert!(raw_pages > 100 && compressed_pages > 100, "{raw_pages} {compressed_pages}");
        let sizes = PageSizes { incompressible, ..SIZES };
        let pool = real(raw, compressed, sizes);
        let options = WriteBackOptions {
            page_bytes: PAGE,
            capacity_pages: raw_pages,
            writes: WriteMode::Back,
            background_percent: 100,
            hard_percent: 100,
        };
        let compressed_pool = CompressedPool {
            policy: POLICIES.get(compressed).expect("the policy exists"),
            bytes: compressed_pages * length,
            sizes,
            seed: SEED,
        };
        let stage = WriteBackCache::new(POLICIES.get(raw).expect("the policy exists"), &[], options)
            .and_then(|stage| stage.compressing(compressed_pool));
        let mut stage = stage.expect("the options are valid");
        let mut rng = Rng::named(3, "model");
        for _ in 0..60_000 {
            // Skewed: higher page numbers are rarer.
            let id = (rng.unit() * rng.unit() * 1_500.0) as u64;
            let op = if rng.below(4) == 0 { Op::Write } else { Op::Read };
            let mut page = [0; PAGE as usize];
            if op == Op::Write {
                page[..8].copy_from_slice(&id.to_le_bytes());
                pool.write(id, &page).expect("the page is written");
            } else {
                pool.read(id, &mut page).expect("the page is read");
                assert_eq!(page[..8], id.to_le_bytes());
            }
            let request = Request { time_ns: 0, offset: id * u64::from(PAGE), bytes: PAGE, op, flags: 0, stream: 0 };
            stage.submit(&request, &mut |_, _| {}).expect("the request is valid");
        }
        let (real, model) = (pool.transitions(), stage.transitions());
        for (Counter { name, .. }, value) in model.rows() {
            match real.rows().find(|(known, _)| known.name == *name) {
                Some((_, real)) => assert_eq!(value, real, "{name} with {raw}, {compressed}, {incompressible}"),
                None => assert!(name.ends_with("trimmed"), "the pool has no counter {name}"),
            }
        }
        assert_eq!(stage.counters().evicted, real.written_back);
        assert!(real.misses + real.created > 10_000, "{real:?}");
        assert_eq!(
            (stage.raw_pages(), stage.compressed_pages().0),
            (pool.usage().raw_pages, pool.usage().compressed_pages)
        );
    }
}
