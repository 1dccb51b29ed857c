//! RAM of the drive in which writes are complete.

use crate::checker::{Checker, Read, Reader};
use crate::figures::KnownDevice;
use crate::kind::{Choices, Kind};
use crate::table::{Fallback, OptionSpec, TIB};
use ssdlab_core::units::write_bytes;
use ssdlab_core::units::write_percent;
use ssdlab_sim::{FlushPolicy, WriteBuffer};

/// When a buffer is flushed, if there is one.
static BUFFERS: Choices<Reader<Option<FlushPolicy>>, 3> = Choices::new([
    ("none", "none: a write is complete when it is programmed", |_| Ok(None)),
    ("eager", "every page is programmed as soon as it is there", |_| Ok(Some(FlushPolicy::Eager))),
    (
        "watermark",
        "pages wait to be overwritten; from `high` of the buffer on, the oldest are programmed until \
         `low` is left",
        |checker| checker.watermark().map(Some),
    ),
]);

/// `size` of every write buffer; the key is a stand-in.
const BUFFER_SIZE: OptionSpec = OptionSpec {
    key: "",
    kind: Kind::Bytes { min: 512, max: TIB },
    // Our choice: a few milliseconds of writes of a fast host.
    fallback: Fallback::Value("16MiB"),
    help: "RAM for written pages; whole pages of it are used, at least one.",
    example: "1MiB",
};

/// `plp` of every write buffer; the key is a stand-in.
const POWER_LOSS_PROTECTION: OptionSpec = OptionSpec {
    key: "",
    kind: Kind::Bool,
    fallback: Fallback::Value("false"),
    help: "Power-loss protection: what the buffer holds is safe, so flush requests wait for nothing.",
    example: "true",
};

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "drive.buffer",
        kind: BUFFERS.kind(),
        fallback: Fallback::Value("none"),
        help: "RAM of the drive in which writes are complete.",
        example: "eager",
    },
    OptionSpec { key: "drive.buffer.eager.size", ..BUFFER_SIZE },
    OptionSpec { key: "drive.buffer.eager.plp", ..POWER_LOSS_PROTECTION },
    OptionSpec { key: "drive.buffer.watermark.size", ..BUFFER_SIZE },
    OptionSpec { key: "drive.buffer.watermark.plp", ..POWER_LOSS_PROTECTION },
    OptionSpec {
        key: "drive.buffer.watermark.high",
        kind: Kind::Percent { min: 1.0, max: 100.0 },
        // Our choice, as that of `low`.
        fallback: Fallback::Value("80%"),
        help: "Share of the buffer at which programming starts.",
        example: "90%",
    },
    OptionSpec {
        key: "drive.buffer.watermark.low",
        kind: Kind::Percent { min: 0.0, max: 99.0 },
        fallback: Fallback::Value("50%"),
        help: "Share of the buffer at which it ends; less than `high`.",
        example: "20%",
    },
];

impl Checker<'_> {
    pub(super) fn buffer(&mut self, device: KnownDevice<'_>) -> Read<Option<WriteBuffer>> {
        let Some(flush) = self.variant("drive.buffer", &BUFFERS)? else { return Ok(None) };
        let variant = format!("drive.buffer.{}", self.name("drive.buffer")?);
        let key = format!("{variant}.size");
        let bytes = self.bytes(&key)?;
        let page_bytes = self.bytes("nand.page_size")?;
        if bytes < page_bytes {
            let message = format!("{} holds no page; raise it to {}", write_bytes(bytes), write_bytes(page_bytes));
            self.report(&key, message);
        }
        if let Some((_, device)) = device
            && bytes > device.capacity_bytes
        {
            let capacity = write_bytes(device.capacity_bytes);
            self.report(
                &key,
                format!("{} is more than the drive of {capacity}; lower it to {capacity}", write_bytes(bytes)),
            );
        }
        // A size in its range fits: the smallest pages are 512 bytes.
        let pages = u32::try_from(bytes / page_bytes).unwrap_or(u32::MAX);
        Ok(Some(WriteBuffer { pages, flush, protected: self.flag(&format!("{variant}.plp"))? }))
    }

    fn watermark(&mut self) -> Read<FlushPolicy> {
        const LOW: &str = "drive.buffer.watermark.low";
        let high = self.share("drive.buffer.watermark.high")?;
        let low = self.share(LOW)?;
        if low >= high {
            let message = format!(
                "{} is not less than high = {}; lower it to {}",
                write_percent(low * 100.0),
                write_percent(high * 100.0),
                write_percent(high * 50.0)
            );
            self.report(LOW, message);
        }
        Ok(FlushPolicy::Watermark { high, low })
    }
}
