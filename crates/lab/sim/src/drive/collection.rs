//! Garbage collection in advance, before free pages run out: while the drive is idle, or continuously in the
//! background.

use ssdlab_ftl::Ftl;
use ssdlab_nand::backend::parallel::{JobKind, NEVER, Requester};
use ssdlab_nand::{Cause, Counts, Geometry};

use super::TimedDrive;
use super::event_loop::Owner;
use crate::setup::drive::Collect;

/// Per-plane state of garbage collection in advance.
pub(super) struct CollectionAhead {
    collect: Collect,
    /// Planes that may need garbage collection and are not being collected.
    due: Vec<u32>,
    /// Planes in which collection has found nothing to do since the last write.
    clean: Vec<u32>,
    /// For each plane, true if its latest collection step did any work.
    is_active: Vec<bool>,
    /// Number of pages that the current step frees in each plane; see [`Self::freed_by`].
    freed_pages: Vec<i64>,
    pages_per_block: u32,
    pub idle_since_ns: u64,
    /// Number of pages copied plus number of blocks erased by garbage collection in advance, in the measured phase.
    pub measured: u64,
}

impl CollectionAhead {
    pub fn new(collect: Collect, geometry: &Geometry) -> Self {
        let planes = geometry.areas();
        Self {
            collect,
            due: (0..planes).collect(),
            clean: Vec::new(),
            is_active: vec![false; planes as usize],
            freed_pages: vec![0; planes as usize],
            pages_per_block: geometry.pages_per_block,
            idle_since_ns: 0,
            measured: 0,
        }
    }

    /// Records a write or trim, after which any plane may need collection.
    pub fn changed(&mut self) {
        self.due.append(&mut self.clean);
    }

    /// Records that a step of collection in a plane has ended. Returns the number of pages that the step has freed.
    pub fn step_done(&mut self, plane: u32) -> i64 {
        self.due.push(plane);
        self.freed_pages[plane as usize]
    }

    /// True while background collection works on a plane.
    pub fn works_in_background(&self) -> bool {
        matches!(self.collect, Collect::Background { .. }) && self.is_active.contains(&true)
    }

    /// Returns the number of pages that collection freed: the pages of erased blocks minus the copied pages.
    pub fn freed_by(&self, operations: &Counts) -> i64 {
        (operations.erased() * u64::from(self.pages_per_block)) as i64 - operations.programs[Cause::Gc as usize] as i64
    }
}

impl TimedDrive {
    /// Returns the time when an idle drive starts garbage collection in advance, or [`NEVER`].
    pub(super) fn collection_ns(&self) -> u64 {
        let ahead = &self.collection;
        match ahead.collect {
            Collect::Idle { after, .. } if !ahead.due.is_empty() && self.outstanding() == 0 => {
                (ahead.idle_since_ns + after.0).max(self.now_ns())
            }
            _ => NEVER,
        }
    }

    /// Starts garbage collection in advance in all planes where it is due. Returns true if the write buffer then
    /// accepted a write that waited for a credit.
    pub(super) fn collect_ahead(&mut self) -> bool {
        let goal = match self.collection.collect {
            Collect::Background { goal } => goal,
            Collect::Idle { goal, .. } if self.collection_ns() <= self.now_ns() => goal,
            Collect::Idle { .. } | Collect::Foreground => return false,
        };
        while let Some(plane) = self.collection.due.pop() {
            self.stack.sinks.flash.submit(Owner::Collection(plane).number(), Requester::default(), JobKind::Collection);
            let before = self.counts();
            let worked = self.stack.ftl.background(plane, goal.blocks, goal.step, &mut self.stack.sinks);
            let operations = self.counts() - before;
            self.collection.measured += operations.collected();
            self.collection.freed_pages[plane as usize] = self.collection.freed_by(&operations);
            self.collection.is_active[plane as usize] = worked;
            let left = self.stack.sinks.flash.submitted();
            debug_assert!(worked || left == 0, "idle planes emit no operations");
            match (worked, left) {
                (false, _) => self.collection.clean.push(plane),
                // The step only copied pages within the controller's memory, so no flash operation will signal its end.
                (true, 0) => self.collection_step_done(plane),
                (true, _) => {}
            }
        }
        self.pace_by_collection()
    }

    /// Ends a step of garbage collection in a plane, and adds credits for the pages that it freed.
    pub(super) fn collection_step_done(&mut self, plane: u32) {
        let freed_pages = self.collection.step_done(plane);
        self.give_credits(freed_pages);
    }
}
