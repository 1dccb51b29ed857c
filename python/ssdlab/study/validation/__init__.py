"""Validation of our results against references: write amplification against theory, and generated Filebench workloads
against captures.
"""
