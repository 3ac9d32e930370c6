// Small string functions that the standard library lacks and several layers need. Nothing here
// knows HLO.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fusemark {

std::vector<std::string_view> Split(std::string_view text, char separator);
std::string_view Trim(std::string_view text);
// What stands between blanks, none of it empty.
std::vector<std::string_view> Words(std::string_view text);
std::string Join(const std::vector<std::string>& parts, std::string_view separator);
// "1,2,3" for {1, 2, 3}.
std::string JoinInts(const std::vector<int64_t>& values, std::string_view separator = ",");
std::optional<int64_t> ParseInt(std::string_view text);
// Characters to insert, delete or replace to make b of a: for "did you mean". Time is the product
// of the lengths.
size_t EditDistance(std::string_view a, std::string_view b);

}  // namespace fusemark
