//! Reads the settings of the drive's write buffer.

use crate::checker::{Checker, Read, Reader};
use crate::kind::Choices;
use crate::sections::device::{Device, KnownDevice};
use crate::sections::units::PASSES;
use crate::table::{OptionSpec, TIB, bytes, option, percent, switch};
use ssdlab_core::units::{write_bytes, write_percent};
use ssdlab_sim::{FlushPolicy, WriteBuffer};

/// Flush policies of the write buffer by name; `None` means that the drive has no buffer.
static BUFFERS: Choices<Reader<Option<FlushPolicy>>, 3> = Choices::new([
    ("none", "no buffer: a write completes when it is programmed", |_| Ok(None)),
    ("eager", "each page is programmed as soon as it arrives", |_| Ok(Some(FlushPolicy::Eager))),
    (
        "watermark",
        "pages stay in the buffer, where further writes can replace them; above the fill level `high`, the oldest are \
         programmed until the fill level is `low`",
        |checker| checker.watermark().map(Some),
    ),
]);

const fn size(key: &'static str) -> OptionSpec {
    // This default is our choice: the buffer holds the data that a fast host writes in a few milliseconds.
    bytes(key, 512..=TIB)
        .default("16MiB")
        .example("1MiB")
        .help("RAM for written pages; rounded down to whole pages, at least one page.")
}

/// Returns the option `plp` (power-loss protection) of a write buffer.
const fn power_loss_protection(key: &'static str) -> OptionSpec {
    switch(key, false)
        .help("Power-loss protection: the buffer survives a power loss, so flush requests complete at once.")
}

pub(super) const OPTIONS: &[OptionSpec] = &[
    option("drive.buffer", BUFFERS.kind())
        .default("none")
        .example("eager")
        .help("Write buffer in the drive's RAM; a write completes once it is in the buffer."),
    size("drive.buffer.eager.size"),
    power_loss_protection("drive.buffer.eager.plp"),
    size("drive.buffer.watermark.size"),
    power_loss_protection("drive.buffer.watermark.plp"),
    percent("drive.buffer.watermark.high", 1.0..=100.0)
        // This default is our choice; it has no source.
        .default("80%")
        .example("90%")
        .help("Fill level of the buffer at which programming starts."),
    percent("drive.buffer.watermark.low", 0.0..=99.0)
        .default("50%")
        .example("20%")
        .help("Fill level of the buffer at which programming stops; less than `high`."),
];

impl Checker<'_> {
    pub(super) fn buffer(&mut self, device: KnownDevice<'_>) -> Read<Option<WriteBuffer>> {
        let unit = device.map_or(1, |device| device.geometry.gathered_pages());
        let two_passes = device.is_some_and(|device| device.geometry.units.pass_distance > 0);
        let what = match (two_passes, unit > 1) {
            (true, _) => "the word lines between the coarse and the fine pass",
            (false, true) => "a program unit",
            (false, false) => "a page",
        };
        let Some(flush) = self.variant("drive.buffer", &BUFFERS)? else {
            if unit > 1 {
                let what = if two_passes { what } else { "its program unit" };
                let message =
                    format!("without a buffer, a write would wait until all {unit} pages of {what} are written");
                self.report("drive.buffer", format!("{message}; set it to \"eager\""));
            }
            return Ok(None);
        };
        let variant = format!("drive.buffer.{}", self.name("drive.buffer")?);
        let key = format!("{variant}.size");
        let bytes = self.bytes(&key)?;
        let page_bytes = self.bytes("device.unit")?;
        let unit_bytes = u64::from(unit) * page_bytes;
        if unit_bytes > TIB {
            let message =
                format!("{what} need {} of buffer, more than the largest buffer has", write_bytes(unit_bytes));
            self.report(PASSES, format!("{message}; set it to \"one\""));
        } else if bytes < unit_bytes {
            let [size, least] = [bytes, unit_bytes].map(write_bytes);
            self.report(&key, format!("a buffer of {size} cannot hold {what}; raise it to {least}"));
        }
        let protection = format!("{variant}.plp");
        let protected = self.flag(&protection)?;
        if two_passes && !protected {
            let message = "data waits in the buffer between the coarse and the fine pass, so flushes need power-loss \
                           protection";
            self.report(&protection, format!("{message}; set it to true"));
        }
        if let Some(capacity) = device.map(Device::capacity_bytes)
            && bytes > capacity.max(unit_bytes)
        {
            let [size, most] = [bytes, capacity.max(unit_bytes)].map(write_bytes);
            self.report(&key, format!("{size} exceeds the capacity; lower it to {most}"));
        }
        // The cast is safe for every size in range: the smallest pages have 512 bytes.
        let pages = u32::try_from(bytes / page_bytes).unwrap_or(u32::MAX);
        Ok(Some(WriteBuffer { pages, flush, protected }))
    }

    fn watermark(&mut self) -> Read<FlushPolicy> {
        const LOW: &str = "drive.buffer.watermark.low";
        let high = self.share("drive.buffer.watermark.high")?;
        let low = self.share(LOW)?;
        if low >= high {
            let [low, high, half] = [low * 100.0, high * 100.0, high * 50.0].map(write_percent);
            self.report(LOW, format!("{low} must be less than high = {high}; lower it to {half}"));
        }
        Ok(FlushPolicy::Watermark { high, low })
    }
}
