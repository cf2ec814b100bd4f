sherd_add_program_test(NAME e2e.command_line SCRIPT command_line.py)
