//! The drive as the host and its data sheet see it.

use super::{Fallback, KIB, Kind, OptionSpec, TIB, Variant};

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "device.capacity",
        kind: Kind::Bytes { min: KIB, max: 16 * TIB },
        // Small enough to fill and overwrite in about a second, large enough for thousands of blocks.
        fallback: Fallback::Value("4GiB"),
        help: "Bytes the host sees; a multiple of the page size.",
        example: "64GiB",
    },
    OptionSpec {
        key: "device.op",
        kind: Kind::Percent { min: 0.0, max: 1000.0 },
        // What "GB sold, GiB built in" leaves: 2^30 / 10^9 = 1.07.
        fallback: Fallback::Value("7%"),
        help: "Over-provisioning: flash beyond the capacity as a share of the capacity, (T - U) / U. Rounded up to \
               whole blocks, equally many for each plane; results give the figures after rounding.",
        example: "12.5%",
    },
    OptionSpec {
        key: "device.spare",
        kind: Kind::Percent { min: 0.0, max: 95.0 },
        fallback: Fallback::InsteadOf("device.op"),
        help: "Spare factor: flash beyond the capacity as a share of all flash, (T - U) / T.",
        example: "10%",
    },
    OptionSpec {
        key: "device.reserve",
        kind: Kind::Choice(&[
            Variant { name: "inside", help: "part of the over-provisioned space, as in a real drive" },
            Variant { name: "extra", help: "added to it, as the analytic models of write amplification assume" },
        ]),
        fallback: Fallback::Value("inside"),
        help: "Where the blocks come from that the FTL always keeps open or erased.",
        example: "extra",
    },
];
