sherd_add_program_test(NAME e2e.path_table SCRIPT path_table.py)
