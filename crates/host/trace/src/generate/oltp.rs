//! Generates addresses in blocks of three classes: hot blocks, idle blocks (without requests) and other blocks.

use ssdlab_core::parameter::percent;
use ssdlab_core::units::write_bytes;
use ssdlab_core::{Info, Parameter, Rng, Settings, Unit};

use super::addresses::{Addresses, PatternInfo, PatternRules};
use super::check::{WHOLE, down, ensure, in_percent, share_of, up};
use super::scatter::Scatter;
use super::space::{PART_MAX, RequestTarget, Space};
use crate::TraceError;

const ALL: [u64; 2] = [0, percent(100)];

const BLOCK: Parameter =
    Parameter::new("block", Unit::Bytes, 128 << 10, [512, PART_MAX], "Block size.").example(256 << 10);
const HOT_BLOCKS: Parameter =
    Parameter::new("hot_blocks", Unit::Share, percent(22) / 10, ALL, "Share of the blocks that are hot.")
        .example(percent(5));
const HOT_REQUESTS: Parameter =
    Parameter::new("hot_requests", Unit::Share, percent(66), ALL, "Share of the requests that go to hot blocks.")
        .example(percent(80));
const IDLE_BLOCKS: Parameter =
    Parameter::new("idle_blocks", Unit::Share, percent(208) / 10, ALL, "Share of the blocks that no request touches.")
        .example(percent(10));

pub(super) static INFO: PatternInfo = Info {
    name: "oltp",
    help: "hot, idle and other blocks scattered over the device, as in a database",
    source: "",
    parameters: &[BLOCK, HOT_BLOCKS, HOT_REQUESTS, IDLE_BLOCKS],
    role: PatternRules::of::<Oltp>(),
};

#[derive(Debug)]
struct Oltp {
    align: u64,
    hot_requests: f64,
    hot_blocks: u64,
    /// Number of blocks that are neither hot nor idle.
    other_blocks: u64,
    /// Size in slots of the blocks that the pattern divides the span into.
    block_slots: u64,
    /// Number of slots in a block where the largest request can start without passing the end of the block.
    starts: u64,
    /// Permutation of the blocks: first the hot blocks, then the other blocks, then the idle blocks.
    scatter: Scatter,
}

impl Addresses for Oltp {
    /// Checks that the blocks can receive the requests: there is at least one hot block, and at least one block that is
    /// neither hot nor idle. A class of blocks may be empty if it receives no requests. Idle blocks never receive any.
    fn check(settings: &Settings, space: Space) -> Result<(), TraceError> {
        let (block_bytes, hot_requests) = (settings.get(BLOCK.name), settings.fraction(HOT_REQUESTS.name));
        let [hot, idle] = [HOT_BLOCKS, IDLE_BLOCKS].map(|class| settings.fraction(class.name));
        space.check_slots(BLOCK.name, block_bytes)?;
        space.check_holds_largest(BLOCK.name, block_bytes)?;
        let blocks = space.span / block_bytes;
        let of = |count: u64| count as f64 / blocks as f64;
        let (hot_blocks, idle_blocks) = (share_of(blocks, hot), share_of(blocks, idle));
        // Minimum number of blocks that are neither hot nor idle.
        let others = u64::from(hot_requests < 1.0);
        let (size, hot_share, idle_share) = (write_bytes(block_bytes), in_percent(hot), in_percent(idle));
        let is_enough = blocks > 1 || hot_requests <= 0.0 || hot_requests >= 1.0;
        let why = format!("the span has only one block of {size}, so the hot share of the requests must be 100%");
        ensure!(is_enough, "hot_requests", "{why}; raise it to 100%");
        let why = format!("a hot share of {hot_share} leaves none of the {blocks} blocks hot");
        let is_enough = hot_blocks > 0 || hot_requests <= 0.0;
        ensure!(is_enough, "hot_blocks", "{why}; raise it to {}", in_percent(up(of(1))));
        let most = in_percent(down(of(blocks.saturating_sub(others))));
        let none_left = "leaves no block for the other requests";
        let why = format!("a hot share of {hot_share} of {blocks} blocks {none_left}; lower it to {most}");
        ensure!(hot_blocks + others <= blocks, "hot_blocks", "{why}");
        let most = in_percent(down(of(blocks - hot_blocks - others).min(1.0 - hot)));
        let why = format!("with {hot_share} of {blocks} blocks hot, an idle share of {idle_share} {none_left}");
        let is_enough = hot_blocks + idle_blocks + others <= blocks && hot + idle <= WHOLE;
        ensure!(is_enough, "idle_blocks", "{why}; lower it to {most}");
        Ok(())
    }

    fn new(settings: &Settings, space: Space, rng: &mut Rng) -> Self {
        let Space { align, span, largest, .. } = space;
        let block = settings.get(BLOCK.name);
        let blocks = span / block;
        let [hot, idle] = [HOT_BLOCKS, IDLE_BLOCKS].map(|class| settings.fraction(class.name));
        let (hot_blocks, idle_blocks) = (share_of(blocks, hot), share_of(blocks, idle));
        Self {
            align,
            hot_requests: settings.fraction(HOT_REQUESTS.name),
            hot_blocks,
            other_blocks: blocks - hot_blocks - idle_blocks.min(blocks - hot_blocks),
            block_slots: block / align,
            starts: (block - largest) / align + 1,
            scatter: Scatter::new(blocks, rng),
        }
    }

    fn next(&mut self, bytes: u32, rng: &mut Rng) -> RequestTarget {
        let hot = rng.unit() < self.hot_requests;
        let block = if hot { rng.below(self.hot_blocks) } else { self.hot_blocks + rng.below(self.other_blocks) };
        let slot = self.scatter.apply(block) * self.block_slots + rng.below(self.starts);
        RequestTarget { offset: slot * self.align, bytes, stream: 0 }
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::parameter::decimal;

    use crate::Workload;
    use crate::testing::{generate, refusal, workload};

    fn oltp(hot_blocks: f64, hot_requests: f64, idle_blocks: f64) -> Workload {
        let [hot_blocks, hot_requests, idle_blocks] = [hot_blocks, hot_requests, idle_blocks].map(decimal);
        let shares = [("hot_blocks", hot_blocks), ("hot_requests", hot_requests), ("idle_blocks", idle_blocks)];
        workload("oltp", &shares)
    }

    /// Goal: the classes of blocks have the configured sizes and shares of requests. Method: counts the requests of
    /// each of 512 blocks. Of 10^5 requests, 66 % go to 11 hot blocks, the rest to 395 blocks, and none to 106 idle
    /// blocks.
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
        // The standard deviation is 0.0015 for the share of the hot blocks, and 76 for the 6,000 requests to one hot
        // block. The bounds are about six times that.
        let share = f64::from(hot.iter().sum::<u32>()) / 1e5;
        assert!((share - 0.66).abs() < 0.01, "{share}");
        assert!(hot.iter().all(|n| n.abs_diff(6000) < 450), "{hot:?}");
        // Classes are scattered: hot blocks are not adjacent.
        let first = counts.iter().position(|&n| n > 1000).unwrap();
        assert!(counts[first..first + 11].iter().any(|&n| n < 1000));
    }

    #[test]
    fn shares_that_leave_an_empty_class_are_rejected() {
        assert_eq!(refusal(&oltp(0.022, 0.66, 0.208)), "");
        assert_eq!(
            refusal(&oltp(0.6, 0.66, 0.5)),
            "workload idle_blocks: with 60% of 512 blocks hot, an idle share of 50% leaves no block for the other \
             requests; lower it to 39.8437%"
        );
        assert_eq!(refusal(&oltp(0.6, 0.66, 0.398_437)), "");
        assert!(
            refusal(&oltp(0.0005, 0.66, 0.0)).ends_with("0.05% leaves none of the 512 blocks hot; raise it to 0.1954%")
        );
        assert_eq!(refusal(&oltp(0.001_954, 0.66, 0.0)), "");
        assert!(refusal(&oltp(0.001_954, 0.66, 0.9994)).contains("lower it to 99.6093%"));
        assert!(
            refusal(&oltp(0.5, 0.66, 0.5)).contains("leaves no block for the other requests; lower it to 49.8046%")
        );
        assert!(
            refusal(&oltp(1.0, 0.66, 0.5)).contains("leaves no block for the other requests; lower it to 99.8046%")
        );
        assert_eq!(refusal(&oltp(0.5, 1.0, 0.5)), "");
        let block = |bytes| refusal(&workload("oltp", &[("block", bytes)]));
        assert!(block(8192).contains("block: 8KiB is smaller than a request of 16KiB; raise it to 16KiB"));
        assert!(block(10_000).contains("10kB is not a multiple of the alignment 4KiB; set it to 8KiB"));
        assert!(block(128 << 20).contains("exceeds the span"));
    }
}
