#!/bin/sh
# Sends the changes of DKIM_ZONE to a name server by dynamic update (RFC 2136), in one transaction.
# Usage: DKIM_ZONE_COMMAND='/etc/mailstead/dkim-zone-nsupdate.sh 192.0.2.53 /etc/mailstead/dkim-zone.key'
# The server may have a port: '192.0.2.53 5353' in one argument. It needs nsupdate (Debian: bind9-dnsutils).
set -eu
server=$1 key=$2

{
  echo "server $server"
  while read -r action name ttl value; do
    echo "update delete $name TXT"
    if [ "$action" = set ]; then echo "update add $name $ttl TXT $value"; fi
  done
  echo send
} | nsupdate -t 20 -k "$key"
