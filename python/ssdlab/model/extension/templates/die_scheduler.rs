//! A die scheduler: which of the waiting operations a die begins next.

use ssdlab::NameTaken;
use ssdlab::die_scheduler::{self, Class, DieSchedulerInfo, DieSchedulerRules, DieView};

/// Adds the scheduler to ssdlab. The setting `drive.scheduler=mine` then chooses it.
pub fn register() -> Result<(), NameTaken> {
    die_scheduler::register(&MINE)
}

/// What lists, help and settings say about the scheduler.
static MINE: DieSchedulerInfo = DieSchedulerInfo {
    name: "mine",
    help: "host programs first, then host reads",
    // The paper that describes the scheduler.
    source: "",
    // A die scheduler has no parameters.
    parameters: &[],
    role: DieSchedulerRules {
        pick,
        // True if operations begin in the order in which the FTL emitted them.
        in_order: false,
        // `Class::InternalRead` if `pick` tells reads of garbage collection from its programs and erases.
        internal_read: Class::Internal,
    },
};

/// Returns the class whose first ready operation begins; None if no operation is ready. It depends on `view` alone.
fn pick(view: &DieView) -> Option<Class> {
    let order = [Class::HostProgram, Class::HostRead, Class::Internal];
    // `earliest` returns the class with the operation that was emitted first, and None if there is none.
    order.into_iter().find_map(|class| view.earliest(&[class]))
}

#[cfg(test)]
mod tests {
    use super::{pick, register};
    use ssdlab::die_scheduler::{Class, DieView, NOTHING};
    use ssdlab::simulate;

    #[test]
    fn programs_overtake_reads() {
        // Numbers of the first ready host read, host program, internal operation and internal read.
        let view = |ready| DieView { ready, begun: 0 };
        assert_eq!(pick(&view([3, 7, 1, NOTHING])), Some(Class::HostProgram));
        assert_eq!(pick(&view([3, NOTHING, 1, NOTHING])), Some(Class::HostRead));
        assert_eq!(pick(&view([NOTHING; 4])), None);
    }

    #[test]
    fn a_drive_with_the_scheduler_loses_nothing() {
        register().unwrap();
        let settings = [
            "drive.scheduler=mine",
            "time=event",
            "device.capacity=32MiB",
            "nand.pages_per_block=64",
            "workload.requests=5000",
            "workload.reads=50%",
        ];
        assert!(simulate(&settings).unwrap().check.unwrap().page_reads_checked > 0);
    }
}

/// Random small worlds, in which a broken rule is shown with few operations.
#[cfg(test)]
mod conformance {
    ssdlab_conformance::die_scheduler!(super::MINE);
}
