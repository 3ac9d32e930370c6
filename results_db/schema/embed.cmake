# cmake -DOUT=FILE -P embed.cmake -- 001_a.sql 002_b.sql ...
# Writes the migrations as C++ raw strings.
# Fails when the numbers are not 1, 2, 3, ...: a hole would shift every later schema version.
set(body "")
set(expected 1)
set(after_dashes FALSE)
foreach(i RANGE ${CMAKE_ARGC})
  set(file "${CMAKE_ARGV${i}}")
  if(file STREQUAL "--")
    set(after_dashes TRUE)
  elseif(after_dashes AND NOT file STREQUAL "")
    get_filename_component(name "${file}" NAME_WE)
    string(REGEX MATCH "^0*([0-9]+)_" ignored "${name}")
    if(NOT CMAKE_MATCH_1 EQUAL expected)
      message(FATAL_ERROR "migration ${file}: expected number ${expected}")
    endif()
    math(EXPR expected "${expected} + 1")
    file(READ "${file}" sql)
    string(APPEND body "    {\"${name}\", R\"fmsql(${sql})fmsql\"},\n")
  endif()
endforeach()
file(WRITE "${OUT}" "// Generated from results_db/schema.\n#include \"results_db/migrations.h\"\n\n"
     "namespace fusemark {\n\nnamespace {\n"
     "constexpr Migration kMigrations[] = {\n${body}};\n}  // namespace\n\n"
     "std::span<const Migration> Migrations() {\n  return kMigrations;\n}\n\n"
     "}  // namespace fusemark\n")
