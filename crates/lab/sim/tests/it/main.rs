//! Integration tests of the simulation, in one binary.

mod amplification;
mod attribution;
mod block_layer;
mod cache;
mod cache_in_time;
mod determinism;
mod device;
mod diagnosis;
mod drive;
mod failures;
mod fit;
mod jobs;
mod live;
mod log_blocks;
mod map_twin;
mod oracle;
mod recorded_times;
mod repeat;
mod replay;
mod sampled;
mod serial_clock;
mod slc;
mod spare_area;
mod state;
mod twin;
mod units;
