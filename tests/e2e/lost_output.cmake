sherd_add_program_test(NAME e2e.lost_output SCRIPT lost_output.py)
