"""The files that `debate experiment init` writes: an experiment that runs at once, without a key."""

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
# The same command again continues. After you add motions, arms, contestants, judges or repeats, it runs only what is
# new. docs/first-experiment.md explains it step by step.

name: NAME

# One motion a line, as {"id": …, "motion": …}. CSV and YAML work too, and so does a list in this file.
motions: motions.jsonl

# Who debates. These three are scripted: no key is needed, and `skill` says who really is better (on the logit scale),
# so you can see whether the results find it. Put models in instead: {name: mini, player: "openai:gpt-5-mini"}
contestants:
  - {name: strong, player: scripted, skill: 1.0}
  - {name: middling, player: scripted, skill: 0.2}
  - {name: weak, player: scripted, skill: -0.8}

pairing: round_robin        # everybody against everybody; or {against: weak}, or [[strong, weak]]
swap_sides: true            # each pair meets twice on each motion, with sides swapped
repeats: 1

format: final_ruling        # both sides speak in turn, and the judge rules at the end
rounds: 2

# Who judges each debate, in both orders of presentation. `hasty` prefers the side that it reads first, by ten points.
judges:
  - {name: fair, player: scripted, orders: both}
  - {name: hasty, player: scripted, orders: both, position_bias: 0.1, noise: 0.1}

# budget_usd: 5             # never passed; needs models whose price is known
concurrency: 20             # debates under way at once
seed: 7                     # the same seed gives the same plan
"""


def motion_lines() -> str:
    return "".join(json.dumps({"id": name, "motion": text}) + "\n" for name, text in MOTIONS.items())
