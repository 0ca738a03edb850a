"""The rule of near duplicates: whether two texts make the same statement in different words."""

from __future__ import annotations

from projections.text.analyser import terms
from schemas.text import normalised
from streams.decisions.duplicates.equivalence import same_statement

KEYWORD_OVERLAP = 0.6
"""The default of the setting of this name."""

OVERLAP_WITHOUT_COSINE = 0.8

SIMILARITY = 0.7
"""The least cosine of near duplicates, as Luna configures it. It only rejects; `equivalence` decides."""

_BIGRAM = 2


def keywords(text: str) -> frozenset[str]:
    """Return the stems of a text without stop words (unless it has no others), and its CJK bigrams.

    For search, the analyser also returns each single Han character. Characters that are part of a bigram are left out
    here, because two sentences may share single characters without sharing a word.
    """
    tokens = frozenset(terms(text))
    in_bigrams = {character for token in tokens if len(token) == _BIGRAM for character in token}
    return frozenset(token for token in tokens if token.isascii() or token not in in_bigrams)


def overlap(tokens_a: frozenset[str], tokens_b: frozenset[str]) -> float:
    """Return the share of the smaller set that is also in the other: 0 to 1, symmetric; 1 for two empty sets.

    This is the overlap coefficient (Szymkiewicz-Simpson), |A & B| / min(|A|, |B|), not Jaccard's: one intensity word in
    a short Chinese sentence replaces one bigram by two others, and would push Jaccard below any useful threshold. It is
    generous on purpose, because it only selects candidates.
    """
    smaller = min(len(tokens_a), len(tokens_b))
    if smaller == 0:
        return 1.0 if len(tokens_a) == len(tokens_b) else 0.0
    return len(tokens_a & tokens_b) / smaller


def near_duplicate(a: str, b: str, cosine: float | None, keyword_overlap: float = KEYWORD_OVERLAP) -> bool:
    """Return whether both texts make the same statement, so that one memory is enough.

    The relation is symmetric and true for exact duplicates. `cosine` is that of the texts' embeddings, or None if they
    have none or come from different models; the words must then be closer. A near duplicate meets three conditions: an
    overlap of the keywords of at least `keyword_overlap` (0 to 1), a cosine of at least `SIMILARITY`, and no difference
    in content by `equivalence` (numbers, negations, names, order or any other word). A missed merge costs a second
    memory, a false one costs the truth. In doubt, texts therefore count as different.
    """
    if normalised(a) == normalised(b):
        return True
    if cosine is not None and cosine < SIMILARITY:
        return False
    required = keyword_overlap if cosine is not None else max(keyword_overlap, OVERLAP_WITHOUT_COSINE)
    return overlap(keywords(a), keywords(b)) >= required and same_statement(a, b)
