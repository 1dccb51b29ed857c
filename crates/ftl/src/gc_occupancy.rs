//! How full of data a plane is while it is collected.

use ssdlab_core::counters;

counters! {
    /// Pages of data in the plane that is collected, added up over the victims.
    ///
    /// Under uniform writes these alone say what write amplification will be. A page is occupied from its program to
    /// the erase of its block; as pages are programmed one after the other, it stays so long, in programs, as there
    /// are occupied pages on average (Little's law), and meanwhile it is overwritten with the chance that it is one
    /// of those valid. Between two victims as many pages are written as the first has yielded: half of that lies
    /// between the average and what is occupied when the next is chosen, however many are collected at a time.
    ///
    /// That holds over whole rounds of collection. A run that ends within a round has written host pages whose copies it
    /// has not made yet, or the other way round.
    pub struct GcOccupancy {
        victims: "blocks", "Victims chosen.";
        before: "pages", "Pages that were not erased since they were written, before the victim was collected.";
        after: "pages", "Pages that were not erased since they were written, after it was collected.";
        valid: "pages", "Valid pages of the plane.";
    }
}

impl GcOccupancy {
    /// Invalid pages for each valid one, half-way through collections: the over-provisioning that collection has. Sums
    /// over the victims, not a mean of ratios: a plane where next to nothing is valid would decide such a mean alone.
    /// None without victims, or if nothing was valid.
    pub fn effective_op(&self) -> Option<f64> {
        (self.valid > 0).then(|| 0.5 * (self.before + self.after) as f64 / self.valid as f64 - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_is_that_of_the_sums() {
        // Three invalid for one valid page, and one for three.
        let [mostly_invalid, mostly_valid] = [1, 3].map(|valid| GcOccupancy { victims: 1, before: 5, after: 3, valid });
        let mut both = mostly_invalid;
        both += mostly_valid;
        assert_eq!((both.victims, both.effective_op()), (2, Some(1.0)));
        assert_eq!(GcOccupancy { valid: 0, ..both }.effective_op(), None);
    }
}
