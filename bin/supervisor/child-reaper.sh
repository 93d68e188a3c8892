#!/bin/sh
# child-reaper.sh: reads `watch <pid> <signal> [<folder>]` and `release <pid>` from stdin. At the end of stdin it stops
# the watched processes and removes their folders. See child-reaper.ts.
trap '' INT TERM HUP
pids=''
while read -r verb pid signal folder; do
  case $verb in
    watch)
      pids="$pids $pid"
      # the pid is a number; the values are not evaluated
      eval "signal_$pid=\$signal; folder_$pid=\$folder"
      ;;
    release)
      left=''
      for one in $pids; do [ "$one" = "$pid" ] || left="$left $one"; done
      pids=$left
      ;;
  esac
done

for pid in $pids; do
  eval "signal=\$signal_$pid"
  kill -s "$signal" "$pid" 2>/dev/null
done
n=0
for pid in $pids; do
  # Not kill -0, which succeeds for a zombie until its parent reaps it. A zombie has no cwd.
  while [ -d "/proc/$pid/cwd/" ] && [ $n -lt 300 ]; do
    sleep 0.1
    n=$((n + 1))
  done
  kill -s KILL "$pid" 2>/dev/null
done
for pid in $pids; do
  eval "folder=\$folder_$pid"
  [ -z "$folder" ] || rm -rf -- "$folder"
done
