sherd_add_program_test(NAME e2e.model_folders.np2 SCRIPT model_folders.py NP 2)
