"""Who signs what, when, and what is planted: the part of the truth that needs no motion.

*Conventions*: clips are numbered in recording order: by session of the corpus
(all signers' first sessions, then all second ones), inside a session by sign in
word-list order, inside a sign by take. A session's recording numbers follow
each other, and ``BREAK`` numbers are skipped between sessions. Test signers are the
last ones, the validation signer stands before them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Crossing", "Plan", "Settings", "crossings", "make_plan", "signer_name"]

BREAK = 50
CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"


@dataclass(frozen=True, slots=True)
class Settings:
    """How large the corpus is and how much is planted in it.

    ``leaky_clusters`` takes of the test signers are handed to training in the
    official split, one from each of as many runs of takes; the first
    ``near_leaks`` of them leave a near-duplicate behind in the test set, the
    next ``exact_leaks`` an exact duplicate. ``near_duplicates`` and
    ``exact_duplicates`` count all planted pairs, also those inside training.
    """

    signers: int = 8
    sessions: int = 2
    signs: int = 12
    takes: int = 3
    similar_pairs: int = 3
    test_signers: int = 2
    leaky_clusters: int = 10
    near_duplicates: int = 8
    near_leaks: int = 5
    exact_duplicates: int = 3
    exact_leaks: int = 2

    def __post_init__(self) -> None:
        """Refuse sizes that cannot hold what is to be planted."""
        training_signers = self.signers - self.test_signers - 1
        inside = self.near_duplicates + self.exact_duplicates - self.near_leaks - self.exact_leaks
        needs = {
            "at least one sign, session and test signer": min(
                self.signs, self.sessions, self.test_signers
            )
            >= 1,
            "takes >= 2": self.takes >= 2,
            "one validation and one training signer": training_signers >= 1,
            "2 * similar_pairs <= signs": 0 <= 2 * self.similar_pairs <= self.signs,
            "near_leaks <= near_duplicates": 0 <= self.near_leaks <= self.near_duplicates,
            "exact_leaks <= exact_duplicates": 0 <= self.exact_leaks <= self.exact_duplicates,
            "near_leaks + exact_leaks <= leaky_clusters": self.near_leaks + self.exact_leaks
            <= self.leaky_clusters,
            "leaky_clusters <= signs * test_signers": self.leaky_clusters
            <= self.signs * self.test_signers,
            "room for the other duplicates among the training signers": inside
            <= training_signers * self.signs,
        }
        broken = [need for need, held in needs.items() if not held]
        if broken:
            raise ValueError(f"these settings cannot be planted; needed: {'; '.join(broken)}")

    @property
    def clips(self) -> int:
        """Clips in the corpus."""
        return self.signers * self.sessions * self.signs * self.takes


@dataclass(frozen=True, slots=True)
class Crossing:
    """How far the groups of one level cross the official split, known by construction.

    ``crossing`` of ``groups`` have clips in train and in test; they hold
    ``test_clips_touched`` test clips.
    """

    groups: int
    crossing: int
    test_clips_touched: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Every clip's place in the corpus, as integer arrays in recording order.

    ``near`` and ``exact`` hold rows (original, copy) of clip numbers.
    """

    settings: Settings
    signer: np.ndarray
    session: np.ndarray
    sign: np.ndarray
    take: np.ndarray
    number: np.ndarray
    official: tuple[str, ...]
    near: np.ndarray
    exact: np.ndarray

    @property
    def words(self) -> tuple[str, ...]:
        """The word list: made-up words, so that nobody takes them for a real language.

        65 syllables give 4,225 of them.
        """
        return tuple(_word(k) for k in range(self.settings.signs))

    @property
    def items(self) -> tuple[str, ...]:
        """Clip names such as ``bada_S01_2_3``: sign, signer, session, take."""
        words = self.words
        return tuple(
            f"{words[sign]}_{signer_name(signer)}_{session + 1}_{take + 1}"
            for signer, session, sign, take in zip(
                self.signer.tolist(),
                self.session.tolist(),
                self.sign.tolist(),
                self.take.tolist(),
                strict=True,
            )
        )


def signer_name(signer: int) -> str:
    """``S01`` for signer 0."""
    return f"S{signer + 1:02d}"


def make_plan(settings: Settings) -> Plan:
    """Lay out all clips; nothing is drawn, so every count can be checked by hand."""
    shape = (settings.sessions, settings.signers, settings.signs, settings.takes)
    session, signer, sign, take = (axis.ravel() for axis in np.indices(shape))
    block = session * settings.signers + signer
    number = 1 + np.arange(settings.clips) + block * BREAK
    leaky = [_first_take(settings, *at) for at in _leaky_clusters(settings)]
    quiet = [_first_take(settings, *at) for at in _quiet_clusters(settings)]
    near, exact = settings.near_leaks, settings.exact_leaks
    near_inside = settings.near_duplicates - near
    exact_inside = settings.exact_duplicates - exact
    near_first = leaky[:near] + quiet[:near_inside]
    exact_first = leaky[near : near + exact] + quiet[near_inside : near_inside + exact_inside]
    return Plan(
        settings=settings,
        signer=signer,
        session=session,
        sign=sign,
        take=take,
        number=number,
        official=_official(settings, signer, leaky),
        near=_pairs(near_first),
        exact=_pairs(exact_first),
    )


def crossings(settings: Settings) -> dict[str, Crossing]:
    """What an audit of the official split has to find, level by level.

    Each leaky run of takes loses its first take to training, so its other takes
    are touched; all of them lie in the first sessions of the test signers. An
    exact duplicate moves like its original, so it is a near one as well.
    """
    leaky, signers = settings.leaky_clusters, min(settings.leaky_clusters, settings.test_signers)
    per_session = settings.signs * settings.takes
    sessions = settings.signers * settings.sessions
    return {
        "exact duplicate": Crossing(
            settings.exact_duplicates, settings.exact_leaks, settings.exact_leaks
        ),
        "near duplicate": Crossing(
            settings.near_duplicates + settings.exact_duplicates,
            settings.near_leaks + settings.exact_leaks,
            settings.near_leaks + settings.exact_leaks,
        ),
        "cluster": Crossing(sessions * settings.signs, leaky, leaky * (settings.takes - 1)),
        "session": Crossing(sessions, signers, signers * per_session - leaky),
        "signer": Crossing(
            settings.signers, signers, signers * settings.sessions * per_session - leaky
        ),
    }


def _leaky_clusters(settings: Settings) -> list[tuple[int, int]]:
    """(signer, sign) of the runs that leak: signs in order, dealt to the test signers."""
    first = settings.signers - settings.test_signers
    return [
        (first + k % settings.test_signers, k // settings.test_signers)
        for k in range(settings.leaky_clusters)
    ]


def _quiet_clusters(settings: Settings) -> list[tuple[int, int]]:
    """(signer, sign) of runs that stay inside training, dealt to the training signers."""
    signers = settings.signers - settings.test_signers - 1
    return [(k % signers, k // signers) for k in range(signers * settings.signs)]


def _first_take(settings: Settings, signer: int, sign: int) -> int:
    """The number of a clip: first session, first take."""
    return (signer * settings.signs + sign) * settings.takes


def _pairs(first: Sequence[int]) -> np.ndarray:
    """Rows (original, copy): the copy stands in for the take after it."""
    original = np.array(first, dtype=np.int64).reshape(-1, 1)
    return np.hstack([original, original + 1])


def _official(settings: Settings, signer: np.ndarray, leaky: Sequence[int]) -> tuple[str, ...]:
    """Signer-disjoint as it was meant, with one take of each leaky run gone astray."""
    first_test = settings.signers - settings.test_signers
    role = np.where(signer >= first_test, "test", "train").astype(object)
    role[signer == first_test - 1] = "val"
    role[list(leaky)] = "train"
    return tuple(role.tolist())


def _word(k: int) -> str:
    syllables = [c + v for c in CONSONANTS for v in VOWELS]
    turn, at = divmod(k, len(syllables))
    # a stride prime to the number of syllables: neighbours in the list sound different
    return syllables[(at * 27) % len(syllables)] + syllables[(at * 11 + turn + 1) % len(syllables)]
