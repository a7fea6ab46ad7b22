"""Generators of the reference pages, one module per page.

Names, types and defaults come from the code. What they mean is written beside the generator, and a name without a
meaning, or a meaning without a name, stops it: so a page cannot quietly fall behind.
"""
