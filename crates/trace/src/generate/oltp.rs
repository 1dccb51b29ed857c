//! Blocks of three classes: hot, idle and the rest.

use ssdlab_core::Rng;

use super::{Space, WHOLE, percent, share, share_of, wrong};
use crate::TraceError;
use crate::scatter::Scatter;

#[derive(Clone, Debug)]
pub(super) struct Oltp {
    hot_requests: f64,
    hot_blocks: u64,
    /// Blocks neither hot nor idle.
    other_blocks: u64,
    /// Slots of a block.
    block_slots: u64,
    /// Slots of a block from which the largest request ends within it.
    starts: u64,
    /// Where the blocks go of which the first are hot, the next neither and the last idle.
    scatter: Scatter,
}

impl Oltp {
    /// `hot` and `idle` are shares of the blocks.
    pub fn new(
        block_bytes: u32,
        [hot, idle]: [f64; 2],
        hot_requests: f64,
        space: Space,
        rng: &mut Rng,
    ) -> Result<Self, TraceError> {
        let Space { align, span, largest } = space;
        let block = space.whole_slots("block_bytes", block_bytes)? * align;
        share("hot_blocks", hot)?;
        share("hot_requests", hot_requests)?;
        share("idle_blocks", idle)?;
        if largest > block {
            let least = largest.next_multiple_of(align);
            let raise = if least <= span { format!("raise it to {least}B or ") } else { String::new() };
            let why =
                format!("{block} bytes do not hold the largest request of {largest}; {raise}lower sizes to {block}B");
            return wrong("block_bytes", why);
        }
        let blocks = span / block;
        let (hot_blocks, idle_blocks) = (share_of(blocks, hot), share_of(blocks, idle));
        // What the other requests need, if there are any.
        let others = u64::from(hot_requests < 1.0);
        if hot + idle > WHOLE {
            let lower = |most: u64, other: f64| percent(down(most, blocks).min(1.0 - other));
            let mut remedies = Vec::new();
            if hot_blocks + others <= blocks {
                remedies.push(format!("lower it to {}", lower(blocks - hot_blocks - others, hot)));
            }
            if idle_blocks + others < blocks {
                remedies.push(format!("lower hot_blocks to {}", lower(blocks - idle_blocks - others, idle)));
            }
            let why = format!(
                "{} idle and {} hot blocks are more than all; {}",
                percent(idle),
                percent(hot),
                if remedies.is_empty() { "lower both".into() } else { remedies.join(" or ") }
            );
            return wrong("idle_blocks", why);
        }
        let other_blocks = blocks - hot_blocks - idle_blocks.min(blocks - hot_blocks);
        if hot_blocks == 0 && hot_requests > 0.0 {
            let least = libm::ceil(1e6 / blocks as f64) / 1e6;
            let is_remedy = least + idle <= WHOLE && other_blocks > others;
            let raise = if is_remedy { format!("raise it to {} or ", percent(least)) } else { String::new() };
            let why = format!("{} of {blocks} blocks leaves none hot; {raise}enlarge the span", percent(hot));
            return wrong("hot_blocks", why);
        }
        if other_blocks < others {
            let lower = if hot_blocks < blocks {
                format!("lower it to {} or ", percent(down(blocks - hot_blocks - others, blocks)))
            } else {
                String::new()
            };
            let why = format!(
                "{} idle and {} hot of {blocks} blocks leave none for the other requests; {lower}enlarge the span",
                percent(idle),
                percent(hot)
            );
            return wrong("idle_blocks", why);
        }
        Ok(Self {
            hot_requests,
            hot_blocks,
            other_blocks,
            block_slots: block / align,
            starts: (block - largest) / align + 1,
            scatter: Scatter::new(blocks, rng),
        })
    }

    /// The next slot.
    pub fn next(&self, rng: &mut Rng) -> u64 {
        let hot = rng.unit() < self.hot_requests;
        let block = if hot { rng.below(self.hot_blocks) } else { self.hot_blocks + rng.below(self.other_blocks) };
        self.scatter.apply(block) * self.block_slots + rng.below(self.starts)
    }
}

/// So many of `blocks` as a share, rounded down to what a percentage is written in.
fn down(count: u64, blocks: u64) -> f64 {
    libm::floor(1e6 * count as f64 / blocks as f64) / 1e6
}

#[cfg(test)]
mod tests {
    use crate::testing::{generate, refusal, workload};
    use crate::{Pattern, Workload};

    fn oltp(hot_blocks: f64, hot_requests: f64, idle_blocks: f64) -> Workload {
        workload(Pattern::Oltp { block_bytes: 128 << 10, hot_blocks, hot_requests, idle_blocks })
    }

    /// Goal: classes have their sizes and shares. Method: 512 blocks; 66 % of 10^5 requests on 11 of them, the rest
    /// on 395, and none on 106.
    #[test]
    fn classes_of_blocks_have_their_shares() {
        let mut counts = vec![0_u32; 512];
        for request in generate(&oltp(0.022, 0.66, 0.208)) {
            let block = request.offset >> 17;
            assert_eq!(block, (request.end() - 1) >> 17, "a request stays within its block");
            counts[block as usize] += 1;
        }
        let idle = counts.iter().filter(|&&n| n == 0).count();
        let hot: Vec<u32> = counts.iter().copied().filter(|&n| n > 1000).collect();
        assert_eq!((idle, hot.len()), (106, 11));
        // Standard deviation 0.0015, and within the class 76 of 6,000: six sigma.
        let share = f64::from(hot.iter().sum::<u32>()) / 1e5;
        assert!((share - 0.66).abs() < 0.01, "{share}");
        assert!(hot.iter().all(|n| n.abs_diff(6000) < 450), "{hot:?}");
        // Classes are scattered: hot blocks do not stand together.
        let first = counts.iter().position(|&n| n > 1000).unwrap();
        assert!(counts[first..first + 11].iter().any(|&n| n < 1000));
    }

    #[test]
    fn shares_that_leave_nothing_are_refused() {
        assert_eq!(refusal(&oltp(0.022, 0.66, 0.208)), "");
        assert_eq!(
            refusal(&oltp(0.6, 0.66, 0.5)),
            "workload idle_blocks: 50% idle and 60% hot blocks are more than all; lower it to 39.8437% or lower \
             hot_blocks to 49.8046%"
        );
        assert_eq!(refusal(&oltp(0.6, 0.66, 0.398_437)), "");
        assert_eq!(refusal(&oltp(0.498_046, 0.66, 0.5)), "");
        assert!(
            refusal(&oltp(0.0005, 0.66, 0.0)).contains("0.05% of 512 blocks leaves none hot; raise it to 0.1954% or")
        );
        assert_eq!(refusal(&oltp(0.001_954, 0.66, 0.0)), "");
        assert!(refusal(&oltp(0.0005, 0.66, 0.9994)).contains("leaves none hot; enlarge the span"));
        assert!(
            refusal(&oltp(0.5, 0.66, 0.5)).contains("none for the other requests; lower it to 49.8046% or enlarge")
        );
        assert_eq!(refusal(&oltp(0.5, 1.0, 0.5)), "");
        assert!(refusal(&oltp(-0.1, 1.0, 0.5)).contains("from 0 to 1"));
        let block = |block_bytes| {
            let pattern = Pattern::Oltp { block_bytes, hot_blocks: 0.5, hot_requests: 0.5, idle_blocks: 0.0 };
            refusal(&workload(pattern))
        };
        assert!(block(8192).contains("the largest request of 16384; raise it to 16384B or lower sizes to 8192B"));
        assert!(block(10_000).contains("not a multiple of the alignment of 4096; write 8192B or 12288B"));
        assert!(block(128 << 20).contains("more than the span"));
    }
}
