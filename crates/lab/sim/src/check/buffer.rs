//! Checks that reads through a write buffer return the last write of the host.
//!
//! [`DataChecker`](crate::check::data_checker::DataChecker) checks only the writes of the FTL. This oracle also records
//! which host write produced each page that the FTL writes, and which pages are in the buffer.

use rustc_hash::FxHashMap;

/// Checks host reads by page versions. The version of a page is the sequence number of the host write that wrote it.
#[derive(Debug, Default)]
pub(crate) struct BufferOracle {
    written: u64,
    /// Version of each page that the host wrote last.
    host: FxHashMap<u32, u64>,
    /// Version of each page that the buffer last passed to the FTL.
    flash: FxHashMap<u32, u64>,
    pub violation: Option<String>,
}

impl BufferOracle {
    /// Records a host write of a page and returns the version of the page.
    pub fn write(&mut self, lpn: u32) -> u64 {
        self.written += 1;
        self.host.insert(lpn, self.written);
        self.written
    }

    /// Records that a page with the given version was moved from the buffer to flash.
    pub fn flush(&mut self, lpn: u32, version: u64) {
        if self.flash.insert(lpn, version).is_some_and(|before| before > version) {
            self.blame(lpn, "an older version was written to flash after a newer version");
        }
    }

    pub fn trim(&mut self, lpn: u32) {
        self.host.remove(&lpn);
        self.flash.remove(&lpn);
    }

    /// Checks the data that a host read returned: the version in `buffered` if the page was buffered, otherwise the
    /// version in flash.
    pub fn read(&mut self, lpn: u32, buffered: Option<u64>) {
        let returned = buffered.or_else(|| self.flash.get(&lpn).copied());
        if returned != self.host.get(&lpn).copied() {
            self.blame(lpn, "a read did not return the last written version");
        }
    }

    fn blame(&mut self, lpn: u32, what: &str) {
        self.violation.get_or_insert_with(|| format!("write buffer, logical page {lpn}: {what}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_and_late_writes_are_violations() {
        let found = |act: &dyn Fn(&mut BufferOracle)| {
            let mut oracle = BufferOracle::default();
            let first = oracle.write(3);
            assert_eq!(first, 1);
            act(&mut oracle);
            oracle.violation.unwrap_or_default()
        };
        assert_eq!(found(&|oracle| oracle.read(3, Some(1))), "");
        assert!(found(&|oracle| oracle.read(3, None)).contains("last written version"));
        let flushed = |oracle: &mut BufferOracle| {
            oracle.flush(3, 1);
            oracle.read(3, None);
        };
        assert_eq!(found(&flushed), "");
        let late = |oracle: &mut BufferOracle| {
            let second = oracle.write(3);
            oracle.flush(3, second);
            oracle.flush(3, 1);
        };
        assert!(found(&late).contains("older version"));
        let trimmed = |oracle: &mut BufferOracle| {
            oracle.trim(3);
            oracle.read(3, Some(1));
        };
        assert!(found(&trimmed).contains("last written version"));
    }
}
