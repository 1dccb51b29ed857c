//! Cost-benefit: space gained times age, over the cost of gaining it.
//!
//! ```text
//! u(b) = valid(b) / pages per block;  age(b) = host pages written since b was sealed
//! victim = argmax over sealed b of (1 - u) * age / 2u; oldest on ties
//! ```
//! Rosenblum and Ousterhout, "The design and implementation of a log-structured file system", 1992, in the
//! form for flash of Kawaguchi et al. 1995 (reading and rewriting cost 2u). Age counts from sealing, as in
//! the first paper (the youngest data of a segment), not from the last invalidation. One pass over all
//! sealed blocks for each victim.

use ssdlab_core::BlockId;

use super::VictimPolicy;
use crate::pool::BlockPool;

pub(super) const HELP: &str = "Highest (1 - u) * age / 2u, with u the valid share and age in host pages since sealing.";

pub(super) struct CostBenefit;

impl VictimPolicy for CostBenefit {
    fn choose(&mut self, pool: &BlockPool, now: u64) -> Option<BlockId> {
        let pages = f64::from(pool.pages_per_block());
        let mut best = None;
        let mut best_score = f64::NEG_INFINITY;
        for block in pool.oldest_first() {
            let valid = f64::from(pool.valid(block));
            if valid == 0.0 {
                return Some(block); // free of cost
            }
            let age = (now - pool.sealed_at(block)) as f64;
            let score = (pages - valid) * age / (2.0 * valid);
            if score > best_score {
                best_score = score;
                best = Some(block);
            }
        }
        best
    }
}
