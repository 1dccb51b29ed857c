//! Statistics of a trace in windows with equal numbers of requests.
//!
//! The number of requests is unknown until the end, so windows are merged in pairs when there are too many. Counts of
//! distinct pages cannot simply be added, because both windows may touch the same page. Each page that is new to a
//! window is therefore counted under a merge level: the level at which this window will be merged with the window of
//! the page's previous touch. At that merge, the page stops counting as new.

use super::by_kind::ByKind;
use super::working_set::{LEVELS, WINDOWS, WorkingSet};
use crate::{Op, Request};

/// Statistics of one window of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WindowFigures {
    /// Number of requests before the window.
    pub first_request: u64,
    /// Arrival time of the window's first request.
    pub first_ns: u64,
    /// Number of requests of each operation, by [`Op`] number.
    pub requests: [u64; 4],
    /// Bytes requested, by operation.
    pub bytes: ByKind,
    /// Number of distinct 4 KiB pages touched by reads and writes in the window.
    pub pages: u64,
    /// Number of the window's pages that had never been touched before.
    pub new_pages: u64,
    /// Number of distinct pages touched from the start of the trace to the end of the window.
    pub pages_so_far: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Window {
    first_ns: u64,
    requests: [u64; 4],
    bytes: ByKind,
    fresh: [u64; LEVELS],
}

#[derive(Clone, Debug)]
pub(super) struct Windows {
    pub set: WorkingSet,
    list: Vec<Window>,
    /// Number of requests per window.
    pub width: u64,
    /// Number of requests that the last window can still take.
    left: u64,
}

impl Windows {
    pub fn new() -> Self {
        Self { set: WorkingSet::new(), list: Vec::with_capacity(WINDOWS), width: 1, left: 0 }
    }

    #[inline]
    pub fn add(&mut self, request: &Request) {
        if self.left == 0 {
            self.next(request.time_ns);
        }
        self.left -= 1;
        let now = self.list.len() as u16;
        let Some(window) = self.list.last_mut() else { return };
        let kind = request.op as usize;
        window.requests[kind] += 1;
        if request.op == Op::Flush {
            return;
        }
        window.bytes[kind] += u64::from(request.bytes);
        if request.op != Op::Trim {
            let write = request.op == Op::Write;
            self.set.touch(request.offset, request.end_or_last(), write, now, &mut window.fresh);
        }
    }

    /// Prefetches data for future requests: the hash slot for a request further ahead, and the page state for a nearer
    /// request.
    #[inline]
    pub fn look_ahead(&self, [later, earlier]: [Option<&Request>; 2]) {
        if let Some(request) = later {
            self.set.prefetch_slot(request.offset);
        }
        if let Some(request) = earlier {
            self.set.prefetch_group(request.offset);
        }
    }

    fn next(&mut self, time_ns: u64) {
        if self.list.len() == WINDOWS {
            self.list = self.list.chunks_exact(2).map(|pair| join(pair[0], pair[1])).collect();
            self.width *= 2;
            self.set.join_windows();
        }
        self.list.push(Window { first_ns: time_ns, ..Window::default() });
        self.left = self.width;
    }

    pub fn figures(&self) -> Vec<WindowFigures> {
        let mut pages_so_far = 0;
        let figures = |(index, window): (usize, &Window)| {
            pages_so_far += window.fresh[0];
            WindowFigures {
                first_request: index as u64 * self.width,
                first_ns: window.first_ns,
                requests: window.requests,
                bytes: window.bytes,
                pages: window.fresh.iter().sum(),
                new_pages: window.fresh[0],
                pages_so_far,
            }
        };
        self.list.iter().enumerate().map(figures).collect()
    }
}

fn join(first: Window, second: Window) -> Window {
    let fresh = std::array::from_fn(|level| match level {
        0 => first.fresh[0] + second.fresh[0],
        // Drops level 1: it counts the second window's pages that the first window also touched, which would otherwise
        // count twice.
        _ if level + 1 < LEVELS => first.fresh[level + 1] + second.fresh[level + 1],
        _ => 0,
    });
    Window {
        first_ns: first.first_ns,
        requests: std::array::from_fn(|op| first.requests[op] + second.requests[op]),
        bytes: std::array::from_fn(|kind| first.bytes[kind] + second.bytes[kind]),
        fresh,
    }
}
