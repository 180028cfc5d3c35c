"""Lines, rows and items, drawn.

item_painter    items as coloured lines
line_layout     which line belongs to which item
styled_lines    styled text measured in cells
wrapped_lines   lines wrapped to a width, which know what they were before
markdown_rows   Markdown as lines
markdown_table  tables of Markdown
inline_text     words within a block of Markdown
code_lines      code in colours, and diffs with line numbers
live_text       what a model is saying now
row_list        long lists of which only the visible part is drawn
marked_options  a list in which the marked option is also seen without colours
file_preview    the file that a write would replace
panel_titles    titles of panels
"""
