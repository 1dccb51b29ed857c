"""Analysis of workloads, write intervals, caches, codecs and real drives."""
