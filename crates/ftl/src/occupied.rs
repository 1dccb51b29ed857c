//! How full of data a plane is while it is collected.

use std::ops::{AddAssign, Sub};

/// Pages of data in the plane that is collected, added up over the victims.
///
/// Under uniform writes these alone say what write amplification will be. A page is occupied from its program to the erase
/// of its block; as pages are programmed one after the other, it stays so long, in programs, as there are occupied pages
/// on average (Little's law), and meanwhile it is overwritten with the chance that it is one of those valid. Between two
/// victims as many pages are written as the first has yielded: half of that lies between the average and what is occupied
/// when the next is chosen, however many are collected at a time.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Occupied {
    /// Victims chosen.
    pub victims: u64,
    /// Pages that were not erased since they were written, before the victim was collected.
    pub before: u64,
    /// The same afterwards.
    pub after: u64,
    /// Of these, valid.
    pub valid: u64,
}

impl Occupied {
    /// Invalid pages for each valid one, half-way through collections: the over-provisioning that collection has. None
    /// without victims, or if nothing was valid.
    pub fn effective_op(&self) -> Option<f64> {
        (self.valid > 0).then(|| 0.5 * (self.before + self.after) as f64 / self.valid as f64 - 1.0)
    }
}

impl AddAssign for Occupied {
    fn add_assign(&mut self, other: Self) {
        self.victims += other.victims;
        self.before += other.before;
        self.after += other.after;
        self.valid += other.valid;
    }
}

impl Sub for Occupied {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            victims: self.victims - earlier.victims,
            before: self.before - earlier.before,
            after: self.after - earlier.after,
            valid: self.valid - earlier.valid,
        }
    }
}
