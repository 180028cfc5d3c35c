"""What there is to show, the same for every face: entries, mail, tasks and questions as typed items.

transcript_items  the items of a transcript, and which of them fold
entry_items       entries as items
mail_items        mail as items
task_items        tasks as items
conflict_items    work of members that meets, as items
hook_items        what hooks did, as items
member_items      members as items, and names and statuses as people see them
question_items    questions as items
call_summaries    what a tool call is about, why it failed, and why a model is asked again
text_changes      what a change removes and adds, as a diff

An item has source text: Markdown, a diff, or what a command printed, as it was written. It says what may be folded.
Faces clean, wrap, colour and fold it. Kinds are matched by class to the end, so the type checker finds a new kind that
nobody shows.
"""
