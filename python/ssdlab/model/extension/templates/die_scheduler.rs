//! A die scheduler: decides which of the waiting operations a die begins next.

use ssdlab::NameTaken;
use ssdlab::die_scheduler::{self, Class, DieSchedulerInfo, DieSchedulerRules, DieView};

/// Adds the scheduler to ssdlab. The setting `drive.scheduler=mine` then selects it.
pub fn register() -> Result<(), NameTaken> {
    die_scheduler::register(&MINE)
}

/// Registry entry of the scheduler: name, help text, parameters and function.
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
        // Class of garbage-collection reads: `Class::InternalRead` if `pick` ranks them separately, otherwise
        // `Class::Internal`.
        internal_read: Class::Internal,
    },
};

/// Returns the class from which the die takes its next operation, the first one that is ready; None if no operation is
/// ready. The result must depend only on `view`.
fn pick(view: &DieView) -> Option<Class> {
    let order = [Class::HostProgram, Class::HostRead, Class::Internal];
    // `earliest` returns the class whose operation was emitted first, or None if no operation is ready.
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

/// Runs the scheduler on small random inputs. An input that breaks a rule is reduced to few operations.
#[cfg(test)]
mod conformance {
    ssdlab_conformance::die_scheduler!(super::MINE);
}
