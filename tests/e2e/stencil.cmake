if(SHERD_BUILD_EXAMPLES)
  sherd_add_program_test(NAME e2e.stencil SCRIPT stencil.py NP 6)
  set_property(TEST e2e.stencil APPEND PROPERTY
               ENVIRONMENT "SHERD_STENCIL=$<TARGET_FILE:example_stencil_checkpoint>")
endif()
