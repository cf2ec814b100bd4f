foreach(np 1 2)
  sherd_add_program_test(NAME e2e.bad_input.np${np} SCRIPT bad_input.py NP ${np})
endforeach()
