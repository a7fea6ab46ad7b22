"""The place for a concierge that leads a customer from a wish to a vendor by messages and calls.

It will not know the other applications, nor which model is answering.
"""
