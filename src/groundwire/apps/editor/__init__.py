"""The place for a workspace whose documents a model may read and patch, and whose facts only a person commits.

It will not know the other applications, nor the editor that shows the result.
"""
