sherd_add_program_test(NAME e2e.agreement SCRIPT agreement.py NP 3)
