# Install and export: filled in beside sherdConfig.cmake.in.
