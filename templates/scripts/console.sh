#!/bin/sh
# Model Console downloads the files of MODEL_FILES into CONSOLE_DIR; this script stands on both ends.
# `prepare` runs before the console and hands it what is already there, `wait` before the server and
# links what has arrived to its place. download.sh verifies it afterwards, and fetches what is
# missing. POSIX sh; runs in dash, bash and BusyBox ash. See docs/download.md.
set -uf
umask 022
export LC_ALL=C

model_dir=${MODEL_DIR:-/models} console_dir=${CONSOLE_DIR:?}
start_seconds=${CONSOLE_START_SECONDS:-1800} silent_seconds=${CONSOLE_SILENT_SECONDS:-300}
poll_seconds=${CONSOLE_POLL_SECONDS:-5}
run_dir=$console_dir/.run carriage_return=$(printf '\r')
MIB=1048576

say() { printf 'console: %s\n' "$*"; }
size_of() { stat -L -c %s "$1" 2>/dev/null || printf 0; }
each_row() { # each_row FUNCTION: calls it per row; target is the place, arrived the console's file
    while IFS= read -r line <&3; do
        line=${line%"$carriage_return"}
        [ -n "$line" ] || continue
        IFS='|' read -r _ _ _ stored size _ <<ROW
$line
ROW
        target=$model_dir/$stored arrived=$console_dir/$stored
        "$1"
    done 3<<ROWS
${MODEL_FILES:-}
ROWS
}
fits() { # the file is there, with the size that the row names
    [ -f "$1" ] || return 1
    [ "$size" = - ] || [ "$(size_of "$1")" = "$size" ]
}

# ---- before the console --------------------------------------------------------------------
make_place() { # the console is not root: it needs folders that it may write
    mkdir -p "${arrived%/*}" || exit 1
    chmod a+rwx "${arrived%/*}"
    stored_names="$stored_names$stored|"
    if fits "$target" && ln -f "$target" "$arrived"; then say "$stored: already there"; fi
}
prepare() {
    stored_names='|'
    rm -rf "$run_dir"
    mkdir -p "$run_dir" || exit 1
    chmod a+rwx "$console_dir" "$run_dir"
    each_row make_place
    # What a former version fetched goes, its links would keep the space of a deleted model.
    find "$console_dir" -type f | while IFS= read -r file; do
        name=${file#"$console_dir/"} name=${name%.llm-init.json} name=${name%.part}
        case $stored_names in *"|$name|"*) ;; *) rm -f "$file" ;; esac
    done
}

# ---- before the server ---------------------------------------------------------------------
take() { # links a file that is complete; a link takes no space, and the console keeps its own
    if fits "$target"; then return; fi
    if fits "$arrived" && mkdir -p "${target%/*}" && ln -f "$arrived" "$target"; then
        say "$stored: arrived"
        return
    fi
    missing=$((missing + 1))
}
count() { bytes=$((bytes + $(size_of "$arrived") + $(size_of "$arrived.part"))); }
nap() { # a sleep that a signal can end
    sleep "$poll_seconds" & child=$!
    wait "$child"
}
wait_for_files() {
    silent=0 before=0 said=-1 started=''
    while :; do
        missing=0 bytes=0
        each_row take
        if [ "$missing" -eq 0 ]; then say "all files are there" && return; fi
        each_row count
        # The console writes this file when it starts; until then its image may still be on the way.
        if [ -z "$started" ] && [ -e "$run_dir/model-spec.json" ]; then started=yes silent=0; fi
        limit=${started:+$silent_seconds} limit=${limit:-$start_seconds}
        if [ "$bytes" -ne "$before" ]; then silent=0; else silent=$((silent + poll_seconds)); fi
        before=$bytes
        if [ "$silent" -ge "$limit" ]; then
            say "Model Console has brought nothing for $silent s, going on without it"
            return
        fi
        if [ "$said" -lt 0 ] || [ $((bytes / MIB / 1024)) -ne "$said" ]; then
            said=$((bytes / MIB / 1024))
            say "$missing file(s) missing, $((bytes / MIB)) MiB so far"
        fi
        nap
    done
}

child=''
trap '[ -z "$child" ] || kill "$child" 2>/dev/null; exit 143' TERM
case ${1:-} in
prepare) prepare ;;
wait) wait_for_files ;;
*) say "expected prepare or wait" && exit 2 ;;
esac
