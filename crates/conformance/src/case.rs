//! Runs a check on random test cases, and reduces a failing case to a small one.

use std::cell::{Cell, RefCell};
use std::fmt::{self, Debug, Display, Formatter};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestError, TestRunner};

/// Fixed seed of the random test cases, so that every run tries the same cases.
const SEED: u64 = 1;

/// Maximum number of test cases that the component may reject before the check gives up.
const REFUSALS: u32 = 4_096;

/// Maximum number of runs that proptest uses to reduce a failing test case.
const REDUCTIONS: u32 = 20_000;

/// Prefix of every panic message.
const PANICKED: &str = "panicked at";

/// A random test case: a device, and the operations on the device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct World<D, O> {
    /// Device or cache, with its options.
    pub device: D,
    /// Operations in order of execution.
    pub operations: Vec<O>,
}

/// A small test case in which a component breaks its contract.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counterexample {
    /// Component that was checked, such as `FTL mine`.
    pub component: String,
    /// Name of the check.
    pub check: &'static str,
    /// Description of the broken rule.
    pub problem: String,
    /// Description of the device.
    pub device: String,
    /// Operations of the test case, each as a line of text.
    pub operations: Vec<String>,
    /// Command that shows the operations step by step; None if `ssdlab explain` cannot draw them.
    pub explain: Option<String>,
    /// Number of random test cases in the check.
    pub cases: u32,
    /// Seed of the random test cases.
    pub seed: u64,
}

impl Display for Counterexample {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}\n{}", self.component, self.problem, self.device)?;
        for (number, operation) in (1..).zip(&self.operations) {
            writeln!(f, "{number:>4}  {operation}")?;
        }
        if let Some(command) = &self.explain {
            writeln!(f, "see each step: {command}")?;
        }
        let Self { check, cases, seed, .. } = self;
        write!(f, "reproduce: PROPTEST_RNG_SEED={seed} PROPTEST_CASES={cases} cargo test {check}")
    }
}

/// Result of a check that found no counterexample.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The component keeps its contract in every test case.
    Kept,
    /// The check does not apply to the component, for the given reason.
    Skipped(&'static str),
    /// The component rejects its parameters in every test case.
    Refused,
}

/// Verdict of a check, or a counterexample.
pub type Checked = Result<Verdict, Box<Counterexample>>;

/// Name of a check, and the function that checks a component.
pub type Check<C> = (&'static str, fn(C) -> Checked);

/// Passes or fails a test according to the result of a check.
///
/// # Panics
/// Panics if the check found a counterexample, or if the component rejected every test case.
#[allow(clippy::print_stdout, reason = "reports skipped checks, which the test harness shows with --nocapture")]
pub fn conclude(checked: Checked) {
    match checked {
        Ok(Verdict::Kept) => {}
        Ok(Verdict::Skipped(why)) => println!("skipped: {why}"),
        Ok(Verdict::Refused) => {
            panic!("the component rejects the parameters of every test case; allow smaller parameter values")
        }
        Err(counterexample) => panic!("\n{counterexample}\n"),
    }
}

/// Checks a component with each set of parameter values. Skips a set if no small test case can use these values.
pub(crate) fn check_limits<V>(limits: impl Iterator<Item = V>, check: impl Fn(V) -> Checked) -> Checked {
    let mut all = Verdict::Skipped("no parameter has a minimum or maximum that fits a small test case");
    for values in limits {
        if check(values)? == Verdict::Kept {
            all = Verdict::Kept;
        }
    }
    Ok(all)
}

/// Runs `holds` on random test cases. An error or panic of `holds` means that the component broke a rule. `cases` is
/// the default number of test cases; `PROPTEST_CASES` overrides it.
pub(crate) fn check<D: Clone + Debug + Display, O: Clone + Debug + Display>(
    component: String,
    check: &'static str,
    cases: u32,
    worlds: impl Strategy<Value = World<D, O>>,
    holds: impl Fn(&D, &[O]) -> Result<(), String>,
) -> Checked {
    check_explained(component, check, cases, worlds, |_| None, holds)
}

/// Like [`check`]; `explain` returns the command that shows the operations of a failing test case step by step.
pub(crate) fn check_explained<D: Clone + Debug + Display, O: Clone + Debug + Display>(
    component: String,
    check: &'static str,
    cases: u32,
    worlds: impl Strategy<Value = World<D, O>>,
    explain: impl Fn(&World<D, O>) -> Option<String>,
    holds: impl Fn(&D, &[O]) -> Result<(), String>,
) -> Checked {
    // Proptest's default configuration reads PROPTEST_CASES and PROPTEST_RNG_SEED.
    let default = Config::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { default.cases } else { cases };
    let seed = if let RngSeed::Fixed(seed) = default.rng_seed { seed } else { SEED };
    let config = Config {
        cases,
        rng_seed: RngSeed::Fixed(seed),
        max_shrink_iters: REDUCTIONS,
        max_local_rejects: REFUSALS,
        failure_persistence: None,
        ..default
    };
    // Keeps the last error: a component that is not deterministic may pass when the test case is repeated.
    let last = RefCell::new(String::new());
    let run = |world: &World<D, O>| {
        caught(|| holds(&world.device, &world.operations)).inspect_err(|problem| drop(last.replace(problem.clone())))
    };
    let result = TestRunner::new(config).run(&worlds, |world| run(&world).map_err(TestCaseError::fail));
    let mut world = match result {
        Ok(()) => return Ok(Verdict::Kept),
        Err(TestError::Fail(_, world)) => world,
        Err(TestError::Abort(_)) => return Ok(Verdict::Refused),
    };
    shorten(&mut world.operations, |operations| caught(|| holds(&world.device, operations)).is_err());
    let problem = run(&world).err().unwrap_or_else(|| last.take());
    let operations = world.operations.iter().map(ToString::to_string).collect();
    // Omits the command after a panic, because `ssdlab explain` would panic too.
    let explain = if problem.starts_with(PANICKED) { None } else { explain(&world) };
    let device = world.device.to_string();
    Err(Box::new(Counterexample { component, check, problem, device, operations, explain, cases, seed }))
}

/// Shortens a failing sequence of operations: removes groups and single operations as long as the rest still fails.
/// Proptest by itself only removes single operations, and tries each of them once.
fn shorten<O: Clone>(operations: &mut Vec<O>, fails: impl Fn(&[O]) -> bool) {
    let mut before = usize::MAX;
    while operations.len() < before {
        before = operations.len();
        for size in (1..=before / 2).rev() {
            let mut at = 0;
            while at + size <= operations.len() {
                let fewer = [&operations[..at], &operations[at + size..]].concat();
                match fails(&fewer) {
                    true => *operations = fewer,
                    false => at += size,
                }
            }
        }
    }
}

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs `holds`; converts a panic to an error without printing the panic message.
fn caught(holds: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |info| match IS_QUIET.get() {
            true => PANIC.set(info.to_string()),
            false => usual(info),
        }));
    });
    IS_QUIET.set(true);
    let result = catch_unwind(AssertUnwindSafe(holds));
    IS_QUIET.set(false);
    result.unwrap_or_else(|_| Err(PANIC.take()))
}
