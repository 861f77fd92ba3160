"""Papers, measured again with softground; no part of the installed package."""
