//! Plugs of tasks (multi-queue layer; `blk_start_plug` of block/blk-core.c).

use rustc_hash::FxHashMap;

use crate::request::RequestId;

/// Requests that a task holds back until it has finished submitting bios, oldest first.
pub(super) type Plug = Vec<RequestId>;

/// Plugs of tasks. The most recently opened plug is stored inline, because its task usually submits next. If no two
/// tasks have open plugs at once, the map stays unused.
#[derive(Debug, Default)]
pub(super) struct Plugs {
    /// Task of the most recently opened plug; `None` once that plug is closed.
    latest_pid: Option<u32>,
    /// Plug of the task `latest_pid`; empty if the plug is closed.
    latest: Plug,
    others: FxHashMap<u32, Plug>,
    /// Empty plugs, kept for reuse.
    spare: Vec<Plug>,
}

impl Plugs {
    /// Opens a plug for a task; returns false if the task already has a plug.
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

    /// Closes and returns the plug of a task.
    #[inline]
    pub fn close(&mut self, pid: u32) -> Option<Plug> {
        match self.latest_pid.take_if(|latest| *latest == pid) {
            Some(_) => Some(std::mem::take(&mut self.latest)),
            None => self.others.remove(&pid),
        }
    }

    /// Keeps an empty plug so that its memory can be reused.
    #[inline]
    pub fn reuse(&mut self, plug: Plug) {
        debug_assert!(plug.is_empty(), "the plug still holds requests");
        match self.latest_pid {
            None => self.latest = plug,
            Some(_) => self.spare.push(plug),
        }
    }
}
