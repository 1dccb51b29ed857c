//! Steps that belong together.

use serde::Serialize;

use crate::{State, Step, Use};

/// Steps `from` to `to`, both included, and what they come to. Spans lie within each other: a merge in a request.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Span {
    /// The first step.
    pub from: usize,
    /// The last step.
    pub to: usize,
    /// What they are.
    #[serde(flatten)]
    pub what: What,
}

/// What a span of steps comes to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "span", rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum What {
    /// A request of the host, from its first step on.
    Request,
    /// A logical block was merged; of the cost the erase of its log block is a part if only it was merged for it.
    Merge { lbn: u32, kind: &'static str, copies: u32, erases: u32, sources: Vec<Source>, host: bool },
    /// A block of the log was given up, and so many logical blocks merged for it.
    Reclaim { block: u32, associated: u32 },
    /// A victim was emptied and erased.
    Collection { block: u32, valid: u32, reason: &'static str },
    /// An entry of the map was brought into RAM.
    Miss { lpn: u32 },
}

/// A block that pages were copied from, as it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Source {
    /// The block.
    pub block: u32,
    /// What it was used for.
    #[serde(rename = "use")]
    pub used: Use,
}

/// What is under way.
#[derive(Default)]
struct Open {
    request: Option<usize>,
    /// Where the merge begins, the blocks copied from, and whether the host's page is written in the course of it.
    merge: Option<(usize, Vec<Source>, bool)>,
    /// Where giving up a block begins, and the block.
    reclaim: Option<(usize, u32)>,
    /// Where collecting a block begins, the block, and why.
    collections: Vec<(usize, u32, u32, &'static str)>,
    /// Where a miss begins, its last step so far, and its page.
    miss: Option<(usize, usize, u32)>,
}

/// Every span of `steps`, which lead on from `start`; in the order in which they begin, longer ones first.
pub(crate) fn spans(start: &State, steps: &[Step]) -> Vec<Span> {
    let (mut state, mut open, mut found) = (start.clone(), Open::default(), Vec::new());
    for (at, step) in steps.iter().enumerate() {
        open.take(at, step, steps, &state, &mut found);
        state.apply(step);
    }
    open.end_miss(&mut found);
    found.extend(open.request.map(|from| Span { from, to: steps.len() - 1, what: What::Request }));
    found.sort_by_key(|span| (span.from, std::cmp::Reverse(span.to)));
    found
}

const MERGES: [&str; 3] = ["switch_merge", "partial_merge", "full_merge"];

impl Open {
    fn take(&mut self, at: usize, step: &Step, steps: &[Step], state: &State, found: &mut Vec<Span>) {
        match *step {
            Step::Request { .. } => {
                self.end_miss(found);
                found.extend(self.request.map(|from| Span { from, to: at - 1, what: What::Request }));
                (self.request, self.merge, self.reclaim) = (Some(at), None, None);
            }
            Step::Retired { block, reason: "oldest", .. } => (self.reclaim, self.merge) = (Some((at, block)), None),
            Step::Retired { reason: "drained", .. } => {}
            Step::Retired { .. } | Step::Drained { .. } => {
                // A sequential log block may leave in the course of what the page here began.
                let from = self.merge.take().filter(|_| matches!(steps[at - 1], Step::Drained { .. }));
                self.merge = Some((from.map_or(at, |(from, ..)| from), Vec::new(), false));
            }
            Step::Copy { role: "sequential", .. } => self.merge = None,
            Step::Copy { from, cause, .. } if MERGES.contains(&cause) => {
                let source =
                    Source { block: state.block_of(from), used: state.blocks[state.block_of(from) as usize].used };
                let (_, sources, _) = self.merge.get_or_insert((at, Vec::new(), false));
                if !sources.contains(&source) {
                    sources.push(source);
                }
            }
            Step::Opened { role: "data", .. } => {
                self.merge.get_or_insert((at, Vec::new(), false));
            }
            Step::Program { cause: "host", .. } => {
                self.end_miss(found);
                if let Some((_, _, host)) = &mut self.merge {
                    *host = true;
                }
            }
            Step::Read { cause: "host", .. } | Step::Blank { .. } => self.end_miss(found),
            Step::Merged { lbn, kind, copies, erases, .. } => {
                let (from, sources, host) = self.merge.take().unwrap_or((at, Vec::new(), false));
                found.push(Span { from, to: at, what: What::Merge { lbn, kind, copies, erases, sources, host } });
            }
            Step::Victim { block, valid, reason } => self.collections.push((at, block, valid, reason)),
            Step::LookedUp { lpn, hit: false, .. } => {
                self.end_miss(found);
                self.miss = Some((at, at, lpn));
            }
            Step::Erase { block, cause } => self.erased(at, block, cause, steps, found),
            _ => {}
        }
        if let (Step::Read { cause, .. } | Step::Program { cause, .. }, Some((_, to, _))) = (step, &mut self.miss)
            && ["map_load", "map_write_back"].contains(cause)
        {
            *to = at;
        }
    }

    fn end_miss(&mut self, found: &mut Vec<Span>) {
        found.extend(self.miss.take().map(|(from, to, lpn)| Span { from, to, what: What::Miss { lpn } }));
    }

    /// An erase ends the collection or the reclaiming of its block, or a full merge whose log block it is.
    fn erased(&mut self, at: usize, block: u32, cause: &'static str, steps: &[Step], found: &mut Vec<Span>) {
        if let Some(place) = self.collections.iter().position(|&(_, victim, ..)| victim == block) {
            let (from, block, valid, reason) = self.collections.remove(place);
            found.push(Span { from, to: at, what: What::Collection { block, valid, reason } });
            return;
        }
        let given_up = |from: usize, to: usize| {
            steps[from..to].iter().all(|step| matches!(step, Step::Erase { .. } | Step::Retired { .. }))
        };
        if let Some((from, _)) = self.reclaim.take_if(|(_, oldest)| *oldest == block) {
            let is_merge = |span: &&Span| span.from >= from && matches!(span.what, What::Merge { .. });
            let associated = found.iter().filter(is_merge).count() as u32;
            // One that is only the merge of one logical block is told as that merge.
            if associated == 1
                && let Some(merge) = found.last_mut()
                && given_up(from, merge.from)
                && given_up(merge.to + 1, at)
                && let What::Merge { erases, .. } = &mut merge.what
            {
                *erases += 1;
                (merge.from, merge.to) = (from, at);
            } else {
                found.push(Span { from, to: at, what: What::Reclaim { block, associated } });
            }
        } else if cause == "full_merge"
            && self.merge.is_none()
            && let Some(Span { to, what: What::Merge { erases, .. }, .. }) = found.last_mut()
            && given_up(*to + 1, at)
        {
            *erases += 1;
            *to = at;
        }
    }
}
