sherd_add_program_test(NAME e2e.one_rank SCRIPT one_rank.py NP 2)
add_library(sherd_misread MODULE ${CMAKE_CURRENT_SOURCE_DIR}/misread.cpp)
target_link_libraries(sherd_misread PRIVATE sherd_flags ${CMAKE_DL_LIBS})
set_property(TEST e2e.one_rank APPEND PROPERTY ENVIRONMENT
             "SHERD_MISREAD=$<TARGET_FILE:sherd_misread>")
