sherd_add_program_test(NAME e2e.stop SCRIPT stop.py NP 2)
