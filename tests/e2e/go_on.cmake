sherd_add_program_test(NAME e2e.go_on SCRIPT go_on.py NP 2)
