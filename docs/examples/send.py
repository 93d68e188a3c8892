"""Sends one mail with Python's own library, then asks what became of it."""
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

URL = os.environ["MAILSTEAD_URL"].rstrip("/") + "/api/v1"
KEY = os.environ["MAILSTEAD_KEY"]


def call(method, path, body=None, headers=None):
    """The answer as a dict. Waits and tries again on 429 and 503; any other error is raised with what the server says."""
    data = None if body is None else json.dumps(body).encode()
    all_headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json", **(headers or {})}
    for tries in range(3):
        request = urllib.request.Request(URL + path, data=data, method=method, headers=all_headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            text = error.read().decode()
            wait = int(error.headers.get("Retry-After", "0"))
            if error.code not in (429, 503) or tries == 2 or wait > 30:
                raise RuntimeError(f"{error.code}: {text}") from error
            time.sleep(wait)


sent = call(
    "POST",
    "/send-email/instant",
    {
        "from": os.environ["MAILSTEAD_FROM"],
        "to": [os.environ["MAILSTEAD_TO"]],
        "subject": "Your order",
        "html": "<p>Hello, your order is on its way.</p>",
        "tags": ["order"],
    },
    # the same key at every try: the mail goes out once, whatever happens on the way
    {"Idempotency-Key": str(uuid.uuid4())},
)
print(sent["email_id"], sent["status"])

found = call("GET", "/public/emails/get-email?" + urllib.parse.urlencode({"id": sent["email_id"]}))
print(found["data"]["status"], [event["type"] for event in found["data"]["events"]])
