"""Made-up weather: no network, and the same answer for the same city."""

import hashlib

CONDITIONS = ("sunny", "partly cloudy", "cloudy", "light rain", "windy", "fog", "snow")


async def execute(city: str, unit: str = "celsius") -> dict[str, object]:
    dice = hashlib.sha256(city.strip().casefold().encode()).digest()
    celsius = dice[0] % 41 - 8
    conditions = CONDITIONS[dice[1] % len(CONDITIONS)]
    if conditions == "snow":
        celsius = min(celsius, 0)
    return {
        "city": city,
        "temperature": celsius if unit == "celsius" else round(celsius * 9 / 5 + 32),
        "unit": unit,
        "conditions": conditions,
    }
