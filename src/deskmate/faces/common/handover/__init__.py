"""The work of teammates with their own trees, as every face reports it.

merge_question  whether finished work is merged, as a question
tree_reports    /merge and /diff of a team's branch, and what is said about its work at the end
"""
