"""Says what a script tells it, for tests and the demo. Exported from `deskmate.testing`.

rehearsed_model  the model, and what a script says: Say and Use
script_calls     the calls that a script can make
script_prompts   what a script can read in its prompt
"""

from deskmate.models.scripted.rehearsed_model import Part, RehearsedModel, Say, Script, Step, Use

__all__ = ["Part", "RehearsedModel", "Say", "Script", "Step", "Use"]
