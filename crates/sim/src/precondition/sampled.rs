//! The steady state of a large drive from that of a few of its planes.
//!
//! ```text
//! a part: two planes or more of the drive, each as large as there, and their share of the logical pages
//! bring the part to its steady state, exactly as a drive
//! for each of the shares that make up the drive:
//!     the part is overwritten on, so that no two shares are at the same point of collecting garbage
//!     its planes take over the blocks of the part as they are: valid pages, wear, order, open blocks
//!     its logical pages are dealt among those of the drive at random
//! ```
//! Sound for uniformly random overwrites and page mapping with the map in RAM: planes get host pages in turn and are
//! collected each for itself, so that they are alike and independent. Nothing is scaled; the blocks of a plane, and
//! what each is kept free for, are as many as in the drive. Of the exact way it differs in that pages left where the
//! fill in order put them do not lie in that order over all planes.

use ssdlab_core::{Lpn, Rng};
use ssdlab_ftl::{Ftl, Shares, WriteContext};
use ssdlab_nand::backend::{CountingFlash, Flash, Resume};
use ssdlab_nand::{Cause, Counts};

use super::{Course, Target, Writable};
use crate::check::data_checker::Checker;
use crate::drive::parts::{Combined, Parts};
use crate::drive::sinks::Sinks;
use crate::drive::stack::Stack;
use crate::observe::summary::PreconditionSummary;
use crate::run::error::SimError;
use crate::run::monitor::{Control, Monitor};
use crate::setup::{Method, Overwrite, Setup};

/// Logical pages of a drive from which on the exact way takes longer than a person likes to wait.
const LARGE_PAGES: u32 = 1 << 24;
/// Pages of a part that is large enough for chance to even out.
const PART_PAGES: u64 = 1 << 22;
/// A part is overwritten by up to its size over this between two shares: dozens of collections of each plane.
const STRIDE: u64 = 32;

type OfPart<P> = Combined<<P as Parts>::Ftl, CountingFlash, (), ()>;

/// Prepares a device this way, if its set-up asks for it or leaves it open and it is large; none otherwise.
///
/// # Errors
/// If it is asked for and cannot be.
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
            "precondition.overwrite.steady.method: only a drive of page mapping, its map in RAM, with four planes or \
             more, and without check, is like a part of its planes; set it to \"exact\""
                .into(),
        )),
        None => Ok(None),
    }
}

/// An erased part of the device, and how many such parts make it up.
fn part_of<P: Parts>(stack: &Stack<P>) -> Option<(P::Ftl, u32)> {
    let Setup { geometry, seed, .. } = &stack.setup;
    let planes = geometry.parallelism.planes();
    let divisors = || (2..=planes / 2).filter(|&part| planes.is_multiple_of(part));
    let large = |part: &u32| u64::from(*part) * geometry.pages() / u64::from(planes) >= PART_PAGES;
    let part_planes = divisors().find(large).or_else(|| divisors().next_back())?;
    // The shadow of a check would have to be told of pages that nobody wrote.
    if stack.sinks.checker.is_on() {
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
    let part_planes = geometry.parallelism.planes() / shares;
    let mut summary = PreconditionSummary { sampled_planes: Some(part_planes), ..PreconditionSummary::default() };
    let sinks = Sinks { flash: CountingFlash::default(), checker: (), meter: () };
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
        let course = Course { before: written - part_pages, planned: None, write_amplification: amplification };
        if control == Control::Continue {
            (_, control) = Target { device: &mut part, monitor }.overwrite(part_pages, on, course, &mut rng);
        }
        if control == Control::Stop {
            return (summary, control);
        }
        stack.ftl.take_over(&part.ftl, share, &shared);
        counts += part.counts();
    }
    stack.ftl.taken_over(&shared);
    stack.sinks.flash.resume(counts, std::iter::empty());
    // The pages that the shares do not divide.
    let divided = part_pages as u32 * shares;
    stack.ftl.write(Lpn(divided), pages as u32 - divided, WriteContext::default(), &mut stack.sinks);
    summary.count(&stack.sinks.flash.counts());
    (summary, Control::Continue)
}

/// Numbers of host pages after which the open blocks of all shares are written up to the same page. As the host's pages
/// go to the planes in turn, so are those of an exact drive, and its dies program all their planes with one command.
struct InStep {
    /// Host pages that fill a block of each plane.
    round: u64,
    /// Host pages in the open blocks of a share.
    phase: u64,
}

impl InStep {
    fn new(pages_per_block: u32, planes: u32, rng: &mut Rng) -> Self {
        let phase = rng.below(pages_per_block.into()) * u64::from(planes);
        Self { round: u64::from(pages_per_block) * u64::from(planes), phase }
    }

    /// The first such number from `pages` on.
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
    use ssdlab_nand::{Geometry, Parallelism, ProgramOrder};

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
        };
        // Not a multiple of the shares, so that some pages are left over.
        let logical_pages = BLOCKS * PAGES_PER_BLOCK * 4 / 5 - 3;
        let precondition = Precondition { fill, overwrite: Overwrite::Steady(method) };
        Setup { precondition, ..Setup::new(geometry, logical_pages, FtlChoice::Page(options, ram::INFO.defaults())) }
    }

    /// The shares of blocks with up to so many valid pages, which is the index, and the FTL's complaints.
    fn valid_pages(options: PageOptions, fill: f64, method: Method) -> (Vec<f64>, Result<(), String>) {
        let setup = setup(options, fill, method);
        let ftl = PageFtl::new(setup.shape(), options, setup.seed).expect("large enough");
        let sinks = Sinks { flash: CountingFlash::default(), checker: (), meter: () };
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

    /// Goal: blocks hold valid pages as they do when all planes are overwritten, and the FTL's books are in order.
    /// Method: the greatest distance of both distributions (Kolmogorov and Smirnov), for every victim policy.
    #[test]
    fn valid_pages_are_distributed_as_in_an_exact_drive() {
        for info in VICTIMS.iter() {
            for (placement, fill) in [(&placement::shared::INFO, 1.0), (&placement::own::INFO, 0.9)] {
                let (trigger, allocation) = (Trigger::Partial { low: 3, step: 4 }, Allocation::LeastWorn);
                let options = PageOptions { gc: info.defaults(), placement, trigger, allocation };
                let (exact, _) = valid_pages(options, fill, Method::Exact);
                let (sampled, books) = valid_pages(options, fill, Method::Sampled);
                let distance = exact.iter().zip(&sampled).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert_eq!(books, Ok(()), "{options:?}");
                // One in a thousand of two samples of 2,048 from one distribution are 0.061 apart.
                assert!(distance < 0.06, "{options:?}: {distance}");
            }
        }
    }

    /// Shares are at different points of collecting garbage: no two planes have the same blocks.
    #[test]
    fn no_two_planes_are_alike() {
        let options = PageOptions::new(gc::greedy::INFO.defaults(), &placement::own::INFO);
        let setup = setup(options, 1.0, Method::Sampled);
        let ftl = PageFtl::new(setup.shape(), options, setup.seed).expect("large enough");
        let sinks = Sinks { flash: CountingFlash::default(), checker: (), meter: () };
        let mut stack = Stack::<Combined<PageFtl, CountingFlash, (), ()>>::new(&setup, ftl, sinks);
        super::super::prepare(&mut stack, None, &mut ()).expect("it can be done");
        let planes: Vec<&[u32]> = stack.ftl.erase_counts().chunks(BLOCKS as usize / 16).collect();
        for (number, plane) in planes.iter().enumerate() {
            assert!(!planes[number + 1..].contains(plane), "plane {number} has a twin");
        }
    }
}
