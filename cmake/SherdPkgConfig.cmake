# sherd_add_pkg_config(file library): writes and installs file.pc, which names the library, those of the
# project that it stands on and, where they are static, whatever all of them link. Paths of the installed
# package are relative to the .pc file, so that the package can be moved.

# Appends to `result` what follows `item` on a link line, and then, so that it can be reversed, the item.
function(sherd_link_order item result)
  string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" item "${item}")
  if(item STREQUAL "" OR item MATCHES "\\$<" OR item IN_LIST ${result})
    return()
  endif()
  set(order "${${result}}")
  if(TARGET "${item}")
    get_target_property(alias "${item}" ALIASED_TARGET)
    if(alias)
      sherd_link_order("${alias}" order)
      set(${result} "${order}" PARENT_SCOPE)
      return()
    endif()
    set(next)
    foreach(property INTERFACE_LINK_LIBRARIES INTERFACE_LINK_OPTIONS)
      get_target_property(value "${item}" ${property})
      if(value)
        list(APPEND next ${value})
      endif()
    endforeach()
    list(REVERSE next)
    foreach(below IN LISTS next)
      sherd_link_order("${below}" order)
    endforeach()
  endif()
  list(APPEND order "${item}")
  set(${result} "${order}" PARENT_SCOPE)
endfunction()

# The flag for one item; empty for a target that is no file.
function(sherd_link_flag item result)
  set(flag "${item}")
  if(TARGET "${item}")
    get_target_property(type "${item}" TYPE)
    get_target_property(imported "${item}" IMPORTED)
    if(type STREQUAL "INTERFACE_LIBRARY")
      set(flag "")
    elseif(imported)
      set(flag "$<TARGET_LINKER_FILE:${item}>")
    else()
      set(flag "-l${item}")
    endif()
  elseif(NOT item MATCHES "^[-/]")
    set(flag "-l${item}")
  endif()
  set(${result} "${flag}" PARENT_SCOPE)
endfunction()

function(sherd_add_pkg_config name library description)
  set(order)
  sherd_link_order(${library} order)
  list(REVERSE order)
  set(own)
  set(others)
  foreach(item IN LISTS order)
    sherd_link_flag("${item}" flag)
    if(flag MATCHES "^-lsherd_")
      list(APPEND own "${flag}")
    elseif(flag)
      list(APPEND others "${flag}")
    endif()
  endforeach()
  if(BUILD_SHARED_LIBS)
    set(others)  # the libraries find them by themselves
  endif()
  list(JOIN own " " own)
  list(JOIN others " " others)
  file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  string(REGEX REPLACE "/$" "" up "${up}")
  set(text "prefix=\${pcfiledir}/${up}
libdir=\${prefix}/${CMAKE_INSTALL_LIBDIR}
includedir=\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}

Name: ${name}
Description: ${description}
Version: ${PROJECT_VERSION}
Cflags: -I\${includedir}
Libs: -L\${libdir} ${own} ${others}
")
  file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/package/${name}.pc" CONTENT "${text}")
  install(FILES "${PROJECT_BINARY_DIR}/package/${name}.pc"
          DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()
