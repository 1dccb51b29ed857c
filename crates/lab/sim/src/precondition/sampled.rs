//! Brings a large drive into steady state by copying the steady state of a few of its planes.
//!
//! ```text
//! part: two or more planes of the drive, with a proportional number of the logical pages
//! bring the part to its steady state, as if it were a drive
//! for each share of the drive, which has as many planes as the part:
//!     overwrite the part a little more, so that all shares are at different points of collection
//!     copy the blocks of the part into the share: valid pages, wear, order, open blocks
//!     assign the logical pages of the part to random logical pages of the drive
//! ```
//! This method is valid for uniformly random overwrites and page mapping with the map in RAM. Planes get host pages in
//! turn and are collected separately, so they are alike and independent. Nothing is scaled: planes keep their blocks
//! and reserves. One difference from the exact method remains: pages that were never overwritten are not in sequential
//! order over all planes.

use ssdlab_core::{Lpn, Rng};
use ssdlab_ftl::{Ftl, Shares, WriteContext};
use ssdlab_nand::backend::{CountingFlash, Flash, Resume};
use ssdlab_nand::{Cause, Counts};

use super::{Device, OverwriteProgress, PreconditionSummary, Target};
use crate::check::data_checker::Checker;
use crate::drive::parts::{Combined, Parts};
use crate::drive::sinks::Sinks;
use crate::drive::stack::Stack;
use crate::run::error::SimError;
use crate::run::monitor::{Control, Monitor};
use crate::setup::{Method, Overwrite, Setup};

/// Minimum number of logical pages for which exact preconditioning takes too long.
const LARGE_PAGES: u32 = 1 << 24;
/// Minimum number of pages in the sampled part of the device, so that random differences average out.
const PART_PAGES: u64 = 1 << 22;
/// The sampled part is overwritten a little more before each copy of its state: at most 1/STRIDE of it. This causes
/// dozens of collections in each plane.
const STRIDE: u64 = 32;

type OfPart<P> = Combined<<P as Parts>::Ftl, CountingFlash, (), ()>;

/// Preconditions a device by a sample, if its set-up requires it or the device is large; otherwise returns `None`.
///
/// # Errors
/// Fails if the set-up requires a sample that the device does not allow.
pub(crate) fn prepare<P: Parts<Flash: Resume>>(
    stack: &mut Stack<P>,
    monitor: &mut dyn Monitor,
) -> Result<Option<(PreconditionSummary, Control)>, SimError> {
    let Overwrite::Steady(method) = stack.setup.precondition.overwrite else { return Ok(None) };
    if stack.setup.filled_pages() == 0 {
        return Ok(None);
    }
    let wanted = match method {
        Method::Exact => false,
        Method::Sampled => true,
        Method::Auto => stack.setup.logical_pages >= LARGE_PAGES,
    };
    let part = if wanted { part_of(stack) } else { None };
    match part {
        Some((part, shares)) => Ok(Some(take(part, shares, stack, monitor))),
        None if method == Method::Sampled => Err(SimError::Setup(
            "precondition.overwrite.steady.method: \"sampled\" needs page mapping with the map in RAM, at least \
             four planes, and check = false; set it to \"exact\""
                .into(),
        )),
        None => Ok(None),
    }
}

/// Returns an erased FTL for a sampled part of the device (some of its planes), and the number of such parts in the
/// device.
fn part_of<P: Parts>(stack: &Stack<P>) -> Option<(P::Ftl, u32)> {
    let Setup { geometry, seed, .. } = &stack.setup;
    let planes = geometry.areas();
    let divisors = || (2..=planes / 2).filter(|&part| planes.is_multiple_of(part));
    let large = |part: &u32| u64::from(*part) * geometry.pages() / u64::from(planes) >= PART_PAGES;
    let part_planes = divisors().find(large).or_else(|| divisors().next_back())?;
    // Sampling is impossible with a data checker, because the checker would not see the writes to the copied pages.
    if stack.sinks.checker.get().is_some() {
        return None;
    }
    Some((stack.ftl.part(part_planes, *seed)?, planes / part_planes))
}

fn take<P: Parts<Flash: Resume>>(
    part: P::Ftl,
    shares: u32,
    stack: &mut Stack<P>,
    monitor: &mut dyn Monitor,
) -> (PreconditionSummary, Control) {
    let Setup { seed, geometry, .. } = stack.setup;
    let pages = stack.setup.filled_pages();
    let part_pages = pages / u64::from(shares);
    let part_planes = geometry.areas() / shares;
    let mut summary = PreconditionSummary { sampled_planes: Some(part_planes), ..PreconditionSummary::default() };
    let sinks = Sinks::new(CountingFlash::default(), (), ());
    let mut part = Stack::<OfPart<P>>::new(&stack.setup, part, sinks);
    if (Target { device: &mut part, monitor }).fill(part_pages) == Control::Stop {
        return (summary, Control::Stop);
    }
    let mut rng = Rng::named(seed, "precondition");
    let (amplification, stable, mut control) = Target { device: &mut part, monitor }.overwrite_until_steady(
        part_pages,
        geometry.pages() / u64::from(shares),
        &mut rng,
    );
    summary.write_amplification = amplification;
    summary.stable = Some(stable);
    let shared = Shares::new(shares, part_pages as u32, &mut Rng::named(seed, "sample"));
    let mut counts = Counts::default();
    let step = InStep::new(geometry.pages_per_block, part_planes, &mut rng);
    for share in 0..shares {
        let written = part.counts().programs[Cause::Host as usize];
        let on = step.next(written + rng.below(part_pages / STRIDE + 1)) - written;
        let progress =
            OverwriteProgress { before: written - part_pages, planned: None, write_amplification: amplification };
        if control == Control::Continue {
            (_, control) = Target { device: &mut part, monitor }.overwrite(part_pages, on, progress, &mut rng);
        }
        if control == Control::Stop {
            return (summary, control);
        }
        stack.ftl.take_over(&part.ftl, share, &shared);
        counts += part.counts();
    }
    stack.ftl.taken_over(&shared);
    stack.sinks.flash.resume(counts, &[], std::iter::empty());
    // The copied planes leave a few logical pages unwritten, fewer than there are copies. These pages are written one
    // by one.
    let divided = part_pages as u32 * shares;
    stack.ftl.write(Lpn(divided), pages as u32 - divided, WriteContext::default(), &mut stack.sinks);
    summary.count(&stack.sinks.flash.counts());
    (summary, Control::Continue)
}

/// Numbers of host pages after which the open blocks of all copied planes are filled to the same level.
///
/// In a drive that is preconditioned without sampling, the open blocks of all planes become full at the same time,
/// because host pages go to the planes in turn. Thus the dies can program all planes with one command.
struct InStep {
    /// Number of host pages that fill one block in each plane of the sampled part of the drive.
    round: u64,
    /// Number of host pages in the open blocks of each copy of the sampled planes.
    phase: u64,
}

impl InStep {
    fn new(pages_per_block: u32, planes: u32, rng: &mut Rng) -> Self {
        let phase = rng.below(pages_per_block.into()) * u64::from(planes);
        Self { round: u64::from(pages_per_block) * u64::from(planes), phase }
    }

    /// Returns the first number of host pages, at or above `pages`, after which the open blocks of all copies are
    /// filled to the same level.
    fn next(&self, pages: u64) -> u64 {
        pages + (self.phase + self.round - pages % self.round) % self.round
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_ftl::gc::{self, VICTIMS};
    use ssdlab_ftl::map::ram;
    use ssdlab_ftl::page::{Allocation, PageFtl, PageOptions, Trigger};
    use ssdlab_ftl::{FtlChoice, placement};
    use ssdlab_nand::{Geometry, Parallelism, ProgramOrder, Units};

    use super::*;
    use crate::setup::Precondition;

    const PAGES_PER_BLOCK: u32 = 64;
    const BLOCKS: u32 = 2_048;

    fn setup(options: PageOptions, fill: f64, method: Method) -> Setup {
        let geometry = Geometry {
            page_bytes: 4096,
            pages_per_block: PAGES_PER_BLOCK,
            blocks: BLOCKS,
            order: ProgramOrder::Ascending,
            parallelism: Parallelism { planes: 16, ..Parallelism::SINGLE },
            units: Units::PAGE,
        };
        // The logical pages do not divide evenly among the equal parts of the device, so some pages are left over.
        let logical_pages = BLOCKS * PAGES_PER_BLOCK * 4 / 5 - 3;
        let precondition = Precondition { fill, overwrite: Overwrite::Steady(method) };
        Setup { precondition, ..Setup::new(geometry, logical_pages, FtlChoice::Page(options, ram::INFO.defaults())) }
    }

    /// Returns the cumulative distribution of valid pages per block, and the result of the FTL's own check.
    fn valid_pages(options: PageOptions, fill: f64, method: Method) -> (Vec<f64>, Result<(), String>) {
        let setup = setup(options, fill, method);
        let ftl = PageFtl::new(setup.shape(), options, setup.seed).expect("large enough");
        let sinks = Sinks::new(CountingFlash::default(), (), ());
        let mut stack = Stack::<Combined<PageFtl, CountingFlash, (), ()>>::new(&setup, ftl, sinks);
        let (summary, _) = super::super::prepare(&mut stack, None, &mut ()).expect("it can be done");
        assert_eq!(summary.sampled_planes, (method == Method::Sampled).then_some(8));
        let mut valid = vec![0; BLOCKS as usize];
        let mapped = (0..setup.logical_pages).filter_map(|lpn| stack.ftl.lookup(Lpn(lpn)));
        mapped.for_each(|ppn| valid[(ppn.0 / PAGES_PER_BLOCK) as usize] += 1_usize);
        assert_eq!(valid.iter().sum::<usize>(), (fill * f64::from(setup.logical_pages)).round() as usize);
        let mut blocks = [0; PAGES_PER_BLOCK as usize + 1];
        valid.into_iter().for_each(|count| blocks[count] += 1);
        let sums = blocks.iter().scan(0, |sum, count| {
            *sum += count;
            Some(f64::from(*sum) / f64::from(BLOCKS))
        });
        (sums.collect(), stack.ftl.check())
    }

    /// Goal: sampled preconditioning distributes valid pages like exact preconditioning, and the FTL is consistent.
    /// Method: compares both distributions by their Kolmogorov-Smirnov distance, for every victim policy.
    #[test]
    fn valid_pages_are_distributed_as_in_an_exact_drive() {
        for info in VICTIMS.iter() {
            for (placement, fill) in [(&placement::shared::INFO, 1.0), (&placement::own::INFO, 0.9)] {
                let (trigger, allocation) = (Trigger::Partial { low: 3, step: 4, every: 1 }, Allocation::LeastWorn);
                let (gc, placement) = (info.defaults(), placement.defaults());
                let options = PageOptions { gc, placement, trigger, allocation, slc: None };
                let (exact, _) = valid_pages(options, fill, Method::Exact);
                let (sampled, check) = valid_pages(options, fill, Method::Sampled);
                let distance = exact.iter().zip(&sampled).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert_eq!(check, Ok(()), "{options:?}");
                // Two samples of 2,048 from the same distribution differ by 0.061 or more in one case of a thousand.
                assert!(distance < 0.06, "{options:?}: {distance}");
            }
        }
    }

    /// The sampled planes are copied at different points of garbage collection, so the erase counts of any two planes
    /// differ.
    #[test]
    fn no_two_planes_are_alike() {
        let options = PageOptions::new(gc::greedy::INFO.defaults(), &placement::own::INFO);
        let setup = setup(options, 1.0, Method::Sampled);
        let ftl = PageFtl::new(setup.shape(), options, setup.seed).expect("large enough");
        let sinks = Sinks::new(CountingFlash::default(), (), ());
        let mut stack = Stack::<Combined<PageFtl, CountingFlash, (), ()>>::new(&setup, ftl, sinks);
        super::super::prepare(&mut stack, None, &mut ()).expect("it can be done");
        let planes: Vec<&[u32]> = stack.ftl.erase_counts().chunks(BLOCKS as usize / 16).collect();
        for (number, plane) in planes.iter().enumerate() {
            assert!(!planes[number + 1..].contains(plane), "plane {number} has a twin");
        }
    }
}
