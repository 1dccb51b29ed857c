"""Validation of our figures against references: write amplification against theory, and generated Filebench workloads
against captures.
"""
