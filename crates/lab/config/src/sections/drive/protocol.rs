//! Reads the settings of the queues between host and drive.

use crate::checker::{Checker, Read, Reader};
use crate::kind::{Choices, Kind};
use crate::table::{KIB, OptionSpec, count, option};
use ssdlab_sim::{Arbitration, Protocol};

pub(super) static PROTOCOLS: Choices<Reader<Protocol>, 4> = Choices::new([
    ("direct", "no queues: every request reaches the drive immediately", |_| Ok(Protocol::Direct)),
    ("sata", "one queue with native command queueing (NCQ)", |checker| {
        Ok(Protocol::SingleQueue { depth: checker.small("drive.protocol.sata.depth")? })
    }),
    ("ufs", "one queue, as in UFS or in eMMC with command queueing", |checker| {
        Ok(Protocol::SingleQueue { depth: checker.small("drive.protocol.ufs.depth")? })
    }),
    ("nvme", "`queues` queues: requests of stream s go to queue s modulo `queues`", |checker| {
        Ok(Protocol::MultiQueue {
            queues: checker.small("drive.protocol.nvme.queues")?,
            depth: checker.small("drive.protocol.nvme.depth")?,
            slots: checker.small("drive.protocol.nvme.slots")?,
            arbitration: checker.variant("drive.protocol.nvme.arbitration", &ARBITRATIONS)?,
        })
    }),
]);

static ARBITRATIONS: Choices<Reader<Arbitration>, 3> = Choices::new([
    ("round_robin", "round robin with `burst` requests per queue", |checker| {
        let burst = checker.small("drive.protocol.nvme.arbitration.round_robin.burst")?;
        Ok(Arbitration::RoundRobin { burst })
    }),
    ("weighted", "weighted round robin; `weights` sets the number of requests per queue", |checker| {
        Ok(Arbitration::Weighted { weights: checker.weights()? })
    }),
    ("fifo", "requests of all queues in order of arrival", |_| Ok(Arbitration::Fifo)),
]);

pub(super) const OPTIONS: &[OptionSpec] = &[
    option("drive.protocol", PROTOCOLS.kind())
        .default("direct")
        .example("nvme")
        .help("Host interface: the queues between host and drive."),
    // NCQ has 32 tags, but Linux used only 31 of them for a long time.
    count("drive.protocol.sata.depth", 1..=32)
        .default("31")
        .example("32")
        .help("Maximum number of outstanding requests at the drive."),
    // A UFS host controller with one queue has 32 slots, and so does the queue of an eMMC device.
    count("drive.protocol.ufs.depth", 1..=32)
        .default("32")
        .example("16")
        .help("Maximum number of outstanding requests at the drive."),
    count("drive.protocol.nvme.queues", 1..=KIB)
        // This default is our choice: it suits a host with eight cores.
        .default("8")
        .example("2")
        .help("Number of submission queues."),
    // 65,536 is the maximum queue depth of NVMe; Linux uses 1,024.
    count("drive.protocol.nvme.depth", 2..=65_536)
        .default("1024")
        .example("64")
        .help("Maximum number of requests per queue."),
    count("drive.protocol.nvme.slots", 1..=65_536)
        .default("1024")
        .example("128")
        .help("Maximum number of requests that the drive processes at once."),
    option("drive.protocol.nvme.arbitration", ARBITRATIONS.kind())
        .default("round_robin")
        .example("weighted")
        .help("Arbitration: which queue is served next."),
    // NVMe allows arbitration bursts in this range.
    count("drive.protocol.nvme.arbitration.round_robin.burst", 1..=64)
        .default("1")
        .example("8")
        .help("Number of requests served from a queue before the next queue is served."),
    // The default has one weight for each of NVMe's three priority classes below "urgent".
    option("drive.protocol.nvme.arbitration.weighted.weights", Kind::Counts { min: 1, max: 256, most: 8 })
        .default("4,2,1")
        .example("8,4,1")
        .help(
            "Weights of queues 0 to 7: the number of requests served in a row from each queue. The last weight given \
             applies to the remaining queues up to queue 7; the pattern repeats every eight queues.",
        ),
];

impl Checker<'_> {
    fn weights(&self) -> Read<[u16; 8]> {
        const WEIGHTS: &str = "drive.protocol.nvme.arbitration.weighted.weights";
        let given = self.counts(WEIGHTS)?;
        let mut weights = [0; 8];
        for (index, weight) in weights.iter_mut().enumerate() {
            let given = given.get(index).or(given.last()).copied().unwrap_or_default();
            *weight = u16::try_from(given).map_err(|_| self.wrong_type(WEIGHTS))?;
        }
        Ok(weights)
    }
}
