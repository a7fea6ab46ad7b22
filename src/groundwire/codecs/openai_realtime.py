"""OpenAI Realtime events. Not written yet."""
