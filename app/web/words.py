"""What templates call `words`: all modules of app.words."""

from importlib import import_module
from pkgutil import iter_modules

from app import words

for module in iter_modules(words.__path__, f"{words.__name__}."):
    import_module(module.name)

__all__ = ["words"]
