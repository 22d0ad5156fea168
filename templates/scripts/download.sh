#!/bin/sh
# Downloads the model files of an app before its server starts: resumable, verified, then renamed.
# POSIX sh; runs in dash, bash and BusyBox ash. Input by environment only, see docs/download.md.
set -uf
umask 022       # files 0644, folders 0755: any uid of the server container can read them
export LC_ALL=C # one character is one byte, so that names are percent-encoded byte by byte

E_INPUT=2 E_TOOL=3 E_NO_TOKEN=10 E_BAD_TOKEN=11 E_NOT_FOUND=12 E_HTML=13 E_LFS=14 E_MISMATCH=15
E_NOT_GGUF=16 E_FULL=17 E_FOLDER=18 E_NETWORK=19 E_REFUSED=20

model_dir=${MODEL_DIR:-/models} endpoint=${HF_ENDPOINT:-https://huggingface.co}
attempts=${DOWNLOAD_ATTEMPTS:-20} retry_seconds=${DOWNLOAD_RETRY_SECONDS:-5}
stall_seconds=${DOWNLOAD_STALL_SECONDS:-60} hold_seconds=${DOWNLOAD_HOLD_SECONDS:-600}
stale_seconds=${DOWNLOAD_STALE_SECONDS:-120} # only used where there is no flock
MIB=1048576 carriage_return=$(printf '\r')
row_form='REPO|REVISION|PATH|STORED|SIZE|SHA256'
tmp='' child='' ticker='' lock_held='' auth_file='' has_token='' rows=0 need=0 seen_rows='|'

say() { printf '%s\n' "$*"; }
fail() { # fail CODE TEXT: the one ERROR line; then a hold, so that the pod does not restart in a
    exit_code=$1 # hot loop. A network failure is not held: the next start may succeed.
    shift
    cleanup
    if [ "$exit_code" -eq "$E_NETWORK" ]; then hold_seconds=0; fi
    [ "$hold_seconds" -eq 0 ] || say "download: stopped, the container ends in $hold_seconds s"
    sleep "$hold_seconds" >/dev/null 2>&1 & child=$!
    printf 'ERROR: %s\n' "$*" >&2
    wait "$child" 2>/dev/null
    exit "$exit_code"
}
nap() { # a sleep that a signal can end
    sleep "$1" >/dev/null 2>&1 9<&- & child=$!
    wait "$child" 2>/dev/null
    child=''
}
end() { { kill -9 "$1"; wait "$1"; } 2>/dev/null; } # -9: a young subshell still has our traps
cleanup() {
    [ -z "$child" ] || end "$child"
    [ -z "$ticker" ] || end "$ticker"
    unlock
    [ -z "$tmp" ] || rm -rf "$tmp"
    child='' ticker=''
}
trap cleanup EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

# ---- small readers -------------------------------------------------------------------------
size_of() { stat -L -c %s "$1" 2>/dev/null || printf 0; }
free_kib() { df -Pk "$model_dir" 2>/dev/null | sed -n 's/.* \([0-9]\{1,\}\) \{1,\}[0-9]\{1,\}% .*/\1/p'; }
origin() { # scheme://host:port of a URL
    origin_rest=${1#*://}
    printf '%s' "${1%%://*}://${origin_rest%%[/?#]*}"
}
encode() { # encode TEXT KEEP: percent-encodes every byte but unreserved ones and KEEP
    rest=$1 encoded=''
    while [ -n "$rest" ]; do
        byte=${rest%"${rest#?}"}
        rest=${rest#?}
        case $byte in
        [A-Za-z0-9._~-] | "$2") encoded=$encoded$byte ;;
        *) encoded=$encoded$(printf '%%%02X' "$(($(printf %d "'$byte") & 255))") ;;
        esac
    done
    printf '%s' "$encoded"
}
header() { # header NAME (lower case): its value in the last answer
    awk -v name="$1" '/HTTP\/[0-9.]+ [1-5][0-9][0-9]/ { value = "" }
        { sub(/\r$/, ""); sub(/^ +/, ""); colon = index($0, ":")
          if (colon && tolower(substr($0, 1, colon - 1)) == name) value = substr($0, colon + 1) }
        END { sub(/^ +/, "", value); print value }' "$log"
}
read_status() { # status of the last answer, or empty; redirected when an answer before it was a 3xx
    status=$(awk 'match($0, /HTTP\/[0-9.]+ [1-5][0-9][0-9]/) { print substr($0, RSTART + RLENGTH - 3, 3) }' "$log")
    case $status in 3??*[!0-9]*) redirected=yes ;; esac
    status=${status##*[!0-9]}
}

# ---- one request ---------------------------------------------------------------------------
# The only place that knows curl, GNU wget and BusyBox wget. Headers and messages go to the log,
# the body from offset on to the part file. curl keeps the token from another host or port by
# itself, GNU wget does not: with a token (auth) it follows no redirect, see transfer.
request() {
    set --
    case $transport in
    curl)
        [ "$offset" -eq 0 ] || set -- -C "$offset"
        [ -z "$if_range" ] || set -- "$@" -H "If-Range: $if_range"
        [ -z "$auth" ] || set -- "$@" -H "@$auth"
        exec curl -q -sS -f -g -L --max-redirs 10 --connect-timeout 30 --suppress-connect-headers \
            --proto '=http,https' --proto-redir '=http,https' "$@" -D - -o "$part" "$url" >"$log" 2>&1
        ;;
    gnu-wget)
        export WGETRC="${auth:-$tmp/wgetrc}" # the empty one: no settings of this image
        [ "$offset" -eq 0 ] || set -- -c
        [ -z "$if_range" ] || set -- "$@" --header="If-Range: $if_range"
        [ -z "$auth" ] || set -- "$@" --max-redirect=0
        exec wget -S -nv --tries=1 --no-hsts --no-iri "$@" -O "$part" "$url" >"$log" 2>&1
        ;;
    busybox-wget)
        [ "$offset" -eq 0 ] || set -- -c
        [ -z "$if_range" ] || set -- "$@" --header "If-Range: $if_range"
        exec wget -q -S "$@" -O "$part" "$url" >"$log" 2>&1
        ;;
    esac
}
transfer() { # one try; leaves rc, status, redirected, and what arrived in the part file
    offset=$(size_of "$part") auth=$auth_file redirected=''
    url=$endpoint/$repo/resolve/$(encode "$revision" '')/$(encode "$path" /)
    for _ in 1 2 3 4 5 6 7; do
        watched transfer request
        note_etag
        case $transport:$auth:$status in gnu-wget:?*:30[12378]) next=$(header location) ;; *) return ;; esac
        case $next in
        //*) url=${url%%:*}:$next ;;
        /*) url=$(origin "$url")$next ;;
        *) url=$next ;;
        esac
        if [ "$(origin "$url")" != "$(origin "$endpoint")" ]; then auth='' redirected=yes; fi
    done
}

# watched MODE COMMAND...: runs a command in the background beside a ticker that prints progress,
# ends a stalled transfer and keeps the lock alive. The command's status is left in rc.
watched() {
    mode=$1
    shift
    rm -f "$tmp/stalled"
    "$@" </dev/null & child=$!
    tick "$child" 9<&- & ticker=$!
    wait "$child" 2>/dev/null
    rc=$?
    end "$ticker"
    child='' ticker=''
}
tick() { # tick PID: once a second until PID ends
    said=$(size_of "$part") said_percent=0 previous=$said idle=0 since=0
    while sleep 1 >/dev/null 2>&1 && kill -0 "$1" 2>/dev/null; do
        beat
        since=$((since + 1))
        case $mode in
        transfer)
            now=$(size_of "$part")
            if [ "$now" = "$previous" ]; then idle=$((idle + 1)); else idle=0; fi
            previous=$now
            if [ "$idle" -ge "$stall_seconds" ]; then : >"$tmp/stalled" && kill -9 "$1" && return; fi
            note_etag
            progress
            ;;
        verify) [ $((since % 10)) -ne 0 ] || say "$stored: verifying sha256, $since s" ;;
        esac
    done
}
progress() { # a line at least every 10 s or 5 %
    if [ "$size" = - ]; then percent=0; else percent=$((now * 100 / (size + 1))); fi
    [ "$since" -ge 10 ] || [ "$percent" -ge $((said_percent + 5)) ] || return 0
    speed=$(((now - said) * 10 / since / MIB))
    [ "$speed" -ge 0 ] || speed=0 # the file started again from zero
    if [ "$size" = - ]; then done_of=$((now / MIB)); else done_of="$percent% $((now / MIB))/$((size / MIB))"; fi
    say "$stored: $done_of MiB, $((speed / 10)).$((speed % 10)) MiB/s"
    said=$now said_percent=$percent since=0
}

# ---- files on the disk ---------------------------------------------------------------------
# STORED.part.info says where a part comes from, and the ETag. Without a sha256 a part is continued
# only when the ETag is known too (sent as If-Range), so that two contents are never mixed.
source_text() { printf '%s|%s|%s|%s|%s\n' "$repo" "$revision" "$path" "$size" "$sha"; }
note_etag() {
    read_status
    case $sha:$noted:$status in -::200 | -::206) noted=$(header etag) ;; *) return 0 ;; esac
    case $noted in '"'*'"') { source_text && say "$noted"; } 2>/dev/null >"$part.info" ;; esac
}
new_part() {
    rm -f "$part"
    { source_text >"$part.info"; } 2>/dev/null || fail_full
    if_range='' noted=''
}
open_part() { # keeps what an earlier run or try left, when it can be continued
    touch "$part" 2>/dev/null || fail_folder "$part"
    if_range=''
    [ "$sha" != - ] || if_range=$(sed -n 2p "$part.info" 2>/dev/null)
    noted=$if_range
    if [ "$sha$if_range" = - ] || [ "$(sed -n 1p "$part.info" 2>/dev/null)" != "$(source_text)" ]; then new_part; fi
}
marker_text() { printf 'repo=%s\nrevision=%s\npath=%s\nsize=%s\nsha256=%s\n' "$repo" "$revision" "$path" "$1" "$2"; }
mark() {
    { marker_text "$(size_of "$target")" "$sha" >"$target.ok.new" && mv -f "$target.ok.new" "$target.ok"; } \
        2>/dev/null || fail_full
}
accepted() { # the marker names this very source, and the file has the size that the marker names
    [ -f "$target" ] && [ -f "$target.ok" ] || return 1
    have=$(size_of "$target") marked_sha=$sha
    [ "$size" = - ] || [ "$size" = "$have" ] || return 1
    [ "$sha" != - ] || marked_sha=$(sed -n 's/^sha256=//p' "$target.ok")
    [ "$(cat "$target.ok")" = "$(marker_text "$have" "$marked_sha")" ]
}
hash_file() { exec sha256sum <"$1" >"$tmp/sha256"; }
inspect() { # inspect FILE: is it what the row describes? fault and fault_code say why not
    fault='' fault_code=$E_MISMATCH found=''
    have=$(size_of "$1")
    if [ "$size" != - ] && [ "$have" != "$size" ]; then
        fault="it has $have bytes, expected $size"
    elif [ "$sha" != - ]; then
        watched verify hash_file "$1"
        read -r found _ <"$tmp/sha256"
        [ "$found" = "$sha" ] || fault="its sha256 is $found, expected $sha"
    fi
    start=$(head -c 200 "$1" 2>/dev/null | tr -cd '!-~' | tr '[:upper:]' '[:lower:]')
    case $start in
    'versionhttps://git-lfs'*) fault="it is a git-lfs pointer" fault_code=$E_LFS ;;
    '<!doctypehtml'* | '<html'* | '<head'*) # unless a sha256 or the name says that it should be one
        case $found:$stored in "$sha:"* | *.html) ;; *) fault="it is an HTML page" fault_code=$E_HTML ;; esac
        ;;
    esac
    case $fault:$stored:$start in
    :*.gguf:gguf*) ;;
    :*.gguf:*) fault="it is not a GGUF file" fault_code=$E_NOT_GGUF ;;
    esac
    [ -z "$fault" ]
}

# ---- one run at a time per file ------------------------------------------------------------
take_lock() {
    waited=0 lock=$target.lock
    if command -v flock >/dev/null 2>&1; then
        [ -e "$lock" ] || touch "$lock" 2>/dev/null
        [ -r "$lock" ] || fail_folder "$lock"
        exec 9<"$lock" # children inherit it: a transfer that outlives this script still holds it
        until flock -n 9; do wait_turn; done
        lock_held=flock
        return
    fi
    # Without flock: a folder whose pulse changes every second while its owner lives. Who sees the
    # same pulse for stale_seconds takes over; mkdir lets exactly one waiter win per pulse.
    lock=$lock.d owner=$(id -u):$$:$(date +%s) seen='' unchanged=0 round=0
    until mkdir "$lock" 2>/dev/null; do
        pulse=$(cat "$lock/pulse" 2>/dev/null)
        if [ "$pulse" = "$seen" ]; then unchanged=$((unchanged + 1)); else unchanged=0; fi
        seen=$pulse
        if [ "$unchanged" -ge "$stale_seconds" ]; then
            [ -d "$lock" ] || fail_folder "$lock"
            unchanged=0 round=$((round + 1))
            if mkdir "$lock/after-$seen-$round" 2>/dev/null; then rm -f "$lock/pulse" && break; fi
        fi
        wait_turn
    done
    lock_held=folder
    beat
}
wait_turn() {
    [ $((waited % 10)) -ne 0 ] ||
        say "$stored: another run downloads it ($(($(size_of "$part") / MIB)) MiB so far), waiting"
    waited=$((waited + 1))
    nap 1
}
owns_lock() { case $(cat "$lock/pulse" 2>/dev/null) in "$owner":* | '') ;; *) return 1 ;; esac }
beat() { # a full disk may keep a pulse from being written; the transfer reports that
    if [ "$lock_held" != folder ] || ! owns_lock; then return; fi
    { say "$owner:$(date +%s)" >"$lock/pulse.new" && mv -f "$lock/pulse.new" "$lock/pulse"; } 2>/dev/null
}
unlock() {
    case $lock_held in
    flock) exec 9<&- ;;
    folder) if owns_lock; then rm -rf "$lock"; fi ;;
    esac
    lock_held=''
}

# ---- what a try means ----------------------------------------------------------------------
fail_folder() { fail "$E_FOLDER" "cannot write $1 as uid $(id -u): mount the folder read-write and make it writable for this uid"; }
fail_full() { fail "$E_FULL" "$stored: the disk of $model_dir is full: free some space or raise the quota and restart the app; what arrived is kept and continued"; }
is_full() {
    case $transport:$rc in *:0) return 1 ;; 'curl:23' | 'gnu-wget:3') return 0 ;; esac
    grep -qi 'no space left\|quota exceeded\|short write' "$log"
}
fail_access() {
    why=$(header x-error-code | tr -cd 'A-Za-z') # the hub's word for it, such as GatedRepo
    why="$stored: HTTP $status${why:+ ($why)} for $endpoint/$repo"
    case $has_token:$auth_file in
    :*) fail "$E_NO_TOKEN" "$why and HF_TOKEN is not set: the repository is gated, private or misspelt; accept its licence on that page, set HF_TOKEN to a token with read access and restart the app" ;;
    yes:) fail "$E_TOOL" "$why: this needs HF_TOKEN, which BusyBox wget can only pass where the process list shows it; use an image with curl" ;;
    *) fail "$E_BAD_TOKEN" "$why with HF_TOKEN: the token is wrong or its account has no access; accept the licence with that account or set another token, then restart the app" ;;
    esac
}
retry() { # retry REASON [SECONDS]: counts tries in a row that brought no new byte
    have=$(size_of "$part")
    [ "$have" -le "$best" ] || best=$have tried=0 pause=$retry_seconds
    tried=$((tried + 1))
    [ "$tried" -lt "$attempts" ] || fail "$E_NETWORK" "$stored: gave up after $tried tries without progress ($1): check the network and $endpoint; the next start continues at $((have / MIB)) MiB"
    delay=${2:-$pause}
    say "$stored: try $tried of $attempts ended at $((have / MIB)) MiB ($1), next in $delay s"
    [ "$delay" -eq 0 ] || watched pause sleep "$delay"
    pause=$((pause * 2))
    [ "$pause" -le 60 ] || pause=60
}
restart() { # wrong content: once from zero, then the source itself is wrong
    mismatches=$((mismatches + 1))
    new_part
    [ "$mismatches" -lt 2 ] || fail "$E_MISMATCH" "$stored: $fault, twice: $repo at $revision does not hold the expected file; install a newer version of the app or lock its model files again"
    say "$stored: $fault; downloading it again from zero"
}
check_part() { # true when the part is the wanted file
    inspect "$part" && return 0
    if [ "$fault_code" -ne "$E_MISMATCH" ]; then
        new_part
        fail "$fault_code" "$stored: $endpoint sent something else than the model: $fault; check repository, path and HF_ENDPOINT, and that no login page or proxy answers instead"
    elif [ "$size" != - ] && [ "$have" -lt "$size" ]; then
        retry "$fault" # an end without an error; a file that really is too short ends in a 416
    else
        restart
    fi
    return 1
}
settle() { # true when the part is complete and verified
    have=$(size_of "$part")
    if is_full; then fail_full; fi
    if [ "$status" = 200 ] && [ "$offset" -gt 0 ]; then
        # The server did not continue. BusyBox wget has then written the new file over the old, and
        # GNU wget skipped what was there; anything else may be a mix of two contents.
        case $rc:$transport:$if_range in
        0:busybox-wget:* | 0:gnu-wget:) ;;
        *) new_part && retry "the server does not continue this file, or the file changed" 0 && return 1 ;;
        esac
    fi
    if [ -e "$tmp/stalled" ]; then retry "no data for $stall_seconds s" && return 1; fi
    case $status:$redirected in
    200:* | 206:*)
        if [ "$rc" -eq 0 ] || [ "$have" = "$size" ]; then check_part && return 0; else
            why=$(grep -E '^(curl|wget): ' "$log" | tail -n 1)
            retry "${why:-connection lost}"
        fi
        ;;
    416:*)
        total=$(header content-range)
        fault="there are $have bytes here and no more on the server"
        if [ "$size" = - ] && [ "${total##*/}" = "$have" ]; then check_part && return 0; else restart; fi
        ;;
    401:* | 403:) fail_access ;;
    404:* | 410:*) fail "$E_NOT_FOUND" "$stored: HTTP $status, $endpoint/$repo has no file '$path' at revision $revision: it was moved, renamed or misspelt (case counts); install a newer version of the app or correct its model file" ;;
    :*) retry "$(grep . "$log" | tail -n 1)" ;;
    3??:* | 403:* | 408:* | 425:* | 429:* | 5??:*)
        # Behind a redirect a 403 is an expired signature, unless the hub itself says why.
        case $status:$(header x-error-code) in 403:?*) fail_access ;; esac
        after=$(header retry-after)
        case $after in [1-9] | [1-9][0-9] | [1-9][0-9][0-9]) ;; *) after=$pause ;; esac
        retry "HTTP $status" "$after"
        ;;
    *) fail "$E_REFUSED" "$stored: HTTP $status from $endpoint: the server refuses this request; check HF_ENDPOINT, repository and revision" ;;
    esac
    return 1
}

# ---- the rows of MODEL_FILES ---------------------------------------------------------------
each_row() { # each_row FUNCTION: calls it per row, the fields are variables
    while IFS= read -r line <&3; do
        line=${line%"$carriage_return"}
        [ -n "$line" ] || continue
        IFS='|' read -r repo revision path stored size sha extra <<ROW
$line
ROW
        target=$model_dir/$stored part=$model_dir/$stored.part
        "$1"
    done 3<<ROWS
${MODEL_FILES:-}
ROWS
}
check_row() {
    rows=$((rows + 1)) why=''
    case /$repo/$revision/$path/ in *//* | */./* | */../*) why="a path has an empty, . or .. part" ;; esac
    case $repo in '' | *[!A-Za-z0-9._/-]*) why="the repository is not OWNER/NAME" ;; esac
    case $revision in '' | *[!A-Za-z0-9._/-]*) why="the revision is not a commit, branch or tag" ;; esac
    case /$stored/ in *//* | */./* | */../*) why="the stored path must be relative, without . or .." ;; esac
    case $stored in *.part | *.part.info | *.ok | *.ok.new | *.lock) why="the stored path has a reserved ending" ;; esac
    case $size in - | 0) ;; '' | 0* | *[!0-9]*) why="the size is neither bytes nor -" ;; esac
    case ${#sha}:$sha in 1:- | 64:*) ;; *) why="the sha256 is neither 64 hex digits nor -" ;; esac
    case $sha in *[!0-9a-f]?* | ?*[!0-9a-f]*) why="the sha256 is neither 64 hex digits nor -" ;; esac
    case $seen_rows in *"|$stored|"*) why="the stored path occurs twice" ;; esac
    [ -z "$extra" ] || why="it has more than 6 fields"
    seen_rows="$seen_rows$stored|"
    [ -z "$why" ] || fail "$E_INPUT" "MODEL_FILES row $rows: $why; expected $row_form, got: $line"
}
plan_row() { # adds the bytes that the row still needs; a wrong file in its place will go first
    if accepted || [ "$size" = - ]; then return; fi
    have=$(size_of "$target")
    if [ "$have" = "$size" ]; then [ "$sha" = - ] || return; have=0; fi
    need=$((need + size - have - $(size_of "$part")))
}
fetch_row() {
    if accepted; then say "$stored: complete, nothing to do" && return; fi
    [ ! -d "$target" ] || fail "$E_FOLDER" "$target is a folder, a file is expected: remove it"
    mkdir -p "${target%/*}" 2>/dev/null
    [ -w "${target%/*}" ] || fail_folder "${target%/*}"
    take_lock
    accepted || adopt || download
    unlock
    say "$stored: complete, $(($(size_of "$target") / MIB)) MiB"
}
adopt() { # a file without a valid marker is taken over only when its sha256 proves it
    [ -f "$target" ] || return 1
    if inspect "$target"; then
        [ "$sha" != - ] || return 1
        say "$stored: already there and verified"
        chmod 644 "$target" 2>/dev/null
        mark
        return 0
    fi
    say "$stored: removing a file that is not the model: $fault"
    rm -f "$target" "$target.ok"
    return 1
}
download() {
    tried=0 mismatches=0 pause=$retry_seconds
    open_part
    best=$(size_of "$part")
    say "$stored: downloading $repo at $revision, $path, from $((best / MIB)) MiB on"
    while :; do
        open_part
        if [ "$size" != - ] && [ "$(size_of "$part")" -ge "$size" ]; then
            if check_part; then break; else continue; fi
        fi
        transfer
        if settle; then break; fi
    done
    watched pause sync "$part" 2>/dev/null # on the disk before the marker says so
    rm -f "$target.ok"
    { chmod 644 "$part" && mv -f "$part" "$target"; } 2>/dev/null || fail_folder "$target"
    rm -f "$part.info"
    mark
}

# ---- start ---------------------------------------------------------------------------------
check_settings() {
    for number in "$hold_seconds" "$attempts" "$retry_seconds" "$stall_seconds" "$stale_seconds"; do
        case $number in 0) continue ;; 0* | *[!0-9]*) ;; *) continue ;; esac
        [ "$number" != "$hold_seconds" ] || hold_seconds=600
        fail "$E_INPUT" "DOWNLOAD_* must be whole numbers without leading zeros, got: $number"
    done
    for tool in awk cat chmod date df grep head id mkdir mktemp mv rm sed sha256sum sleep stat tail touch tr; do
        command -v "$tool" >/dev/null 2>&1 || fail "$E_TOOL" "this image has no $tool: use an image with BusyBox or coreutils"
    done
    while [ "$endpoint" != "${endpoint%/}" ]; do endpoint=${endpoint%/}; done
    case $endpoint in http://?* | https://?*) ;; *) fail "$E_INPUT" "HF_ENDPOINT must start with http:// or https://, got: $endpoint" ;; esac
    case $model_dir in /*) ;; *) fail "$E_INPUT" "MODEL_DIR must be an absolute path, got: $model_dir" ;; esac
    each_row check_row
    [ "$rows" -gt 0 ] || fail "$E_INPUT" "MODEL_FILES is empty: expected one $row_form per line"
}
choose_transport() {
    transport=curl
    if command -v curl >/dev/null 2>&1; then return; fi
    command -v wget >/dev/null 2>&1 || fail "$E_TOOL" "this image has neither curl nor wget: use an image with curl"
    case $(wget --version 2>/dev/null) in *GNU*) transport=gnu-wget ;; *) transport=busybox-wget ;; esac
}
store_token() { # moves HF_TOKEN into a file of mode 600 that the transport reads; never an argument
    token=$(printf %s "${HF_TOKEN:-}" | tr -d '[:space:]')
    unset HF_TOKEN
    [ -n "$token" ] || return 0
    case $token in *[!!-~]*) fail "$E_INPUT" "HF_TOKEN holds characters that no token has: set it again" ;; esac
    has_token=yes line="Authorization: Bearer $token"
    case $transport in
    gnu-wget) line="header = $line" ;;
    busybox-wget) say "download: HF_TOKEN is not used, BusyBox wget cannot pass it safely" && return ;;
    esac
    auth_file=$tmp/auth
    (umask 077 && say "$line" >"$auth_file")
}

check_settings
choose_transport
for base in "${TMPDIR:-/tmp}" /dev/shm; do # not the model folder: it is shared, and outlives us
    tmp=$(mktemp -d "$base/download.XXXXXX" 2>/dev/null) && break
done
[ -n "$tmp" ] || fail "$E_FOLDER" "neither ${TMPDIR:-/tmp} nor /dev/shm is writable: mount an emptyDir at /tmp"
log=$tmp/log
: >"$tmp/wgetrc"
store_token
say "download: $rows file(s) from $endpoint to $model_dir with $transport${auth_file:+ and HF_TOKEN}"
mkdir -p "$model_dir" 2>/dev/null || fail_folder "$model_dir"
each_row plan_row
free=$(free_kib)
if [ -n "$free" ] && [ $((need / 1024)) -gt "$free" ]; then
    fail "$E_FULL" "not enough space in $model_dir: $((need / MIB)) MiB are needed, $((free / 1024)) MiB are free; free some space and restart the app"
fi
each_row fetch_row
say "download: all $rows file(s) are complete"
