"""The place for the Model Context Protocol, both ways: offering our tools and using those of other servers.

It will translate the protocol only. What may run, and how often, is the runtime's business.
"""
