#!/bin/sh
# Makes the virtual environment named by the first argument: pinned dependencies, then the package itself, editable.
# Safe to repeat: what is there is kept; an environment that does not run, or was made for another folder, is made anew.
set -eu
venv=$1
here=$(pwd -P)

# The pinned dependencies have no wheels for Python 3.14 yet.
is_suitable() {
    "$1" -c 'import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' >/dev/null 2>&1
}

is_usable() {
    is_suitable "$venv/bin/python" && "$venv/bin/python" -m pip --version >/dev/null 2>&1 &&
        grep -qF "$here/$venv" "$venv/bin/activate"
}

if ! is_usable; then
    python=
    for candidate in python3.11 python3.12 python3.13 python3; do
        if is_suitable "$candidate"; then python=$candidate; break; fi
    done
    if [ -z "$python" ]; then
        echo "mnemolog needs Python 3.11, 3.12 or 3.13 with its venv module, and found none on PATH." >&2
        echo "Install it (Debian and Ubuntu: apt-get install python3 python3-venv), then run make again." >&2
        exit 1
    fi
    if [ -L "$venv" ]; then rm "$venv"; fi  # another folder's, which would be emptied
    echo "Making $venv with $("$python" --version)"
    "$python" -m venv --clear "$venv"
fi

# On Linux every dependency must come as a wheel, so that mnemolog can be tried without a compiler: CI checks it.
if [ "${CI:-}" = true ]; then export PIP_ONLY_BINARY=:all:; fi
rm -f "$venv/.installed"
echo "Installing the pinned dependencies into $venv (about a minute the first time)"
"$venv/bin/python" -m pip install --quiet --require-hashes -r requirements.txt -r requirements-dev.txt
"$venv/bin/python" -m pip install --quiet --no-deps --no-build-isolation --editable .
printf %s "$here" >"$venv/.installed"
echo "Installed."
