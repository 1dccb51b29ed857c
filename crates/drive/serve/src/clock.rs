//! Simulated drive that determines when replies may be sent.

use std::collections::HashMap;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ssdlab_core::{LatencyHistogram, Nanos};
use ssdlab_nand::Counts;
use ssdlab_nbd::{Completer, DeferredReply, deferred_reply};
use ssdlab_sim::{LiveDrive, SimError};
use ssdlab_trace::Request;

/// Pace of simulated time relative to wall time.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    began: Instant,
    /// Seconds of wall time per second of simulated time.
    scale: f64,
}

impl Pace {
    /// Starts simulated time at 0 now. From then on, it passes `scale` times slower than wall time.
    pub fn new(scale: f64) -> Self {
        Self { began: Instant::now(), scale }
    }

    /// Converts a moment of wall time to simulated time, in ns.
    pub fn at(&self, moment: Instant) -> u64 {
        (moment.duration_since(self.began).as_nanos() as f64 / self.scale) as u64
    }

    fn moment(&self, time: Nanos) -> Instant {
        self.began + Duration::from_nanos((time.0 as f64 * self.scale) as u64)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Measurements {
    /// Response times by type of request ([`ssdlab_trace::Op`]).
    pub latency: [LatencyHistogram; 4],
    /// Flash operations of the simulated drive. They differ from the operations of the stored drive, which holds the
    /// bytes. In simulated time, a page stays in the write buffer while it is programmed, and may be overwritten in the
    /// buffer.
    pub flash: Counts,
    pub buffered_pages: u32,
    /// Error that stopped the simulation.
    pub failed: Option<Arc<SimError>>,
}

/// Runs the simulated drive on a separate thread. Replies wait for the drive; if the simulated drive fails, all replies
/// are sent immediately.
pub struct Clock {
    sender: Option<Sender<(Request, PendingReply)>>,
    thread: Option<JoinHandle<()>>,
    measured: Arc<Mutex<Measurements>>,
}

/// Reply that is held back until the client's request completes on the simulated drive.
struct PendingReply {
    /// Time from the arrival of the client's request until the request reached the simulated drive. Meanwhile, it
    /// waited for other requests and for the stored drive.
    waited: Duration,
    completer: Completer,
}

impl Clock {
    /// Starts the simulated drive at the given pace. Fails if no thread is available.
    pub fn start(drive: Box<dyn LiveDrive>, pace: Pace) -> std::io::Result<Self> {
        let (sender, submissions) = mpsc::channel();
        let measured = Arc::new(Mutex::new(Measurements::default()));
        let before = drive.counts();
        let mut clock =
            ClockThread { before, drive, pace, submissions, measured: Arc::clone(&measured), replies: HashMap::new() };
        let thread = thread::Builder::new().name("simulated drive".into()).spawn(move || {
            if let Err(error) = clock.run() {
                // When the thread ends, it drops the pending replies, and dropped replies are sent immediately.
                lock(&clock.measured).failed = Some(Arc::new(error));
            }
        })?;
        Ok(Self { sender: Some(sender), thread: Some(thread), measured })
    }

    /// Submits a request with a unique simulated arrival time. `came` is the time at which the client's request
    /// arrived; the reply is due as if the drive had received the request at that time.
    pub fn submit(&self, request: Request, came: Instant) -> DeferredReply {
        let (completer, due) = deferred_reply();
        if let Some(sender) = &self.sender {
            // After a failure the completer is dropped, and the reply is sent immediately.
            let _ = sender.send((request, PendingReply { waited: came.elapsed(), completer }));
        }
        due
    }

    pub fn measured(&self) -> Measurements {
        lock(&self.measured).clone()
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has already been printed.
            let _ = thread.join();
        }
    }
}

fn lock(measured: &Mutex<Measurements>) -> MutexGuard<'_, Measurements> {
    measured.lock().unwrap_or_else(PoisonError::into_inner)
}

/// State of the clock's thread.
struct ClockThread {
    /// Number of flash operations before the clock started.
    before: Counts,
    drive: Box<dyn LiveDrive>,
    pace: Pace,
    submissions: Receiver<(Request, PendingReply)>,
    measured: Arc<Mutex<Measurements>>,
    /// Pending replies, keyed by the simulated arrival time of their requests.
    replies: HashMap<u64, PendingReply>,
}

impl ClockThread {
    fn run(&mut self) -> Result<(), SimError> {
        let mut done = Vec::new();
        loop {
            let next = self.drive.advance(Nanos(self.pace.at(Instant::now())), &mut done)?;
            // The measurements are updated before replies are sent, so that they include every answered request.
            {
                let mut measured = lock(&self.measured);
                measured.flash = self.drive.counts() - self.before;
                measured.buffered_pages = self.drive.buffered_pages();
                for (request, at) in &done {
                    measured.latency[request.op as usize].record(at.0 - request.time_ns);
                }
            }
            for (request, at) in done.drain(..) {
                if let Some(PendingReply { waited, completer }) = self.replies.remove(&request.time_ns) {
                    completer.complete(self.pace.moment(at) - waited);
                }
            }
            // Waits for a request, but no longer than until the next simulated event is due.
            let received = match next {
                Some(next) => {
                    let left = self.pace.moment(next).saturating_duration_since(Instant::now());
                    self.submissions.recv_timeout(left)
                }
                None => self.submissions.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match received {
                Ok(submission) => self.take(submission)?,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            while let Ok(submission) = self.submissions.try_recv() {
                self.take(submission)?;
            }
        }
    }

    fn take(&mut self, (request, reply): (Request, PendingReply)) -> Result<(), SimError> {
        self.replies.insert(request.time_ns, reply);
        self.drive.submit(request)
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_nand::Cause;
    use ssdlab_trace::Op;

    use super::*;

    /// Simulated response time of every request.
    const RESPONSE: Nanos = Nanos(5_000_000);

    /// A drive that completes every request after [`RESPONSE`], with one page program.
    #[derive(Default)]
    struct ConstantDrive {
        waiting: Vec<Request>,
        counts: Counts,
    }

    impl LiveDrive for ConstantDrive {
        fn submit(&mut self, request: Request) -> Result<(), SimError> {
            self.waiting.push(request);
            Ok(())
        }

        fn advance(&mut self, until: Nanos, done: &mut Vec<(Request, Nanos)>) -> Result<Option<Nanos>, SimError> {
            let end = |request: &Request| Nanos(request.time_ns + RESPONSE.0);
            for request in self.waiting.extract_if(.., |request| end(request) <= until) {
                self.counts.programs[Cause::Host as usize] += 1;
                done.push((request, end(&request)));
            }
            Ok(self.waiting.iter().map(end).min())
        }

        fn counts(&self) -> Counts {
            self.counts
        }

        fn buffered_pages(&self) -> u32 {
            0
        }
    }

    /// Goal: a reply is not delayed further by the time that its request waited for the stored drive. Method: submits a
    /// request whose client has already waited 1 s, and checks when the reply is due.
    #[test]
    fn earlier_waiting_counts_toward_the_response_time() {
        let pace = Pace::new(1.0);
        let clock = Clock::start(Box::new(ConstantDrive::default()), pace).expect("a thread");
        let given = Instant::now();
        let time_ns = pace.at(given);
        let waited = Duration::from_secs(1);
        let request = Request { time_ns, offset: 0, bytes: 4096, op: Op::Write, flags: 0, stream: 0 };
        let came = given.checked_sub(waited).expect("the machine has been on for a second");
        let (sender, receiver) = mpsc::channel();
        let reply = clock.submit(request, came);
        let asked = Instant::now();
        reply.then(move |due| sender.send(due).expect("the receiver exists"));
        let due = receiver.recv().expect("a reply");
        let response = Duration::from_nanos(RESPONSE.0);
        // The client also waits between the call of `submit` and its execution.
        assert!(
            due <= given + response - waited
                && due + (asked - given) >= pace.moment(Nanos(time_ns)) + response - waited
        );
    }

    /// Goal: the measurements include every answered request. Method: submits many requests, and checks the
    /// measurements after each reply.
    #[test]
    fn measurements_include_answered_requests() {
        let clock = Clock::start(Box::new(ConstantDrive::default()), Pace::new(1.0)).expect("a thread");
        // The first request waits 5 ms for its reply. By then, the replies to the later requests are due as well.
        for time_ns in 0..10_000 {
            let request = Request { time_ns, offset: 0, bytes: 4096, op: Op::Write, flags: 0, stream: 0 };
            let (sender, receiver) = mpsc::channel();
            clock.submit(request, Instant::now()).then(move |due| sender.send(due).expect("the receiver exists"));
            receiver.recv().expect("a reply");
            assert_eq!(clock.measured().flash.programmed(), time_ns + 1);
        }
    }
}
