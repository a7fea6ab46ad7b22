"""The least that a loop can do: parse, validate, call, append. No policy, no record; a floor and not a peer."""

import json

import common


def load():
    import jsonschema_rs

    validator = jsonschema_rs.validator_for(common.SCHEMA)

    async def create_ticket(title, priority, count, customer):
        return common.body(title, priority, count, customer)

    def make(script):
        async def run():
            messages = [{"role": "user", "content": "go"}]
            while (numbers := script.step()) is not None:
                for i in numbers:
                    arguments = json.loads(common.ARGS_JSON[i])
                    validator.validate(arguments)
                    content = await create_ticket(**arguments)
                    messages.append({"role": "tool", "tool_call_id": f"call_{i}", "content": content})
            return common.FINAL

        return run

    return "floor", make


if __name__ == "__main__":
    common.main("minimal", load)
