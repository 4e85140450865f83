"""The prompt for agents in a seat: `debate guide` prints it, and the MCP server gives it to its clients."""

from importlib.resources import files

GUIDE = files("app.wire").joinpath("agent-prompt.md").read_text("utf-8")
