//! Spans: groups of related steps in a recording.

use serde::Serialize;

use crate::{State, Step, Use};

/// Group of consecutive steps. Spans can be nested; for example, a request may contain a merge.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Span {
    /// Index of the first step.
    pub from: usize,
    /// Index of the last step (inclusive).
    pub to: usize,
    /// Host request or FTL operation that the steps of the span carry out.
    #[serde(flatten)]
    pub what: What,
}

/// Operation that the steps of a span carry out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "span", rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum What {
    /// A host request.
    Request,
    /// The merge of a logical block. The cost includes the erase of the log block if the log block contained pages of
    /// this logical block only.
    Merge { lbn: u32, kind: &'static str, copies: u32, erases: u32, sources: Vec<Source>, host: bool },
    /// The reclaim of a log block, with the number of logical blocks merged to free it.
    Reclaim { block: u32, associated: u32 },
    /// The garbage collection of a victim block.
    Collection { block: u32, valid: u32, reason: &'static str },
    /// The load of a map entry into RAM.
    Miss { lpn: u32 },
}

/// A block that a merge copied pages from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Source {
    /// Number of the block.
    pub block: u32,
    /// Use of the source block, such as data or log, at the time of the copy.
    #[serde(rename = "use")]
    pub used: Use,
}

/// FTL operations in progress at the current step.
#[derive(Default)]
struct Open {
    /// First step of the current host request.
    request: Option<usize>,
    /// First step of the current merge, its source blocks, and a flag that is true if the host's page is written during
    /// the merge.
    merge: Option<(usize, Vec<Source>, bool)>,
    /// First step of the current reclaim, and the reclaimed block.
    reclaim: Option<(usize, u32)>,
    /// First step, block, valid pages and reason of each garbage collection in progress.
    collections: Vec<(usize, u32, u32, &'static str)>,
    /// The current map miss: its first step, its last step so far, and the logical page.
    miss: Option<(usize, usize, u32)>,
}

/// Finds all spans of `steps`, which start in state `start`. Spans are sorted by first step, longer spans first.
pub(crate) fn spans(start: &State, steps: &[Step]) -> Vec<Span> {
    let (mut state, mut open, mut spans) = (start.clone(), Open::default(), Vec::new());
    for (at, step) in steps.iter().enumerate() {
        open.take(at, step, steps, &state, &mut spans);
        state.apply(step);
    }
    open.end_miss(&mut spans);
    spans.extend(open.request.map(|from| Span { from, to: steps.len() - 1, what: What::Request }));
    spans.sort_by_key(|span| (span.from, std::cmp::Reverse(span.to)));
    spans
}

const MERGES: [&str; 3] = ["switch_merge", "partial_merge", "full_merge"];

impl Open {
    fn take(&mut self, at: usize, step: &Step, steps: &[Step], state: &State, spans: &mut Vec<Span>) {
        match *step {
            Step::Request { .. } => {
                self.end_miss(spans);
                spans.extend(self.request.map(|from| Span { from, to: at - 1, what: What::Request }));
                (self.request, self.merge, self.reclaim) = (Some(at), None, None);
            }
            Step::Retired { block, reason: "oldest", .. } => (self.reclaim, self.merge) = (Some((at, block)), None),
            Step::Retired { reason: "drained", .. } => {}
            Step::Retired { .. } | Step::Drained { .. } => {
                // If the previous step announced a merge that makes space in the isolation area, this merge began with
                // that step.
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
                self.end_miss(spans);
                if let Some((_, _, host)) = &mut self.merge {
                    *host = true;
                }
            }
            Step::Read { cause: "host", .. } | Step::Blank { .. } => self.end_miss(spans),
            Step::Merged { lbn, kind, copies, erases, .. } => {
                let (from, sources, host) = self.merge.take().unwrap_or((at, Vec::new(), false));
                spans.push(Span { from, to: at, what: What::Merge { lbn, kind, copies, erases, sources, host } });
            }
            Step::Victim { block, valid, reason } => self.collections.push((at, block, valid, reason)),
            Step::LookedUp { lpn, hit: false, .. } => {
                self.end_miss(spans);
                self.miss = Some((at, at, lpn));
            }
            Step::Erase { block, cause } => self.erased(at, block, cause, steps, spans),
            _ => {}
        }
        if let (Step::Read { cause, .. } | Step::Program { cause, .. }, Some((_, to, _))) = (step, &mut self.miss)
            && ["map_load", "map_write_back"].contains(cause)
        {
            *to = at;
        }
    }

    fn end_miss(&mut self, spans: &mut Vec<Span>) {
        spans.extend(self.miss.take().map(|(from, to, lpn)| Span { from, to, what: What::Miss { lpn } }));
    }

    /// Handles the erase of a block: ends the garbage collection or reclaim that freed this block, or the full merge
    /// that freed this log block.
    fn erased(&mut self, at: usize, block: u32, cause: &'static str, steps: &[Step], spans: &mut Vec<Span>) {
        if let Some(place) = self.collections.iter().position(|&(_, victim, ..)| victim == block) {
            let (from, block, valid, reason) = self.collections.remove(place);
            spans.push(Span { from, to: at, what: What::Collection { block, valid, reason } });
            return;
        }
        let only_erases = |from: usize, to: usize| {
            steps[from..to].iter().all(|step| matches!(step, Step::Erase { .. } | Step::Retired { .. }))
        };
        if let Some((from, _)) = self.reclaim.take_if(|(_, oldest)| *oldest == block) {
            let is_merge = |span: &&Span| span.from >= from && matches!(span.what, What::Merge { .. });
            let associated = spans.iter().filter(is_merge).count() as u32;
            // A reclaim that merges only one logical block is reported as the merge of that block.
            if associated == 1
                && let Some(merge) = spans.last_mut()
                && only_erases(from, merge.from)
                && only_erases(merge.to + 1, at)
                && let What::Merge { erases, .. } = &mut merge.what
            {
                *erases += 1;
                (merge.from, merge.to) = (from, at);
            } else {
                spans.push(Span { from, to: at, what: What::Reclaim { block, associated } });
            }
        } else if cause == "full_merge"
            && self.merge.is_none()
            && let Some(Span { to, what: What::Merge { erases, .. }, .. }) = spans.last_mut()
            && only_erases(*to + 1, at)
        {
            *erases += 1;
            *to = at;
        }
    }
}
