//! What happened, and where the memory is.

ssdlab_core::counters! {
    /// Every transition of a page, as in flowchart 2b of Harper 2018, and every fault.
    pub struct Transitions {
        raw_hits: "pages", "Reads that found the page raw.";
        compressed_hits: "pages", "Reads that found the page compressed, which takes it out of the compressed pool.";
        misses: "pages", "Reads that did not find the page and began to load it.";
        waits: "times", "Times that a thread waited for another one to bring a page or to make room.";
        restored: "pages", "Compressed pages restored to the raw pool.";
        loaded: "pages", "Pages loaded through the loader into the raw pool.";
        bypassed: "pages", "Reads served without caching the page, because no raw page could be evicted.";
        raw_overwritten: "pages", "Writes that found the page raw.";
        compressed: "pages", "Raw pages that went compressed to the compressed pool.";
        stored_raw: "pages", "Raw pages that did not shrink enough and went uncompressed to the compressed pool.";
        incompressible_dropped: "pages", "Raw pages dropped because they did not shrink enough.";
        cold_dropped: "pages", "Raw pages dropped uncompressed because they were asked for only once.";
        raw_dropped: "pages", "Raw pages dropped because the compressed pool is switched off or had no room.";
        kept_raw: "pages", "Victims that stayed raw because they were hit, written or pinned while they were compressed.";
        compressed_dropped: "pages", "Compressed pages dropped by the policy of the compressed pool.";
        compressed_overwritten: "pages", "Writes that found the page compressed.";
        created: "pages", "Writes that did not find the page.";
        moved: "pages", "Compressed pages moved to empty a chunk.";
        fragmented_dropped: "pages", "Compressed pages dropped to empty a chunk, for want of another place.";
        written_back: "pages", "Dirty pages that the storage below took.";
        store_errors: "pages", "Dirty pages that the storage below refused; they stay dirty.";
        load_errors: "pages", "Loads that the storage below failed.";
        corrupted: "pages", "Compressed pages whose checksum or codec failed; they were loaded anew.";
        codec_panics: "times", "Panics of a codec, taken as pages that do not shrink or that are corrupted.";
        worker_panics: "times", "Panics that ended a batch of a background worker; its pages stayed raw.";
        demoted_by_workers: "pages", "Victims of the raw pool that background workers took care of.";
        demoted_by_callers: "pages", "Victims of the raw pool that a reader or writer took care of itself.";
        share_moves: "times", "Times that the adaptive share of the compressed pool changed.";
    }
}

ssdlab_core::counters! {
    /// Where the memory is. All sizes are what was allocated but for the two of compressed pages.
    pub struct Usage {
        budget_bytes: "bytes", "What the cache may allocate.";
        raw_bytes: "bytes", "Frames of raw pages, with those that are free, pinned or being filled.";
        compressed_bytes: "bytes", "Chunks of the compressed pool with their tables.";
        metadata_bytes: "bytes", "Page tables, policies, ghosts.";
        scratch_bytes: "bytes", "Buffers of workers and of readers at work. Contexts of codecs are not counted.";
        compressed_limit_bytes: "bytes", "Size that the compressed pool may have at present.";
        compressed_content_bytes: "bytes", "Compressed pages, as long as they are.";
        internal_fragmentation_bytes: "bytes", "What their places in chunks are longer.";
        external_fragmentation_bytes: "bytes", "Free places and ends of chunks, and empty chunks.";
        raw_pages: "pages", "Raw pages.";
        compressed_pages: "pages", "Compressed pages.";
        dirty_pages: "pages", "Raw pages to be written back.";
    }
}

impl Usage {
    /// All that counts against the budget.
    pub fn total_bytes(&self) -> u64 {
        self.raw_bytes + self.compressed_bytes + self.metadata_bytes + self.scratch_bytes
    }
}
