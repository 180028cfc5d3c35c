"""Lines, rows and transcript pieces, drawn.

transcript_pieces  a transcript as people see it
piece_painter      pieces as coloured lines
line_layout        which line belongs to which piece
styled_lines       styled text measured in cells
live_text          what a model is saying now
row_list           long lists of which only the visible part is drawn
file_preview       the file that a write would replace
member_labels      names of members and subagents on a screen
panel_titles       titles of panels
"""
