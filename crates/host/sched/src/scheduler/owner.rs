//! Owner of a queue in CFQ and BFQ.

use crate::bio::{Priority, PriorityClass};

/// Owner of a queue: one process for synchronous requests, or all processes of one priority for asynchronous requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    Process(u32),
    Async(PriorityClass, u8),
}

impl Owner {
    pub fn new(pid: u32, sync: bool, priority: Priority) -> Self {
        if sync { Self::Process(pid) } else { Self::Async(priority.class, priority.level) }
    }
}
