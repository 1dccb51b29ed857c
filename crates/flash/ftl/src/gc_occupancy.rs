//! Fill level of a plane during garbage collection.

use ssdlab_core::counters;

counters! {
    /// Number of pages of data in the collected plane, summed over the victims.
    ///
    /// Under uniform writes these sums alone determine write amplification. A page is occupied from its program to the
    /// erase of its block. By Little's law its mean stay, in programs, is the mean number of occupied pages. During its
    /// stay, a page is overwritten with the probability that it is one of the valid pages. Between two victims, as many
    /// pages are written as the first victim freed. Half of them lie between the mean and the level at the next choice,
    /// however many blocks are collected at a time.
    ///
    /// This holds over whole rounds of collection. A run that ends within a round may have written host pages before
    /// the copies that belong to them, or the reverse.
    pub struct GcOccupancy {
        victims: "blocks", "Victims chosen.";
        before: "pages", "Pages written and not erased, before the victim is collected.";
        after: "pages", "Pages written and not erased, after the victim is collected.";
        valid: "pages", "Valid pages of the plane.";
    }
}

impl GcOccupancy {
    /// Returns the invalid pages per valid page, averaged over before and after each collection: the over-provisioning
    /// available to garbage collection. It is a ratio of sums; in a mean of ratios, a nearly empty plane would
    /// dominate. None without victims or valid pages.
    pub fn effective_op(&self) -> Option<f64> {
        (self.valid > 0).then(|| 0.5 * (self.before + self.after) as f64 / self.valid as f64 - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_is_the_ratio_of_the_sums() {
        // Three invalid pages per valid page, and three valid pages per invalid page.
        let [mostly_invalid, mostly_valid] = [1, 3].map(|valid| GcOccupancy { victims: 1, before: 5, after: 3, valid });
        let mut both = mostly_invalid;
        both += mostly_valid;
        assert_eq!((both.victims, both.effective_op()), (2, Some(1.0)));
        assert_eq!(GcOccupancy { valid: 0, ..both }.effective_op(), None);
    }
}
