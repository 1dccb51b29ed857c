//! Finds the first difference between the settings of two drives.

/// Key and value of a setting.
pub type Line = (String, String);

/// Difference between two drives, described for the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Setting or count of the first drive, such as `ftl = page` or `77 erase blocks (device.op)`.
    pub then: String,
    /// Value of the same setting or count in the second drive.
    pub now: String,
    /// Advice: the settings to change so that the second drive matches the first.
    pub remedy: String,
}

/// Returns the first difference between the settings and counts of two drives.
pub fn difference(then: &[Line], now: &[Line]) -> Option<Difference> {
    let value = |lines: &[Line], key: &str| lines.iter().find(|line| line.0 == key).map(|line| line.1.clone());
    let (key, was, is) = then.iter().chain(now).find_map(|(key, _)| {
        let (was, is) = (value(then, key), value(now, key));
        (was != is).then_some((key, was, is))
    })?;
    // A count, unlike a setting, has a key with its unit in parentheses, such as `device.op (erase blocks)`;
    // `device.op` is the setting that determines the count.
    let counted = key.strip_suffix(')').and_then(|key| key.split_once(" ("));
    let (was, remedy) = match (was, counted) {
        (None, _) => (format!("no {key}"), format!("remove {key}")),
        (Some(was), Some((keys, unit))) => {
            (format!("{was} {unit} ({keys})"), format!("restore the earlier value of {keys}"))
        }
        // A list of values cannot be entered in the form `key=value`.
        (Some(was), None) if was.contains(", ") => {
            (format!("{key} = {was}"), format!("restore the earlier value of {key}"))
        }
        (Some(was), None) => (format!("{key} = {was}"), format!("set {key}={was}{}", others(then, now, key))),
    };
    Some(Difference { then: was, now: is.unwrap_or_else(|| "none".into()), remedy })
}

/// Returns the settings, except `first`, that differ between the drives. Omits counts, which follow from the settings.
fn others(then: &[Line], now: &[Line], first: &str) -> String {
    let differs = |(key, was): &&Line| now.iter().any(|(other, is)| other == key && is != was);
    let plain = |(key, was): &&Line| key != first && !key.ends_with(')') && !was.contains(", ");
    then.iter().filter(differs).filter(plain).map(|(key, was)| format!(" and {key}={was}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(key: &str, value: impl ToString) -> Line {
        (key.into(), value.to_string())
    }

    #[test]
    fn the_first_difference_is_named() {
        let then = [line("a", 1), line("b", "x"), line("c", 3)];
        assert_eq!(difference(&then, &then), None);
        let told = |then: &[Line], now: &[Line]| {
            let Difference { then, now, remedy } = difference(then, now).expect("they differ");
            format!("{then}; {now}; {remedy}")
        };
        assert_eq!(told(&then, &[line("a", 1), line("b", "y"), line("c", 4)]), "b = x; y; set b=x and c=3");
        assert_eq!(told(&then[..2], &then), "no c; 3; remove c");
        assert_eq!(told(&then, &then[..2]), "c = 3; none; set c=3");
        let blocks = |count: u32| [line("device.op (erase blocks)", count)];
        assert_eq!(
            told(&blocks(77), &blocks(83)),
            "77 erase blocks (device.op); 83; restore the earlier value of device.op"
        );
        let trigger = |low: u32| [line("ftl.page.trigger", format!("batch, low {low}, high 9"))];
        let expected = "ftl.page.trigger = batch, low 2, high 9; batch, low 3, high 9; \
                        restore the earlier value of ftl.page.trigger";
        assert_eq!(told(&trigger(2), &trigger(3)), expected);
    }
}
