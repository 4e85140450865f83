"""Texts as a reader or a model takes them, so that a pattern finds words that were spelt to avoid it."""

import unicodedata

_DROPPED = frozenset({"Cc", "Cf", "Cs", "Mn", "Me"})
"""Categories of what is not seen, or only as a mark on a letter: zero-width characters, soft hyphens, tags, accents."""
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0")
"""Letters by their category, and never seen."""
_LOOK_ALIKES = {
    # Cyrillic, Greek, Armenian, and Latin letters of other alphabets.
    "a": "\u0430\u03b1\u0251", "b": "\u0253", "c": "\u0441\u03f2", "d": "\u0501\u0257", "e": "\u0435\u03b5\u0454\u0451",
    "g": "\u0261\u0581", "h": "\u04bb\u0570\u043d", "i": "\u0456\u03b9\u0131\u0457", "j": "\u0458\u03f3",
    "k": "\u043a\u03ba", "l": "\u04cf\u01c0", "m": "\u043c", "n": "\u0578\u03b7\u043f", "o": "\u043e\u03bf\u0585",
    "p": "\u0440\u03c1", "q": "\u051b\u0566", "r": "\u0433", "s": "\u0455\ua731", "t": "\u0442\u03c4",
    "u": "\u057d\u03c5\u028b", "v": "\u0475\u03bd", "w": "\u051d\u03c9\u0561", "x": "\u0445\u03c7", "y": "\u0443\u03b3",
    "A": "\u0410\u0391", "B": "\u0412\u0392", "C": "\u0421\u03f9", "D": "\u0500", "E": "\u0415\u0395",
    "G": "\u050c", "H": "\u041d\u0397", "I": "\u0406\u0399\u04c0", "J": "\u0408\u037f", "K": "\u041a\u039a",
    "M": "\u041c\u039c", "N": "\u039d", "O": "\u041e\u039f\u0555", "P": "\u0420\u03a1", "Q": "\u051a",
    "S": "\u0405\u054f", "T": "\u0422\u03a4", "U": "\u054d", "V": "\u0474", "W": "\u051c", "X": "\u0425\u03a7",
    "Y": "\u04ae\u03a5", "Z": "\u0396", " ": "\u2800",
}  # fmt: skip
_FOLDED = {ord(other): latin for latin, others in _LOOK_ALIKES.items() for other in others}


def normal(text: str) -> str:
    """Without invisible characters and accents, compatibility forms such as full-width letters as the usual ones, and
    letters of other alphabets as the Latin ones that they look like. Line breaks are newlines."""
    lines = "\n".join(text.splitlines())
    if lines.isascii() and lines.replace("\n", "").replace("\t", "").isprintable():
        return lines
    # Before the normalization too: sorting a long run of marks takes quadratic time.
    decomposed = unicodedata.normalize("NFKD", _seen(lines))
    return unicodedata.normalize("NFC", _seen(decomposed)).translate(_FOLDED)


def unbroken(text: str) -> str:
    """On one line, with one blank wherever there is space."""
    return " ".join(text.split())


def _seen(text: str) -> str:
    return "".join(
        letter
        for letter in text
        if letter in "\n\t" or (unicodedata.category(letter) not in _DROPPED and letter not in _FILLERS)
    )
