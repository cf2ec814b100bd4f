# A mount of its own needs root or user namespaces.
execute_process(COMMAND unshare --mount --map-root-user mount -t tmpfs none /tmp
                RESULT_VARIABLE SHERD_MOUNT_REFUSED OUTPUT_QUIET ERROR_QUIET)
if(SHERD_MOUNT_REFUSED EQUAL 0)
  sherd_add_program_test(NAME mount.full_disk SCRIPT full_disk.py NP 2)
else()
  message(STATUS "Tests on a small disk: left out (they need unshare and mount)")
endif()
