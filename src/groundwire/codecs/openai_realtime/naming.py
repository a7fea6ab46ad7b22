"""Names of OpenAI Realtime: its dialect, the older names of its events, and its rule for tool names."""

from groundwire.codecs.wire.names import NameRule
from groundwire.contracts.frames import AudioFormat

DIALECT = "openai-realtime"
NAME_RULE = NameRule(first="[A-Za-z0-9_-]", further="[A-Za-z0-9_-]", max_length=64)

BETA_NAMES = {
    "response.audio.delta": "response.output_audio.delta",
    "response.audio.done": "response.output_audio.done",
    "response.audio_transcript.delta": "response.output_audio_transcript.delta",
    "response.audio_transcript.done": "response.output_audio_transcript.done",
    "response.text.delta": "response.output_text.delta",
    "response.text.done": "response.output_text.done",
}
"""What events were called before the API was generally available, and are called today."""

PCM = AudioFormat(media_type="audio/pcm", rate=24000)
"""What a session speaks if nothing else was agreed; its PCM has no other rate."""

RATES = {"audio/pcm": 24000, "audio/pcmu": 8000, "audio/pcma": 8000}
