//! The cache of the host.

use crate::settings::{Checker, Read};
use crate::value::write_bytes;
use ssdlab_cache::{POLICIES, Parameter, PolicyInfo, WriteMode};
use ssdlab_sim::{CacheOptions, MOST_PARAMETERS};

const POLICY: &str = "cache.policy";

/// Policies that can decide on requests as they come.
pub(crate) fn policies() -> impl Iterator<Item = &'static PolicyInfo> {
    POLICIES.iter().copied().filter(|info| !info.needs_future)
}

/// Whether a parameter is on or off.
pub(crate) fn is_switch(parameter: &Parameter) -> bool {
    parameter.unit == "switch"
}

impl Checker<'_> {
    /// The cache, if there is one.
    pub(crate) fn cache(&mut self) -> Read<Option<CacheOptions>> {
        let name = self.choice(POLICY)?;
        let Some(info) = policies().find(|info| info.name == name) else {
            return Ok(None);
        };
        let mut parameters = [None; MOST_PARAMETERS];
        for (parameter, slot) in info.parameters.iter().zip(&mut parameters) {
            let key = format!("{POLICY}.{name}.{}", parameter.name);
            let value = if is_switch(parameter) { u64::from(self.flag(&key)?) } else { self.count(&key)? };
            *slot = (!self.is_default(&key)).then_some(value);
        }
        let (size, page_bytes) = (self.bytes("cache.size")?, self.small("cache.page")?);
        if !page_bytes.is_power_of_two() {
            let below = 1_u64 << page_bytes.ilog2();
            let message = format!(
                "{} is not a power of two; write {} or {}",
                write_bytes(page_bytes.into()),
                write_bytes(below),
                write_bytes(2 * below)
            );
            self.report("cache.page", message);
        }
        if size < u64::from(page_bytes) {
            let page = write_bytes(page_bytes.into());
            self.report("cache.size", format!("{} is smaller than a page of {page}; raise it", write_bytes(size)));
        }
        let percent = 100.0 * self.share("cache.dirty")?;
        if (percent - percent.round()).abs() > 1e-9 {
            self.report("cache.dirty", format!("{percent}% is not a whole percentage; write {}%", percent.round()));
        }
        Ok(Some(CacheOptions {
            policy: info.name,
            parameters,
            page_bytes,
            capacity_pages: size / u64::from(page_bytes),
            writes: match self.choice("cache.writes")? {
                "back" => WriteMode::Back,
                "through" => WriteMode::Through,
                other => return Err(self.unknown("cache.writes", other)),
            },
            // The range of the option ends at 100.
            dirty_percent: percent.round() as u32,
            copy: self.nanos("cache.copy")?,
        }))
    }
}
