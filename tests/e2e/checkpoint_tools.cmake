sherd_add_program_test(NAME e2e.checkpoint_tools SCRIPT checkpoint_tools.py NP 3)
