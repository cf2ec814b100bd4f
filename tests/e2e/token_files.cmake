sherd_add_program_test(NAME e2e.token_files.np2 SCRIPT token_files.py NP 2)
