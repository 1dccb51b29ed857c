//! Sources of requests: files, generators and memory. All sources stream requests in bounded memory.

use crate::{Job, JobOutcome, Request, TraceError};

/// Progress of a source, counted in file bytes or in requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Number of file bytes or requests consumed so far.
    pub done: u64,
    /// Total number of file bytes or requests, if known.
    pub total: Option<u64>,
}

/// A stream of requests in replay order.
pub trait Source {
    /// Performs part of the preparation for the first request; returns true if work remains. Callers that can be
    /// interrupted call this until it returns false. Otherwise, [`Self::fill`] does the work.
    fn prepare(&mut self) -> Result<bool, TraceError> {
        Ok(false)
    }

    /// Appends at most `max` requests to `out` and returns their number; 0 means the end.
    fn fill(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize, TraceError>;

    /// Returns the progress in reading the source.
    fn progress(&self) -> Progress;

    /// Moves the source back to its first request. Fails if the requests cannot be read again.
    fn rewind(&mut self) -> Result<(), TraceError>;

    /// Returns the jobs of the source; empty unless the source consists of jobs. The host replays jobs with
    /// [`Self::fill_job`] instead of [`Self::fill`].
    fn jobs(&self) -> &[Job] {
        &[]
    }

    /// Appends at most `max` requests of a job to `out` and returns their number; 0 means the end of the job. The
    /// stream of each request is the index of its job plus 1. The time of a request is the earliest time at which it
    /// may be issued, counted from the start of the job.
    fn fill_job(&mut self, _job: usize, _out: &mut Vec<Request>, _max: usize) -> Result<usize, TraceError> {
        Ok(0)
    }

    /// Receives the measurements of all jobs at the end of a replay.
    fn jobs_done(&mut self, _outcomes: Vec<JobOutcome>) {}
}

/// A source of requests that are already in memory.
#[derive(Clone, Debug)]
pub struct SliceSource<'a> {
    requests: &'a [Request],
    next: usize,
}

impl<'a> SliceSource<'a> {
    /// Creates a source that begins at the first of `requests`.
    pub fn new(requests: &'a [Request]) -> Self {
        Self { requests, next: 0 }
    }
}

impl Source for SliceSource<'_> {
    fn fill(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize, TraceError> {
        let end = self.requests.len().min(self.next.saturating_add(max));
        out.extend_from_slice(&self.requests[self.next..end]);
        let count = end - self.next;
        self.next = end;
        Ok(count)
    }

    fn progress(&self) -> Progress {
        Progress { done: self.next as u64, total: Some(self.requests.len() as u64) }
    }

    fn rewind(&mut self) -> Result<(), TraceError> {
        self.next = 0;
        Ok(())
    }
}
