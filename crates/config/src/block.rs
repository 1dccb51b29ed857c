//! The block layer of the host and its scheduler.

use crate::options::Derived;
use crate::settings::{Checker, Read};
use crate::value::{Value, write_bytes};
use ssdlab_sched::{Device, Frame, NoMerges, SchedulerInfo, TunableError, scheduler};
use ssdlab_sim::{BlockOptions, Clock};

const SCHEDULER: &str = "block.scheduler";

pub(crate) fn key_of(scheduler: &str, tunable: &str) -> String {
    format!("{SCHEDULER}.{scheduler}.{tunable}")
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
            let value = self.parameter(&key, tunable)?;
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
            Err(TunableError::BeyondDevice { name, value, device, unit, .. }) => {
                let (value, device) = (unit.write(value), unit.write(device));
                let message = format!("{value} is more than the drive has; lower it to {device} or less");
                self.report(&key_of(info.name, name), message);
            }
            Err(error) => self.report(SCHEDULER, error.to_string()),
            Ok(_) => {}
        }
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
