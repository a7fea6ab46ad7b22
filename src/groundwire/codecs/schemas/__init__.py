"""Parameter schemas for each provider: from JSON Schema 2020-12 to the forms that providers take, and Gemini's form back.

It knows nothing of messages, requests or streams.
"""
