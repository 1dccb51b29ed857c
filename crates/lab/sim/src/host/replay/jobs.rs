//! Replays jobs: closed loops that run concurrently, each with its own requests, queue depth, pauses and end condition.
//!
//! A job that cannot issue a request now waits for a completion or until a given time; the other jobs continue. At
//! equal times, jobs take turns.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use ssdlab_nand::backend::parallel::NEVER;
use ssdlab_trace::{Job, JobOutcome, Request};

use super::reader::{Issued, Next, TraceReader};
use crate::run::error::SimError;
use crate::run::monitor::Control;

/// State of one job.
struct JobState {
    job: Job,
    /// Requests read from the source but not issued yet, last request first.
    waiting: Vec<Request>,
    outstanding: u32,
    /// Number of requests issued since the job's last pause.
    since_pause: u64,
    /// True if the job waits for a completion before it can issue its next request.
    is_blocked: bool,
    /// True if the job issues no more requests.
    is_over: bool,
    outcome: JobOutcome,
}

/// Next action of a job.
enum Step {
    Issue(Request),
    /// The job waits for a completion.
    Block,
    /// The job waits until this time before it continues.
    WaitUntil(u64),
    /// The job issues no more requests.
    Over,
}

/// Replays the groups of jobs one after another.
pub(super) struct JobReplay {
    jobs: Vec<JobState>,
    /// Jobs of the current group that may be able to issue a request now.
    ready: VecDeque<u16>,
    /// Times at which jobs become ready.
    timers: BinaryHeap<Reverse<(u64, u16)>>,
    /// Number of the job group that runs next.
    next_group: u32,
    /// Number of jobs in the current group that have not ended, or still have outstanding requests.
    unfinished: usize,
}

impl JobReplay {
    pub fn new(jobs: &[Job]) -> Self {
        let state = |&job: &Job| JobState {
            job,
            waiting: Vec::new(),
            outstanding: 0,
            since_pause: 0,
            is_blocked: false,
            is_over: false,
            outcome: JobOutcome::default(),
        };
        Self {
            jobs: jobs.iter().map(state).collect(),
            ready: VecDeque::new(),
            timers: BinaryHeap::new(),
            next_group: 0,
            unfinished: 0,
        }
    }

    /// Returns the next action of the host.
    pub fn next(&mut self, reader: &mut TraceReader<'_>, now_ns: u64) -> Result<Next, SimError> {
        loop {
            while let Some(&Reverse((time_ns, number))) = self.timers.peek()
                && time_ns <= now_ns
            {
                self.timers.pop();
                self.ready.push_back(number);
            }
            let Some(number) = self.ready.pop_front() else {
                if self.unfinished > 0 {
                    return Ok(Next::Wait(self.timers.peek().map_or(NEVER, |&Reverse((time_ns, _))| time_ns)));
                }
                if reader.control == Control::Stop || !self.start_group(now_ns) {
                    return Ok(Next::End);
                }
                continue;
            };
            let state = &mut self.jobs[usize::from(number)];
            match state.step(usize::from(number), reader, now_ns)? {
                Step::Issue(request) => {
                    self.ready.push_back(number);
                    reader.job_issued(&request);
                    return Ok(Next::Issue(Issued { request, time_ns: now_ns }));
                }
                Step::Block => state.is_blocked = true,
                Step::WaitUntil(time_ns) => self.timers.push(Reverse((time_ns, number))),
                Step::Over => {
                    state.is_over = true;
                    self.unfinished -= usize::from(state.outstanding == 0);
                }
            }
        }
    }

    /// Starts the jobs of the next group; returns false after the last group.
    fn start_group(&mut self, now_ns: u64) -> bool {
        let Some(group) = self.jobs.iter().map(|state| state.job.group).filter(|&group| group >= self.next_group).min()
        else {
            return false;
        };
        self.next_group = group + 1;
        for (number, state) in (0..).zip(&mut self.jobs).filter(|(_, state)| state.job.group == group) {
            let start_ns = now_ns.saturating_add(state.job.delay_ns);
            (state.outcome.start_ns, state.outcome.end_ns) = (start_ns, start_ns);
            self.timers.push(Reverse((start_ns, number)));
            self.unfinished += 1;
        }
        true
    }

    pub fn completed(&mut self, request: &Request, now_ns: u64, latency_ns: u64) {
        let number = request.stream - 1;
        let state = &mut self.jobs[usize::from(number)];
        state.outstanding -= 1;
        state.outcome.end_ns = now_ns;
        state.outcome.bytes[request.op as usize] += u64::from(request.bytes);
        state.outcome.latency[request.op as usize].record(latency_ns);
        if std::mem::take(&mut state.is_blocked) {
            self.ready.push_back(number);
        }
        self.unfinished -= usize::from(state.is_over && state.outstanding == 0);
    }

    /// Returns the measurements of the jobs.
    pub fn outcomes(self) -> Vec<JobOutcome> {
        self.jobs.into_iter().map(|state| state.outcome).collect()
    }
}

impl JobState {
    /// Returns the job's next action at `now_ns`.
    fn step(&mut self, number: usize, reader: &mut TraceReader<'_>, now_ns: u64) -> Result<Step, SimError> {
        let Job { depth, think_ns, think_requests, runtime_ns, .. } = self.job;
        let end_ns = self.outcome.start_ns.saturating_add(runtime_ns);
        if now_ns >= end_ns || reader.control == Control::Stop {
            return Ok(Step::Over);
        }
        if self.waiting.is_empty() {
            reader.read_job(number, &mut self.waiting)?;
            self.waiting.reverse();
        }
        let Some(&request) = self.waiting.last() else { return Ok(Step::Over) };
        if think_ns > 0 && self.since_pause == think_requests {
            if self.outstanding > 0 {
                return Ok(Step::Block);
            }
            self.since_pause = 0;
            return Ok(Step::WaitUntil(now_ns.saturating_add(think_ns).min(end_ns)));
        }
        if self.outstanding == depth {
            return Ok(Step::Block);
        }
        let earliest_ns = self.outcome.start_ns.saturating_add(request.time_ns);
        if earliest_ns > now_ns {
            return Ok(Step::WaitUntil(earliest_ns.min(end_ns)));
        }
        self.waiting.pop();
        self.outstanding += 1;
        self.since_pause += 1;
        Ok(Step::Issue(request))
    }
}
