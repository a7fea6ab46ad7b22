"""The place for negotiating with suppliers by chat, each captured fact tied to the words that were said.

It will not know the other applications, nor how the runtime keeps its promises.
"""
