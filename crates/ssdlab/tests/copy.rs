//! Goal: a component in another crate produces the results of the built-in component. Method: a copy of greedy.

use ssdlab::victim::{self, PlaneView, VictimInfo, VictimPolicy};
use ssdlab::{Archive, Archived, BlockId, simulate};

static COPY: VictimInfo =
    VictimInfo { name: "copy", help: "Greedy, once more.", source: "", parameters: &[], role: &|_, _| Box::new(Copy) };

struct Copy;

impl VictimPolicy for Copy {
    fn choose(&mut self, plane: PlaneView<'_>, _now: u64) -> Option<BlockId> {
        plane.least_valid()
    }

    fn archive(&mut self, _archive: &mut Archive<'_>) -> Archived {
        Ok(())
    }
}

#[test]
fn a_copy_of_greedy_gives_equal_results() {
    victim::register(&COPY).unwrap();
    let drive = ["device.capacity=32MiB", "nand.pages_per_block=64", "workload.requests=20000", "time=event"];
    let summary = |policy: &str| {
        let settings = [&drive[..], &[policy]].concat();
        serde_json::to_string(&simulate(&settings).unwrap()).unwrap()
    };
    assert_eq!(summary("ftl.page.gc=copy"), summary("ftl.page.gc=greedy"));
    assert_ne!(summary("ftl.page.gc=copy"), summary("ftl.page.gc=fifo"));
}
