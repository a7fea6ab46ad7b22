"""The repository's own tools, run by make. The installed package neither contains nor needs them."""
