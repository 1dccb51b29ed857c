//! Plugs of tasks (modern frame; `blk_start_plug` of block/blk-core.c).

use rustc_hash::FxHashMap;

use crate::request::RequestId;

/// What a task holds back until it has submitted what it wanted, oldest first.
pub(super) type Plug = Vec<RequestId>;

/// The plugs of all tasks that have one. The one opened last is at hand: its task is the next to submit, and where tasks
/// plug one after the other, no plug is ever searched for.
#[derive(Debug, Default)]
pub(super) struct Plugs {
    latest: Option<(u32, Plug)>,
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
        let plug = self.spare.pop().unwrap_or_default();
        if let Some((earlier, held)) = self.latest.replace((pid, plug)) {
            self.others.insert(earlier, held);
        }
        true
    }

    #[inline]
    pub fn get(&self, pid: u32) -> Option<&Plug> {
        match &self.latest {
            Some((latest, plug)) if *latest == pid => Some(plug),
            _ => self.others.get(&pid),
        }
    }

    #[inline]
    pub fn get_mut(&mut self, pid: u32) -> Option<&mut Plug> {
        match &mut self.latest {
            Some((latest, plug)) if *latest == pid => Some(plug),
            _ => self.others.get_mut(&pid),
        }
    }

    /// Takes the plug of a task away.
    #[inline]
    pub fn close(&mut self, pid: u32) -> Option<Plug> {
        let latest = self.latest.take_if(|(latest, _)| *latest == pid);
        latest.map(|(_, plug)| plug).or_else(|| self.others.remove(&pid))
    }

    /// Keeps a plug that has been emptied for the next task.
    #[inline]
    pub fn reuse(&mut self, plug: Plug) {
        debug_assert!(plug.is_empty(), "what a plug held has gone");
        self.spare.push(plug);
    }
}
