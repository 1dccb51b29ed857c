//! "Did you mean": the nearest known name.

/// The candidate nearest to `name`, if it is near enough to be a slip of the pen.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let tolerance = (name.len() / 3).clamp(1, 3);
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|&(distance, _)| distance <= tolerance)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// The known key nearest to `key`: a slip in its last part, else the right name in the wrong table, else a slip
/// anywhere.
pub(crate) fn nearest_key<'a>(key: &str, known: &[&'a str]) -> Option<&'a str> {
    let (table, name) = split(key);
    let siblings = known.iter().filter(|known| split(known).0 == table).map(|known| split(known).1);
    if let Some(sibling) = nearest(name, siblings) {
        return known.iter().find(|known| split(known) == (table, sibling)).copied();
    }
    known.iter().find(|known| split(known).1 == name).copied().or_else(|| nearest(key, known.iter().copied()))
}

/// `nand.read` as its table `nand` and its name `read`; the table is empty at the top level.
pub(crate) fn split(key: &str) -> (&str, &str) {
    key.rsplit_once('.').unwrap_or(("", key))
}

/// The names as a list for a message.
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let known = ["nand", "nand.read", "nand.erase", "device.capacity", "seed"];
        for (wrong, meant) in [
            ("nand.reed", Some("nand.read")),
            ("nadn.read", Some("nand.read")),
            ("capacity", Some("device.capacity")),
            ("nand.capacity", Some("device.capacity")),
            ("sead", Some("seed")),
            ("colour", None),
            ("nand.colour", None),
        ] {
            assert_eq!(nearest_key(wrong, &known), meant, "{wrong}");
        }
    }
}
