//! Assigns ids to the names in a trace (devices, processes) in order of first appearance.

use std::collections::BTreeMap;

/// Maximum length of a name in bytes. Longer names are truncated to bound memory.
const NAME_BYTES: usize = 128;
/// Number of slots of the direct-mapped cache in front of the name table; cloud traces have thousands of volumes.
const CACHE_SLOTS: usize = 4096;

/// A table that assigns ids to at most `limit` names.
#[derive(Debug)]
pub(crate) struct Names {
    names: Vec<String>,
    ids: BTreeMap<Box<[u8]>, u32>,
    /// Cache of recent numeric keys, indexed by their low bits: `(key + 1, id)`; a first value of 0 marks an empty
    /// slot.
    recent: Box<[(u64, u32)]>,
    limit: usize,
    folded: bool,
}

impl Names {
    pub fn new(limit: usize) -> Self {
        let recent = vec![(0, 0); CACHE_SLOTS].into();
        Self { names: Vec::new(), ids: BTreeMap::new(), recent, limit, folded: false }
    }

    pub fn list(&self) -> &[String] {
        &self.names
    }

    /// True if the table overflowed. All names beyond the limit then share the last id.
    pub fn folded(&self) -> bool {
        self.folded
    }

    /// Returns the id of the name that consists of `number` in decimal digits.
    #[inline]
    pub fn number(&mut self, number: u64) -> u32 {
        self.keyed(number, |number| number.to_string())
    }

    /// Returns the id of the Linux device `major,minor`.
    #[inline]
    pub fn device_number(&mut self, major: u64, minor: u64) -> u32 {
        self.keyed(major.wrapping_shl(32) ^ minor, |_| format!("{major},{minor}"))
    }

    /// Returns the id of the numeric key `key`; its name is `render(key)`. All calls for a table must use the same
    /// `render`.
    #[inline]
    fn keyed(&mut self, key: u64, render: impl FnOnce(u64) -> String) -> u32 {
        let slot = key as usize % CACHE_SLOTS;
        let (cached, id) = self.recent[slot];
        if cached == key.wrapping_add(1) && cached != 0 {
            return id;
        }
        let id = self.id(render(key).as_bytes());
        self.recent[slot] = (key.wrapping_add(1), id);
        id
    }

    pub fn id(&mut self, name: &[u8]) -> u32 {
        let name = &name[..name.len().min(NAME_BYTES)];
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        let id = self.names.len() as u32;
        if self.names.len() == self.limit {
            self.folded = true;
            return id - 1;
        }
        self.names.push(String::from_utf8_lossy(name).into_owned());
        self.ids.insert(name.into(), id);
        id
    }

    /// Assigns a new id to a device. If the device's name is already in use, a suffix is appended to it.
    pub fn device(&mut self, name: &[u8]) -> u32 {
        let mut own = name[..name.len().min(NAME_BYTES)].to_vec();
        for count in 1.. {
            if !self.ids.contains_key(&own[..]) {
                break;
            }
            let mark = if count == 1 { " (device)".into() } else { format!(" (device {count})") };
            own = name[..name.len().min(NAME_BYTES - mark.len())].to_vec();
            own.extend(mark.as_bytes());
        }
        self.id(&own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_count_up_and_numbers_are_names_too() {
        let mut names = Names::new(10);
        assert_eq!(
            (names.number(7), names.id(b"sda"), names.number(263), names.number(7), names.id(b"7")),
            (0, 1, 2, 0, 0)
        );
        assert_eq!((names.number(u64::MAX), names.number(u64::MAX)), (3, 3));
        assert_eq!(names.list()[..3], ["7", "sda", "263"]);
    }

    #[test]
    fn a_device_gets_a_new_id() {
        let mut names = Names::new(10);
        let long = [b'x'; 200];
        let process = (names.id(b"7"), names.id(b"7 (device)"), names.id(&long));
        assert_eq!(process, (0, 1, 2));
        assert_eq!((names.device(b"7"), names.device(b"sda"), names.device(&long)), (3, 4, 5));
        assert_eq!(names.list()[3..5], ["7 (device 2)", "sda"]);
        assert!(names.list()[5].ends_with("x (device)") && names.list()[5].len() == NAME_BYTES);
    }

    #[test]
    fn a_full_table_maps_excess_names_to_its_last_id() {
        let mut names = Names::new(2);
        assert_eq!((names.number(1), names.number(2), names.folded()), (0, 1, false));
        assert_eq!((names.number(3), names.number(4), names.number(1), names.folded()), (1, 1, 0, true));
    }
}
