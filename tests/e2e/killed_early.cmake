sherd_add_program_test(NAME e2e.killed_early SCRIPT killed_early.py NP 3)
