"""The seams: what the runtime needs from the outside, and what it lets a tool touch, as narrow as possible.

machine_ports  store, clock, models, workspace: adapters implement them, and the runtime never knows which it has
tool_ports     what the runtime lets a tool touch, and what a tool is
"""

from deskmate.core.prompt.prompts import ModelLimits as ModelLimits
from deskmate.ports.machine_ports import AskHost as AskHost
from deskmate.ports.machine_ports import Clock as Clock
from deskmate.ports.machine_ports import Launcher as Launcher
from deskmate.ports.machine_ports import MemberTree as MemberTree
from deskmate.ports.machine_ports import Model as Model
from deskmate.ports.machine_ports import Ran as Ran
from deskmate.ports.machine_ports import Seat as Seat
from deskmate.ports.machine_ports import Store as Store
from deskmate.ports.machine_ports import Workspace as Workspace
from deskmate.ports.tool_ports import Background as Background
from deskmate.ports.tool_ports import Delivered as Delivered
from deskmate.ports.tool_ports import Mail as Mail
from deskmate.ports.tool_ports import Schedules as Schedules
from deskmate.ports.tool_ports import Tasks as Tasks
from deskmate.ports.tool_ports import Tool as Tool
from deskmate.ports.tool_ports import ToolContext as ToolContext
