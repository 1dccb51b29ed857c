//! A scheduler alone, driven by hand.

use ssdlab_sched::{
    Bio, Device, Direction, Elevator, Flags, Priority, Request, RequestId, Requests, SCHEDULERS, build_scheduler,
};

pub const MS: u64 = 1_000_000;

/// A scheduler alone, with a device that is driven by hand.
pub struct Bench {
    pub elevator: Box<dyn Elevator>,
    pub requests: Requests,
    /// Numbers of all requests so far.
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
        let elevator = build_scheduler(SCHEDULERS.get(name).unwrap(), &changes, &device).unwrap();
        Self { elevator, requests: Requests::default(), now: 0, inserted: Vec::new(), at_device: Vec::new() }
    }

    pub fn bio(start: u64, direction: Direction) -> Bio {
        let (flags, priority) = (Flags::NONE, Priority::default());
        Bio { start, sectors: 8, direction, flags, pid: 1, priority, owner: 0 }
    }

    pub fn insert(&mut self, bio: Bio) -> bool {
        let id = self.requests.allocate(bio, 1, 0, self.now);
        self.inserted.push(id);
        self.elevator.insert(&self.requests[id], &self.requests, self.now)
    }

    /// The request that was inserted as number `number`, counted from 0.
    pub fn inserted(&self, number: usize) -> &Request {
        &self.requests[self.inserted[number]]
    }

    /// Requests of process 1 with 8 sectors each.
    pub fn reads(&mut self, starts: impl IntoIterator<Item = u64>) {
        starts.into_iter().for_each(|start| _ = self.insert(Self::bio(start, Direction::Read)));
    }

    pub fn writes(&mut self, starts: impl IntoIterator<Item = u64>) {
        starts.into_iter().for_each(|start| _ = self.insert(Self::bio(start, Direction::Write)));
    }

    /// Reads that process `pid` waits for.
    pub fn reads_of(&mut self, pid: u32, starts: impl IntoIterator<Item = u64>) {
        starts.into_iter().for_each(|start| _ = self.insert(Bio { pid, ..Self::bio(start, Direction::Read) }));
    }

    /// What is dispatched next: `r` or `w` and the first sector; nothing if the scheduler waits.
    pub fn next(&mut self) -> String {
        let Some(id) = self.elevator.dispatch(0, &self.requests, self.now, false) else { return String::new() };
        self.at_device.push(id);
        let rq = &self.requests[id];
        format!("{}{}", if rq.direction == Direction::Read { 'r' } else { 'w' }, rq.start)
    }

    /// The next dispatches in a row.
    pub fn order(&mut self, count: usize) -> String {
        (0..count).map(|_| self.next()).collect::<Vec<_>>().join(" ")
    }

    /// The device ends its oldest request.
    pub fn complete(&mut self) {
        let rq = self.requests.free(self.at_device.remove(0));
        self.elevator.completed(rq, self.now);
    }

    pub fn complete_all(&mut self) {
        while !self.at_device.is_empty() {
            self.complete();
        }
    }

    /// Lets time pass, with the scheduler's timer.
    pub fn wait(&mut self, ns: u64) {
        let until = self.now + ns;
        while let Some(time) = self.elevator.timer_ns().filter(|&time| time <= until) {
            self.now = time;
            self.elevator.on_timer(time);
        }
        self.now = until;
    }
}

/// `r` or `w` before each of the sectors.
pub fn runs(parts: &[(char, &[u64])]) -> String {
    let starts = parts.iter().flat_map(|(kind, starts)| starts.iter().map(move |start| format!("{kind}{start}")));
    starts.collect::<Vec<_>>().join(" ")
}

/// A device with moving parts.
pub fn disk() -> Device {
    Device { sectors: 60 << 21, rotational: true, nr_requests: 256, queues: 1 }
}
