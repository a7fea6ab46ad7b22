"""Gemini Live frames. Not written yet; tool declarations for Live are those of `gemini.encode_native_declaration`."""
