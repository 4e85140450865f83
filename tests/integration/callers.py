"""Agents in the process of a test: who calls the use cases."""

from app.core.access import OPERATOR, Agent, Scope
from app.usecases.agents import create_agent
from app.usecases.identity import identify
from app.usecases.services import Services


def an_agent(services: Services, name: str = "author", *scopes: Scope) -> Agent:
    """With every scope unless some are named."""
    made = create_agent(services, OPERATOR, name, None, frozenset(scopes or Scope))
    return identify(services, made[1].secret)
