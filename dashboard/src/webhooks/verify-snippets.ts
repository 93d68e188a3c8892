/** Receivers that verify the signature of Standard Webhooks, in the languages that most people use. */
import type { Snippet } from '#dashboard/src/shared/snippets.tsx'

export const VERIFY_SNIPPETS: readonly Snippet[] = [
  {
    key: 'node',
    label: 'Node.js',
    code: `// npm install express standardwebhooks
import express from 'express'
import { Webhook } from 'standardwebhooks'

const webhook = new Webhook(process.env.WEBHOOK_SECRET)
const app = express()

app.post('/hooks/mail', express.raw({ type: '*/*' }), (request, response) => {
  try {
    const event = webhook.verify(request.body.toString(), request.headers)
    response.sendStatus(204)
    console.log(event.type, event.recipient)
  } catch {
    response.sendStatus(400)
  }
})
app.listen(8080)`,
  },
  {
    key: 'python',
    label: 'Python',
    code: `# pip install flask standardwebhooks
import os
from flask import Flask, request
from standardwebhooks import Webhook, WebhookVerificationError

app = Flask(__name__)
webhook = Webhook(os.environ["WEBHOOK_SECRET"])

@app.post("/hooks/mail")
def mail():
    try:
        event = webhook.verify(request.get_data(), dict(request.headers))
    except WebhookVerificationError:
        return "", 400
    print(event["type"], event["recipient"])
    return "", 204`,
  },
  {
    key: 'php',
    label: 'PHP',
    code: `<?php
$body = file_get_contents('php://input');
$id = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
$time = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
$key = base64_decode(substr(getenv('WEBHOOK_SECRET'), strlen('whsec_')));
$expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$time.$body", $key, true));

$valid = abs(time() - (int) $time) < 300;
$given = explode(' ', $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '');
$matches = array_filter($given, fn ($one) => hash_equals($expected, $one));
if (!$valid || count($matches) === 0) {
    http_response_code(400);
    exit;
}
$event = json_decode($body, true);
http_response_code(204);`,
  },
  {
    key: 'go',
    label: 'Go',
    code: `// go get github.com/standard-webhooks/standard-webhooks/libraries
package main

import (
	"io"
	"net/http"
	"os"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func main() {
	hook, err := standardwebhooks.NewWebhook(os.Getenv("WEBHOOK_SECRET"))
	if err != nil {
		panic(err)
	}
	http.HandleFunc("/hooks/mail", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if err := hook.Verify(body, r.Header); err != nil {
			http.Error(w, "", http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	http.ListenAndServe(":8080", nil)
}`,
  },
  {
    key: 'ruby',
    label: 'Ruby',
    code: `# gem install sinatra standardwebhooks
require 'sinatra'
require 'standardwebhooks'

webhook = StandardWebhooks::Webhook.new(ENV['WEBHOOK_SECRET'])

post '/hooks/mail' do
  body = request.body.read
  headers = %w[id timestamp signature].to_h do |name|
    ["webhook-#{name}", request.env["HTTP_WEBHOOK_#{name.upcase}"]]
  end
  begin
    event = webhook.verify(body, headers)
    204
  rescue StandardWebhooks::WebhookVerificationError
    400
  end
end`,
  },
]
