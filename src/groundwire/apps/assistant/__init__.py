"""The place for an assistant that answers from a knowledge base, by text and by voice.

It will not know the other applications, nor how speech becomes text.
"""
