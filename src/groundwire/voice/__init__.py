"""The place for the door to speech: sessions, turns, barge-in and audio over a socket.

It will consume the same events as every other door, with no loop and no tool rules of its own.
"""
