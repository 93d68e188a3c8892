#!/bin/sh
# Sends one mail with curl, then asks what became of it. With the same Idempotency-Key, here the number of the order, a
# mail goes out once, however often the request is repeated.
set -eu

answer=$(curl --fail-with-body --silent --show-error --retry 3 "$MAILSTEAD_URL/api/v1/send-email/instant" \
  -H "Authorization: Bearer $MAILSTEAD_KEY" \
  -H 'Content-Type: application/json' \
  -H "Idempotency-Key: ${ORDER_ID:-order-$(date +%s)-$$}" \
  --data-binary @- <<JSON
{
  "from": "$MAILSTEAD_FROM",
  "to": ["$MAILSTEAD_TO"],
  "subject": "Your order",
  "html": "<p>Hello, your order is on its way.</p>",
  "tags": ["order"]
}
JSON
) || { echo "$answer" >&2; exit 1; }
echo "$answer"

id=$(printf '%s' "$answer" | sed -n 's/.*"email_id":"\([^"]*\)".*/\1/p')
curl --fail-with-body --silent --show-error "$MAILSTEAD_URL/api/v1/public/emails/get-email?id=$id" -H "Authorization: Bearer $MAILSTEAD_KEY"
echo
