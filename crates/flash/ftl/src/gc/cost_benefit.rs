//! Cost-benefit: chooses the block with the highest ratio of benefit (space gained times age) to cost.
//!
//! ```text
//! u(b) = valid(b) / pages per block;  age(b) = 1 + host pages written since b was closed
//! victim = argmax over closed b of (1 - u) * age / 2u; lowest block number on ties
//! ```
//! Rosenblum and Ousterhout, "The design and implementation of a log-structured file system", 1992, in the form for
//! flash of Kawaguchi et al. 1995 (reading and rewriting cost 2u). Age counts from closing, like the age of the
//! youngest data of a segment in the first paper, not from the last invalidation. Each choice of a victim scans all
//! blocks of the plane; therefore this policy is by far the slowest on large drives.

use ssdlab_core::{Archive, Archived, BlockId};

use super::{VictimInfo, VictimPolicy};
use crate::blocks::PlaneView;

/// Registry entry of this victim policy.
pub static INFO: VictimInfo = VictimInfo {
    name: "cost_benefit",
    help: "The block with the highest (1 - u) * age / 2u, where u is its share of valid pages and age the host pages \
           written since its closing.",
    source: "Rosenblum and Ousterhout 1992; Kawaguchi et al. 1995",
    parameters: &[],
    role: &|_, _| Box::new(CostBenefit),
};

struct CostBenefit;

impl VictimPolicy for CostBenefit {
    fn choose(&mut self, plane: PlaneView<'_>, now: u64) -> Option<BlockId> {
        let pages = f64::from(plane.pages_per_block());
        let mut best = None;
        let mut best_score = f64::NEG_INFINITY;
        for block in plane.blocks().map(BlockId).filter(|&block| plane.is_closed(block)) {
            let valid = f64::from(plane.valid(block));
            if valid == 0.0 {
                return Some(block); // A block without valid pages costs nothing to collect.
            }
            // Adding 1 keeps the age above 0, so that a block with invalid pages always ranks above blocks without any.
            let age = (now - plane.closed_at(block) + 1) as f64;
            let score = (pages - valid) * age / (2.0 * valid);
            if score > best_score {
                best_score = score;
                best = Some(block);
            }
        }
        best
    }

    fn archive(&mut self, _archive: &mut Archive<'_>) -> Archived {
        Ok(())
    }
}
