"""Lines, rows and items, drawn.

item_painter  items as coloured lines
line_layout   which line belongs to which item
styled_lines  styled text measured in cells
live_text     what a model is saying now
row_list      long lists of which only the visible part is drawn
file_preview  the file that a write would replace
panel_titles  titles of panels
"""
