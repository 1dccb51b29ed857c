//! oltp: shadow processes read 2 KiB at random positions; ten database writers and a log writer make durable writes.
//!
//! After each read, a shadow process posts to the semaphore of every writer. A database writer consumes 1,000 posts per
//! 100 writes. It writes to its files in turn with asynchronous I/O; writes to different files run concurrently. The
//! next 100 writes start when all of these are durable. A shadow process waits while a database writer is 2,000 posts
//! behind. The log writer consumes 3,200 posts per write of 256 KiB. (Filebench's own limit of 1,000 posts for the log
//! writer never takes effect and is not modelled.)

use std::collections::VecDeque;

use ssdlab_core::Rng;

use super::{Personality, PersonalityRules, Work};

pub(super) static OLTP: Personality = Personality {
    name: "oltp",
    help: "database: small random reads and small synchronous random writes",
    source: "Filebench, workloads/oltp.f",
    parameters: &[],
    role: PersonalityRules {
        files: 10,
        file_bytes: 10 << 20,
        threads: 200,
        existing: 1.0,
        files_per_directory: 1024,
        gamma: false,
        log_bytes: Some(10 << 20),
        work: Work::Database,
    },
};

/// Number of bytes that a shadow process reads, or a database writer writes, in one operation.
const BYTES: u64 = 2048;
/// Size of a log write in bytes.
const LOG_BYTES: u64 = 256 << 10;
const WRITERS: u32 = 10;
const ROUND_WRITES: u32 = 100;
const ROUND_POSTS: u32 = 1000;
const POSTS_MAX: u32 = 2000;
const LOG_POSTS: u32 = 3200;
/// Maximum number of glibc threads for a process's asynchronous I/O.
const AIO_THREADS: u32 = 20;

/// A pending read or write of a database process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) struct Access {
    pub file: u32,
    pub at: u64,
    pub bytes: u64,
}

/// Role of a database thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) enum Role {
    /// Shadow process, which only reads; the value is its process number.
    Shadow(u32),
    /// Asynchronous I/O thread: the number of its database writer, and the number of the thread within that writer.
    Writer(u32, u32),
    /// The log writer.
    Log,
}

/// A database process: its random generator, and the number of the file that it accesses next.
#[derive(Clone, Debug)]
struct Process {
    rng: Rng,
    turn: u32,
}

#[derive(Clone, Debug)]
struct Writer {
    process: Process,
    posts: u32,
    unfinished: u32,
    /// Pending writes of each asynchronous I/O thread.
    queues: Vec<VecDeque<Access>>,
}

/// Processes of the database and their semaphores.
#[derive(Clone, Debug)]
pub(in super::super) struct Database {
    files: u32,
    file_bytes: u64,
    shadows: Vec<Process>,
    writers: Vec<Writer>,
    log: Process,
    log_posts: u32,
}

impl Process {
    /// Draws the next access of the process: 2 KiB at a random position in its next file.
    fn access(&mut self, files: u32, file_bytes: u64) -> Access {
        let file = self.turn;
        self.turn = (file + 1) % files;
        Access { file, at: self.place(file_bytes, BYTES), bytes: BYTES }
    }

    /// Draws the offset of an access of `bytes` bytes to a file of `of` bytes. The offset is a multiple of `bytes`.
    fn place(&mut self, of: u64, bytes: u64) -> u64 {
        self.rng.below(of / bytes) * bytes
    }
}

impl Database {
    /// Returns the roles of the threads that issue requests: shadows first, log writer last.
    pub fn roles(shadows: u32, files: u32) -> impl Iterator<Item = Role> {
        let writers =
            (0..WRITERS).flat_map(move |writer| (0..aio(files)).map(move |thread| Role::Writer(writer, thread)));
        (0..shadows).map(Role::Shadow).chain(writers).chain([Role::Log])
    }

    /// Creates the processes; `rng` returns the random generator of the process with a given number.
    pub fn new(shadows: u32, files: u32, file_bytes: u64, rng: impl Fn(u32) -> Rng) -> Self {
        let process = |number| Process { rng: rng(number), turn: 0 };
        let queues = vec![VecDeque::new(); aio(files) as usize];
        let writer = |number| Writer {
            process: process(shadows + number),
            posts: ROUND_POSTS,
            unfinished: 0,
            queues: queues.clone(),
        };
        Self {
            files,
            file_bytes,
            shadows: (0..shadows).map(process).collect(),
            writers: (0..WRITERS).map(writer).collect(),
            log: process(shadows + WRITERS),
            log_posts: LOG_POSTS,
        }
    }

    /// Returns the name of a thread with the given role.
    pub fn name(role: Role) -> String {
        match role {
            Role::Shadow(number) => format!("shadow/{}", number + 1),
            Role::Writer(writer, thread) => format!("dbwr{}/{}", writer + 1, thread + 1),
            Role::Log => "lgwr".into(),
        }
    }

    /// Returns the next access of a thread with the given role; `None` if the thread must wait for other threads.
    pub fn next(&mut self, role: Role) -> Option<Access> {
        match role {
            Role::Shadow(number) => {
                let behind = self.writers.iter().any(|writer| writer.posts >= POSTS_MAX);
                (!behind).then(|| self.shadows[number as usize].access(self.files, self.file_bytes))
            }
            Role::Writer(writer, thread) => {
                let (files, file_bytes) = (self.files, self.file_bytes);
                let writer = &mut self.writers[writer as usize];
                if writer.unfinished == 0 && writer.posts >= ROUND_POSTS {
                    writer.posts -= ROUND_POSTS;
                    writer.unfinished = ROUND_WRITES;
                    for _ in 0..ROUND_WRITES {
                        let access = writer.process.access(files, file_bytes);
                        let threads = writer.queues.len();
                        writer.queues[access.file as usize % threads].push_back(access);
                    }
                }
                writer.queues[thread as usize].pop_front()
            }
            Role::Log => {
                self.log_posts = self.log_posts.checked_sub(LOG_POSTS)?;
                let at = self.log.place(OLTP.role.log_bytes.unwrap_or(0), LOG_BYTES);
                Some(Access { file: self.files, at, bytes: LOG_BYTES })
            }
        }
    }

    /// Records the completion of an access returned by [`Self::next`]; returns true if waiting threads may continue.
    pub fn done(&mut self, role: Role) -> bool {
        match role {
            Role::Shadow(_) => {
                self.log_posts += 1;
                let mut wakes = self.log_posts == LOG_POSTS;
                for writer in &mut self.writers {
                    writer.posts += 1;
                    wakes |= writer.posts == ROUND_POSTS;
                }
                wakes
            }
            Role::Writer(writer, _) => {
                let writer = &mut self.writers[writer as usize];
                writer.unfinished -= 1;
                writer.unfinished == 0
            }
            Role::Log => false,
        }
    }
}

fn aio(files: u32) -> u32 {
    files.min(AIO_THREADS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database() -> Database {
        Database::new(2, 10, 1 << 20, |_| Rng::named(1, "filebench.process"))
    }

    #[test]
    fn unseeded_processes_use_the_same_places() {
        let mut database = database();
        let mut read = |number| (0..30).map(|_| database.next(Role::Shadow(number)).unwrap()).collect::<Vec<_>>();
        let reads = read(0);
        assert_eq!(reads, read(1));
        assert!(reads.iter().enumerate().all(|(n, access)| access.file == n as u32 % 10 && access.at % BYTES == 0));
        // All processes have the same seed. So the first write to a file goes to the position that a shadow process
        // reads first.
        assert_eq!(database.next(Role::Writer(3, 7)), Some(reads[7]));
    }

    #[test]
    fn a_round_is_a_hundred_writes_and_a_thousand_posts() {
        let mut database = database();
        let round = |database: &mut Database| {
            let mut writes = 0;
            for thread in 0..10 {
                while database.next(Role::Writer(0, thread)).is_some() {
                    writes += 1;
                }
            }
            writes
        };
        assert_eq!((round(&mut database), round(&mut database)), (100, 0));
        // 999 posts are not enough; the thousandth post wakes the writers.
        assert!((0..999).all(|_| !database.done(Role::Shadow(0))));
        assert!((0..99).all(|_| !database.done(Role::Writer(0, 0))) && database.done(Role::Writer(0, 0)));
        assert_eq!(round(&mut database), 0);
        database.done(Role::Shadow(0));
        assert_eq!(round(&mut database), 100);
        // The other writers have not started; they have 1,000 initial posts and 1,000 new posts.
        assert_eq!(database.next(Role::Shadow(0)), None);
    }

    #[test]
    fn the_log_is_written_every_3200_posts() {
        let mut database = database();
        assert!(database.next(Role::Log).is_some_and(|access| access.file == 10 && access.bytes == 256 << 10));
        assert_eq!(database.next(Role::Log), None);
        assert_eq!((0..3200).filter(|_| database.done(Role::Shadow(0))).count(), 1, "the log writer wakes");
        assert!(database.next(Role::Log).is_some());
    }
}
