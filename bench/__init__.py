"""Benchmarks: ratios against a bare equivalent or a limit measured in the same run. Never a timed test.

`make bench` runs all of them; `python -m bench calls actions scaling` some.
"""
