sherd_add_program_test(NAME e2e.earlier_version SCRIPT earlier_version.py NP 4)
