#!/bin/sh
# leash.sh <pid> <signal> [<folder>]: waits for the end of its standard input, then ends the process and removes the folder. See leash.ts.
trap '' INT TERM HUP
# `read` succeeds on a line (released) and fails at the end of file (the master died).
read -r _ && exit 0
kill -s "$2" "$1" 2>/dev/null
n=0
# A zombie has no cwd any more: kill -0 would wait for whoever should reap it.
while [ -d "/proc/$1/cwd/" ] && [ $n -lt 300 ]; do
  sleep 0.1
  n=$((n + 1))
done
kill -s KILL "$1" 2>/dev/null
[ -z "$3" ] || rm -rf -- "$3"
