sherd_add_program_test(NAME e2e.info SCRIPT info.py)
