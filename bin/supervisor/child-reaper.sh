#!/bin/sh
# child-reaper.sh <pid> <signal> [<folder>]: waits for the end of stdin, then stops the process and removes the
# folder. See child-reaper.ts.
trap '' INT TERM HUP
# `read` succeeds on a line (released) and fails at the end of file (the supervisor died).
read -r _ && exit 0
kill -s "$2" "$1" 2>/dev/null
n=0
# Not kill -0, which succeeds for a zombie until its parent reaps it. A zombie has no cwd.
while [ -d "/proc/$1/cwd/" ] && [ $n -lt 300 ]; do
  sleep 0.1
  n=$((n + 1))
done
kill -s KILL "$1" 2>/dev/null
[ -z "$3" ] || rm -rf -- "$3"
