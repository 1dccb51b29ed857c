//! The block layer of the host and its scheduler.

use crate::options::Derived;
use crate::settings::{Checker, Read};
use crate::value::{Value, write_bytes, write_nanos};
use ssdlab_sched::{Device, Frame, NoMerges, SchedulerInfo, Tunable, TunableError, scheduler};
use ssdlab_sim::{BlockOptions, Clock};

const SCHEDULER: &str = "block.scheduler";

fn key_of(scheduler: &str, tunable: &str) -> String {
    format!("{SCHEDULER}.{scheduler}.{tunable}")
}

/// What a tunable measures, with its unit.
#[derive(Clone, Copy)]
pub(crate) enum Measure {
    /// In units of so many nanoseconds.
    Duration(u64),
    /// In units of so many bytes.
    Size(u64),
    Count,
    Switch,
}

impl Measure {
    pub(crate) fn of(tunable: &Tunable) -> Self {
        match tunable.unit {
            "ns" => Self::Duration(1),
            "ms" => Self::Duration(1_000_000),
            "sectors" => Self::Size(512),
            "KiB" => Self::Size(1 << 10),
            "MiB" => Self::Size(1 << 20),
            "switch" => Self::Switch,
            _ => Self::Count,
        }
    }
}

/// A value of a tunable as `--set` takes it.
pub(crate) fn written(tunable: &Tunable, value: u64) -> String {
    match Measure::of(tunable) {
        Measure::Duration(unit_ns) => write_nanos(value * unit_ns),
        Measure::Size(unit_bytes) => write_bytes(value * unit_bytes),
        Measure::Count => value.to_string(),
        Measure::Switch => (value != 0).to_string(),
    }
}

impl Derived {
    /// The default, as `--set` takes it, beside the values that `get` gives.
    pub(crate) fn value(self, get: impl Fn(&str) -> Option<Value>) -> String {
        let choice = |key: &str| match get(key) {
            Some(Value::Choice(name)) => name,
            _ => "",
        };
        let count = |key: &str| match get(key) {
            Some(Value::Count(count)) => Some(count),
            _ => None,
        };
        let legacy = choice("block.frame") == "legacy";
        match self {
            Self::Frame => match scheduler(choice(SCHEDULER)).map(|info| info.frame) {
                Ok(Frame::Legacy) => "legacy".into(),
                // Without a block layer it does not matter.
                Ok(Frame::Modern) | Err(_) => "modern".into(),
            },
            Self::Slots => {
                let most = if legacy { 31 } else { 1023 };
                let protocol = choice("drive.protocol");
                let held = count(&format!("drive.protocol.{protocol}.depth")).unwrap_or(32);
                held.min(most).to_string()
            }
            Self::NrRequests => {
                let slots = count("block.slots").unwrap_or(32);
                match (legacy, choice(SCHEDULER)) {
                    (true, _) => "128".into(),
                    (false, "none") => slots.max(4).to_string(),
                    (false, _) => (2 * slots.min(128)).max(4).to_string(),
                }
            }
            Self::MaxRequest => if legacy { "512KiB" } else { "1280KiB" }.into(),
        }
    }
}

impl Checker<'_> {
    /// The block layer, if there is one; what depends on the size of the device is checked where that is known.
    pub(crate) fn block(&mut self, clock: &Clock, capacity_bytes: Option<u64>) -> Read<Option<BlockOptions>> {
        let name = self.choice(SCHEDULER)?;
        let Ok(info) = scheduler(name) else {
            return Ok(None);
        };
        let Clock::Event(_, drive) = clock else {
            let message = format!(
                "{name} has nothing to choose from: without a model of requests in flight they are served one by one; \
                 set time to \"event\" or block.scheduler to \"direct\""
            );
            self.report(SCHEDULER, message);
            return Ok(None);
        };
        let mut options = BlockOptions::of(info.name);
        for (tunable, slot) in info.tunables.iter().zip(&mut options.tunables) {
            let key = key_of(name, tunable.name);
            let value = self.tunable(&key, tunable)?;
            // A scheduler may fit a default to the device, but not what it was asked for.
            *slot = (!self.is_default(&key)).then_some(value);
        }
        self.refuse_beyond_device(info, &options, capacity_bytes);
        options.frame = match self.choice("block.frame")? {
            "legacy" => Frame::Legacy,
            "modern" => Frame::Modern,
            other => return Err(self.unknown("block.frame", other)),
        };
        options.slots = self.small("block.slots")?;
        options.nr_requests = self.small("block.nr_requests")?;
        options.max_sectors = self.max_sectors()?;
        options.no_merges = match self.choice("block.merges")? {
            "all" => NoMerges::All,
            "last" => NoMerges::LastOnly,
            "none" => NoMerges::None,
            other => return Err(self.unknown("block.merges", other)),
        };
        options.plug = self.flag("block.plug")?;
        options.record = self.flag("block.record")?;
        options.volatile_cache = drive.buffer.is_some_and(|buffer| !buffer.protected);
        Ok(Some(options))
    }

    fn refuse_beyond_device(&mut self, info: &SchedulerInfo, options: &BlockOptions, capacity_bytes: Option<u64>) {
        let Some(capacity_bytes) = capacity_bytes else { return };
        let changes: Vec<(String, u64)> = options.changes(info).collect();
        let device = Device { sectors: capacity_bytes / 512, rotational: false, nr_requests: options.nr_requests };
        match info.build(&changes, &device) {
            Err(TunableError::BeyondDevice { name, value, device, .. }) => {
                let tunable = info.tunables.iter().find(|tunable| tunable.name == name);
                let write = |value| tunable.map_or(String::new(), |tunable| written(tunable, value));
                let message =
                    format!("{} is more than the drive has; lower it to {} or less", write(value), write(device));
                self.report(&key_of(info.name, name), message);
            }
            Err(error) => self.report(SCHEDULER, error.to_string()),
            Ok(_) => {}
        }
    }

    /// A tunable in its own unit.
    fn tunable(&mut self, key: &str, tunable: &Tunable) -> Read<u64> {
        let (value, unit) = match Measure::of(tunable) {
            Measure::Duration(unit_ns) => (self.nanos(key)?.0, unit_ns),
            Measure::Size(unit_bytes) => (self.bytes(key)?, unit_bytes),
            Measure::Count => return self.count(key),
            Measure::Switch => return self.flag(key).map(u64::from),
        };
        if !value.is_multiple_of(unit) {
            let below = value / unit;
            let write = |units| written(tunable, units);
            let nearest = if below < tunable.min.max(1) {
                write(below + 1)
            } else {
                format!("{} or {}", write(below), write(below + 1))
            };
            let is = match Measure::of(tunable) {
                Measure::Duration(_) => write_nanos(value),
                _ => write_bytes(value),
            };
            self.report(key, format!("{is} is not a multiple of {}; write {nearest}", write(1)));
        }
        Ok(value / unit)
    }

    fn max_sectors(&mut self) -> Read<u32> {
        const KEY: &str = "block.max_request";
        let bytes = self.bytes(KEY)?;
        if !bytes.is_multiple_of(512) {
            let below = bytes / 512 * 512;
            let message = format!(
                "{} is not a multiple of 512B; write {} or {}",
                write_bytes(bytes),
                write_bytes(below),
                write_bytes(below + 512)
            );
            self.report(KEY, message);
        }
        // The range of the option ends at 1 GiB.
        Ok((bytes / 512) as u32)
    }
}
