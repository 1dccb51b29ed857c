//! Number of occupied pages in a plane before and after garbage collection.

use ssdlab_core::counters;

counters! {
    /// Number of occupied pages in the plane of each collected victim, summed over all victims.
    ///
    /// Under uniform writes, these sums alone determine write amplification. A page is occupied from its program to the
    /// erase of its block. By Little's law, the mean time for which a page stays occupied equals the mean number of
    /// occupied pages, if time is counted in programs. During this time, each host write overwrites a given valid page
    /// with a probability of 1 / (number of valid pages). Between two collections, the number of pages written equals
    /// the number of pages that the first collection freed. The mean number of occupied pages is therefore half-way
    /// between the numbers before and after a collection. This holds even if several blocks are collected together.
    ///
    /// These relations hold for complete rounds of collection. If a run ends in the middle of a round, the host pages
    /// of this round may be counted without its relocated pages, or the other way round.
    pub struct GcOccupancy {
        victims: "blocks", "Victims chosen.";
        before: "pages", "Occupied pages (written, not yet erased) in the plane before each collection, summed over \
                          all victims.";
        after: "pages", "Occupied pages (written, not yet erased) in the plane after each collection, summed over \
                         all victims.";
        valid: "pages", "Valid pages in the plane at each collection, summed over all victims.";
    }
}

impl GcOccupancy {
    /// Returns the over-provisioning available to garbage collection: invalid pages per valid page, averaged over the
    /// states before and after each collection. It is a ratio of sums, because a nearly empty plane would dominate a
    /// mean of ratios. None if no victim was chosen, or no page was valid.
    pub fn effective_op(&self) -> Option<f64> {
        (self.valid > 0).then(|| 0.5 * (self.before + self.after) as f64 / self.valid as f64 - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effective_op_is_the_ratio_of_the_sums() {
        // The first plane has three invalid pages per valid page, the second has three valid pages per invalid page.
        let [mostly_invalid, mostly_valid] = [1, 3].map(|valid| GcOccupancy { victims: 1, before: 5, after: 3, valid });
        let mut both = mostly_invalid;
        both += mostly_valid;
        assert_eq!((both.victims, both.effective_op()), (2, Some(1.0)));
        assert_eq!(GcOccupancy { valid: 0, ..both }.effective_op(), None);
    }
}
