//! Test bench: a scheduler without a block layer, driven by hand.

use ssdlab_sched::{
    Bio, Device, Direction, Flags, IoScheduler, Priority, Request, RequestId, Requests, SCHEDULERS, build_scheduler,
};

pub const MS: u64 = 1_000_000;

/// A scheduler alone, with a device that is driven by hand.
pub struct Bench {
    pub scheduler: Box<dyn IoScheduler>,
    pub requests: Requests,
    /// All requests in insertion order.
    inserted: Vec<RequestId>,
    pub now: u64,
    pub at_device: Vec<RequestId>,
}

impl Bench {
    pub fn new(name: &str, changes: &[(&str, u64)]) -> Self {
        Self::on(name, changes, Device { sectors: 60 << 21, rotational: false, nr_requests: 256, queues: 1 })
    }

    pub fn on(name: &str, changes: &[(&str, u64)], device: Device) -> Self {
        let changes: Vec<_> = changes.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        let scheduler = build_scheduler(SCHEDULERS.get(name).unwrap(), &changes, &device).unwrap();
        Self { scheduler, requests: Requests::default(), now: 0, inserted: Vec::new(), at_device: Vec::new() }
    }

    pub fn bio(start: u64, direction: Direction) -> Bio {
        let (flags, priority) = (Flags::NONE, Priority::default());
        Bio { start, sectors: 8, direction, flags, pid: 1, priority, owner: 0 }
    }

    pub fn insert(&mut self, bio: Bio) -> bool {
        let id = self.requests.allocate(bio, 1, 0, self.now);
        self.inserted.push(id);
        self.scheduler.insert(&self.requests[id], &self.requests, self.now)
    }

    /// Returns the request inserted at position `index`.
    pub fn inserted(&self, index: usize) -> &Request {
        &self.requests[self.inserted[index]]
    }

    /// Inserts reads of process 1 with 8 sectors each.
    pub fn reads(&mut self, starts: impl IntoIterator<Item = u64>) {
        starts.into_iter().for_each(|start| _ = self.insert(Self::bio(start, Direction::Read)));
    }

    pub fn writes(&mut self, starts: impl IntoIterator<Item = u64>) {
        starts.into_iter().for_each(|start| _ = self.insert(Self::bio(start, Direction::Write)));
    }

    /// Inserts reads of process `pid`.
    pub fn reads_of(&mut self, pid: u32, starts: impl IntoIterator<Item = u64>) {
        starts.into_iter().for_each(|start| _ = self.insert(Bio { pid, ..Self::bio(start, Direction::Read) }));
    }

    /// Dispatches a request; returns `r` or `w` with the first sector, or an empty string if there is none.
    pub fn next(&mut self) -> String {
        let Some(id) = self.scheduler.dispatch(0, &self.requests, self.now, false) else { return String::new() };
        self.at_device.push(id);
        let rq = &self.requests[id];
        format!("{}{}", if rq.direction == Direction::Read { 'r' } else { 'w' }, rq.start)
    }

    /// Returns the next `count` dispatches, separated by spaces.
    pub fn order(&mut self, count: usize) -> String {
        (0..count).map(|_| self.next()).collect::<Vec<_>>().join(" ")
    }

    /// Completes the oldest request at the device.
    pub fn complete(&mut self) {
        let rq = self.requests.free(self.at_device.remove(0));
        self.scheduler.completed(rq, self.now);
    }

    pub fn complete_all(&mut self) {
        while !self.at_device.is_empty() {
            self.complete();
        }
    }

    /// Advances time and fires the scheduler's timers.
    pub fn wait(&mut self, ns: u64) {
        let until = self.now + ns;
        while let Some(time) = self.scheduler.timer_ns().filter(|&time| time <= until) {
            self.now = time;
            self.scheduler.on_timer(time);
        }
        self.now = until;
    }
}

/// Formats sectors as [`Bench::order`] does.
pub fn runs(parts: &[(char, &[u64])]) -> String {
    let starts = parts.iter().flat_map(|(kind, starts)| starts.iter().map(move |start| format!("{kind}{start}")));
    starts.collect::<Vec<_>>().join(" ")
}

/// Returns a rotational device.
pub fn disk() -> Device {
    Device { sectors: 60 << 21, rotational: true, nr_requests: 256, queues: 1 }
}
