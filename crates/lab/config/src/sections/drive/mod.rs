//! Settings of a drive that processes many requests at once: controller, link, and stripe order of the flash array.

mod buffer;
mod collect;
pub(crate) mod controller;
mod host_memory;
mod pace;
mod protocol;
mod read_ahead;
mod stripe;
mod thermal;

use crate::checker::{Checker, Read};
use crate::kind::{Choices, Kind};
use crate::sections::device::KnownDevice;
use crate::table::{KIB, OptionSpec, Section, Use, bytes, count, option};
use ssdlab_ftl::FtlChoice;
use ssdlab_nand::Commands;
use ssdlab_nand::backend::parallel::scheduler::DIE_SCHEDULERS;
use ssdlab_sim::{DriveOptions, Front, Packets, TransferUnit};

pub(crate) const SECTION: Section = Section {
    name: "drive",
    help: "Controller and host link of a drive that processes many requests at once.",
    used: &[Use::With("time", "event")],
    options,
};

/// Variants of the link's duplex setting; the value is true for a full-duplex link.
static DUPLEX: Choices<bool, 2> =
    Choices::new([("full", "both directions at once", true), ("half", "one direction at a time", false)]);

static TRANSFERS: Choices<TransferUnit, 2> = Choices::new([
    (
        "request",
        "a write starts after all its data has arrived; read data is sent after the last page was read from flash",
        TransferUnit::Request,
    ),
    (
        "page",
        "each page of a read is sent as soon as it was read from flash; each page of a write enters the write buffer \
         as soon as it arrives",
        TransferUnit::Page,
    ),
]);

fn options() -> Vec<OptionSpec> {
    let array = [
        option("drive.order", stripe::orders()).default("CWDP").example("PDWC").help(
            "Order in which consecutive pages are spread over channels (C), ways (W), dies (D) and planes (P); the \
             first level changes with every page.",
        ),
        option("drive.scheduler", Kind::of_names(DIE_SCHEDULERS.iter().map(|info| (info.name, info.help))))
            .default("out_of_order")
            .example("read_first")
            .help("Scheduling policy of each die: which operation the die executes next."),
    ];
    let stages = [controller::OPTIONS, protocol::OPTIONS, buffer::OPTIONS, pace::OPTIONS, read_ahead::OPTIONS];
    [&[&array, OPTIONS][..], &stages, &[host_memory::OPTIONS, thermal::OPTIONS, collect::OPTIONS]].concat().concat()
}

const OPTIONS: &[OptionSpec] = &[
    count("drive.backlog", 1..=65_536).default("64").example("16").help(
        "Maximum number of flash operations in flight per die, on average. At this limit, a drive without a write \
         buffer accepts no further requests; a drive with one programs no further pages from the buffer.",
    ),
    option("drive.link", Kind::Bandwidth)
        .default("none")
        .example("600MB/s")
        .help("Bandwidth of the host link; `none` is an infinitely fast link."),
    // PCIe: drives and hosts mostly agree on payloads of 128 or 256 bytes. A packet has a header of 12 or 16 bytes and
    // 8 to 12 bytes of framing, sequence number and checksum.
    bytes("drive.payload", 64..=16 * KIB)
        .default("256B")
        .example("128B")
        .help("Maximum number of data bytes in a packet on the host link."),
    bytes("drive.packet_overhead", 0..=KIB)
        .default("0B")
        .example("24B")
        .help("Bytes that each packet on the host link adds to its data; about 24 on PCIe."),
    option("drive.duplex", DUPLEX.kind()).default("full").example("half").help("Duplex mode of the host link."),
    option("drive.transfer", TRANSFERS.kind())
        .default("request")
        .example("page")
        .help("Unit of data transfer between host and drive; a page is a mapping unit (`device.unit`)."),
    option("drive.dram", Kind::Bandwidth).default("none").example("12.8GB/s").help(
        "Bandwidth of the controller's DRAM. Host data uses it twice: it is first written to DRAM, then read from it. \
         `none` is an infinitely fast DRAM.",
    ),
];

impl Checker<'_> {
    pub(crate) fn drive(&mut self, commands: Commands, ftl: &FtlChoice, device: KnownDevice<'_>) -> Read<DriveOptions> {
        let buffer = self.buffer(device)?;
        let collect = self.collect(ftl, device)?;
        Ok(DriveOptions {
            commands,
            scheduler: self.named("drive.scheduler", |name| DIE_SCHEDULERS.find(name))?,
            front: Front {
                protocol: self.variant("drive.protocol", &protocol::PROTOCOLS)?,
                link_bytes_per_s: self.bandwidth("drive.link")?,
                packets: Packets {
                    payload_bytes: self.small("drive.payload")?,
                    overhead_bytes: self.small("drive.packet_overhead")?,
                },
                full_duplex: self.choice("drive.duplex", &DUPLEX)?,
                transfer: self.choice("drive.transfer", &TRANSFERS)?,
                dram_bytes_per_s: self.bandwidth("drive.dram")?,
                controller: self.controller()?,
            },
            buffer,
            pace: self.pace(buffer.as_ref(), &collect)?,
            read_ahead: self.variant("drive.read_ahead", &read_ahead::POLICIES)?,
            host_memory: self.host_memory(ftl)?,
            thermal: self.variant("drive.thermal", &thermal::POLICIES)?,
            collect,
            backlog: self.small("drive.backlog")?,
        })
    }
}
