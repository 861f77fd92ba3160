"""The solver: Z3's queries, the engine that answers them, and the processes it runs in."""
