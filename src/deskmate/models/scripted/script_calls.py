"""The calls that a script can make."""

from deskmate.models.scripted.rehearsed_model import Use

# -- the team -------------------------------------------------------------------------------------


def send_mail(to: str, content: str, **more: object) -> Use:
    """Send a message to a member."""
    return Use("SendMessage", {"recipient": to, "content": content, **more})


def ask_to_stop(name: str, content: str = "") -> Use:
    """Ask a teammate to stop."""
    return send_mail(name, content, type="shutdown_request")


def answer_stop(request_id: str, *, approve: bool = True, content: str = "") -> Use:
    """Answer a request to stop."""
    arguments = {"type": "shutdown_response", "request_id": request_id, "approve": approve, "content": content}
    return Use("SendMessage", arguments)


def present_plan(plan: str) -> Use:
    """Ask for the approval of a plan."""
    return Use("ExitPlanMode", {"plan": plan})


def answer_plan(to: str, request_id: str, *, approve: bool = True, content: str = "") -> Use:
    """Answer a member's plan."""
    return send_mail(to, content, type="plan_approval_response", request_id=request_id, approve=approve)


def spawn(name: str, **more: object) -> Use:
    """Start a teammate."""
    return Use("Task", {"name": name, "prompt": f"You are {name}. Take what is yours.", **more})


def add_task(subject: str, **more: object) -> Use:
    """Put a task on the board."""
    return Use("TaskCreate", {"subject": subject, **more})


def update_task(number: int, **more: object) -> Use:
    """Change a task."""
    return Use("TaskUpdate", {"taskId": number, **more})


def claim_task(number: int) -> Use:
    """Start a task."""
    return update_task(number, status="in_progress")


def complete_task(number: int) -> Use:
    """Mark a task as completed."""
    return update_task(number, status="completed")


# -- the workspace --------------------------------------------------------------------------------


def read_file(path: str) -> Use:
    """Read a file."""
    return Use("read_file", {"path": path})


def write_file(path: str, content: str = "") -> Use:
    """Write a file."""
    return Use("write_file", {"path": path, "content": content})


def edit_file(path: str, old: str, new: str) -> Use:
    """Replace a text in a file."""
    return Use("edit_file", {"path": path, "old_text": old, "new_text": new})


def run_command(command: str) -> Use:
    """Run a command in a shell."""
    return Use("bash", {"command": command})


def wait_for_file(path: str) -> Use:
    """Run a command that ends when a file is there."""
    return run_command(f"until [ -e {path} ]; do sleep 0.01; done")
