"""A team as pages see it: read and folded once, and told as changes.

shared_team     one team, read and folded once for all pages that show it
versioned       values by key, and since which version each is as it is
member_doing    what each member does now, and how full its context is
unread_mail     which messages of the user nobody has read yet
team_changes    what is new in a team since a page was last told, as events
team_replay     the past of a team as steps, each of the same form
entry_times     when the entries of transcripts were written
transcripts     earlier parts of transcripts, at a time too, and a search in all of them
"""
