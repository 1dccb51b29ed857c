"""Validates results of ssdlab against references: write amplification against theory, and generated Filebench workloads
against captures.
"""
