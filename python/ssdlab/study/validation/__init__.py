"""Validation of our figures against references: write amplification against theory, generated Filebench against
captures.
"""
