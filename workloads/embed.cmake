# Writes a C++ file that holds the texts of the built-in workloads, so that the binary stands alone.
#   cmake -DOUTPUT=file.cpp -DROOT=workloads -DFILES=a/b.hlo,c/d.yaml -P embed.cmake
string(REPLACE "," ";" names "${FILES}")
file(WRITE "${OUTPUT}.part"
     "#include \"workloads/builtins.h\"\n\nnamespace fusemark {\nnamespace {\n"
     "constexpr EmbeddedFile kFiles[] = {\n")
foreach(name IN LISTS names)
  file(READ "${ROOT}/${name}" text)
  file(APPEND "${OUTPUT}.part" "    {\"${name}\", R\"fusemark--(")
  file(APPEND "${OUTPUT}.part" "${text}")
  file(APPEND "${OUTPUT}.part" ")fusemark--\"},\n")
endforeach()
file(APPEND "${OUTPUT}.part"
     "};\n}  // namespace\n\n"
     "std::span<const EmbeddedFile> EmbeddedFiles() {\n  return kFiles;\n}\n\n"
     "}  // namespace fusemark\n")
file(RENAME "${OUTPUT}.part" "${OUTPUT}")
