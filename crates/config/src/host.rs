//! How requests reach the device.

use crate::options::{Kind, find};
use crate::settings::{Checker, Read};
use ssdlab_sim::{Clock, DriveOptions, Protocol, Replay};

impl Checker<'_> {
    pub(crate) fn replay(&mut self, clock: &Clock) -> Read<Replay> {
        const REPLAY: &str = "host.replay";
        match self.choice(REPLAY)? {
            "closed" => {
                let depth = self.small("host.replay.closed.queue_depth")?;
                let per_stream = self.flag("host.replay.closed.per_stream")?;
                if let Clock::Event(_, drive) = clock {
                    self.refuse_more_than_queues_hold(depth, per_stream, drive)?;
                }
                Ok(Replay::Closed { depth, per_stream, think: self.nanos("host.replay.closed.think")? })
            }
            "processes" => Ok(Replay::Processes { think: self.nanos("host.replay.processes.think")? }),
            "open" => Ok(Replay::Open { time_scale: self.float("host.replay.open.time_scale")? }),
            other => Err(self.unknown(REPLAY, other)),
        }
    }

    /// What the queues do not hold would not be outstanding, whatever was asked for.
    fn refuse_more_than_queues_hold(&mut self, depth: u32, per_stream: bool, drive: &DriveOptions) -> Read<()> {
        let (queue_depth, queues) = match drive.front.protocol {
            Protocol::Direct => return Ok(()),
            Protocol::SingleQueue { depth } => (depth, 1),
            // Each stream has one queue, all streams together have all.
            Protocol::MultiQueue { depth, .. } if per_stream => (depth, 1),
            Protocol::MultiQueue { depth, queues, .. } => (depth, queues),
        };
        let holds = u64::from(queue_depth) * u64::from(queues);
        let depth = u64::from(depth);
        if depth > holds {
            let protocol = self.choice("drive.protocol")?;
            let key = format!("drive.protocol.{protocol}.depth");
            let enough = depth.div_ceil(u64::from(queues));
            let raise = match find(&key).map(|option| option.kind) {
                Some(Kind::Count { max, .. }) if enough <= max => format!(", raise {key} to {enough}"),
                _ => String::new(),
            };
            let message = format!(
                "{depth} exceeds the {holds} requests that drive.protocol {protocol} holds; lower it to {holds}{raise} \
                 or set drive.protocol to \"direct\""
            );
            self.report("host.replay.closed.queue_depth", message);
        }
        Ok(())
    }
}
