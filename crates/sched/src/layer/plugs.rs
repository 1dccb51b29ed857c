//! Plugs of tasks (modern frame; `blk_start_plug` of block/blk-core.c).

use rustc_hash::FxHashMap;

use crate::request::RequestId;

/// What a task holds back until it has submitted what it wanted, oldest first.
pub(super) type Plug = Vec<RequestId>;

/// The plugs of all tasks that have one. The one opened last is at hand: its task is the next to submit, and where
/// tasks plug one after the other, no plug is ever searched for or moved.
#[derive(Debug, Default)]
pub(super) struct Plugs {
    /// The task with the plug opened last, until that is closed.
    latest_pid: Option<u32>,
    /// Its plug; empty if there is none.
    latest: Plug,
    others: FxHashMap<u32, Plug>,
    /// Empty plugs to use again.
    spare: Vec<Plug>,
}

impl Plugs {
    /// Gives a task a plug; false if it has one.
    #[inline]
    pub fn open(&mut self, pid: u32) -> bool {
        if self.get(pid).is_some() {
            return false;
        }
        if let Some(earlier) = self.latest_pid.replace(pid) {
            let plug = self.spare.pop().unwrap_or_default();
            self.others.insert(earlier, std::mem::replace(&mut self.latest, plug));
        }
        true
    }

    #[inline]
    pub fn get(&self, pid: u32) -> Option<&Plug> {
        if self.latest_pid == Some(pid) { Some(&self.latest) } else { self.others.get(&pid) }
    }

    #[inline]
    pub fn get_mut(&mut self, pid: u32) -> Option<&mut Plug> {
        if self.latest_pid == Some(pid) { Some(&mut self.latest) } else { self.others.get_mut(&pid) }
    }

    /// Takes the plug of a task away.
    #[inline]
    pub fn close(&mut self, pid: u32) -> Option<Plug> {
        match self.latest_pid.take_if(|latest| *latest == pid) {
            Some(_) => Some(std::mem::take(&mut self.latest)),
            None => self.others.remove(&pid),
        }
    }

    /// Keeps a plug that has been emptied for the next task.
    #[inline]
    pub fn reuse(&mut self, plug: Plug) {
        debug_assert!(plug.is_empty(), "what a plug held has gone");
        match self.latest_pid {
            None => self.latest = plug,
            Some(_) => self.spare.push(plug),
        }
    }
}
