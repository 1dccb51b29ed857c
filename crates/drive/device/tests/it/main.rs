//! Tests of the promises of a drive that stores bytes.

mod aged;
mod computer;
mod crash;
mod damage;
mod drives;
mod faults;
mod file;
mod full_disk;
mod memory;
mod model;
mod mounts;
mod mutants;
mod protected;
mod units;
mod world;
