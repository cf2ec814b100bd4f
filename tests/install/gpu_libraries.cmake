# A login node has no GPU libraries: a PROGRAM built without CUDA must not load any. That one built with
# CUDA does is how this check knows that it looks at the right thing.
execute_process(COMMAND "${READELF}" -d "${PROGRAM}" OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ldd "${PROGRAM}" OUTPUT_VARIABLE loaded COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "lib(cuda|cudart|cublas|cublasLt|nccl)[.]so[.0-9]*" found "${dynamic} ${loaded}")
list(REMOVE_DUPLICATES found)
if(CUDA AND NOT found)
  message(FATAL_ERROR "built with CUDA, ${PROGRAM} loads nothing of it")
elseif(found AND NOT CUDA)
  message(FATAL_ERROR "built without CUDA, ${PROGRAM} loads ${found}")
endif()
# The driver comes with the GPU. Only a Kokkos with CUDA cannot do without.
if("${found}" MATCHES "libcuda[.]so" AND NOT KOKKOS_CUDA)
  message(FATAL_ERROR "${PROGRAM} does not start without a GPU's driver: it loads ${found}")
endif()
message(STATUS "GPU libraries: ${found}")
