sherd_add_program_test(NAME e2e.foreign_files SCRIPT foreign_files.py)
