//! Checks for die schedulers, on random sets of waiting operations.

use std::fmt::{self, Display, Formatter};

use proptest::prelude::*;
use ssdlab_nand::backend::parallel::scheduler::{CLASSES, Class, DieSchedulerInfo, DieView, NOTHING};

use crate::case::{Check, Checked, World, check};

/// All checks of die schedulers, with their names.
pub const CHECKS: &[Check<&'static DieSchedulerInfo>] = die_scheduler_checks!([table]);

const ALL: [Class; CLASSES] = [Class::HostRead, Class::HostProgram, Class::Internal, Class::InternalRead];

/// Description of the device of every test case. Checks of die schedulers need no device options.
const DIE: &str = "one die and its waiting operations:";

/// The operations that wait for the die.
#[derive(Clone, Copy, Debug)]
struct Waiting(DieView);

impl Display for Waiting {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "after {} operations", self.0.begun)?;
        for (class, number) in ALL.iter().zip(self.0.ready).filter(|&(_, number)| number != NOTHING) {
            write!(f, ", {class:?} number {number} is ready")?;
        }
        Ok(())
    }
}

/// Checks that the scheduler only picks a class with a ready operation, and that the same waiting operations always
/// lead to the same choice. The scheduler may leave the die idle only if the earliest operation is not ready.
pub fn a_ready_operation_begins(info: &'static DieSchedulerInfo) -> Checked {
    let ready = prop::array::uniform4(prop_oneof![1 => Just(NOTHING), 2 => 0..20_u64]);
    let worlds = (ready, 0..20_u64).prop_map(|(mut ready, begun)| {
        if info.role.internal_read != Class::InternalRead {
            ready[Class::InternalRead as usize] = NOTHING;
        }
        // Makes the operation numbers unique across the classes.
        for class in 0..CLASSES as u64 {
            let number = &mut ready[class as usize];
            *number = if *number == NOTHING { NOTHING } else { begun + *number * CLASSES as u64 + class };
        }
        World { device: DIE, operations: vec![Waiting(DieView { ready, begun })] }
    });
    let component = format!("die scheduler {}", info.name);
    check(component, "a_ready_operation_begins", 2_000, worlds, |_, waiting| {
        waiting.iter().try_for_each(|Waiting(view)| {
            let picked = (info.role.pick)(view);
            if (info.role.pick)(view) != picked {
                return Err("the scheduler makes different choices for the same waiting operations".to_owned());
            }
            let earliest = view.ready.into_iter().min().unwrap_or(NOTHING);
            match picked {
                None if earliest == view.begun => {
                    Err("the scheduler leaves the die idle although the earliest operation is ready".to_owned())
                }
                None => Ok(()),
                Some(class) if view.ready[class as usize] == NOTHING => {
                    Err(format!("the scheduler picks {class:?}, which has no ready operation"))
                }
                Some(class) if info.role.in_order && view.ready[class as usize] != earliest => {
                    Err(format!("the scheduler picks {class:?} out of order, but declares in_order: true"))
                }
                Some(_) => Ok(()),
            }
        })
    })
}
