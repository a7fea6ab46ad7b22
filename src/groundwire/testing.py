"""The place for public test doubles: a scripted model, fault plans, a clock and assertions for users' own tests.

Nothing here will know a test runner, and nothing outside tests will need it.
"""
