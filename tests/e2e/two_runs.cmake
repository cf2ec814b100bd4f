sherd_add_program_test(NAME e2e.two_runs SCRIPT two_runs.py NP 2)
