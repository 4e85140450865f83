"""How commands fail when no server is there: exit codes and words."""

import pytest
from cli_home import NOBODY, Home, assert_one_sentence

DEAD = "http://127.0.0.1:9"


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--nonsense",), "--nonsense"),
        (("run", "Hello", "--nonsense"), "--nonsense"),
        (("run", "Hello", "--rounds", "0"), "--rounds"),
        (("run", "Hello", "--think", "-1"), "--think"),
        (("run",), "motion"),
        (("up", "--port", "70000"), "--port"),
        (("up", "--workers", "0"), "--workers"),
        (("list", "--limit", "0"), "--limit"),
        (("stop", "nonsense"), "debate_id"),
        (("nonsense",), "nonsense"),
    ],
)
def test_wrong_usage_ends_with_2_and_names_what_is_wrong(
    untouched: Home, arguments: tuple[str, ...], word: str
) -> None:
    refused = untouched.debate(*arguments)
    assert refused.process.returncode == 2
    assert refused.stdout == ""
    assert "Traceback" not in refused.stderr
    assert word in refused.stderr.splitlines()[-1]


def test_help_is_on_stdout_and_ends_with_0(untouched: Home) -> None:
    helped = untouched.debate("--help")
    assert (helped.process.returncode, helped.stderr) == (0, "")
    assert "doctor" in helped.stdout


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        (("list",), {}),
        (("list", "--json"), {}),
        (("stop", NOBODY), {}),
        (("list",), {"DEBATE_SERVER_URL": DEAD}),
        (("run", "Hello"), {"DEBATE_SERVER_URL": DEAD}),
    ],
)
def test_no_server_ends_with_3_and_says_where_none_was(
    untouched: Home, arguments: tuple[str, ...], environment: dict[str, str]
) -> None:
    address = environment.get("DEBATE_SERVER_URL", f"http://127.0.0.1:{untouched.port}")
    assert_one_sentence(untouched.debate(*arguments, **environment), 3, f"No server responds at {address}")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DEBATE_CLAIM_SECONDS", "abc"),
        ("DEBATE_SERVER_PORT", "0"),
        ("DEBATE_DATABASE_URL", "mysql://localhost/debate"),
        ("DEBATE_DEFAULT_PLAYER", "nobody"),
        ("DEBATE_SERVER_URL", "localhost:3456"),
        ("DEBATE_AUTH_TOKEN", "fifteen-letters"),
        ("DEBATE_RATE_LIMIT", "lots"),
    ],
)
def test_a_bad_setting_is_named(untouched: Home, name: str, value: str) -> None:
    assert_one_sentence(untouched.debate("list", **{name: value}), 1, name)


@pytest.mark.parametrize("part", ["up", "api"])
def test_a_server_for_the_whole_network_needs_a_token(untouched: Home, part: str) -> None:
    refused = untouched.debate(part, DEBATE_SERVER_HOST="0.0.0.0")  # noqa: S104 (refused)
    assert_one_sentence(refused, 2, "DEBATE_SERVER_HOST", "DEBATE_AUTH_TOKEN")
