"""A tools folder to fill, and the smallest tool that builds."""

import json
from pathlib import Path

import pytest

GUIDE = "# {name}\nSay what was said.\n\n## Parameters\n- text (required): what to say\n\n## Examples\n**One:**\n"
HANDLER = 'def execute(text):\n    return {"said": text}\n'
PARAMETERS = {
    "type": "object",
    "properties": {"text": {"type": "string", "description": "What to say."}},
    "required": ["text"],
    "additionalProperties": False,
}


class ToolsFolder:
    """`tools.add("echo")` writes a complete tool; what is given replaces a part, and None leaves it out."""

    def __init__(self, path: Path):
        self.path = path
        path.mkdir(parents=True)

    def add(self, name, *, guide=GUIDE, handler=HANDLER, schema=..., parameters=PARAMETERS, files=(), **fields) -> Path:
        folder = self.path / name
        folder.mkdir()
        shape = {"toolId": name, "category": "utility", "parameters": parameters, **fields}
        if schema is ...:
            schema = json.dumps(shape)
        contents = {"schema.json": schema, "guide.md": guide, "handler.py": handler, **dict(files)}
        for file, content in contents.items():
            if content is not None:
                data = content if isinstance(content, bytes) else content.replace("{name}", name).encode()
                target = folder / file
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
        return folder


@pytest.fixture
def tools(tmp_path) -> ToolsFolder:
    return ToolsFolder(tmp_path / "project" / "tools")
