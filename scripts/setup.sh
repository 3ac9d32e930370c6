# Shared set-up of scripts/run and scripts/test; sourced, never run. Finds or installs what the
# build needs and builds Release into build/. Not here: what is done with the build afterwards.
# Everything it says goes to stderr: stdout belongs to the results of the caller.
# Keep: a second call with nothing to do must stay well under a second (one dpkg-query, one ninja).

fm_root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
fm_build="${FUSEMARK_BUILD_DIR:-$fm_root/build}"

# Newest first; CMakeLists.txt tries the same versions in the same order.
fm_llvm_versions=(22 21 20 19)
# ocl-icd-opencl-dev: only because the CMake file of libdnnl-dev insists on finding OpenCL.
fm_packages=(cmake ninja-build g++ ccache python3 libdnnl-dev ocl-icd-opencl-dev libsqlite3-dev
             libyaml-cpp-dev libcli11-dev libgtest-dev libgmock-dev libbenchmark-dev
             nlohmann-json3-dev libfmt-dev zlib1g-dev liblapacke-dev libopenblas0-serial)

fm_say() { printf 'setup: %s\n' "$*" >&2; }

# Prints those of its arguments that dpkg does not have installed.
fm_not_installed() {
  local -A have=()
  local status name
  while read -r status name; do
    [[ $status == installed ]] && have[$name]=1
  done < <(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null)
  for name in "$@"; do [[ ${have[$name]:-} ]] || printf '%s\n' "$name"; done
}

fm_installed_llvm() {
  local v
  for v in "${fm_llvm_versions[@]}"; do
    [[ -z $(fm_not_installed "llvm-$v-dev") ]] && { echo "$v"; return 0; }
  done
  return 1
}

fm_offered_llvm() {
  local v
  for v in "${fm_llvm_versions[@]}"; do
    apt-cache show "llvm-$v-dev" >/dev/null 2>&1 && { echo "$v"; return 0; }
  done
  return 1
}

fm_print_packages() {
  fm_say "needed (Debian's names): ${fm_packages[*]} llvm-N-dev (N: ${fm_llvm_versions[*]})"
  fm_say "optional: clang-format-N (for scripts/check)"
}

# Runs a command as root, or explains and fails.
fm_as_root() {
  if [[ $(id -u) == 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fm_say "neither root nor sudo: cannot run '$*'"
    return 1
  fi
}

# Installs missing packages where apt-get exists. A failure is told but not final: the libraries may
# be there without dpkg knowing, and CMake says exactly what it cannot find.
fm_install() {
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    fm_print_packages
    fm_say "no apt-get here: nothing is installed, going on with what this system has"
    return 0
  fi
  local llvm missing
  llvm="$(fm_installed_llvm)" || llvm=""
  mapfile -t missing < <(fm_not_installed "${fm_packages[@]}" ${llvm:+"clang-format-$llvm"})
  [[ $llvm && ${#missing[@]} == 0 ]] && return 0

  fm_say "missing: ${missing[*]}${llvm:+ (have LLVM $llvm)}; updating the package lists"
  fm_as_root apt-get update -q </dev/null >&2 ||
    fm_say "apt-get update failed for some source; trying with the lists at hand"
  if [[ -z $llvm ]]; then
    if ! llvm="$(fm_offered_llvm)"; then
      fm_print_packages
      fm_say "no LLVM of ${fm_llvm_versions[*]} is offered here; going on, CMake will look"
      return 0
    fi
    missing+=("llvm-$llvm-dev" "clang-format-$llvm")
  fi
  fm_say "installing: ${missing[*]}"
  fm_as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
    "${missing[@]}" </dev/null >&2 && return 0
  fm_print_packages
  fm_say "the installation failed; going on with what is there"
}

# As many compilers as cores, but one for each 1.5 GB of memory at most: LLVM's headers are big.
fm_jobs() {
  local cores kib
  cores="$(nproc 2>/dev/null || echo 2)"
  kib="$(awk '/^MemAvailable/ {print $2}' /proc/meminfo 2>/dev/null)"
  local by_memory=$(( ${kib:-3000000} / 1500000 ))
  (( by_memory < 1 )) && by_memory=1
  echo $(( cores < by_memory ? cores : by_memory ))
}

# fm_build_targets TARGET...: configures when needed and builds. Returns 4 when that fails (2 is
# kept for what the user of the program did wrong).
fm_build_targets() {
  local tool
  for tool in cmake ninja; do
    command -v "$tool" >/dev/null || { fm_say "$tool is not there"; fm_print_packages; return 4; }
  done
  mkdir -p "$fm_build" || return 4
  if command -v flock >/dev/null; then
    exec 9>"$fm_build/.setup.lock" && flock 9
  fi
  local log="$fm_build/setup.log"
  if [[ ! -f $fm_build/build.ninja ]]; then
    fm_say "configuring $fm_build"
    if ! cmake -S "$fm_root" -B "$fm_build" -G Ninja -DCMAKE_BUILD_TYPE=Release >"$log" 2>&1; then
      cat "$log" >&2
      fm_print_packages
      return 4
    fi
  fi
  # One step (the build's own identity) runs on each call, so ninja never has "no work": the lines
  # that say nothing are dropped, and a first build keeps ninja's own progress line.
  local stamp="$fm_build/.built-$*"
  if [[ ! -e $stamp ]]; then
    fm_say "building $* in $fm_build (some minutes the first time)"
    ninja -C "$fm_build" -j "$(fm_jobs)" "$@" </dev/null >&2 || return 4
    touch "$stamp"
  else
    ninja -C "$fm_build" -j "$(fm_jobs)" "$@" </dev/null 2>&1 |
      grep --line-buffered -v -E '^ninja: (Entering|no work)|build_info' >&2
    [[ ${PIPESTATUS[0]} == 0 ]] || return 4
  fi
  [[ -e /dev/fd/9 ]] && exec 9>&-
  return 0
}

fm_setup() { fm_install && fm_build_targets "$@"; }
