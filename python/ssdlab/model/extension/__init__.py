"""Components written in Rust (plug-ins): new crates of them, and extensions of ssdlab with such crates compiled in."""
