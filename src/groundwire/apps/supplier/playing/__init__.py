"""Free play: a supplier who is none, with prices and a temper of its own, against the bot. For trying out and for demos.

What a supplier hides is known to nobody else, so that what the bot captured can be compared with it.
"""

from groundwire.apps.supplier.playing.game import Captured, Ended, Move, Said
from groundwire.apps.supplier.playing.opening import Game, open_game
from groundwire.apps.supplier.playing.sheets import Sheet, Temper, draw_request, draw_sheet

__all__ = [
    "Captured",
    "Ended",
    "Game",
    "Move",
    "Said",
    "Sheet",
    "Temper",
    "draw_request",
    "draw_sheet",
    "open_game",
]
