"""Decisions about a call, as pure functions of the call and what is known about its turn. None of them acts."""
