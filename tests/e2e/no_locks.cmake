add_library(sherd_no_locks_shim MODULE no_locks_shim.cpp)
set_target_properties(sherd_no_locks_shim PROPERTIES PREFIX lib)
target_link_libraries(sherd_no_locks_shim PRIVATE sherd_flags ${CMAKE_DL_LIBS})
sherd_add_program_test(NAME e2e.no_locks SCRIPT no_locks.py NP 2)
set_property(TEST e2e.no_locks APPEND PROPERTY ENVIRONMENT
             "SHERD_NO_LOCKS_SHIM=$<TARGET_FILE:sherd_no_locks_shim>")
