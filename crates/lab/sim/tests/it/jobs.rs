//! Goal: each job keeps its depth, pauses, rate and end, and groups run one after another. Method: times by hand on a
//! drive with one die, where every read takes the same time.

use ssdlab_nand::Parallelism;
use ssdlab_sim::{Clock, Outcome, Setup, run};
use ssdlab_testkit::drives::{PLAIN, TIMING, drive_setup};
use ssdlab_trace::{Job, JobOutcome, Op, Progress, Request, Source, TraceError};

/// Time of a read: the cells, then the transfer of a page.
const READ_NS: u64 = 100 + 20;

const JOB: Job = Job { group: 0, depth: 1, think_ns: 0, think_requests: 1, delay_ns: 0, runtime_ns: u64::MAX };

/// Jobs that read the first page of the drive, each with the earliest times of its reads.
struct Jobs {
    jobs: Vec<Job>,
    times_ns: Vec<Vec<u64>>,
    outcomes: Vec<JobOutcome>,
}

impl Source for Jobs {
    fn fill(&mut self, _: &mut Vec<Request>, _: usize) -> Result<usize, TraceError> {
        unreachable!("jobs are filled one by one")
    }

    fn progress(&self) -> Progress {
        Progress { done: 0, total: None }
    }

    fn rewind(&mut self) -> Result<(), TraceError> {
        unreachable!("the jobs are replayed once")
    }

    fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    fn fill_job(&mut self, job: usize, out: &mut Vec<Request>, max: usize) -> Result<usize, TraceError> {
        let times_ns = &mut self.times_ns[job];
        let count = times_ns.len().min(max);
        let stream = job as u16 + 1;
        let read = |time_ns| Request { time_ns, offset: 0, bytes: 4096, op: Op::Read, flags: 0, stream };
        out.extend(times_ns.drain(..count).map(read));
        Ok(count)
    }

    fn jobs_done(&mut self, outcomes: Vec<JobOutcome>) {
        self.outcomes = outcomes;
    }
}

/// Replays jobs. Returns the start, the end and the number of reads of each job.
fn replay(jobs: &[(Job, &[u64])]) -> (Vec<(u64, u64, u64)>, Outcome) {
    let mut setup: Setup = drive_setup(Parallelism::SINGLE, 8, 4, 1);
    setup.clock = Clock::Event(TIMING, PLAIN);
    setup.precondition.fill = 1.0;
    let mut source = Jobs {
        jobs: jobs.iter().map(|&(job, _)| job).collect(),
        times_ns: jobs.iter().map(|(_, times_ns)| times_ns.to_vec()).collect(),
        outcomes: Vec::new(),
    };
    let outcome = run(&setup, &mut source, &mut ()).expect("runs");
    let base_ns = source.outcomes[0].start_ns - jobs[0].0.delay_ns;
    let found = source.outcomes.iter().map(|job| {
        let reads = job.latency[Op::Read as usize].count();
        assert_eq!(job.bytes, [reads * 4096, 0, 0, 0]);
        (job.start_ns - base_ns, job.end_ns - base_ns, reads)
    });
    (found.collect(), outcome)
}

#[test]
fn groups_pauses_ends_and_rates_take_their_times() {
    let (found, outcome) = replay(&[
        (JOB, &[0; 4]),
        // Two pauses between three reads.
        (Job { group: 1, think_ns: 50, ..JOB }, &[0; 3]),
        // The fourth read would be issued after 360 ns.
        (Job { group: 2, runtime_ns: 300, ..JOB }, &[0; 100]),
        (Job { group: 3, delay_ns: 30, ..JOB }, &[0, 1_000, 2_000]),
        // The pause begins when both reads have completed.
        (Job { group: 4, depth: 2, think_ns: 500, think_requests: 2, ..JOB }, &[0; 4]),
    ]);
    let ends = [4 * READ_NS, 3 * READ_NS + 2 * 50, 3 * READ_NS, 30 + 2_000 + READ_NS, 4 * READ_NS + 500];
    let mut start_ns = 0;
    for (number, (&(started_ns, ended_ns, reads), length_ns)) in found.iter().zip(ends).enumerate() {
        let delay_ns = if number == 3 { 30 } else { 0 };
        assert_eq!((started_ns, ended_ns), (start_ns + delay_ns, start_ns + length_ns), "job {number}");
        assert_eq!(reads, [4, 3, 3, 3, 4][number]);
        start_ns += length_ns;
    }
    assert_eq!(outcome.summary.time.expect("timed").elapsed_ns, start_ns);
    assert!(!outcome.summary.partial);
}

/// A slow job does not delay a fast job: one job issues 200,000 reads during a single pause of the other job.
#[test]
fn jobs_are_independent() {
    let many = vec![0; 200_000];
    let (found, _) = replay(&[(JOB, &many), (Job { think_ns: 200_000 * READ_NS, ..JOB }, &[0; 2])]);
    // The first reads of both jobs compete for the die; the slow job's second read follows all other reads.
    assert_eq!(found[0].2, 200_000);
    assert_eq!(found[1].2, 2);
    assert!(found[0].1 <= 200_002 * READ_NS && found[1].1 > found[0].1, "{found:?}");
}

/// The depth of one job does not affect other jobs. Reads queue at the only die, so a job of depth 3 gets three
/// quarters of the reads.
#[test]
fn each_job_keeps_its_depth() {
    let endless = vec![0; 10_000];
    let for_ns = Job { runtime_ns: 1_000 * READ_NS, ..JOB };
    let (found, outcome) = replay(&[(for_ns, &endless), (Job { depth: 3, ..for_ns }, &endless)]);
    assert_eq!(outcome.summary.drive.expect("a drive").queue_depth_max, 4);
    let share = found[1].2 as f64 / (found[0].2 + found[1].2) as f64;
    assert!((share - 0.75).abs() < 0.01, "{found:?}");
}
