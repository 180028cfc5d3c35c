"""The open questions, and the one in front."""

from collections.abc import Iterable

from deskmate.core.team.open_questions import Question
from deskmate.faces.common.items.question_items import Group, content_of, question_groups


class QuestionQueue:
    """Open questions, grouped by what they ask for. `front`: the one that is shown and answered."""

    def __init__(self) -> None:
        self.groups: list[Group] = []
        self.front: Question | None = None

    def take(self, questions: Iterable[Question]) -> bool:
        """Take in the open questions. Return whether another one is in front now."""
        self.groups = question_groups(questions)
        before, self.front = self.front, self._still()
        return self.front is not None and not are_one(self.front, before)

    def choose(self, index: int) -> bool:
        """Bring a group to the front. Return whether it was not there before."""
        if not 0 <= index < len(self.groups) or index == self.index:
            return False
        self.front = self.groups[index][0]
        return True

    def has(self, question: Question) -> bool:
        """Return whether a question is open."""
        return any(are_one(question, one) for group in self.groups for one in group)

    @property
    def count(self) -> int:
        """How many questions are open."""
        return sum(map(len, self.groups))

    @property
    def index(self) -> int:
        """Which group is in front."""
        return next((n for n, group in enumerate(self.groups) if self.front in group), 0)

    @property
    def group(self) -> Group:
        """The group in front, starting with the question in front."""
        group = self.groups[self.index] if self.groups else ()
        return tuple(sorted(group, key=lambda one: one != self.front))

    def _still(self) -> Question | None:
        """Return the question in front. If it is gone, return one with the same content, or else the first."""
        everyone = [question for group in self.groups for question in group]
        front = self.front
        if front is None:
            return everyone[0] if everyone else None
        same = (one for one in everyone if content_of(one) == content_of(front))
        there = (one for one in everyone if are_one(one, front))
        return next(there, None) or next(same, None) or next(iter(everyone), None)


def are_one(question: Question, other: Question | None) -> bool:
    """Return whether two questions are the same one."""
    return other is not None and question.key == other.key
