"""`make mutants SAMPLE=500`: mutmut on mutants drawn at random from those that were not tried yet.

python -m tools.sampled COUNT SEED run [NAME …]
"""

from __future__ import annotations

import random
import sys
from typing import Any


def main(count: int, seed: int) -> None:
    import mutmut.__main__ as mutmut

    whole = mutmut.collect_source_file_mutation_data

    def drawn(*, mutant_names: Any) -> Any:
        mutants, files = whole(mutant_names=mutant_names)
        untried = sorted((mutant for mutant in mutants if mutant[2] is None), key=lambda mutant: mutant[1])
        return random.Random(seed).sample(untried, min(count, len(untried))), files

    mutmut.collect_source_file_mutation_data = drawn
    mutmut.cli()


if __name__ == "__main__":
    count, seed = int(sys.argv.pop(1)), int(sys.argv.pop(1))
    main(count, seed)
