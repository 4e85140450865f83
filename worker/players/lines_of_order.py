"""What the scripted player says when it calls the judge, gives way, or is the judge."""

APPEALS = (
    "I appeal to the arbitrator. We have argued for some rounds about {plan}, and we now disagree about one point and "
    "no longer about many. The other side holds {said}; I hold that this is a condition to be met, not a reason to "
    "refuse. I ask for a ruling on which of the two it is.",
    "I would like to hear the arbitrator. On {plan}, both sides have begun to repeat themselves, which helps nobody. "
    "The strongest thing said against me is {said}. I ask for a ruling on whether that is enough to reject the "
    "motion, and I will go by the answer.",
)

RESOLUTIONS = (
    "I think that we can finish here. About {plan}, each side has said what it can. From my opponent I take {said}, "
    "and I accept a small beginning, a clear measure of success and a way back as conditions. With those the aim "
    "stands, and I ask for the debate to be completed.",
    "Let me bring this to an end. I still support {plan}, though not quite as I did at the start: {said} was a fair "
    "objection, and it belongs inside the plan. We differ about the pace more than about the aim, so I ask for "
    "completion on those terms.",
)

RESOLUTIONS_AFTER_RULING = {
    "proposer": "The ruling was {said}, and it found for my side. I take it with the caution that it carries: a "
    "clear measure of success for {plan}, and a date to look at it again. Nothing is left that we need to argue "
    "about, so I ask for completion.",
    "opponent": "The ruling was {said}, and it found for the opponent. I accept that. I withdraw {plan}, and keep "
    "only the aim, which nobody here has disputed; a better version may come back another day. On that footing I ask "
    "for completion.",
    "tie": "The ruling was {said}, and I align with it. It neither carries nor refuses {plan}, which is a fair "
    "picture of where the arguments stand. I would sooner stop at an honest middle than go on for the sake of the "
    "last word, so I ask for completion.",
}

AFTER_RULING = (
    "I take the ruling as the ground we now stand on, above all this part of it: {said}. Within it I add one thing.",
    "The arbitrator has said {said}, and I will not argue it again. What follows stays inside that ruling.",
)

NOTHING_SAID = "nothing that can be quoted"

WEIGHED = (
    "From the proposer I take {proposer}; from the opponent, {opponent}.",
    "Two lines stood out for me: the proposer's {proposer} and the opponent's {opponent}.",
    "The proposer argued {proposer}. The opponent held against it {opponent}.",
    "I set {proposer}, from the proposer, beside {opponent}, from the opponent.",
    "The proposer's case turned on {proposer}, and the opponent's on {opponent}.",
)
ONE_SPOKE = "Only the {speaker} has spoken, and said {said}; the other side had no turn for me to weigh."
NOBODY_SPOKE = "Neither side has spoken, so there is nothing for me to weigh."

ENGAGEMENT = {
    (True, True): (
        "Both sides listened to each other and answered what was actually said.",
        "Each took up the other's words, which made the difference between them easy to see.",
        "This was a real exchange: neither side spoke past the other.",
        "Both answered before they went on, which I count in favour of both.",
        "The two of them met on the same ground.",
    ),
    (True, False): (
        "The proposer answered the other side; the opponent mostly spoke past it.",
        "I missed a direct answer from the opponent, while the proposer did give one.",
    ),
    (False, True): (
        "The opponent answered the other side; the proposer mostly spoke past it.",
        "I missed a direct answer from the proposer, while the opponent did give one.",
    ),
    (False, False): (
        "Neither side did much to answer the other.",
        "The two cases ran side by side and hardly touched.",
    ),
}
"""By whether the proposer, and the opponent, answered the other side."""

NARROW = (
    "It was close, and the {winner} was a little more concrete about what would follow.",
    "By a narrow margin I prefer the {winner}, whose point is harder to set aside.",
    "There is not much between them; the {winner} left fewer questions open.",
    "I lean towards the {winner}, whose reasons would survive a little more doubt.",
    "The {winner} had the better of it, though not by much.",
)
CLEAR = (
    "The {winner} was clearly stronger: the point stands even if the rest of the case falls.",
    "Here the {winner} was well ahead, with a reason that the other side did not weaken.",
    "The {winner} carried this plainly, by saying what would happen and to whom.",
)
EVEN = (
    "I cannot separate them: each point is as strong as the answer to it.",
    "I call this even, since neither side gave me a reason to prefer it.",
)
DECIDED = "The lead is clear enough to end the debate here."
