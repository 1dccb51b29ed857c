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

/// The first setting in which a drive saved with `then` differs from one with `now`.
pub(super) fn difference(then: &[Line], now: &[Line]) -> Option<String> {
    let value = |lines: &[Line], key: &str| lines.iter().find(|line| line.0 == key).map(|line| line.1.clone());
    let (key, then, now) = then.iter().chain(now).find_map(|(key, _)| {
        let (then, now) = (value(then, key), value(now, key));
        (then != now).then_some((key, then, now))
    })?;
    let written = |value: Option<String>| value.unwrap_or_else(|| "without it".into());
    Some(format!("it was saved with {key} = {}, and this run has {}", written(then), written(now)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named() {
        let then = [line("a", 1), line("b", "x"), line("c", 3)];
        assert_eq!(difference(&then, &then), None);
        let other = [line("a", 1), line("b", "y"), line("c", 4)];
        assert_eq!(difference(&then, &other).unwrap(), "it was saved with b = x, and this run has y");
        assert_eq!(difference(&then[..2], &then).unwrap(), "it was saved with c = without it, and this run has 3");
        assert_eq!(difference(&then, &then[..2]).unwrap(), "it was saved with c = 3, and this run has without it");
    }
}
