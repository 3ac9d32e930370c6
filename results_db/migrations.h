// The schema files of results_db/schema, embedded at build time in order: migration i leads from
// schema version i to i + 1. The number of entries is the newest version this program knows.
#pragma once

#include <span>
#include <string_view>

namespace fusemark {

struct Migration {
  std::string_view name;  // "001_init"
  std::string_view sql;
};

std::span<const Migration> Migrations();

}  // namespace fusemark
