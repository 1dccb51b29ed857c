//! The drive in time beside that of bytes: when the reply to a request may leave.

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

/// Simulated time against that of the clock on the wall.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    began: Instant,
    /// Seconds on the wall for each simulated second.
    scale: f64,
}

impl Pace {
    /// Simulated time begins now and passes `scale` times slower than real time.
    pub fn new(scale: f64) -> Self {
        Self { began: Instant::now(), scale }
    }

    /// The simulated time at a moment.
    pub fn at(&self, moment: Instant) -> u64 {
        (moment.duration_since(self.began).as_nanos() as f64 / self.scale) as u64
    }

    fn moment(&self, time: Nanos) -> Instant {
        self.began + Duration::from_nanos((time.0 as f64 * self.scale) as u64)
    }
}

/// What was measured of the drive in time.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Response times by [`ssdlab_trace::Op`].
    pub latency: [LatencyHistogram; 4],
    /// Flash operations of its own, which are not those of the drive of bytes: a page being programmed in time still
    /// waits in the write buffer, and may be overwritten there.
    pub flash: Counts,
    /// Pages in its write buffer.
    pub buffered_pages: u32,
    /// Why the drive stopped telling times.
    pub failed: Option<Arc<SimError>>,
}

/// Runs the drive in time on a thread of its own. Replies wait for it; if it fails, they leave at once.
pub struct Clock {
    sender: Option<Sender<Asked>>,
    thread: Option<JoinHandle<()>>,
    measured: Arc<Mutex<Measured>>,
}

/// A request for the drive in time.
struct Asked {
    request: Request,
    reply: Reply,
}

/// A reply that waits for a request.
struct Reply {
    /// How long the client had waited before the drive was given the request, for others and for what holds the bytes.
    waited: Duration,
    completer: Completer,
}

impl Clock {
    /// Starts the drive, whose time is that of `pace`.
    ///
    /// # Errors
    /// If there can be no thread.
    pub fn start(drive: Box<dyn LiveDrive>, pace: Pace) -> std::io::Result<Self> {
        let (sender, asked) = mpsc::channel();
        let measured = Arc::new(Mutex::new(Measured::default()));
        let before = drive.counts();
        let mut ticking =
            Ticking { before, drive, pace, asked, measured: Arc::clone(&measured), replies: HashMap::new() };
        let thread = thread::Builder::new().name("drive in time".into()).spawn(move || {
            if let Err(error) = ticking.run() {
                // The completers go with what waits, and replies leave.
                lock(&ticking.measured).failed = Some(Arc::new(error));
            }
        })?;
        Ok(Self { sender: Some(sender), thread: Some(thread), measured })
    }

    /// Gives the drive a request, whose time no other has. Its reply is due as if the drive had been given it when the
    /// client asked.
    pub fn submit(&self, request: Request, came: Instant) -> DeferredReply {
        let (completer, due) = deferred_reply();
        if let Some(sender) = &self.sender {
            // A drive that has failed drops the completer, and the reply leaves at once.
            let _ = sender.send(Asked { request, reply: Reply { waited: came.elapsed(), completer } });
        }
        due
    }

    /// What was measured up to now.
    pub fn measured(&self) -> Measured {
        lock(&self.measured).clone()
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed, and nobody waits for it.
            let _ = thread.join();
        }
    }
}

fn lock(measured: &Mutex<Measured>) -> MutexGuard<'_, Measured> {
    measured.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Ticking {
    /// Flash operations before time began.
    before: Counts,
    drive: Box<dyn LiveDrive>,
    pace: Pace,
    asked: Receiver<Asked>,
    measured: Arc<Mutex<Measured>>,
    /// Replies by the time of their request. With a drive that fails they go, and leave at once.
    replies: HashMap<u64, Reply>,
}

impl Ticking {
    fn run(&mut self) -> Result<(), SimError> {
        let mut done = Vec::new();
        loop {
            let next = self.drive.advance(Nanos(self.pace.at(Instant::now())), &mut done)?;
            // First, so that whoever has a reply finds what it took among the figures.
            {
                let mut measured = lock(&self.measured);
                measured.flash = self.drive.counts() - self.before;
                measured.buffered_pages = self.drive.buffered_pages();
            }
            self.complete(&mut done);
            let asked = match next {
                // What is simulated is due at a moment on the wall.
                Some(next) => {
                    let left = self.pace.moment(next).saturating_duration_since(Instant::now());
                    match self.asked.recv_timeout(left) {
                        Ok(asked) => asked,
                        Err(RecvTimeoutError::Timeout) => continue,
                        Err(RecvTimeoutError::Disconnected) => return Ok(()),
                    }
                }
                None => match self.asked.recv() {
                    Ok(asked) => asked,
                    Err(_) => return Ok(()),
                },
            };
            self.take(asked)?;
            while let Ok(asked) = self.asked.try_recv() {
                self.take(asked)?;
            }
        }
    }

    fn take(&mut self, Asked { request, reply }: Asked) -> Result<(), SimError> {
        self.replies.insert(request.time_ns, reply);
        self.drive.submit(request)
    }

    fn complete(&mut self, done: &mut Vec<(Request, Nanos)>) {
        if done.is_empty() {
            return;
        }
        let mut measured = lock(&self.measured);
        for (request, at) in done.drain(..) {
            measured.latency[request.op as usize].record(at.0 - request.time_ns);
            if let Some(Reply { waited, completer }) = self.replies.remove(&request.time_ns) {
                completer.complete(self.pace.moment(at) - waited);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_nand::Cause;
    use ssdlab_trace::Op;

    use super::*;

    /// Time that each request takes.
    const RESPONSE: Nanos = Nanos(5_000_000);

    /// A drive that does every request in the same time, by a program of a page.
    #[derive(Default)]
    struct Even {
        waiting: Vec<Request>,
        counts: Counts,
    }

    impl LiveDrive for Even {
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

    /// Goal: a reply is due as if the client had not waited for what holds the bytes. Method: one that had waited a
    /// second.
    #[test]
    fn what_a_client_has_waited_is_no_part_of_the_response() {
        let pace = Pace::new(1.0);
        let clock = Clock::start(Box::new(Even::default()), pace).expect("a thread");
        let given = Instant::now();
        let time_ns = pace.at(given);
        let waited = Duration::from_secs(1);
        let request = Request { time_ns, offset: 0, bytes: 4096, op: Op::Write, flags: 0, stream: 0 };
        let came = given.checked_sub(waited).expect("the machine has been on for a second");
        let (sender, receiver) = mpsc::channel();
        let reply = clock.submit(request, came);
        let asked = Instant::now();
        reply.then(move |due| sender.send(due).expect("somebody listens"));
        let due = receiver.recv().expect("a reply");
        let response = Duration::from_nanos(RESPONSE.0);
        // Between giving the request and handing it over the client waited on.
        assert!(
            due <= given + response - waited
                && due + (asked - given) >= pace.moment(Nanos(time_ns)) + response - waited
        );
    }

    /// Goal: whoever has a reply finds what the drive did for it among the figures. Method: many replies.
    #[test]
    fn what_was_replied_to_was_measured() {
        let clock = Clock::start(Box::new(Even::default()), Pace::new(1.0)).expect("a thread");
        // The first waits for its time, and that of the others is over then.
        for time_ns in 0..10_000 {
            let request = Request { time_ns, offset: 0, bytes: 4096, op: Op::Write, flags: 0, stream: 0 };
            let (sender, receiver) = mpsc::channel();
            clock.submit(request, Instant::now()).then(move |due| sender.send(due).expect("somebody listens"));
            receiver.recv().expect("a reply");
            assert_eq!(clock.measured().flash.programmed(), time_ns + 1);
        }
    }
}
