//! What every FTL finds in flash after a power loss.
