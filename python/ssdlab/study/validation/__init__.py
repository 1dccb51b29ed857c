"""Validates results against references: theory of write amplification, captured workloads, real drives."""
