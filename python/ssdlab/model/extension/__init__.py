"""Plug-ins written in Rust: creates crates for new components, and builds ssdlab with such crates compiled in."""
