"""Messages that are JSON and odd are refused in words: whoever sends them, none is answered with 500."""

import pytest
from access_matrix import OURS

HALF = '"\\ud83d"'
"""A JSON string with one half of a surrogate pair."""


def sent(world, message):
    headers = {**OURS, **world.headers("reader", world.new_debate("reader")[0]), "Content-Type": "application/json"}
    return world.client.post("/mcp", data=message, headers=headers)


@pytest.mark.parametrize("prompt", ["take_a_seat", "judge_a_debate", "debate_this_plan"])
@pytest.mark.parametrize(
    "arguments", ['["plan"]', '"text"', "7", "true", '{"plan": 7, "debate_id": 7, "role": 7}', '{"plan": ["a"]}']
)
def test_arguments_of_a_prompt_that_are_no_texts_are_refused(world, prompt, arguments):
    params = f'{{"name": "{prompt}", "arguments": {arguments}}}'
    answer = sent(world, f'{{"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": {params}}}')
    assert answer.status_code == 200, answer.text
    assert answer.json["error"] == {"code": -32602, "message": "arguments must be an object of texts"}


@pytest.mark.parametrize(
    "message",
    [
        f'"id": {HALF}, "method": "ping"',
        f'"id": 1, "method": {HALF}',
        f'"id": 1, "method": "resources/read", "params": {{"uri": {HALF}}}',
        f'"id": 1, "method": "prompts/get", "params": {{"name": "debate_this_plan", "arguments": {{"plan": {HALF}}}}}',
        f'"id": 1, "method": "tools/call", "params": {{"name": "list_debates", "arguments": {{{HALF}: 1}}}}',
    ],
)
def test_half_of_a_surrogate_pair_is_refused(world, message):
    answer = sent(world, f'{{"jsonrpc": "2.0", {message}}}')
    assert answer.status_code == 400, answer.text
    assert answer.json["error"]["message"] == "body: has text that is not valid Unicode"
