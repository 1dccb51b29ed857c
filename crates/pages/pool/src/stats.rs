//! Counters of page transitions, and memory usage.

ssdlab_core::counters! {
    /// Counts of page transitions (as in flowchart 2b of Harper 2018) and of faults.
    pub struct Transitions {
        raw_hits: "pages", "Reads that found the page uncompressed.";
        compressed_hits: "pages", "Reads that found the page compressed and removed it from the compressed pool.";
        misses: "pages", "Reads of a page that was not cached; each started to load the page.";
        waits: "times", "Number of times that a thread waited for another thread to load a page or free a frame.";
        restored: "pages", "Compressed pages restored to the raw pool.";
        loaded: "pages", "Pages loaded through the loader into the raw pool.";
        bypassed: "pages", "Reads served without caching the page because no raw page was evictable.";
        raw_overwritten: "pages", "Writes that found the page uncompressed.";
        compressed: "pages", "Raw pages compressed into the compressed pool.";
        stored_raw: "pages", "Raw pages that did not shrink enough and moved uncompressed to the compressed pool.";
        incompressible_dropped: "pages", "Raw pages dropped because they did not shrink enough.";
        cold_dropped: "pages", "Raw pages dropped without compression because they were requested only once.";
        raw_dropped: "pages", "Raw pages dropped because the compressed pool is disabled or full.";
        kept_raw: "pages", "Victims that stayed uncompressed because they were hit, written or pinned during \
                            compression.";
        compressed_dropped: "pages", "Compressed pages dropped by the policy of the compressed pool.";
        compressed_overwritten: "pages", "Writes that found the page compressed.";
        created: "pages", "Writes of a page that was not cached.";
        moved: "pages", "Compressed pages moved to another chunk in order to empty a chunk.";
        fragmented_dropped: "pages", "Compressed pages dropped while emptying a chunk because no other block was free.";
        written_back: "pages", "Dirty pages written to the backing storage.";
        store_errors: "pages", "Failed writes of dirty pages to the backing storage; the pages stay dirty.";
        load_errors: "pages", "Failed loads from the backing storage.";
        corrupted: "pages", "Compressed pages whose checksum was wrong or whose codec failed; they were loaded again.";
        codec_panics: "times", "Panics in a codec; the affected page is treated as incompressible or corrupted.";
        worker_panics: "times", "Panics that ended a batch of a background worker; the batch's pages stayed \
                                 uncompressed.";
        demoted_by_workers: "pages", "Raw-pool victims processed by background workers.";
        demoted_by_callers: "pages", "Raw-pool victims processed inline by a reader or writer.";
        share_moves: "times", "Number of times that the adaptive share of the compressed pool changed.";
    }
}

ssdlab_core::counters! {
    /// Memory usage of the cache. All values are allocated memory, except the size of the compressed contents and the
    /// limit of the compressed pool.
    pub struct Usage {
        budget_bytes: "bytes", "Memory budget of the cache.";
        raw_bytes: "bytes", "Memory of frames for raw pages, including free and pinned frames and frames being filled.";
        compressed_bytes: "bytes", "Memory of the compressed pool's chunks and their tables.";
        metadata_bytes: "bytes", "Memory of page tables, policies and ghost entries.";
        scratch_bytes: "bytes", "Memory of the buffers of workers and active readers, without codec contexts.";
        compressed_limit_bytes: "bytes", "Current maximum size of the compressed pool.";
        compressed_content_bytes: "bytes", "Total size of the compressed pages.";
        internal_fragmentation_bytes: "bytes", "Unused bytes in occupied blocks of chunks.";
        external_fragmentation_bytes: "bytes", "Unused bytes in free blocks, at the ends of chunks, and in empty \
                                                chunks.";
        raw_pages: "pages", "Raw pages.";
        compressed_pages: "pages", "Compressed pages.";
        dirty_pages: "pages", "Dirty raw pages, which must still be written back.";
    }
}

impl Usage {
    /// Returns the memory in bytes that counts against the budget.
    pub fn total_bytes(&self) -> u64 {
        self.raw_bytes + self.compressed_bytes + self.metadata_bytes + self.scratch_bytes
    }
}
