//! The trace in windows of equal numbers of requests.
//!
//! How many requests there are is known only at the end, so windows are joined by twos when there are too many. Numbers
//! of distinct pages do not add up then, as a page may be touched in both; so pages fresh in a window are counted by
//! the level at which the window joins the one of their previous touch, and leave the count at that level.

use super::ByKind;
use super::working_set::WorkingSet;
use crate::{Op, Request};

/// Most windows.
const WINDOWS: usize = 512;
/// Levels of pages fresh in a window: 0 if never touched before, else how often windows must be joined for this window
/// and that of the previous touch to be one.
pub(super) const LEVELS: usize = WINDOWS.ilog2() as usize + 1;

/// Figures of one window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WindowFigures {
    /// Requests before it.
    pub first_request: u64,
    /// Arrival of its first request.
    pub first_ns: u64,
    /// Requests by [`Op`] number.
    pub requests: [u64; 4],
    /// Bytes by operation.
    pub bytes: ByKind,
    /// Distinct pages of 4 KiB that reads and writes touch.
    pub pages: u64,
    /// Of these, pages that nothing touched before.
    pub new_pages: u64,
    /// Distinct pages touched up to its end.
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
    set: WorkingSet,
    list: Vec<Window>,
    /// Requests of a window.
    width: u64,
    /// Requests that the last window still takes.
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

    /// Loads what requests to come will need: of a later one where its state is, of an earlier one the state.
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

    /// Requests of a window.
    pub fn width(&self) -> u64 {
        self.width
    }

    pub fn working_set(&self) -> &WorkingSet {
        &self.set
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

fn join(one: Window, two: Window) -> Window {
    let fresh = std::array::from_fn(|level| match level {
        0 => one.fresh[0] + two.fresh[0],
        // What one window saw of the other is not fresh in both.
        _ if level + 1 < LEVELS => one.fresh[level + 1] + two.fresh[level + 1],
        _ => 0,
    });
    Window {
        first_ns: one.first_ns,
        requests: std::array::from_fn(|op| one.requests[op] + two.requests[op]),
        bytes: std::array::from_fn(|kind| one.bytes[kind] + two.bytes[kind]),
        fresh,
    }
}
