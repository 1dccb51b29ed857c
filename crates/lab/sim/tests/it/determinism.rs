//! Goal: equal inputs and seeds give equal bytes of results, regardless of other threads.

use ssdlab_core::{Nanos, Rng};
use ssdlab_ftl::FtlChoice;
use ssdlab_ftl::gc;
use ssdlab_ftl::map::ram;
use ssdlab_ftl::page::PageOptions;
use ssdlab_nand::{PageTimes, Timing};
use ssdlab_sim::{Clock, Method, Overwrite, Precondition, Setup, run};
use ssdlab_testkit::{SMALL_OPTIONS, small_setup};
use ssdlab_trace::{Op, Request, SliceSource};

fn result(seed: u64) -> String {
    let mut setup = small_setup(64, 16, 6);
    setup.ftl =
        FtlChoice::Page(PageOptions { gc: gc::d_choices::INFO.with(&[3]), ..SMALL_OPTIONS }, ram::INFO.defaults());
    setup.clock = Clock::Serial(Timing {
        read: PageTimes::uniform(Nanos(25_000)),
        program: PageTimes::uniform(Nanos(200_000)),
        erase: Nanos(1_500_000),
        slc: None,
        transfer_per_kib: Nanos(5_515),
        copyback: false,
        partial_read: false,
    });
    let setup = Setup {
        seed,
        precondition: Precondition { fill: 1.0, overwrite: Overwrite::Steady(Method::Auto) },
        ..setup.clone()
    };
    let mut rng = Rng::named(seed, "requests");
    let pages = u64::from(setup.logical_pages);
    let requests: Vec<Request> = (0..5_000)
        .map(|time_ns| Request {
            time_ns,
            offset: rng.below(pages) * 4096,
            bytes: 4096,
            op: Op::ALL[rng.below(2) as usize],
            flags: 0,
            stream: 0,
        })
        .collect();
    let outcome = run(&setup, &mut SliceSource::new(&requests), &mut ()).expect("runs");
    let summary = serde_json::to_string(&outcome.summary).expect("serialises");
    format!("{summary} {:?} {:?}", outcome.series.columns(), outcome.erase_counts)
}

#[test]
fn equal_seeds_give_equal_bytes_on_one_thread_or_two() {
    let alone = result(1);
    let together: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = [1, 1].map(|seed| scope.spawn(move || result(seed))).into_iter().collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert_eq!(together, [alone.clone(), alone.clone()]);
    assert_ne!(alone, result(2));
}
