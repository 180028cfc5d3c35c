"""Teammates on other machines.

host_registry  the hosts of a space, as one process sees them
team_hosts     in the process of a lead: chooses hosts, places teammates there, and watches them
host_parts     what the lead's parts need of that
host_worker    on another machine: offers to run teammates, and says what it runs
host_slots     there, how many teammates it can run
hosted_team    there, the teammates of one team
host_actions   what a person does with hosts: start one, look at all
"""
