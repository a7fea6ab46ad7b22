"""Wire formats: one module per provider dialect, each a set of pure functions between canonical values and wire values.

Codecs know no clock, no ids, no network and no logging; callers pass in what they need. Above them sit providers and
the doors, below them only the contracts. The modules of the dialects never import each other: what they share lives in
the underscore modules.
"""
