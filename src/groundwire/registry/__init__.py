"""The place for turning functions and tool folders into one versioned artifact.

It will know tools and their schemas, but not models, sessions or who is calling.
"""
