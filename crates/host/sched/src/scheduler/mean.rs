//! Decaying mean that anticipatory and CFQ use for think times and seek distances; a new sample has weight 1/8.

/// Decaying mean in fixed-point arithmetic.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mean {
    /// Weight of the samples: each adds 32 to 7/8 of the earlier weight, so the weight stays below 256.
    pub samples: u64,
    total: u64,
    /// Mean of the samples, in the unit of the samples.
    pub mean: u64,
}

impl Mean {
    pub fn add(&mut self, sample: u64) {
        self.samples = (7 * self.samples + 256) / 8;
        self.total = (7 * self.total + 256 * sample) / 8;
        self.mean = (self.total + self.samples / 2) / self.samples;
    }

    /// Adds a seek distance to the mean. Limits the distance, so that a single far request does not dominate the mean.
    pub fn add_seek(&mut self, distance: u64) {
        let slack = if self.samples <= 60 { 2 << 20 } else { 2 << 16 };
        self.add(distance.min(4 * self.mean + slack));
    }

    /// True once the mean has at least three samples.
    pub fn is_valid(&self) -> bool {
        self.samples > 80
    }
}
