sherd_add_program_test(NAME e2e.system_faults SCRIPT system_faults.py NP 2)
set_property(TEST e2e.system_faults APPEND PROPERTY ENVIRONMENT
             "SHERD_FAULT_SHIM=$<TARGET_FILE:sherd_fault_shim_preload>")
