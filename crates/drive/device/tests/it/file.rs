//! Tests of a drive in a file: reopening by another process, wrong configurations, damaged files and killed processes.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{RwLock, RwLockReadGuard};

use ssdlab_core::Rng;
use ssdlab_device::{Backend, Drive, DriveError, FaultBackend, FaultPlan, FileBackend, FileError, OpenError, PowerCut};

use crate::drives::{Kind, all_buffers, protected, smallest};
use crate::world::{Lie, Stop, World};

/// Locked for writing while a process is started. Until it executes its program, a new process inherits the locks of
/// all files that are open in this process.
static STARTING: RwLock<()> = RwLock::new(());

/// A unique path in the folder for temporary files; the file is removed on drop. Unless the path is for a process that
/// will be started, it prevents this process from starting others, which would inherit the lock of the file.
struct Scratch {
    path: PathBuf,
    _quiet: Option<RwLockReadGuard<'static, ()>>,
}

impl Scratch {
    fn new(name: &str) -> Self {
        let quiet = STARTING.read().expect("a reader poisons no lock");
        let mut scratch = Self::for_a_process(name);
        scratch._quiet = Some(quiet);
        scratch
    }

    /// Creates a path for a process that will be started.
    fn for_a_process(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ssdlab-{}-{name}.ssd", std::process::id()));
        // Removes the file of an earlier process with the same process number.
        let _ = fs::remove_file(&path);
        Self { path, _quiet: None }
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn page_mapped() -> Kind {
    smallest()[0]
}

fn lines(value: &str) -> Vec<(String, String)> {
    vec![("ftl".into(), value.into()), ("device.capacity".into(), "1KiB".into())]
}

fn create(scratch: &Scratch, kind: &Kind) -> FileBackend {
    let flash = FileBackend::create(scratch.path(), kind.geometry, &lines("page"), &[]).expect("a new file");
    FileBackend::finish(scratch.path()).expect("it is there");
    flash
}

fn open(scratch: &Scratch, kind: &Kind) -> Result<FileBackend, FileError> {
    FileBackend::open(scratch.path(), kind.geometry, &lines("page"), &[])
}

#[test]
fn every_kind_of_drive_can_be_reopened() {
    for (number, kind) in smallest().into_iter().enumerate() {
        let scratch = Scratch::new(&format!("kinds-{number}"));
        let bytes = kind.options.logical_pages as usize * kind.geometry.page_bytes as usize;
        let data: Vec<u8> = (0..bytes).map(|at| (at * 7 % 251) as u8).collect();
        for clean in [false, true] {
            let mut drive = if clean {
                let backend = open(&scratch, &kind).expect("it is there");
                let mut drive = Drive::off(backend, kind.options).expect("a sound drive");
                drive.mount().unwrap_or_else(|error| panic!("{}: {error}", kind.name));
                drive
            } else {
                Drive::create(create(&scratch, &kind), kind.options).expect("a sound drive")
            };
            let mut read = vec![1; bytes];
            drive.read(0, &mut read).expect("it can be read");
            assert_eq!(read, if clean { data.clone() } else { vec![0; bytes] }, "{}", kind.name);
            for _ in 0..3 {
                drive.write(0, &data, true).expect("it can be written");
            }
            if clean {
                drive.shut_down().expect("it can be shut down");
            }
        }
        let mut drive = Drive::off(open(&scratch, &kind).expect("it is there"), kind.options).expect("a sound drive");
        let report = drive.mount().expect("it was shut down");
        assert!(report.clean && report.spares_read == 0 && !report.full_scan, "{}: {report:?}", kind.name);
        let mut read = vec![1; bytes];
        drive.read(0, &mut read).expect("it can be read");
        assert_eq!(read, data, "{}", kind.name);
    }
}

/// Goal: all mounts and all mounts after a power loss are counted, with and without writes in between. A power loss
/// resets the byte counts of the host to the latest checkpoint.
#[test]
fn a_drive_counts_over_its_life() {
    let kind = page_mapped();
    let scratch = Scratch::new("life");
    drop(Drive::create(create(&scratch, &kind), kind.options).expect("a sound drive"));
    let mut lost = 0;
    for mounts in 1..=40 {
        let mut drive = Drive::off(open(&scratch, &kind).expect("it is there"), kind.options).expect("a sound drive");
        let report = drive.mount().expect("a sound drive");
        lost += u64::from(!report.clean);
        let health = drive.health();
        assert_eq!((health.power_cycles, health.unsafe_shutdowns), (mounts, lost));
        if mounts % 3 == 0 {
            drive.write(0, &[1; 10], false).expect("it can be written");
            drive.read(0, &mut [0; 4]).expect("it can be read");
            drive.write_zeroes(0, 5, false).expect("it can be written");
            drive.program_zeroes(0, 7, true).expect("it can be written");
            drive.shut_down().expect("it can be shut down");
        }
        // The first mount is not clean, because the new drive was not shut down.
        assert_eq!(report.clean, mounts > 1 && mounts % 3 == 1);
        // Write-zeroes requests do not count as bytes written.
        assert_eq!((drive.health().bytes_written, drive.health().bytes_read), (mounts / 3 * 10, mounts / 3 * 4));
    }
}

/// Goal: with a wrong bit anywhere after the superblock, no page reads as other data. Method: kills drives after a
/// flush, every second drive after another mount without writes, and flips a bit in each part of the file in turn.
#[test]
fn a_wrong_bit_is_corrected_or_an_error() {
    let mut rng = Rng::named(1, "wrong bits");
    for (number, kind) in smallest().into_iter().enumerate() {
        let scratch = Scratch::new(&format!("bits-{number}"));
        let (pages, page_bytes) = (kind.options.logical_pages as usize, kind.geometry.page_bytes as usize);
        let mut data = vec![0; pages * page_bytes];
        let mut drive = Drive::create(create(&scratch, &kind), kind.options).expect("a sound drive");
        for write in 0..8 * pages {
            // Writes all pages in order, then random pages.
            let page = if write < pages { write } else { rng.below(pages as u64) as usize };
            let bytes = &mut data[page * page_bytes..][..page_bytes];
            bytes.iter_mut().enumerate().for_each(|(at, byte)| *byte = (write * 31 + at) as u8);
            drive.write((page * page_bytes) as u64, bytes, false).expect("it can be written");
        }
        if number % 2 == 1 {
            drop(drive);
            drive = Drive::off(open(&scratch, &kind).expect("it is there"), kind.options).expect("a drive");
            drive.mount().expect("nothing is wrong with it");
        }
        drive.flush().expect("it can be flushed");
        drop(drive);
        let file = fs::read(scratch.path()).expect("it is there");
        let marks = 64 << 10;
        let written: Vec<usize> = (marks..file.len()).filter(|&at| file[at] != 0 || at < marks + 8).collect();
        for _ in 0..ssdlab_tiers::cases(20).cases {
            let (at, bit) = (written[rng.below(written.len() as u64) as usize], 1 << rng.below(8));
            let place = format!("{}, byte {at}, bit {bit}", kind.name);
            fs::write(scratch.path(), &file).expect("it can be written");
            write_at(scratch.path(), at as u64, &[file[at] ^ bit]);
            let mut drive = Drive::off(open(&scratch, &kind).expect("it is there"), kind.options).expect("a drive");
            drive.mount().unwrap_or_else(|error| panic!("{place}: {error}"));
            for (page, expected) in data.chunks_exact(page_bytes).enumerate() {
                let mut read = vec![0; page_bytes];
                match drive.read((page * page_bytes) as u64, &mut read) {
                    Ok(()) => assert!(read == expected, "{place}: page {page} reads as other data"),
                    Err(error) => assert!(matches!(error, DriveError::Unreadable(_)), "{place}: {error}"),
                }
            }
        }
    }
}

/// Checks that a file whose end is missing is rejected, because records of a protected buffer may be lost.
#[test]
fn a_file_without_its_end_is_refused() {
    let (scratch, kind) = (Scratch::new("cut"), protected(page_mapped()));
    let mut drive = Drive::create(create(&scratch, &kind), kind.options).expect("a sound drive");
    drive.write(0, &[1; 64], true).expect("it can be written");
    drop(drive);
    let bytes = fs::metadata(scratch.path()).expect("it is there").len();
    OpenOptions::new().write(true).open(scratch.path()).and_then(|file| file.set_len(bytes - 1)).expect("it is there");
    let mut drive = Drive::off(open(&scratch, &kind).expect("it is there"), kind.options).expect("a sound drive");
    let refused = drive.mount().expect_err("it is cut off").to_string();
    assert!(refused.contains("the end of the write buffer's journal is missing"), "{refused}");
}

fn refusal(scratch: &Scratch, spoil: impl FnOnce(&Path)) -> String {
    let kind = page_mapped();
    drop(create(scratch, &kind));
    spoil(scratch.path());
    let before = fs::read(scratch.path()).expect("it is there");
    let text = open(scratch, &kind).expect_err("it is spoiled").to_string();
    assert_eq!(fs::read(scratch.path()).expect("it is there"), before, "a rejected file must not be changed");
    let path = format!("{}: ", scratch.path().display());
    text.strip_prefix(&path).unwrap_or_else(|| panic!("{text} does not contain the path of the file")).to_owned()
}

fn write_at(path: &Path, offset: u64, bytes: &[u8]) {
    OpenOptions::new().write(true).open(path).and_then(|file| file.write_all_at(bytes, offset)).expect("it is there");
}

#[test]
fn other_files_are_refused_with_a_remedy() {
    let scratch = |name: &str| Scratch::new(name);
    let foreign = refusal(&scratch("foreign"), |path| fs::write(path, "PNG").expect("it can be written"));
    assert!(foreign.starts_with("not an ssdlab drive file"), "{foreign}");
    let version = refusal(&scratch("version"), |path| write_at(path, 14, &[9]));
    assert!(version.contains("has format 9") && version.contains("reads format 8"), "{version}");
    let damaged = refusal(&scratch("damaged"), |path| write_at(path, 33, b"!"));
    assert!(damaged.contains("file header is damaged"), "{damaged}");
    let truncated = refusal(&scratch("truncated"), |path| {
        OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(70_000)).expect("it is there");
    });
    assert!(truncated.contains("70000 bytes instead of "), "{truncated}");

    let kind = page_mapped();
    let other = scratch("other");
    drop(create(&other, &kind));
    let differs =
        FileBackend::open(other.path(), kind.geometry, &lines("fast"), &[]).expect_err("another FTL").to_string();
    let expected = "created with ftl = page, but the configuration has fast; set ftl=page, or create another drive";
    assert!(differs.ends_with(expected), "{differs}");
    let exists =
        FileBackend::create(other.path(), kind.geometry, &lines("page"), &[]).expect_err("it exists").to_string();
    assert!(exists.contains("the file already exists"), "{exists}");
    drop(other);
    let missing = open(&scratch("missing"), &kind).expect_err("it is not there").to_string();
    assert!(missing.contains("No such file"), "{missing}");
}

/// Checks that the next process creates the drive again after an interrupted creation, and reads none of the old data.
#[test]
fn an_interrupted_creation_is_repeated() {
    let (scratch, kind) = (Scratch::new("begun"), page_mapped());
    let flash = FileBackend::create(scratch.path(), kind.geometry, &lines("fast"), &[]).expect("a new file");
    assert!(flash.is_begun());
    assert!(matches!(open(&scratch, &kind), Err(FileError::InUse(_))));
    drop(flash);
    assert!(FileBackend::is_drive(&File::open(scratch.path()).expect("it is there")));
    write_at(scratch.path(), 70_000, &[1; 5_000]);
    let lines = lines("page");
    let open = || -> Result<_, OpenError> {
        ssdlab_device::open(Some(scratch.path()), kind.geometry, kind.options, (&lines, &[]), Ok, || Ok(None))
    };
    let (mut drive, mount) = open().expect("it is made");
    assert!(mount.is_none(), "{mount:?}");
    let mut read = [1; 512];
    drive.read(0, &mut read).expect("it is on");
    assert_eq!(read, [0; 512]);
    drive.shut_down().expect("it is on");
    drop(drive);
    let (_, mount) = open().expect("it is there");
    assert!(mount.is_some_and(|mount| mount.clean && mount.blocks_scanned == 0), "{mount:?}");
}

#[test]
fn a_drive_in_use_is_refused() {
    let (scratch, kind) = (Scratch::new("lock"), page_mapped());
    let first = create(&scratch, &kind);
    assert!(matches!(open(&scratch, &kind), Err(FileError::InUse(_))));
    drop(first);
    assert!(open(&scratch, &kind).is_ok());
}

/// Checks that an unreadable log loses only trims, because the mount scans the flash.
#[test]
fn without_a_log_the_flash_is_scanned() {
    for kind in smallest() {
        let bytes = kind.options.logical_pages as usize * kind.geometry.page_bytes as usize;
        let mut drive =
            Drive::create(ssdlab_device::MemoryBackend::new(kind.geometry), kind.options).expect("a sound drive");
        let mut data = vec![0; bytes];
        for round in 0..5_u8 {
            data = (0..bytes).map(|at| (at % 200) as u8 + round).collect();
            drive.write(0, &data, false).expect("it can be written");
        }
        let mut flash = drive.into_backend();
        for slot in [ssdlab_device::Slot::A, ssdlab_device::Slot::B] {
            flash.write_log(slot, 0, &[0; 8]).expect("memory takes it");
        }
        let mut drive = Drive::off(flash, kind.options).expect("a sound drive");
        let report = drive.mount().unwrap_or_else(|error| panic!("{}: {error}", kind.name));
        assert!(report.full_scan && report.spares_read == kind.geometry.pages(), "{}: {report:?}", kind.name);
        let mut read = vec![0; bytes];
        drive.read(0, &mut read).expect("it can be read");
        assert_eq!(read, data, "{}", kind.name);
        drive.check().unwrap_or_else(|broken| panic!("{}: {broken}", kind.name));
        assert!(matches!(drive.read(bytes as u64, &mut [0]), Err(DriveError::OutOfRange { .. })));
    }
}

/// Cuts the power of drives in files at random, and reopens the file after each power cut.
#[test]
fn a_drive_in_a_file_keeps_its_promises_too() {
    let mut rng = Rng::named(5, "cuts");
    for (number, kind) in all_buffers(smallest()).into_iter().enumerate() {
        let scratch = Scratch::new(&format!("cuts-{number}"));
        let mut world = World::new(&kind, create(&scratch, &kind), FaultPlan::default(), 9, Lie::None);
        for cut in 0..8 {
            world.drive.backend_mut().cut_power(PowerCut { after: rng.below(40), torn: true });
            let stop = (0..200).find_map(|_| world.request().err());
            assert!(matches!(stop, Some(Stop::Off)), "{}, cut {cut}: {stop:?}", kind.name);
            world = world.reopened(&kind, |before| {
                drop(before);
                let flash = open(&scratch, &kind).expect("it is there");
                FaultBackend::new(flash, FaultPlan::default()).expect("it can be read")
            });
            world.drive.mount().unwrap_or_else(|error| panic!("{}, cut {cut}: {error}", kind.name));
            world.take_stock().unwrap_or_else(|stop| panic!("{}, cut {cut}: {stop:?}", kind.name));
        }
    }
}

/// Environment variable with the path of the drive that the killed process writes.
const KILLED: &str = "SSDLAB_KILLED_DRIVE";

fn numbered_page(kind: &Kind, number: u64) -> (u64, Vec<u8>) {
    let page_bytes = kind.geometry.page_bytes as usize;
    let lpn = number * 7 % u64::from(kind.options.logical_pages);
    (lpn, number.to_le_bytes().into_iter().cycle().take(page_bytes).collect())
}

/// Body of the process that is killed: writes pages and reports each completed write.
#[test]
#[ignore = "started by another test"]
#[allow(clippy::print_stdout)]
fn write_until_killed() {
    let (path, number) = std::env::var(KILLED).expect("the parent sets it").rsplit_once(':').map_or_else(
        || panic!("a path and the number of a kind"),
        |(path, number)| (PathBuf::from(path), number.parse::<usize>().expect("a number")),
    );
    let kind = smallest()[number];
    let flash = FileBackend::create(&path, kind.geometry, &lines("page"), &[]).expect("a new file");
    let mut drive = Drive::create(flash, kind.options).expect("a sound drive");
    FileBackend::finish(&path).expect("it is there");
    for number in 1.. {
        let (lpn, page) = numbered_page(&kind, number);
        drive.write(lpn * page.len() as u64, &page, false).expect("it can be written");
        println!("done {number}");
    }
}

#[test]
fn a_process_that_is_killed_loses_nothing_that_was_acknowledged() {
    for (number, kind) in smallest().into_iter().enumerate() {
        let scratch = Scratch::for_a_process(&format!("killed-{number}"));
        let starting = STARTING.write().expect("starting does not panic");
        let mut child = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "file::write_until_killed", "--ignored", "--nocapture"])
            .env(KILLED, format!("{}:{number}", scratch.path().display()))
            .stdout(Stdio::piped())
            .spawn()
            .expect("this test runs again");
        drop(starting);
        let mut said = BufReader::new(child.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
        let done = |line: String| line.strip_prefix("done ").and_then(|number| number.parse::<u64>().ok());
        let enough = 200 + 13 * number as u64;
        let reached = said.by_ref().filter_map(done).find(|&number| number >= enough).expect("it writes");
        child.kill().expect("it runs");
        let last = said.filter_map(done).last().unwrap_or(reached);
        child.wait().expect("it was killed");

        let mut drive = Drive::off(open(&scratch, &kind).expect("it is there"), kind.options).expect("a sound drive");
        let report = drive.mount().unwrap_or_else(|error| panic!("{}: {error}", kind.name));
        assert!(!report.clean && !report.full_scan, "{}: {report:?}", kind.name);
        let mut expected = vec![(0, vec![0; kind.geometry.page_bytes as usize]); kind.options.logical_pages as usize];
        for number in 1..=last {
            let (lpn, page) = numbered_page(&kind, number);
            expected[lpn as usize] = (number, page);
        }
        // The page that was being written may be complete.
        let (next_lpn, next_page) = numbered_page(&kind, last + 1);
        for (lpn, (number, page)) in (0..).zip(expected) {
            let mut read = page.clone();
            drive.read(lpn * page.len() as u64, &mut read).expect("it can be read");
            assert!(
                read == page || (lpn == next_lpn && read == next_page),
                "{}: page {lpn} of write {number} after {last}",
                kind.name
            );
        }
    }
}
