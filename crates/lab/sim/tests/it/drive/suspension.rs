//! Suspension and cached programs on one die: times calculated by hand, and bounds under random requests.

use super::*;

/// A program is suspended only if its remaining time exceeds the time of the suspension.
#[test]
fn a_program_is_suspended_only_if_this_saves_time() {
    let interruption = Interruption::new(Nanos(50), 1);
    let drive = suspending(interruption, &scheduler::read_first::INFO);
    let setup = open(filled(array(1, 1, 1, 1), drive, 1));
    // The program occupies the cells from 20 to 1,020 ns; page 7 is in another block.
    let requests = |arrival| [at(0, Op::Write, 0, 1), at(arrival, Op::Read, 7, 1)];
    assert_eq!(cells(&setup, &requests(970)), [("program", 0, 20, 1_020), ("read", 0, 1_020, 1_120)]);
    let bars = cells(&setup, &requests(969));
    // The program is suspended 51 ns before its end, and resumes when the read data has left the registers.
    assert_eq!(bars, [("program", 0, 20, 969), ("read", 0, 1_019, 1_119), ("program", 0, 1_139, 1_190)]);
    // A second read waits, because the limit of suspensions is reached.
    let mut again = requests(500).to_vec();
    again.push(at(1_000, Op::Read, 6, 1));
    let bars = cells(&setup, &again);
    assert_eq!(bars[2], ("program", 0, 670, 1_190));
    assert_eq!(bars[3], ("read", 0, 1_190, 1_290));
    // If only erases may be suspended, the read waits, too.
    let commands = Commands { suspend: Suspend::Erase(interruption), ..PLAIN.commands };
    let setup = open(filled(array(1, 1, 1, 1), DriveOptions { commands, ..drive }, 1));
    assert_eq!(cells(&setup, &requests(500))[1], ("read", 0, 1_020, 1_120));
}

/// A resumed program runs for its slice before the next suspension, and each suspension adds to its time.
#[test]
fn a_resumed_program_keeps_the_cells_for_its_slice() {
    let interruption = Interruption { slice: Nanos(300), resume: Nanos(10), ..Interruption::new(Nanos(50), 1_000) };
    let reads = |at_ns: &[u64]| {
        let drive = suspending(interruption, &scheduler::read_first::INFO);
        let setup = open(filled(array(1, 1, 1, 1), drive, 1));
        let mut requests = vec![at(0, Op::Write, 0, 1)];
        requests.extend(at_ns.iter().map(|&arrival| at(arrival, Op::Read, 7, 1)));
        cells(&setup, &requests)
    };
    // At 100 ns, the program has run for 80 ns. It resumes at 270 ns, when the read data has left, with 920 + 10 ns
    // remaining. The read at 280 ns waits until the program has run for its slice of 300 ns; then 630 + 10 ns remain.
    let first = [("program", 0, 20, 100), ("read", 0, 150, 250), ("program", 0, 270, 570)];
    let second = [("read", 0, 620, 720), ("program", 0, 740, 1_380)];
    assert_eq!(reads(&[100, 280]), [first.as_slice(), &second].concat());
    // A read after the slice suspends the program at once. So does a read at the end of the slice.
    assert_eq!(reads(&[100, 600])[2..4], [("program", 0, 270, 600), ("read", 0, 650, 750)]);
    assert_eq!(reads(&[100, 570])[2..], [&first[2..], &second].concat());
    // A program that would end within 50 ns after its slice is not suspended: suspended at 700 ns, it resumes at 870 ns
    // with 320 + 10 ns remaining.
    let rest = [("program", 0, 870, 1_200), ("read", 0, 1_200, 1_300)];
    assert_eq!(reads(&[700, 880])[2..], rest);
}

/// Returns options of a drive that may suspend erases and programs.
fn suspending(interruption: Interruption, scheduler: &'static DieSchedulerInfo) -> DriveOptions {
    let suspend = Suspend::EraseAndProgram { erase: interruption, program: interruption };
    DriveOptions { commands: Commands { suspend, ..PLAIN.commands }, scheduler, ..PLAIN }
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(200))]

    /// On one die, a host read waits at most for a slice and a suspension, and a program takes its own time and the
    /// cost of its suspensions.
    #[test]
    fn suspension_bounds_reads_and_preserves_work(
        time in 0_u64..200, spread in 0_u64..100, slice in 0_u64..400, resume in 0_u64..50, seed in 0_u64..1_000_000
    ) {
        let [extra, slice, resume] = [spread, slice, resume].map(Nanos);
        let interruption = Interruption { spread: extra, slice, resume, ..Interruption::new(Nanos(time), 1_000) };
        let drive = suspending(interruption, &scheduler::reads_first::INFO);
        // Writes go to pages 0 to 31, reads to pages 32 to 63, whose blocks are closed. Nothing is collected.
        let mut setup = open(Setup { logical_pages: 64, ..drive_setup(array(1, 1, 1, 1), 400, 8, 1) });
        setup.clock = Clock::Event(TIMING, drive);
        setup.precondition.fill = 1.0;
        let mut rng = Rng::named(seed, "requests");
        let mut requests: Vec<Request> = (0..100)
            .flat_map(|turn| [
                at(turn * 1_500 + rng.below(1_500), Op::Write, rng.below(32), 1),
                at(turn * 1_500 + rng.below(900), Op::Read, 32 + rng.below(32), 1),
            ])
            .collect();
        requests.sort_by_key(|request| request.time_ns);
        let read = replay(&setup, &requests).summary.latency.expect("timed").read.expect("reads");
        // The read may find the next program on the bus, and then suspends that program.
        let most_ns = slice.0.max(TRANSFER) + time + spread + READ + TRANSFER;
        // A previous read may occupy the die for its own time.
        prop_assert!(read.max_ns <= most_ns + READ + TRANSFER, "{} for {most_ns}", read.max_ns);

        let bars = cells(&setup, &requests);
        let mut pieces = bars.iter().filter(|bar| bar.0 == "program").map(|bar| bar.3 - bar.2);
        let mut programs = 0;
        while let Some(first_ns) = pieces.next() {
            let (mut worked_ns, mut whole_ns) = (first_ns, PROGRAM);
            while worked_ns < whole_ns {
                let piece_ns = pieces.next().expect("every program ends");
                (worked_ns, whole_ns) = (worked_ns + piece_ns, whole_ns + resume.0);
                prop_assert!(piece_ns >= slice.0 || worked_ns == whole_ns, "{piece_ns} of {}", slice.0);
            }
            prop_assert_eq!(worked_ns, whole_ns);
            programs += 1;
        }
        prop_assert_eq!(programs, 100);
    }
}

#[test]
fn the_next_page_is_transferred_during_a_program() {
    let commands = Commands { cache_program: true, ..PLAIN.commands };
    let setup = filled(array(1, 1, 1, 1), DriveOptions { commands, ..PLAIN }, 4);
    let writes = [at(0, Op::Write, 0, 1), at(0, Op::Write, 1, 1), at(0, Op::Write, 2, 1)];
    let bars = cells(&setup, &writes);
    assert_eq!(bars, [("program", 0, 20, 1_020), ("program", 0, 1_020, 2_020), ("program", 0, 2_020, 3_020)]);
    let plain = filled(array(1, 1, 1, 1), PLAIN, 4);
    assert_eq!(cells(&plain, &writes)[1], ("program", 0, 1_040, 2_040));
}

/// A read suspends a cached program, whether the next page has arrived or is being transferred. Both programs continue
/// afterwards.
#[test]
fn a_read_suspends_a_cached_program() {
    let interruption = Interruption::new(Nanos(50), 1);
    let plain = suspending(interruption, &scheduler::read_first::INFO);
    let drive = DriveOptions { commands: Commands { cache_program: true, ..plain.commands }, ..plain };
    let mut setup = open(filled(array(1, 1, 1, 1), drive, 1));
    // The two written pages are in one block; page 7 is in another block.
    let requests = [at(0, Op::Write, 0, 1), at(0, Op::Write, 1, 1), at(500, Op::Read, 7, 1)];
    // The first page is transferred until 20 ns and its program occupies the cells until 1,020 ns; the second page is
    // transferred until 40 ns. At 500 ns, the read suspends the program with 520 ns remaining. The read occupies the
    // cells from 550 to 650 ns and the bus until 670 ns.
    let first = [("program", 0, 20, 500), ("read", 0, 550, 650), ("program", 0, 670, 1_190)];
    let bars = cells(&setup, &requests);
    assert_eq!(bars, [first.as_slice(), &[("program", 0, 1_190, 2_190)]].concat());
    let last = |outcome: &Outcome| outcome.summary.latency.as_ref().and_then(|it| it.read).expect("a read").max_ns;
    assert_eq!(last(&replay(&setup, &requests)), 170);

    // At 975 ns, the first program has 45 ns remaining. If it ended first, the second program would follow, and the
    // read would have to suspend that program: cells from 1,070 ns, 215 ns in total. With an immediate suspension, the
    // read gets the cells from 1,025 to 1,125 ns and the bus until 1,145 ns.
    let late = [requests[0], requests[1], at(975, Op::Read, 7, 1)];
    let first = [("program", 0, 20, 975), ("read", 0, 1_025, 1_125), ("program", 0, 1_145, 1_190)];
    assert_eq!(cells(&setup, &late), [first.as_slice(), &[("program", 0, 1_190, 2_190)]].concat());
    assert_eq!(last(&replay(&setup, &late)), 170);

    // With 100 ns per KiB, pages are transferred from 0 to 400 ns and from 400 to 800 ns. The read occupies the cells
    // from 550 to 650 ns, waits for the bus until 800 ns and uses it until 1,200 ns. The first program has 900 ns
    // remaining.
    setup.clock = Clock::Event(Timing { transfer_per_kib: Nanos(100), ..TIMING }, drive);
    let first = [("program", 0, 400, 500), ("read", 0, 550, 650), ("program", 0, 1_200, 2_100)];
    let bars = cells(&setup, &requests);
    assert_eq!(bars, [first.as_slice(), &[("program", 0, 2_100, 3_100)]].concat());
    assert_eq!(last(&replay(&setup, &requests)), 700);
}
