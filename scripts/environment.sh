# Sourced by the other scripts, from the top of the repository: makes the Python environment they run in.
#
#   make_environment run     what a user needs        (requirements.lock)
#   make_environment dev     the tools of a developer (requirements-dev.lock, which holds the first)
#   make_environment docs    the generator of the documentation's site (requirements-docs.lock), in an environment of its own
#   make_environment peers   what we are measured beside (requirements-peers.lock), in an environment of its own
#
# It does nothing when the environment already fits the lock file, so every script calls it every time.

environment="${DEBATE_ENVIRONMENT:-$PWD/.venv}"
# Subprocesses (gunicorn, celery) import the same tree from whatever directory the user stands in.
PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
export PYTHONPATH

find_python() {
    for candidate in python3 python3.14 python3.13 python3.12 python3.11 python; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            echo "$candidate"
            return
        fi
    done
    echo "debate-runner needs Python 3.11 or newer, and none was found on the PATH." >&2
    exit 1
}

say() { printf '%s\n' "$*" >&2; }

make_environment() {
    if [ "$1" = run ]; then lock=requirements.lock; else lock=requirements-$1.lock; fi
    stamp="$environment/.installed-$1"
    if cmp -s "$lock" "$stamp"; then return; fi

    # Two commands started at once must not install into one directory together: mkdir is the lock, and a lock
    # whose owner died is taken over.
    while ! mkdir "$environment.lock" 2>/dev/null; do
        owner=$(cat "$environment.lock/pid" 2>/dev/null || true)
        if [ -n "$owner" ] && ! kill -0 "$owner" 2>/dev/null; then rm -rf "$environment.lock"; else sleep 1; fi
    done
    echo $$ > "$environment.lock/pid"
    trap 'rm -rf "$environment.lock"' EXIT INT TERM
    if ! cmp -s "$lock" "$stamp"; then install_environment "$lock" "$stamp"; fi
    rm -rf "$environment.lock"
    trap - EXIT INT TERM
}

install_environment() {
    if ! "$environment/bin/python" -c '' 2>/dev/null; then
        say "debate-runner: making a Python environment in $environment (once)"
        python=$(find_python)
        if ! "$python" -m venv --clear "$environment"; then
            say "Python's venv module is missing (on Debian and Ubuntu: apt-get install python3-venv)."
            exit 1
        fi
    fi
    say "debate-runner: installing $(grep -c '==' "$1") pinned packages"
    log="$environment/install.log"
    : > "$log"
    { install_with_uv "$1" || install_with_pip "$1"; } >> "$log" 2>&1 &
    installer=$!
    seconds=0
    while kill -0 "$installer" 2>/dev/null; do
        if [ -t 2 ]; then printf '\r  %s s ' $((seconds / 5)) >&2; fi
        seconds=$((seconds + 1))
        sleep 0.2
    done
    if [ -t 2 ]; then printf '\r\033[K' >&2; fi
    if ! wait "$installer"; then
        tail -n 15 "$log" >&2
        say "The installation failed; the whole log is $log"
        exit 1
    fi
    cp "$1" "$2"
    # The developers' lock file holds all of the users' one.
    if [ "$1" = requirements-dev.lock ]; then cp requirements.lock "$environment/.installed-run"; fi
}

# The lock is whole. Without --no-deps an older pip looks for psycopg[binary] apart from the psycopg that is pinned, and
# refuses the newer version that it finds.
LOCKED="--require-hashes --no-deps --only-binary :all:"

install_with_pip() {
    # shellcheck disable=SC2086 # these are several words
    "$environment/bin/python" -m pip install --disable-pip-version-check --no-input $LOCKED --requirement "$1"
}

# uv installs the same lock in a seventh of the time. It does not read pip's configuration, and not every platform has it:
# where it fails, pip installs.
install_with_uv() {
    install_with_pip requirements-uv.lock &&
        # shellcheck disable=SC2086 # these are several words
        "$environment/bin/uv" pip install --system-certs --python "$environment/bin/python" $LOCKED --requirement "$1"
}
