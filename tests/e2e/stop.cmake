sherd_add_program_test(NAME e2e.stop SCRIPT stop.py NP 2)
add_library(sherd_raise_at_start MODULE ${CMAKE_CURRENT_SOURCE_DIR}/raise_at_start.cpp)
target_link_libraries(sherd_raise_at_start PRIVATE sherd_flags)
set_property(TEST e2e.stop APPEND PROPERTY ENVIRONMENT
             "SHERD_RAISE_AT_START=$<TARGET_FILE:sherd_raise_at_start>")
