//! The cache of the host.

use crate::settings::{Checker, Read};
use crate::value::{write_bytes, write_percent};
use ssdlab_cache::{POLICIES, PageSizes, PolicyInfo, WriteMode};
use ssdlab_sim::{CacheOptions, CompressedOptions, MOST_PARAMETERS};

const POLICY: &str = "cache.policy";
const CODEC: &str = "cache.codec";

/// Policies that can decide on requests as they come.
pub(crate) fn policies() -> impl Iterator<Item = &'static PolicyInfo> {
    POLICIES.iter().copied().filter(|info| !info.needs_future)
}

impl Checker<'_> {
    /// The cache, if there is one.
    pub(crate) fn cache(&mut self) -> Read<Option<CacheOptions>> {
        let name = self.choice(POLICY)?;
        let Some(info) = policies().find(|info| info.name == name) else {
            // A written configuration holds every setting: only what differs from none was meant to do something.
            if self.share("cache.compressed")? > 0.0 {
                self.report("cache.compressed", "there is no cache; set cache.policy=lru, for example".to_owned());
            }
            return Ok(None);
        };
        let mut parameters = [None; MOST_PARAMETERS];
        for (parameter, slot) in info.parameters.iter().zip(&mut parameters) {
            let key = format!("{POLICY}.{name}.{}", parameter.name);
            let value = self.parameter(&key, parameter)?;
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
        let capacity_pages = size / u64::from(page_bytes);
        let compressed = self.compressed(capacity_pages)?;
        Ok(Some(CacheOptions {
            policy: info.name,
            parameters,
            page_bytes,
            capacity_pages,
            compressed,
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

    /// The compressed part of a cache with room for so many pages, if there is one.
    fn compressed(&mut self, capacity_pages: u64) -> Read<Option<CompressedOptions>> {
        const SHARE: &str = "cache.compressed";
        let share = self.share(SHARE)?;
        if share == 0.0 {
            return Ok(None);
        }
        let room_pages = (capacity_pages as f64 * share).round() as u64;
        let of = format!("{} of {capacity_pages} pages", write_percent(100.0 * share));
        if room_pages == 0 {
            self.report(SHARE, format!("{of} is less than a page; raise it or cache.size, or write 0%"));
        } else if room_pages >= capacity_pages {
            self.report(
                SHARE,
                format!("{of} leaves no raw page, but pages are used raw; lower it or raise cache.size"),
            );
        }
        let codec = self.choice(CODEC)?;
        let ratio_key = format!("{CODEC}.{codec}.ratio");
        let sizes = PageSizes {
            ratio: self.float(&ratio_key)?,
            spread: self.share("cache.spread")?,
            incompressible: self.share("cache.incompressible")?,
            max_stored: self.share("cache.max_stored")?,
        };
        let shortest = (1.0 - sizes.spread) / sizes.ratio;
        if shortest > sizes.max_stored || shortest >= 1.0 {
            self.report(
                &ratio_key,
                format!(
                    "{} shrinks pages to {} at best, and above cache.max_stored of {} none is kept; raise one of the two",
                    sizes.ratio,
                    write_percent((1000.0 * shortest).round() / 10.0),
                    write_percent(100.0 * sizes.max_stored)
                ),
            );
        }
        Ok(Some(CompressedOptions {
            policy: self.choice("cache.compressed_policy")?,
            room_pages,
            sizes,
            compress: self.nanos(&format!("{CODEC}.{codec}.compress"))?,
            restore: self.nanos(&format!("{CODEC}.{codec}.restore"))?,
        }))
    }
}
