"""What is computed and found: workloads, write intervals, caches, codecs, real drives."""
