//! Look-up of names that users type: matches that ignore case and separators, and suggestions for misspelt names.

/// Returns the candidate equal to `name`, or else the only one that differs just in case or in `-` versus `_`.
pub fn named<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> Option<&'a str> {
    candidates.clone().into_iter().find(|candidate| *candidate == name).or_else(|| {
        let mut alike = candidates.into_iter().filter(|candidate| is_alike(name, candidate));
        let first = alike.next()?;
        alike.all(|other| other == first).then_some(first)
    })
}

fn is_alike(one: &str, other: &str) -> bool {
    let folded = |byte: u8| if byte == b'-' { b'_' } else { byte.to_ascii_lowercase() };
    one.bytes().map(folded).eq(other.bytes().map(folded))
}

/// Returns the best suggestion for `name`, ignoring case: the nearest candidate within a typing error, or else the
/// nearest one that shares a prefix with `name`, or else the first one that contains `name` as a word.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> Option<&'a str> {
    slip(name, candidates.clone()).or_else(|| {
        let name = name.to_lowercase();
        let short = |one: &str, other: &str| one.len() >= 3 && other.starts_with(one);
        let abbreviated = |candidate: &&str| {
            let candidate = candidate.to_lowercase();
            short(&name, &candidate) || short(&candidate, &name)
        };
        let distance = |candidate: &&str| candidate.len().abs_diff(name.len());
        let is_word = |candidate: &str| candidate.to_lowercase().split(['-', '_']).any(|word| word == name);
        let has_it = |candidate: &&str| name.len() >= 3 && is_word(candidate);
        let nearest = candidates.clone().into_iter().filter(abbreviated).min_by_key(distance);
        nearest.or_else(|| candidates.into_iter().find(has_it))
    })
}

/// Returns the candidate nearest to `name` if the distance is a plausible typing error.
fn slip<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let tolerance = (name.chars().count() / 3).clamp(1, 3);
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&name, &candidate.to_lowercase()), candidate))
        .filter(|&(distance, _)| distance <= tolerance)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Names of settings in other tools, each with the name of the corresponding ssdlab setting.
const SYNONYMS: [(&str, &str); 4] =
    [("qd", "queue_depth"), ("iodepth", "queue_depth"), ("overprovisioning", "op"), ("over_provisioning", "op")];

/// Returns the known configuration key nearest to `key`. Tries these candidates in order: a key with a misspelt last
/// part; a key with the right name in another table; a key below the same table whose name contains the last part as a
/// word; a key with a typing error anywhere.
pub fn nearest_key<'a>(key: &str, known: &[&'a str]) -> Option<&'a str> {
    let (table, name) = split(key);
    let name = SYNONYMS.iter().find(|(other, _)| *other == name).map_or(name, |(_, setting)| setting);
    let siblings = known.iter().filter(|known| split(known).0 == table).map(|known| split(known).1);
    if let Some(sibling) = nearest(name, siblings) {
        return known.iter().find(|known| split(known) == (table, sibling)).copied();
    }
    let same_name = |known: &&&str| split(known).1 == name;
    let below = |known: &&&str| {
        let (parent, last) = split(known);
        parent.strip_prefix(table).is_some_and(|rest| rest.starts_with('.')) && last.split('_').any(|word| word == name)
    };
    let named = known.iter().find(same_name).or_else(|| known.iter().find(below));
    named.copied().or_else(|| slip(key, known.iter().copied()))
}

/// Splits `nand.read` into table `nand` and name `read`; the table is empty at the top level.
pub fn split(key: &str) -> (&str, &str) {
    key.rsplit_once('.').unwrap_or(("", key))
}

/// Joins names with commas for a message.
pub fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_regardless_of_case_and_hyphens() {
        let known = ["mq-deadline", "d_choices", "Greedy", "a-b", "a_b", "none", "none"];
        for (typed, meant) in [
            ("MQ_Deadline", Some("mq-deadline")),
            ("D-choices", Some("d_choices")),
            ("greedy", Some("Greedy")),
            ("a-b", Some("a-b")),
            ("A_B", None),
            ("deadline", None),
            ("NONE", Some("none")),
        ] {
            assert_eq!(named(typed, known), meant, "{typed}");
        }
    }

    #[test]
    fn typing_errors_and_abbreviations_are_near() {
        let known = ["vscsi1", "vscsi2", "fio", "elapsed_ns", "low", "my-csv", "a_csv"];
        for (wrong, meant) in [
            ("vcsi1", Some("vscsi1")),
            ("FOI", Some("fio")),
            ("elapsed", Some("elapsed_ns")),
            ("lower", Some("low")),
            ("csv", Some("my-csv")),
            ("my", None),
            ("el", None),
            ("parquetry", None),
            ("", None),
        ] {
            assert_eq!(nearest(wrong, known), meant, "{wrong}");
        }
    }

    #[test]
    fn typing_errors_get_suggestions_and_other_names_do_not() {
        let known = ["nand", "nand.read", "nand.erase", "device.capacity", "seed", "host.replay.closed.queue_depth"];
        for (wrong, meant) in [
            ("nand.reed", Some("nand.read")),
            ("nadn.read", Some("nand.read")),
            ("capacity", Some("device.capacity")),
            ("nand.capacity", Some("device.capacity")),
            ("sead", Some("seed")),
            ("host.queue", Some("host.replay.closed.queue_depth")),
            ("qd", Some("host.replay.closed.queue_depth")),
            ("nand.queue", None),
            ("colour", None),
            ("nand.colour", None),
        ] {
            assert_eq!(nearest_key(wrong, &known), meant, "{wrong}");
        }
    }
}
