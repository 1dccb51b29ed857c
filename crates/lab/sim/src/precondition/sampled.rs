//! Brings a large drive into steady state by copying the steady state of a part: a few planes, or a section of every
//! superblock.
//!
//! **Planes.**
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
//!
//! **Sections.** A drive whose superblocks extend over all planes has no planes to choose from.
//! ```text
//! part: a drive with as many superblocks, with a fraction of their pages and of the logical pages
//! bring the part to its steady state, as if it were a drive
//! divide each superblock into sections as large as a superblock of the part; give all sections the state of the part
//! assign the logical pages of each section to random logical pages of the drive
//! ```
//! Collection depends on the shares of valid pages, which vary little between superblocks of the same age, however many
//! pages they have. All sections must be equal, because a superblock is written, collected and erased as a whole.

use ssdlab_core::{Lpn, Rng};
use ssdlab_ftl::map::ram;
use ssdlab_ftl::{Ftl, FtlChoice, Shares, WriteContext};
use ssdlab_nand::backend::{CountingFlash, Flash, Resume};
use ssdlab_nand::{Cause, Collected, Counts};

use super::{Device, OverwriteProgress, PreconditionSummary, Target};
use crate::check::data_checker::Checker;
use crate::drive::parts::Parts;
use crate::drive::sinks::Sinks;
use crate::drive::stack::Stack;
use crate::run::error::SimError;
use crate::run::monitor::{Control, Monitor};
use crate::setup::{Method, Overwrite, Setup};

/// Number of logical pages at which exact preconditioning starts to take too long.
const LARGE_PAGES: u32 = 1 << 24;
/// Minimum number of pages in the sampled part of the device, so that random variations average out.
const PART_PAGES: u64 = 1 << 22;
/// Each time before its state is copied, the sampled part is overwritten further, by a random number of pages: at most
/// 1/STRIDE of the part, rounded up as [`InStep`] requires. This causes dozens of collections in each plane.
const STRIDE: u64 = 32;

type OfPart<P> = (<P as Parts>::Ftl, CountingFlash, (), ());

/// Preconditions a device by sampling if its set-up requires this, or if the set-up allows it and the device is large
/// and suitable. Otherwise returns `None`.
///
/// # Errors
/// Fails if the set-up requires a sample that the device does not allow.
pub(crate) fn prepare<P: Parts<Flash: Resume>>(
    stack: &mut Stack<P>,
    monitor: &mut dyn Monitor,
) -> Result<Option<(PreconditionSummary, Control)>, SimError> {
    if let Some(count) = sections(&stack.setup)
        && let Some(part) = stack.ftl.section(count, stack.setup.seed)
    {
        return Ok(Some(take_sections(part, count, stack, monitor)));
    }
    if is_wanted(&stack.setup)
        && let Some((part, shares)) = part_of(stack)
    {
        return Ok(Some(take_planes(part, shares, stack, monitor)));
    }
    if is_wanted(&stack.setup) && stack.setup.precondition.overwrite == Overwrite::Steady(Method::Sampled) {
        let why = "precondition.overwrite.steady.method: \"sampled\" needs check = false, page mapping, a map in RAM, \
                   no SLC cache, and either superblocks without parity or at least four planes; set it to \"exact\"";
        return Err(SimError::Setup(why.into()));
    }
    Ok(None)
}

/// True if the set-up requires a sample, or the device is so large that a sample is preferred.
fn is_wanted(setup: &Setup) -> bool {
    let Overwrite::Steady(method) = setup.precondition.overwrite else { return false };
    let wanted = match method {
        Method::Exact => false,
        Method::Sampled => true,
        Method::Auto => setup.logical_pages >= LARGE_PAGES,
    };
    wanted && setup.filled_pages() > 0
}

/// Returns the number of sections per superblock if a sampled device is divided into sections, otherwise `None`. A
/// section consists of whole program units.
pub(crate) fn sections(setup: &Setup) -> Option<u32> {
    let Setup { geometry, ftl: FtlChoice::Page(options, map), check: false, .. } = setup else { return None };
    let of_superblocks = geometry.units.collected == Collected::Superblock && geometry.units.parity == 0;
    if !of_superblocks || options.slc.is_some() || !map.is(&ram::INFO) || !is_wanted(setup) {
        return None;
    }
    let units = geometry.pages_per_block / geometry.program_unit();
    let divisors = || (2..=units.min(Shares::MOST)).filter(|&count| units.is_multiple_of(count));
    let large = |&count: &u32| geometry.pages() / u64::from(count) >= PART_PAGES;
    divisors().rfind(large).or_else(|| divisors().next())
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

/// Fills one of `count` equal parts of the device, and overwrites the part until its write amplification is steady.
fn steady<P: Parts>(
    part: P::Ftl,
    count: u32,
    setup: &Setup,
    rng: &mut Rng,
    monitor: &mut dyn Monitor,
) -> (Stack<OfPart<P>>, PreconditionSummary, Control) {
    let (pages, flash_pages) = (part_pages(setup, count), setup.geometry.pages() / u64::from(count));
    let mut summary = PreconditionSummary::default();
    let mut part = Stack::<OfPart<P>>::new(setup, part, Sinks::new(CountingFlash::default(), (), ()));
    let mut target = Target { device: &mut part, monitor };
    let mut control = target.fill(pages);
    if control == Control::Continue {
        let (amplification, stable, steadied) = target.overwrite_until_steady(pages, flash_pages, rng);
        (summary.write_amplification, summary.stable, control) = (amplification, Some(stable), steadied);
    }
    (part, summary, control)
}

/// Returns the number of filled logical pages in each of `count` equal parts of the device.
fn part_pages(setup: &Setup, count: u32) -> u64 {
    setup.filled_pages() / u64::from(count)
}

fn take_planes<P: Parts<Flash: Resume>>(
    part: P::Ftl,
    shares: u32,
    stack: &mut Stack<P>,
    monitor: &mut dyn Monitor,
) -> (PreconditionSummary, Control) {
    let Setup { seed, geometry, .. } = stack.setup;
    let part_pages = part_pages(&stack.setup, shares);
    let part_planes = geometry.areas() / shares;
    let mut rng = Rng::named(seed, "precondition");
    let (mut part, mut summary, mut control) = steady::<P>(part, shares, &stack.setup, &mut rng, monitor);
    summary.sampled_planes = Some(part_planes);
    let shared = Shares::new(shares, part_pages as u32, &mut Rng::named(seed, "sample"));
    let mut counts = Counts::default();
    let step = InStep::new(geometry.pages_per_block, part_planes, &mut rng);
    for share in 0..shares {
        if control == Control::Continue {
            let written = part.counts().programs[Cause::Host as usize];
            let on = step.next(written + rng.below(part_pages / STRIDE + 1)) - written;
            let write_amplification = summary.write_amplification;
            let progress = OverwriteProgress { before: written - part_pages, planned: None, write_amplification };
            (_, control) = Target { device: &mut part, monitor }.overwrite(part_pages, on, progress, &mut rng);
        }
        if control == Control::Stop {
            return (summary, control);
        }
        stack.ftl.take_over(&part.ftl, share, &shared);
        counts += part.counts();
    }
    stack.ftl.taken_over(&shared);
    finish(counts, shares, stack, &mut summary);
    (summary, control)
}

fn take_sections<P: Parts<Flash: Resume>>(
    part: P::Ftl,
    count: u32,
    stack: &mut Stack<P>,
    monitor: &mut dyn Monitor,
) -> (PreconditionSummary, Control) {
    let seed = stack.setup.seed;
    let mut rng = Rng::named(seed, "precondition");
    let (part, mut summary, control) = steady::<P>(part, count, &stack.setup, &mut rng, monitor);
    summary.sampled_sections = Some(count);
    if control == Control::Stop {
        return (summary, control);
    }
    let mut counts = Counts::default();
    (0..count).for_each(|_| counts += part.counts());
    // The sections of a superblock are erased together.
    counts.erases = part.counts().erases;
    let shares = Shares::new(count, part_pages(&stack.setup, count) as u32, &mut Rng::named(seed, "sample"));
    stack.ftl.take_over_sections(part.ftl, shares);
    finish(counts, count, stack, &mut summary);
    (summary, control)
}

/// Completes a device of `count` equal parts. `counts` holds the flash operations so far. The parts leave fewer than
/// `count` logical pages unwritten; these pages are written here.
fn finish<P: Parts<Flash: Resume>>(
    counts: Counts,
    count: u32,
    stack: &mut Stack<P>,
    summary: &mut PreconditionSummary,
) {
    stack.sinks.flash.resume(counts, &[], std::iter::empty());
    let divided = part_pages(&stack.setup, count) as u32 * count;
    let left = stack.setup.filled_pages() as u32 - divided;
    stack.ftl.write(Lpn(divided), left, WriteContext::default(), &mut stack.sinks);
    summary.count(&stack.sinks.flash.counts());
}

/// Determines the numbers of host pages after which the open blocks of all copied planes are equally full.
///
/// In a drive preconditioned without sampling, host pages go to the planes in turn. So the open blocks of all planes
/// become full at the same time, and the dies can program all planes with one command.
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

    /// Returns the smallest number of host pages, no less than `pages`, after which the open blocks of all copies are
    /// equally full.
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

    type Drive = Stack<(PageFtl, CountingFlash, (), ())>;

    fn erased(setup: &Setup, options: PageOptions) -> Drive {
        let ftl = PageFtl::new(setup.shape(), options, setup.seed).expect("large enough");
        Stack::new(setup, ftl, Sinks::new(CountingFlash::default(), (), ()))
    }

    /// Returns the cumulative distribution of valid pages per block.
    fn valid_pages(stack: &Drive) -> Vec<f64> {
        let Setup { geometry, precondition, logical_pages, .. } = stack.setup;
        let mut valid = vec![0; geometry.blocks as usize];
        let mapped = (0..logical_pages).filter_map(|lpn| stack.ftl.lookup(Lpn(lpn)));
        mapped.for_each(|ppn| valid[(ppn.0 / geometry.pages_per_block) as usize] += 1_usize);
        assert_eq!(valid.iter().sum::<usize>(), (precondition.fill * f64::from(logical_pages)).round() as usize);
        let mut blocks = vec![0; geometry.pages_per_block as usize + 1];
        valid.into_iter().for_each(|count| blocks[count] += 1);
        let sums = blocks.iter().scan(0, |sum, count| {
            *sum += count;
            Some(f64::from(*sum) / f64::from(geometry.blocks))
        });
        sums.collect()
    }

    /// Returns the Kolmogorov-Smirnov distance of two cumulative distributions.
    fn distance(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    /// Returns options with each victim policy, with both placements, and the share of logical pages to fill.
    fn variants(trigger: Trigger) -> impl Iterator<Item = (PageOptions, f64)> {
        VICTIMS.iter().flat_map(move |info| {
            [(&placement::shared::INFO, 1.0), (&placement::own::INFO, 0.9)].map(|(placement, fill)| {
                let (gc, placement, allocation) = (info.defaults(), placement.defaults(), Allocation::LeastWorn);
                (PageOptions { gc, placement, trigger, allocation, slc: None }, fill)
            })
        })
    }

    /// Goal: sampled preconditioning distributes valid pages like exact preconditioning, and the FTL is consistent.
    /// Method: compares both distributions by their Kolmogorov-Smirnov distance, for every victim policy.
    #[test]
    fn valid_pages_are_distributed_as_in_an_exact_drive() {
        for (options, fill) in variants(Trigger::Partial { low: 3, step: 4, every: 1 }) {
            let [exact, sampled] = [Method::Exact, Method::Sampled].map(|method| {
                let mut stack = erased(&setup(options, fill, method), options);
                let (summary, _) = super::super::prepare(&mut stack, None, &mut ()).expect("it can be done");
                assert_eq!(summary.sampled_planes, (method == Method::Sampled).then_some(8));
                assert_eq!(stack.ftl.check(), Ok(()), "{options:?}");
                valid_pages(&stack)
            });
            let distance = distance(&exact, &sampled);
            // Two samples of 2,048 from the same distribution differ by 0.061 or more in one case of a thousand.
            assert!(distance < 0.06, "{options:?}: {distance}");
        }
    }

    /// Goal: a drive that was prepared from a section resembles a drive that was prepared exactly. Method: compares
    /// valid pages per superblock, and write amplification over four further overwrites, for every victim policy. With
    /// random victims its standard deviation between drives is 1.7 %, so means of eight drives are compared.
    #[test]
    fn superblocks_made_of_sections_resemble_an_exact_drive() {
        for (options, fill) in variants(Trigger::Partial { low: 3, step: 8, every: 4 }) {
            let mut setup = setup(options, fill, Method::Exact);
            let units = Units { per_flash_page: 2, collected: Collected::Superblock, ..Units::PAGE };
            (setup.geometry.units, setup.geometry.blocks) = (units, BLOCKS / 8);
            setup.geometry.pages_per_block = 8 * PAGES_PER_BLOCK;
            let drives = if options.gc.info.name == "random" { 8 } else { 1 };
            let drive = |is_sampled: bool, seed| {
                let setup = Setup { seed, ..setup.clone() };
                let mut stack = erased(&setup, options);
                let (summary, _) = if is_sampled {
                    let part = stack.ftl.section(4, setup.seed).expect("it has sections");
                    take_sections(part, 4, &mut stack, &mut ())
                } else {
                    super::super::prepare(&mut stack, None, &mut ()).expect("it can be done")
                };
                assert_eq!(summary.sampled_sections, is_sampled.then_some(4));
                assert_eq!(stack.ftl.check(), Ok(()), "{options:?}");
                let (valid, before, pages) = (valid_pages(&stack), stack.counts(), setup.filled_pages());
                let mut ahead = [0; super::super::LOOKAHEAD];
                stack.overwrite(pages, 4 * pages, &mut ahead, &mut Rng::named(2, "overwrites"));
                assert_eq!(stack.ftl.check(), Ok(()), "{options:?}");
                (valid, (stack.counts() - before).programmed() as f64 / (4 * pages) as f64)
            };
            let (mut exact_sum, mut sampled_sum) = (0.0, 0.0);
            for seed in 1..=drives {
                let (exact, sampled) = (drive(false, seed), drive(true, seed));
                // Two samples of 256 from the same distribution differ by 0.17 or more in one case of a thousand.
                let distance = distance(&exact.0, &sampled.0);
                assert!(distance < 0.17, "{options:?}: {distance}");
                exact_sum += exact.1;
                sampled_sum += sampled.1;
            }
            let apart: f64 = sampled_sum / exact_sum - 1.0;
            assert!(apart.abs() < 0.01, "{options:?}: {apart}");
        }
    }

    /// The sampled planes are copied at different points of garbage collection, so the erase counts of any two planes
    /// differ.
    #[test]
    fn no_two_planes_are_alike() {
        let options = PageOptions::new(gc::greedy::INFO.defaults(), &placement::own::INFO);
        let mut stack = erased(&setup(options, 1.0, Method::Sampled), options);
        super::super::prepare(&mut stack, None, &mut ()).expect("it can be done");
        let planes: Vec<&[u32]> = stack.ftl.erase_counts().chunks(BLOCKS as usize / 16).collect();
        for (number, plane) in planes.iter().enumerate() {
            assert!(!planes[number + 1..].contains(plane), "plane {number} has a twin");
        }
    }
}
