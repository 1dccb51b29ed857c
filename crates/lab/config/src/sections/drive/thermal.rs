//! Reads the settings of thermal throttling.

use crate::checker::{Checker, Read, Reader};
use crate::kind::Choices;
use crate::table::{OptionSpec, SECOND, float, nanos, option};
use ssdlab_sim::Thermal;

const RELEASE: &str = "drive.thermal.throttle.release";

pub(super) static POLICIES: Choices<Reader<Option<Thermal>>, 2> = Choices::new([
    ("none", "never: the temperature is not modelled", |_| Ok(None)),
    (
        "throttle",
        "above the temperature `threshold`, until the temperature falls below `release`; meanwhile, requests take \
         `factor` times as long",
        |checker| checker.throttle().map(Some),
    ),
]);

// The defaults are our choice: they describe an M.2 drive without a heat sink that throttles above 80 degrees.
pub(super) const OPTIONS: &[OptionSpec] = &[
    option("drive.thermal", POLICIES.kind())
        .default("none")
        .example("throttle")
        .help("Thermal throttling: when the drive slows down requests because it is hot."),
    float("drive.thermal.throttle.ambient", 0.0..=60.0)
        .default("45")
        .example("30")
        .help("Ambient temperature, in degrees Celsius: the temperature of an idle drive."),
    float("drive.thermal.throttle.threshold", 62.0..=150.0)
        .default("80")
        .example("85")
        .help("Temperature above which the drive throttles, in degrees Celsius."),
    float(RELEASE, 61.0..=149.0)
        .default("75")
        .example("70")
        .help("Temperature below which the drive stops throttling, in degrees Celsius; less than `threshold`."),
    float("drive.thermal.throttle.resistance", 0.01..=1_000.0)
        .default("10")
        .example("5")
        .help("Thermal resistance between drive and ambient, in kelvin per watt."),
    nanos("drive.thermal.throttle.time_constant", 1_000..=10_000 * SECOND).default("60s").example("5s").help(
        "Thermal time constant: the time in which an idle drive cools to 37 % (1/e) of its initial temperature \
             excess over `ambient`.",
    ),
    float("drive.thermal.throttle.read_energy", 0.0..=1_000_000.0)
        .default("0.6")
        .example("1")
        .help("Heat per byte read by the host, in nanojoules; 1 nJ per byte is 1 W at 1 GB/s."),
    float("drive.thermal.throttle.write_energy", 0.0..=1_000_000.0)
        .default("1.2")
        .example("2")
        .help("Heat per byte written by the host, in nanojoules; 1 nJ per byte is 1 W at 1 GB/s."),
    float("drive.thermal.throttle.factor", 1.0..=1_000.0)
        .default("2")
        .example("4")
        .help("Factor by which throttling multiplies the time of a request."),
];

impl Checker<'_> {
    fn throttle(&mut self) -> Read<Thermal> {
        let number = |name: &str| self.float(&format!("drive.thermal.throttle.{name}"));
        let thermal = Thermal {
            ambient: number("ambient")?,
            threshold: number("threshold")?,
            release: number("release")?,
            resistance: number("resistance")?,
            time_constant: self.nanos("drive.thermal.throttle.time_constant")?,
            read_energy: number("read_energy")?,
            write_energy: number("write_energy")?,
            factor: number("factor")?,
        };
        let Thermal { threshold, release, .. } = thermal;
        if release >= threshold {
            let lower = (threshold - 1.0).floor();
            self.report(RELEASE, format!("{release} must be less than threshold = {threshold}; lower it to {lower}"));
        }
        Ok(thermal)
    }
}
