"""Scripts, and letters that look like other letters.

`names` uses this to keep names readable. The tables have the letters that look like another in common fonts, according
to Unicode's list of confusable characters. No table can be complete.
"""

import unicodedata

_CASES = frozenset({"Ll", "Lu", "Lt", "Lo"})
_MARKS = frozenset({"Mn", "Mc"})
# Modifier letters that are part of ordinary words.
_WORD_MARKS = frozenset("々〆ーゝゞヽヾ")
# Scripts that are written together.
_TOGETHER = (frozenset({"CJK", "HIRAGANA", "KATAKANA"}), frozenset({"CJK", "HANGUL"}), frozenset({"CJK", "BOPOMOFO"}))
_KATAKANA = {"KATAKANA-HIRAGANA": "KATAKANA", "IDEOGRAPHIC": "CJK"}
_DIACRITICS = range(0x300, 0x370)

_CYRILLIC = ("авеіјкмнорстухѕһӏԁԛԝьгпи", "abeijkmhopctyxshldqwbrnu")
_GREEK = ("αβγεηικμνορτυχω", "abyenikuvoptuxw")
_ARMENIAN = ("ոսօհցզտ", "nuohgqw")
_LATIN = ("ıɑɡɩɪʟʀᴜſɴᴅᴇᴀ", "iagiilrusndea")
_CHEROKEE = ("ᎠᎡᎢᎪᎫᎬᎳᎷᎻᏀᏃᏚᏞᏟᏢᏦᏴ", "drtajewmhgzslcpkb")
_LISU = ("ꓐꓑꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ", "bpdtgkjczfmnlsrvhwxyaeiou")
_EAST_ASIAN = ("ロニカタトハエヘベペー", "口二力夕卜八工へべぺ一")
_SEEN_AS = {
    ord(letter): other
    for letters, others in (_CYRILLIC, _GREEK, _ARMENIAN, _LATIN, _CHEROKEE, _LISU, _EAST_ASIAN)
    for letter, other in zip(letters, others, strict=True)
}


def is_letter(character: str) -> bool:
    """Tell whether a character is a letter of words or a decimal digit."""
    return unicodedata.category(character) in (_CASES | {"Nd"}) or character in _WORD_MARKS


def is_mark(character: str) -> bool:
    """Tell whether a character is a mark on the letter before it."""
    return unicodedata.category(character) in _MARKS


def scripts_of(text: str) -> frozenset[str]:
    """Return the scripts of the letters of a text. Digits, marks and signs belong to none."""
    return frozenset(_script(character) for character in text if unicodedata.category(character).startswith("L"))


def is_mixed(text: str) -> bool:
    """Tell whether a text mixes scripts that no language writes together."""
    scripts = scripts_of(text)
    return len(scripts) > 1 and not any(scripts <= together for together in _TOGETHER)


def plain_letters(text: str) -> str:
    """Return a text in lower case, without accents, each letter replaced by the one it is easily mistaken for."""
    bare = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).casefold())
    return unicodedata.normalize("NFC", "".join(one for one in bare if ord(one) not in _DIACRITICS)).translate(_SEEN_AS)


def _script(character: str) -> str:
    first = unicodedata.name(character, "UNNAMED").split(" ", 1)[0]
    return _KATAKANA.get(first, first)
