"""A window on a run: one page on this machine that follows a run folder, and reads what is drawn."""

from .server import POLICY, application, serve

__all__ = ["POLICY", "application", "serve"]
