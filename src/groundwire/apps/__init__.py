"""The place for four applications that prove the library by using it.

They see public names only; where one needs a private name, the public API lacks something.
"""
