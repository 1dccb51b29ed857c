//! Queues between host and drive.

use crate::checker::{Checker, Read, Reader};
use crate::kind::{Choices, Kind};
use crate::table::{Fallback, KIB, OptionSpec};
use ssdlab_sim::{Arbitration, Protocol};

static PROTOCOLS: Choices<Reader<Protocol>, 4> = Choices::new([
    ("direct", "none: the drive sees every request at once", |_| Ok(Protocol::Direct)),
    ("sata", "one queue with native command queueing (NCQ)", |checker| {
        Ok(Protocol::SingleQueue { depth: checker.small("drive.protocol.sata.depth")? })
    }),
    ("ufs", "one queue, as UFS has, and eMMC with command queueing", |checker| {
        Ok(Protocol::SingleQueue { depth: checker.small("drive.protocol.ufs.depth")? })
    }),
    ("nvme", "`queues` queues: requests of stream s of the host go to queue s modulo `queues`", |checker| {
        Ok(Protocol::MultiQueue {
            queues: checker.small("drive.protocol.nvme.queues")?,
            depth: checker.small("drive.protocol.nvme.depth")?,
            slots: checker.small("drive.protocol.nvme.slots")?,
            arbitration: checker.variant("drive.protocol.nvme.arbitration", &ARBITRATIONS)?,
        })
    }),
]);

static ARBITRATIONS: Choices<Reader<Arbitration>, 2> = Choices::new([
    ("round_robin", "one after the other, `burst` requests each", |checker| {
        let burst = checker.small("drive.protocol.nvme.arbitration.round_robin.burst")?;
        Ok(Arbitration::RoundRobin { burst })
    }),
    ("weighted", "one after the other, as many requests as `weights` gives each", |checker| {
        Ok(Arbitration::Weighted { weights: checker.weights()? })
    }),
]);

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "drive.protocol",
        kind: PROTOCOLS.kind(),
        fallback: Fallback::Value("direct"),
        help: "Queues between host and drive.",
        example: "nvme",
    },
    OptionSpec {
        key: "drive.protocol.sata.depth",
        // NCQ has 32 tags, of which Linux long used 31.
        kind: Kind::Count { min: 1, max: 32 },
        fallback: Fallback::Value("31"),
        help: "Requests that the drive holds.",
        example: "32",
    },
    OptionSpec {
        key: "drive.protocol.ufs.depth",
        // The slots of a UFS host controller with one queue, and those of an eMMC queue.
        kind: Kind::Count { min: 1, max: 32 },
        fallback: Fallback::Value("32"),
        help: "Requests that the drive holds.",
        example: "16",
    },
    OptionSpec {
        key: "drive.protocol.nvme.queues",
        kind: Kind::Count { min: 1, max: KIB },
        // Our choice: those of a host with eight cores.
        fallback: Fallback::Value("8"),
        help: "Submission queues.",
        example: "2",
    },
    OptionSpec {
        key: "drive.protocol.nvme.depth",
        // What NVMe allows; Linux asks for 1,024.
        kind: Kind::Count { min: 2, max: 65_536 },
        fallback: Fallback::Value("1024"),
        help: "Requests that a queue holds.",
        example: "64",
    },
    OptionSpec {
        key: "drive.protocol.nvme.slots",
        kind: Kind::Count { min: 1, max: 65_536 },
        fallback: Fallback::Value("1024"),
        help: "Requests that the drive works on at a time.",
        example: "128",
    },
    OptionSpec {
        key: "drive.protocol.nvme.arbitration",
        kind: ARBITRATIONS.kind(),
        fallback: Fallback::Value("round_robin"),
        help: "Which queue is served next.",
        example: "weighted",
    },
    OptionSpec {
        key: "drive.protocol.nvme.arbitration.round_robin.burst",
        // As the arbitration burst of NVMe.
        kind: Kind::Count { min: 1, max: 64 },
        fallback: Fallback::Value("1"),
        help: "Requests taken from a queue in a row.",
        example: "8",
    },
    OptionSpec {
        key: "drive.protocol.nvme.arbitration.weighted.weights",
        // As the weights of NVMe's priority classes, of which there are three below the urgent one.
        kind: Kind::Counts { min: 1, max: 256, most: 8 },
        fallback: Fallback::Value("4,2,1"),
        help: "Requests taken in a row from queues 0, 1, 2...; the last number holds for the rest of eight queues, and \
               every eight queues are alike.",
        example: "8,4,1",
    },
];

impl Checker<'_> {
    pub(super) fn protocol(&mut self) -> Read<Protocol> {
        self.variant("drive.protocol", &PROTOCOLS)
    }

    fn weights(&self) -> Read<[u16; 8]> {
        const WEIGHTS: &str = "drive.protocol.nvme.arbitration.weighted.weights";
        let given = self.counts(WEIGHTS)?;
        let mut weights = [0; 8];
        for (index, weight) in weights.iter_mut().enumerate() {
            // The last one given holds for the rest.
            let given = given.get(index).or(given.last()).copied().unwrap_or_default();
            *weight = u16::try_from(given).map_err(|_| self.wrong_type(WEIGHTS))?;
        }
        Ok(weights)
    }
}
