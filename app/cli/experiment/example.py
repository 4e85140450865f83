"""The files that `debate experiment init` writes: an experiment that needs no key."""

import json

MOTIONS = {
    "cars": "Cities should ban private cars from their centres",
    "homework": "Schools should give up homework",
    "four-days": "A working week should have four days",
    "nuclear": "Nuclear power is needed to stop climate change",
    "voting": "Voting should be a duty",
    "zoos": "Zoos should be closed",
    "basic-income": "Every citizen should get a basic income",
    "space": "Sending people into space is worth its price",
    "social-media": "Social media should be closed to children under sixteen",
    "museums": "Museums should return what was taken in colonial times",
}

EXPERIMENT = """\
# This file is an experiment. Run it:     debate experiment run experiment.yaml
# Run it again to continue. After you add motions, arms, contestants, judges or repeats, only new matches run.
# docs/first-experiment.md explains each step.

name: NAME

# One motion per line, as {"id": …, "motion": …}. CSV, YAML or a list in this file also work.
motions: motions.jsonl

# The debaters. These three are scripted and need no key. `skill` is their true strength (on the logit scale): compare
# it with the results. To use a model instead: {name: mini, player: "openai:gpt-5-mini"}
contestants:
  - {name: strong, player: scripted, skill: 1.0}
  - {name: middling, player: scripted, skill: 0.2}
  - {name: weak, player: scripted, skill: -0.8}

pairing: round_robin        # each pair of contestants; or {against: weak}, or [[strong, weak]]
swap_sides: true            # each pair debates each motion twice, with sides swapped
repeats: 1

format: final_ruling        # both sides speak in turn, and the judge rules at the end
rounds: 2

# The judges of each debate, in both orders of presentation. `hasty` prefers the side that it reads first by ten points.
judges:
  - {name: fair, player: scripted, orders: both}
  - {name: hasty, player: scripted, orders: both, position_bias: 0.1, noise: 0.1}

# budget_usd: 5             # the maximum cost; needs models with a known price
concurrency: 20             # concurrent debates
seed: 7                     # the same seed gives the same plan
"""


def motion_lines() -> str:
    return "".join(json.dumps({"id": name, "motion": text}) + "\n" for name, text in MOTIONS.items())
