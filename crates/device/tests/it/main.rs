//! What a drive with bytes promises, put to the test.

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
mod world;
