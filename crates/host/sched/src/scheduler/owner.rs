//! Owner of a queue in CFQ and BFQ.

use crate::bio::{Priority, PriorityClass};

/// Owner of a queue: for synchronous requests a process; for asynchronous requests all processes of one priority.
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
