//! Faults of storage, codec and memory: no write is lost and no wrong byte is read.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use ssdlab_codec::{Codec, Corrupt};

use super::storage::{PAGE_BYTES, Storage, audit, compressed_pages_add_up, options, page, pages_add_up, version};
use crate::{Demotion, Options, Pool, PoolError, Share, Source};

fn read(pool: &Pool<Storage>, id: u64) -> (Source, u64) {
    let mut out = vec![0; PAGE_BYTES];
    let source = pool.read(id, &mut out).unwrap();
    (source, version(id, &out))
}

#[test]
fn corrupted_pages_are_detected_and_reloaded() {
    let pool = Pool::new(options(200 << 10), Storage::default()).unwrap();
    (0..400).for_each(|id| pool.write(id, &page(id, 9)).unwrap());
    let damaged: Vec<u64> = (0..400).filter(|&id| pool.shards()[0].lock().corrupt(id)).collect();
    assert!(damaged.len() > 100, "{}", damaged.len());
    for &id in &damaged {
        assert_eq!(read(&pool, id), (Source::Loader, 9));
    }
    let counts = pool.transitions();
    // Reading a damaged page may evict other damaged pages, so fewer pages are detected.
    assert!(counts.corrupted > 50 && counts.corrupted == counts.compressed_hits - counts.restored, "{counts:?}");
    pages_add_up(&counts, &pool.usage());
    audit(&pool);
}

#[test]
fn a_failed_load_leaves_nothing_behind() {
    let storage = Storage::default();
    let pool = Pool::new(options(200 << 10), storage.clone()).unwrap();
    storage.loads_fail.store(true, SeqCst);
    for id in 0..500 {
        let error = pool.read(id, &mut [0; PAGE_BYTES]).unwrap_err();
        assert!(matches!(error, PoolError::Load { page, .. } if page == id));
        assert_eq!(error.to_string(), format!("loading page {id} failed: injected fault on page {id}"));
        assert!(pool.get(id).is_err());
    }
    storage.loads_fail.store(false, SeqCst);
    assert_eq!(read(&pool, 3), (Source::Loader, 0));
    assert_eq!(pool.transitions().load_errors, 1000);
    assert_eq!(pool.usage().raw_pages, 1);
    audit(&pool);
}

/// On a full disk, dirty pages stay cached, every page can be read, and writes fail if no frame is free.
#[test]
fn a_full_disk_loses_no_write() {
    for share in [Share::Fixed { percent: 0.0 }, Share::Fixed { percent: 60.0 }] {
        let storage = Storage::default();
        let pool = Pool::new(Options { share, ..options(100 << 10) }, storage.clone()).unwrap();
        (1000..1100).for_each(|id| assert_eq!(read(&pool, id).1, 0));
        storage.stores_fail.store(true, SeqCst);
        let written: Vec<u64> = (0..200).filter(|&id| pool.write(id, &page(id, 5)).is_ok()).collect();
        assert!(!written.is_empty() && written.len() < 200, "{}", written.len());
        let error = pool.write(999, &page(999, 1)).unwrap_err();
        assert!(matches!(error, PoolError::Store { .. }) && error.to_string().contains("stays cached"), "{error}");
        assert!(pool.flush().is_err());
        for id in 0..200 {
            assert_eq!(read(&pool, id).1, if written.contains(&id) { 5 } else { 0 });
        }
        assert_eq!(read(&pool, 999).1, 0);
        assert!(pool.transitions().bypassed > 0, "no clean page is evictable");
        assert!(pool.get(2000).is_err());
        // Cached pages can still be written.
        pool.write(written[0], &page(written[0], 6)).unwrap();
        storage.stores_fail.store(false, SeqCst);
        pool.flush().unwrap();
        assert_eq!(storage.version(written[0]), 6);
        assert!(written[1..].iter().all(|&id| storage.version(id) == 5));
        assert_eq!(pool.usage().dirty_pages, 0);
        compressed_pages_add_up(&pool.transitions(), &pool.usage());
        audit(&pool);
    }
}

#[test]
fn pinned_pages_do_not_change() {
    let pool = Pool::new(options(100 << 10), Storage::default()).unwrap();
    let pinned: Vec<_> = (0..10).map(|id| pool.get(id).unwrap()).collect();
    for id in 0..10 {
        pool.write(id, &page(id, 1)).unwrap();
    }
    (100..300).for_each(|id| assert_eq!(read(&pool, id).1, 0));
    for (id, old) in (0..).zip(&pinned) {
        assert_eq!(version(id, old), 0);
        assert_eq!(read(&pool, id).1, 1);
    }
    drop(pinned);
    (100..300).for_each(|id| assert_eq!(read(&pool, id).1, 0));
    audit(&pool);
    // If every uncompressed page is pinned, requests fail with a message that says so.
    let mut pinned = Vec::new();
    let error = (0..1000).find_map(|id| pool.get(id).map(|page| pinned.push(page)).err()).unwrap();
    assert!(matches!(error, PoolError::NoRoom { .. }) && error.to_string().contains("pinned"), "{error}");
    assert!(matches!(pool.write(5000, &page(5000, 1)), Err(PoolError::NoRoom { page: 5000 })));
    assert_eq!(read(&pool, 5000), (Source::Loader, 0));
    drop(pinned);
    pool.write(5000, &page(5000, 1)).unwrap();
    audit(&pool);
}

/// Codec with fault injection.
struct Faulty {
    inner: Box<dyn Codec>,
    faults: Arc<Faults>,
}

#[derive(Default)]
struct Faults {
    never_shrinks: AtomicBool,
    compress_panics: AtomicBool,
    restore_panics: AtomicBool,
    returns_wrong_length: AtomicBool,
}

impl Codec for Faulty {
    fn compress(&mut self, page: &[u8], out: &mut [u8]) -> Option<usize> {
        assert!(!self.faults.compress_panics.load(SeqCst), "panic injected into the codec");
        if self.faults.returns_wrong_length.load(SeqCst) {
            return Some(1 << 40);
        }
        if self.faults.never_shrinks.load(SeqCst) { None } else { self.inner.compress(page, out) }
    }

    fn decompress(&mut self, bytes: &[u8], page: &mut [u8]) -> Result<(), Corrupt> {
        assert!(!self.faults.restore_panics.load(SeqCst), "panic injected into the codec");
        self.inner.decompress(bytes, page)
    }
}

#[test]
fn a_faulty_codec_loses_nothing() {
    let faults = Arc::new(Faults::default());
    for demotion in [Demotion::Synchronous, Demotion::Background { workers: 2, batch: 8 }] {
        let codec_faults = Arc::clone(&faults);
        let make = move || {
            let inner = "lz4".parse::<ssdlab_codec::CodecSpec>().unwrap().build()?;
            Ok(Box::new(Faulty { inner, faults: Arc::clone(&codec_faults) }) as Box<dyn Codec>)
        };
        let storage = Storage::default();
        let pool =
            Pool::with_codec(Options { demotion, ..options(300 << 10) }, storage.clone(), Arc::new(make)).unwrap();
        let mut stamp = 0;
        let mut round = |fault: &AtomicBool, on: bool| {
            fault.store(on, SeqCst);
            stamp += 1;
            (0..500).for_each(|id| pool.write(id, &page(id, stamp)).unwrap());
            (0..500).for_each(|id| assert_eq!(read(&pool, id).1, stamp));
            fault.store(false, SeqCst);
        };
        round(&faults.returns_wrong_length, false);
        round(&faults.never_shrinks, true);
        round(&faults.returns_wrong_length, true);
        let before = pool.transitions();
        assert_eq!(before.codec_panics, 0);
        assert!(before.incompressible_dropped > 500, "{before:?}");
        round(&faults.compress_panics, true);
        round(&faults.returns_wrong_length, false);
        round(&faults.restore_panics, true);
        let counts = pool.transitions();
        assert!(counts.codec_panics > 0 && counts.corrupted > 0, "{counts:?}");
        assert_eq!(counts.worker_panics, 0, "a panic of the codec does not end a batch");
        pool.flush().unwrap();
        assert!((0..500).all(|id| storage.version(id) == 6));
        let counts = pool.transitions();
        assert!(counts.demoted_by_workers + counts.demoted_by_callers > 1000);
    }
}

/// The storage panics in workers and in the caller. The test repeats until a worker has panicked, because on a busy
/// machine the caller may demote all pages itself.
#[test]
fn panics_of_the_storage_lose_no_page() {
    let storage = Storage::default();
    let pool = Pool::new(
        Options { demotion: Demotion::Background { workers: 2, batch: 8 }, ..options(300 << 10) },
        storage.clone(),
    )
    .unwrap();
    let caught = AtomicU64::new(0);
    let (mut round, mut panics) = (0, 0);
    while round < 20 || pool.transitions().worker_panics == 0 {
        round += 1;
        storage.store_panics.store(5, SeqCst);
        for id in 0..400 {
            let write = || pool.write(id, &page(id, round)).unwrap();
            while std::panic::catch_unwind(std::panic::AssertUnwindSafe(write)).is_err() {
                caught.fetch_add(1, SeqCst);
            }
        }
        panics += 5 - storage.store_panics.swap(0, SeqCst);
        (0..400).for_each(|id| assert_eq!(read(&pool, id).1, round));
    }
    pool.flush().unwrap();
    assert!((0..400).all(|id| storage.version(id) == round));
    let counts = pool.transitions();
    assert_eq!(counts.worker_panics + caught.load(SeqCst), panics, "{counts:?}");
    assert_eq!(counts.codec_panics, 0, "{counts:?}");
}
