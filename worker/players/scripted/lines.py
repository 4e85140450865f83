"""What the scripted player can say. `{plan}` is the motion as a noun phrase, `{said}` a quotation of another turn.

A text never begins with a slot: its first letter decides whether a browser reads it from the left.
"""

EXCHANGES = (
    (
        "The cost of today is higher than it looks. We already pay, only the bill is scattered over many people and "
        "nobody adds it up. That is one reason to accept {plan}: the price is then in one place, where it can be seen "
        "and brought down.",
        "On cost, the order of payment matters. If we accept {plan}, the bill comes first and is certain, while the "
        "savings come later and are hoped for. Those with the least money cannot wait for the second half of that "
        "bargain.",
    ),
    (
        "The present arrangement is not fair. Today the benefit goes to those who are already comfortable, and the "
        "harm lands on people who were never asked. This is what speaks for {plan}: the burden moves towards those "
        "who can carry it.",
        "Fairness cuts the other way. A rule that is the same for everyone is not equally heavy for everyone: some "
        "can arrange their lives around it, and some cannot. I have not heard what the second group is offered by "
        "{plan}, except a request for patience.",
    ),
    (
        "The evidence that we need is not out of reach. We can accept {plan}, say what result we expect, measure it "
        "before and after, and turn back if it fails. A change that can be tested is a safer bet than a habit that "
        "never is.",
        "Evidence should come before the commitment. What can be measured in a year is rarely what matters in ten, "
        "and once we have accepted {plan}, everyone involved has a reason to report success. I would like to hear "
        "which result would prove its supporters wrong.",
    ),
    (
        "The practical side is better than its reputation. Nobody has to change everything at once if we accept "
        "{plan}: we can begin where it is easiest, keep sensible exceptions, and work out the details as we go. "
        "Difficult is not the same as impossible.",
        "In practice the exceptions become the rule. Every sensible exemption needs somebody to grant it, check it "
        "and hear the appeal, and I cannot find that somebody in {plan}. A simple sentence on paper turns into a "
        "counter, a form and a queue.",
    ),
    (
        "Most of this will be felt in the long run. Habits, buildings and careers settle around whatever rule is in "
        "place, so every year of delay makes the present one harder to leave. We may have missed the best moment to "
        "accept {plan}, but the next best is now.",
        "The long run is exactly where I hesitate. A choice that shapes habits for decades also locks in its mistakes "
        "for decades. Before we accept {plan}, we should know how to leave it again, because those who will live with "
        "it longest have no say today.",
    ),
    (
        "The real question is who decides today. Where there is no common decision, the loudest and the quickest "
        "decide for the rest, and they do it without a vote. If we accept {plan}, the choice is made in the open, by "
        "people who can be questioned about it and replaced.",
        "Who decides is not a detail. The people closest to a problem know things that no general rule can hold, and "
        "they have no say in {plan}. I trust many small judgements that can be corrected over one large judgement "
        "that has to be defended.",
    ),
    (
        "The alternatives sound easier than they are. Milder measures have the charm that nobody objects to them, and "
        "that is also why they change so little. Here lies the merit of {plan}: everyone knows what to expect, and "
        "can prepare for it.",
        "There are gentler alternatives. Better information, fair prices and a good second option change behaviour "
        "without forcing anybody, and they can be adjusted as we learn. Let us first try those in earnest, and only "
        "then come back to {plan}.",
    ),
    (
        "Doing nothing is not free. Each year the same damage is repaired, the same time is lost and the same "
        "arguments are repeated. Set that against {plan}: the effort is made once, and what it buys keeps its value "
        "afterwards.",
        "Every effort has a rival use. If we spend our money, attention and goodwill on {plan}, they are not there "
        "for anything else, and goodwill is the slowest of the three to come back. The question is not whether it "
        "does some good, but whether it does the most good.",
    ),
    (
        "Consider those who have no voice in this: children, newcomers, people too busy or too tired to object. They "
        "are the ones who live with the results of our caution. For them there is nothing abstract about {plan}: it "
        "is a plain improvement to an ordinary day.",
        "Good intentions do not share out the burden by themselves. When a change goes wrong, the confident find a "
        "way round it and the rest obey. That is my fear about {plan}: without real protection for those with the "
        "fewest choices, it will be hardest on the weakest.",
    ),
    (
        "The burden of proof lies on both sides. If we demand certainty from {plan}, we should demand it from the "
        "present state of affairs as well, and that would fail at once. Between two uncertain paths, I take the one "
        "that at least aims at the problem.",
        "Plausible is not the same as shown. It is easy to tell a happy story about {plan}, and just as easy to tell "
        "one in which people adapt in ways that nobody planned. Between two good stories, the careful answer is to "
        "keep what is known to work.",
    ),
    (
        "People adapt better than we expect. Before a change, the difficulties are all that we can picture; after it, "
        "they are a list of tasks, and most of them get done. I expect the same of {plan}: its problems can be solved "
        "one at a time.",
        "Somebody has to do the work. Between the announcement and the first good day lie staff, training, tools and "
        "a great many small decisions. None of them appears in {plan}, and that middle part is where reforms usually "
        "fail.",
    ),
    (
        "Imagine explaining our choice in twenty years. Nobody will ask whether it was convenient; they will ask "
        "whether we acted on what we knew. Then I would rather have supported {plan}, even if parts of it had to be "
        "corrected, than have looked away.",
        "Looking back is easy, and it flatters the bold. For every brave change that is remembered, several were "
        "quietly undone, at a cost that nobody celebrates. I would rather explain later why we were slow to accept "
        "{plan}, than why we could not take it back.",
    ),
    (
        "Freedom is the serious objection, so let us take it seriously. My freedom ends where it uses up yours, and "
        "we accept that in a hundred ordinary rules. No more than that is asked by {plan}: a line in one more place, "
        "where the harm to others is plain.",
        "Freedom deserves more than a nod. It is worth most where others would choose differently from us, and that "
        "difference goes missing in {plan}. Persuasion is slower, but what people have chosen for themselves does not "
        "need to be enforced.",
    ),
    (
        "A half measure is not a safe middle. It brings most of the trouble and little of the benefit, and its "
        "failure is then used to argue against the whole. If the aim is right, give it a fair chance and accept "
        "{plan}; anything weaker only tests our patience.",
        "All or nothing is a poor choice of options. There is a wide field between doing nothing and {plan}: a "
        "limited trial, a single place, a date on which it ends. A case as strong as we are told should not fear so "
        "small a beginning.",
    ),
)
"""Pairs of the case for and the case against, on one line of argument: cost, fairness, evidence, practice, the long
run, who decides, alternatives; then the same seven again in different wording."""

OPENINGS = (
    (
        "I speak for {motion}. The reasons are ordinary ones, and I will take them one at a time.",
        "We have before us {motion}, and I ask you to support it, for reasons that do not need much theory.",
        "My side supports {motion}. I will not claim that it is easy, only that it is right and can be done.",
    ),
    (
        "I speak against {motion}. The aim may well be good; my quarrel is with what follows from it.",
        "We have before us {motion}, and I ask you not to accept it, at least not in the form in which it stands.",
        "My side opposes {motion}. I will not claim that all is well today, only that this is the wrong answer.",
    ),
)
"""For the proposer and the opponent, when there is nothing yet to answer."""

REPLIES = (
    (
        "My opponent says {said}. That is a reason to do this carefully; it is not a reason to leave it undone.",
        "We have just heard {said}. I accept the worry, but a worry tells us what to watch for, not what to choose.",
        "Take the sentence {said}. As a warning it is useful; as a verdict it comes too early.",
        "The other side puts it this way: {said}. If that settled the question, it would settle it against every "
        "change ever made.",
        "Against me stands this: {said}. It is a fair point about the risk, and silent about what we lose by waiting.",
        "I noted one line of the reply: {said}. It describes the hard part well, but not the whole.",
        "To the remark {said} I answer that it names a difficulty and then stops, as if the name were enough.",
    ),
    (
        "The proposer tells us {said}. It sounds settled, but it leaves out who carries the risk if it is wrong.",
        "We were just told {said}. That may be true of the aim; it says little about the means.",
        "I would like to believe the line {said}. What is missing is the step from there to the motion.",
        "The case for the motion rests on this: {said}. Take away the confident tone, and an assumption remains.",
        "Consider the claim {said}. One could grant every word of it and still vote no.",
        "The other side says {said}. It is well put, and it answers an easier question than the one before us.",
        "I wrote down one sentence: {said}. It may hold in general; the motion needs it to hold here.",
    ),
)

CLOSINGS = (
    (
        "That is why I am for the motion.",
        "On that ground I ask for your support.",
        "It is not my only reason, but it stands on its own.",
        "I ask the other side to answer exactly that.",
        "Weigh that against the price of leaving things as they are.",
    ),
    (
        "Until that is answered, the motion asks for too much.",
        "For that reason I remain against it.",
        "A good aim deserves a better plan than this.",
        "I ask the proposer to meet that point directly.",
        "That is a reason to pause, and nobody has removed it yet.",
    ),
)

# When the player calls the judge, asks for completion, or is the judge.

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

EVIDENCE = "The document has a line on this: {quote}."

QUESTIONS = (
    "One question before we go on. I heard {said}. Which single fact, if it turned out to be false, would bring that "
    "down, and how sure are you of it?",
    "I would like to know more about this: {said}. What would a fair-minded person on the other side answer, and what "
    "would you say to that?",
    "About {plan}: who bears the cost if you are wrong, and how would they notice? The nearest to an answer that I "
    "have heard is {said}.",
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
OVER_ALL_ROUNDS = "Over all rounds together I find as follows."
DECIDED = "The lead is clear enough to end the debate here."
