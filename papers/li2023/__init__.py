"""Li et al., ICLR 2023: its tables, figures and claims, measured again and put beside its numbers.

    python -m papers.li2023 all --data-dir DIR

Every run is a *cell* with a name and a record of its own (:mod:`.cell`, :mod:`.store`); :mod:`.plan` says which there
are, :mod:`.pool` runs them, :mod:`.render` writes the page from the records alone.
"""
