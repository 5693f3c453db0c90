"""A measure that knows nothing: random numbers for each encoder. Arguments: the folder of an encoder, and the output.

The numbers of an encoder are the same each time, as they follow from the name of its folder."""

import random
import sys
from pathlib import Path

encoder, output = map(Path, sys.argv[1:])
draw = random.Random(encoder.name)
rows = [f"{number},{draw.gauss(0, 1)}" for number in range(30)]
output.write_text("\n".join(["item,value", *rows]) + "\n", encoding="utf-8")
