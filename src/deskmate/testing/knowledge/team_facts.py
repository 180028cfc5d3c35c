"""Whether the members and tasks it tells are so.

Every member is named with its role. Each status in a notice or a summary was true at the record it was made from.
If a summary has become false since, a notice in the same context says so.
"""

from collections.abc import Iterator

from deskmate.core.agent.entries import Noticed
from deskmate.core.log.names import LEAD
from deskmate.core.prompt.frames import clean
from deskmate.core.prompt.rendering import told_texts
from deskmate.core.team.members import Member, RosterState
from deskmate.core.team.status import status_word
from deskmate.testing.knowledge.prompt_parts import PromptParts, Section, names, plain
from deskmate.testing.knowledge.told_phrases import leaves_out_news, left_out, statuses_told
from deskmate.testing.knowledge.truth import Truth

# This much of a role must be there.
_BEGINNING = 100


def members_untold(parts: PromptParts, truth: Truth) -> Iterator[str]:
    """Yield each member that is not named with its role, unless a list leaves it out and says how to see it."""
    if not truth.on_a_team or parts.was_cut:
        return
    others = [member for member in truth.roster.members.values() if member.name != truth.me.name and member.here]
    untold = [member for member in others if _is_known(member, truth) and not _is_named(member, parts)]
    if len(untold) > sum(left_out(text, parts.offered) for text in parts.about_the_team):
        for member in untold:
            role = f" ({plain(member.role)})" if member.role else ""
            yield f"{member.name}{role} is on the team, and nothing names it with its role"


def _is_known(member: Member, truth: Truth) -> bool:
    """Return whether the asker had time to learn of a member. A lead knows a member that it added by a call."""
    if truth.me.name != LEAD:
        return member.since <= truth.joins_upto
    return member.name == LEAD or bool(member.joined and member.joined.cause)


def _is_named(member: Member, parts: PromptParts) -> bool:
    return any(_names_with_role(text, member) for text in parts.about_the_team)


def _names_with_role(text: str, member: Member) -> bool:
    role = plain(clean(member.role))[:_BEGINNING]
    return names(text, member.name) and (not role or role in plain(text))


# -- notices --------------------------------------------------------------------------------------


def statuses_that_were_false(parts: PromptParts, truth: Truth) -> Iterator[str]:
    """Yield each status in a new notice that the member did not have at the record the notice was made from."""
    for notice in new_notices(parts, truth):
        roster = truth.history.roster_at(notice.roster)
        for name, word in statuses_told(truth.named(notice.text), roster.members):
            if not _was(roster, name, word):
                yield f"a notice says that {name} is {word}, and it was {_word_of(roster, name)} then"


def new_notices(parts: PromptParts, truth: Truth) -> Iterator[Noticed]:
    """Yield the notices about the team that are new in a prompt."""
    new = {part.text for part in parts.parts if part.fresh and part.source == "notice"}
    for _, entry in truth.told_since:
        is_new = isinstance(entry, Noticed) and entry.roster and new & set(told_texts(entry))
        if is_new and isinstance(entry, Noticed) and truth.is_about_this_team(entry):
            yield entry


def _was(roster: RosterState, name: str, word: str) -> bool:
    return name in roster.members if word == "joined" else _word_of(roster, name) == word


def _word_of(roster: RosterState, name: str) -> str:
    return status_word(roster.members[name].status) if name in roster.members else "not on the team"


# -- the summary ----------------------------------------------------------------------------------


def summaries_that_were_false(parts: PromptParts, truth: Truth) -> Iterator[str]:
    """Yield what the summary says of the team that was false, or has become false without a notice."""
    made = truth.summary_of_this_team
    if not truth.on_a_team or made is None:
        return
    section = next((section for section in parts.sections if made[1] in section.title), None)
    if section is None:
        return
    section = section._replace(lines=tuple(map(truth.named, section.lines)))
    roster = truth.history.roster_at(made[0])
    yield from _false_lines(section, roster, truth.me.name)
    yield from _missing_lines(section, roster, truth.me.name, parts)
    yield from _untold_since(section, roster, truth)


def _false_lines(section: Section, roster: RosterState, me: str) -> Iterator[str]:
    for line in section.lines:
        for name, word in statuses_told(line, roster.members):
            if name == me or not _was(roster, name, word):
                yield f"the summary says that {name} is {word}, and it was {_word_of(roster, name)} then"
            elif not _names_with_role(line, roster.members[name]):
                yield f"the summary names {name} without its role: {line}"


def _missing_lines(section: Section, roster: RosterState, me: str, parts: PromptParts) -> Iterator[str]:
    told = {name for line in section.lines for name, _ in statuses_told(line, roster.members)}
    here = [member.name for member in roster.members.values() if member.here and member.name != me]
    missing = [name for name in here if name not in told]
    if len(missing) > sum(left_out(line, parts.offered) for line in section.lines):
        yield from (f"{name} was on the team, and the summary has no line with its status" for name in missing)


def _untold_since(section: Section, roster: RosterState, truth: Truth) -> Iterator[str]:
    """Yield members in the summary that have left since, if no notice says so although the asker was updated later."""
    notices = [notice.text for notice in truth.notices_of_this_team()]
    gone = {name for text in notices for name, word in statuses_told(text, truth.roster.members) if word == "left"}
    for name in {name for line in section.lines for name, _ in statuses_told(line, roster.members)}:
        member = truth.roster.members[name]
        told = roster.number < member.status_in <= truth.memory.noticed[0]
        if not member.here and told and name not in gone and not any(map(leaves_out_news, notices)):
            yield f"{name} has left, the summary lists it, and no notice since says that it left"
