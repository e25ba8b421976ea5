# Sourced by scripts/train, scripts/test and .ci/run: makes .venv in the project root when it is missing or out of date.
# shellcheck shell=bash

root=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
venv=$root/.venv
stamp=$venv/minipinet.stamp # what has been installed to the end: one line "KEY EXTRA" each

fail() {
    printf 'minipinet: %s\n' "$1" >&2
    exit 1
}

# Print the first Python on the PATH that is new enough and can make virtual environments.
find_python() {
    local name without_venv=''
    for name in python3.13 python3.12 python3.11 python3; do
        # Run it: a version manager's shim can be on the PATH and still have nothing behind it.
        "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue
        if "$name" -c 'import ensurepip, venv' 2>/dev/null; then
            command -v "$name"
            return
        fi
        without_venv=$name
    done
    if [[ -n $without_venv ]]; then
        fail "$without_venv has no venv or ensurepip module: install them (on Debian and Ubuntu the package python3-venv)"
    fi
    fail "Python 3.11 or newer is needed, and none of python3.13, python3.12, python3.11, python3 on the PATH is one"
}

# The key changes with pyproject.toml and with the folder, whose name is written into an editable install.
is_set_up() {
    local one
    [[ -x $venv/bin/python ]] || return
    for one in ${extra//,/ }; do grep -qxF -- "$key $one" "$stamp" 2>/dev/null || return; done
}

# set_up [EXTRA,...]: make the environment and install the project into it, editable, with scikit-learn, which
# cross-validation needs, and the extras named.
set_up() {
    local key extra=${1:-base} python others one started=$SECONDS
    key="$(cksum <"$root/pyproject.toml") $root"
    if is_set_up; then return; fi
    python=$(find_python)

    # One set-up at a time. The lock is this shell's, through file descriptor 9, and ends with it however it ends.
    exec 9>>"$root/.venv.lock"
    "$python" -c 'import fcntl; fcntl.flock(9, fcntl.LOCK_EX)' || fail "cannot lock $root/.venv.lock"
    if ! is_set_up; then
        printf 'minipinet: setting up %s (once, a minute or so) ... ' "$venv" >&2
        # Ours without its stamp is one that was interrupted: start afresh. One made by hand is kept and used.
        if [[ ! -x $venv/bin/python ]] || { [[ ! -e $stamp ]] && grep -q '^prompt = .*minipinet' "$venv/pyvenv.cfg" 2>/dev/null; }; then
            "$python" -m venv --clear --prompt minipinet "$venv" || fail "python -m venv failed, see above"
        fi
        others=$(grep -F -- "$key " "$stamp" 2>/dev/null || true)
        rm -f -- "$stamp"
        (cd -- "$root" && "$venv/bin/python" -m pip install -qq --no-input --disable-pip-version-check \
            --editable ".[sklearn${1:+,$1}]") || fail "pip could not install the project, see above; run again to start afresh"
        for one in base ${extra//,/ }; do others+=$'\n'"$key $one"; done
        sort -u <<<"$others" >"$stamp"
        printf 'done in %d s\n' "$((SECONDS - started))" >&2
    fi
    exec 9>&-
}
