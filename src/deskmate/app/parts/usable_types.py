"""Agent types with models that can be used, and which of them are trusted."""

import logging
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from deskmate.app.parts.provider_models import check_price
from deskmate.config import Settings, choose_model
from deskmate.core.policy.trusted_files import Approval, Definition
from deskmate.core.profiles.agent_profiles import AgentProfile
from deskmate.core.values import frozen
from deskmate.errors import BadSettings
from deskmate.trust.approvals import NO_CONSENT, Consent, survey
from deskmate.trust.project_files import has_types

if TYPE_CHECKING:
    from deskmate.trust.type_files import FoundTypes

_LOG = logging.getLogger(__name__)


def agent_types(workspace: Path, settings: Settings, definitions: Iterable[Definition]) -> "FoundTypes":
    """Return the agent types of the user and of these definitions. One whose model cannot be used has the team's."""
    # Imported here, and below, because few starts find such a file.
    from deskmate.trust.type_files import FoundTypes, types_of

    found = types_of(definitions, workspace, settings.agent_folders)
    return FoundTypes({name: with_usable_model(one, settings) for name, one in found.by_name.items()}, found.problems)


def logged_agent_types(
    workspace: Path, settings: Settings, definitions: Collection[Definition]
) -> dict[str, AgentProfile]:
    """Return the same by name. Each file that describes no agent type is logged."""
    if not has_types(settings, definitions):
        return {}
    found = agent_types(workspace, settings, definitions)
    for problem in found.problems:
        _LOG.warning("Skipping an agent file: %s", problem)
    return found.by_name


def with_usable_model(profile: AgentProfile, settings: Settings) -> AgentProfile:
    """Return an agent type without its model if that is not set up here."""
    if profile.model is None:
        return profile
    try:
        model = choose_model(settings, profile.model)
        check_price(model, settings)
    except BadSettings:
        flaw = f"the model {profile.model} is not set up, so the model of the team is used"
        return replace(profile, model=None, flaws=(*profile.flaws, flaw))
    return replace(profile, model=model)


@frozen
class ListedTypes:
    """All agent types of a folder. `trusted`: the lead can start these. `untrusted`: it cannot, with how each compares
    with what was approved. `problems`: why other files describe none.
    """

    trusted: tuple[AgentProfile, ...]
    untrusted: tuple[tuple[AgentProfile, Approval], ...]
    problems: tuple[str, ...]


def list_types(folder: Path | None, settings: Settings, consent: Consent = NO_CONSENT) -> ListedTypes:
    """Return all agent types of a folder and of the user, also those that need trust.

    `consent`: files that a run uses, although the user may have trusted them for that run only.
    """
    from deskmate.trust.type_files import types_in

    found = survey(folder, settings.state, reads=True)
    in_run = [one for one in found.fresh if one in consent.definitions]
    used = agent_types(found.workspace, settings, (*found.consent.definitions, *in_run))
    problems = list(used.problems)
    others = [one for one in found.fresh if one not in in_run]
    fresh = [with_usable_model(one, settings) for one in types_in(others, problems)]
    standing = [(one, approval) for one in fresh if (approval := found.unused[one.file])]
    return ListedTypes(tuple(used.by_name.values()), tuple(standing), tuple(problems))
