//! Garbage collection in advance of need: while the drive is idle, or always in the background.

use ssdlab_ftl::Ftl;
use ssdlab_nand::backend::parallel::{JobKind, NEVER, Requester};

use super::TimedDrive;
use super::event_loop::Owner;
use super::parts::TimedParts;
use crate::setup::drive::Collect;

/// State of garbage collection in advance, by plane.
pub(super) struct CollectionAhead {
    collect: Collect,
    /// Planes that may need garbage collection and are not being collected.
    due: Vec<u32>,
    /// Planes in which collection has found nothing to do since the last write.
    clean: Vec<u32>,
    pub idle_since_ns: u64,
    /// Pages copied and blocks erased by garbage collection in advance in the measured phase.
    pub measured: u64,
}

impl CollectionAhead {
    pub fn new(collect: Collect, planes: u32) -> Self {
        Self { collect, due: (0..planes).collect(), clean: Vec::new(), idle_since_ns: 0, measured: 0 }
    }

    /// Records a write or trim, after which any plane may need collection.
    pub fn changed(&mut self) {
        self.due.append(&mut self.clean);
    }

    /// Records that a step of collection in a plane has ended.
    pub fn step_done(&mut self, plane: u32) {
        self.due.push(plane);
    }
}

impl<P: TimedParts> TimedDrive<P> {
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

    /// Starts garbage collection in advance in all planes where it is due.
    pub(super) fn collect_ahead(&mut self) {
        let goal = match self.collection.collect {
            Collect::Background { goal } => goal,
            Collect::Idle { goal, .. } if self.collection_ns() <= self.now_ns() => goal,
            Collect::Idle { .. } | Collect::Foreground => return,
        };
        while let Some(plane) = self.collection.due.pop() {
            self.stack.sinks.flash.submit(Owner::Collection(plane).number(), Requester::default(), JobKind::Collection);
            let before = self.counts().collected();
            let worked = self.stack.ftl.background(plane, goal.blocks, goal.step, &mut self.stack.sinks);
            self.collection.measured += self.counts().collected() - before;
            let left = self.stack.sinks.flash.submitted();
            debug_assert!(worked || left == 0, "idle planes emit no operations");
            match (worked, left) {
                (false, _) => self.collection.clean.push(plane),
                // The step only copied pages within the controller's memory, so no flash operation will signal its end.
                (true, 0) => self.collection.due.push(plane),
                (true, _) => {}
            }
        }
    }
}
