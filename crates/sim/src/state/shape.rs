//! What shapes the state of a drive: the settings in which two drives must agree for one to go on from the other.
//!
//! Time is not among them: how long operations take, how dies are scheduled and how requests come in may differ.

use ssdlab_ftl::Line;

use crate::setup::{Overwrite, Precondition, Setup};

/// What shapes the state, one line for each setting.
pub(super) fn shape(setup: &Setup) -> Vec<Line> {
    let mut lines = ssdlab_ftl::lines(&setup.shape(), &setup.ftl);
    lines.push(line("check", setup.check));
    lines
}

/// What else a preconditioned drive depends on.
pub(super) fn preconditioning(setup: &Setup) -> Vec<Line> {
    let Precondition { fill, overwrite } = setup.precondition;
    let overwrite = match overwrite {
        Overwrite::None => "none".into(),
        Overwrite::Passes(passes) => format!("{passes} passes"),
        Overwrite::Trace(repeat) => format!("trace, {repeat:?}"),
        Overwrite::Steady(method) => format!("steady, {}", method.name()),
    };
    let fill = line("precondition.fill", fill);
    vec![fill, line("precondition.overwrite", overwrite), line("seed", setup.seed)]
}

fn line(key: &str, value: impl ToString) -> Line {
    (key.into(), value.to_string())
}
