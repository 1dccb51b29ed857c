//! Plugs of tasks (modern frame; `blk_start_plug` of block/blk-core.c): what a task submits is held back until it has
//! submitted what it wanted.

use rustc_hash::FxHashMap;

use crate::request::RequestId;

/// What a task holds back, oldest first.
pub(super) type Plug = Vec<RequestId>;

/// The plugs of all tasks that have one. That of the task that plugged last is at hand: it is the next one to submit, so
/// that where tasks plug one at a time none is searched for.
#[derive(Debug, Default)]
pub(super) struct Plugs {
    /// Whose plug is at hand.
    latest_pid: Option<u32>,
    latest: Plug,
    others: FxHashMap<u32, Plug>,
    /// Empty plugs to use again.
    spare: Vec<Plug>,
}

impl Plugs {
    /// Gives a task a plug; false if it has one.
    #[inline]
    pub fn open(&mut self, pid: u32) -> bool {
        self.latest_pid != Some(pid) && self.open_next(pid)
    }

    fn open_next(&mut self, pid: u32) -> bool {
        if let Some(latest_pid) = self.latest_pid {
            if self.others.contains_key(&pid) {
                return false;
            }
            let plug = std::mem::replace(&mut self.latest, self.spare.pop().unwrap_or_default());
            self.others.insert(latest_pid, plug);
        }
        self.latest_pid = Some(pid);
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
}
