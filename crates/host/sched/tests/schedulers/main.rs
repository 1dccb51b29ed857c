//! Dispatch order of each scheduler in small cases, derived by hand from the sources named in its module.

mod anticipatory;
mod bench;
mod bfq;
mod cfq;
mod deadline;
mod fair;
mod kyber;
mod mq_deadline;
mod noop;
mod pardispatcher;
