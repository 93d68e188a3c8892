/**
 * Code that sends a message by REST, in the languages of most readers. The key stays in a variable of the environment.
 */

export interface SnippetInput {
  /** Where the API is: `https://mail.example.com`. */
  readonly origin: string
  readonly from: string
  readonly to: string
}

interface SendSnippet {
  readonly key: string
  readonly label: string
  readonly code: string
}

const SUBJECT = 'Hello'
const HTML = '<p>It works.</p>'

export function sendSnippets(input: SnippetInput): SendSnippet[] {
  return [
    { key: 'curl', label: 'curl', code: curl(input) },
    { key: 'node', label: 'Node.js', code: node(input) },
    { key: 'python', label: 'Python', code: python(input) },
    { key: 'php', label: 'PHP', code: php(input) },
  ]
}

function urlOf({ origin }: SnippetInput): string {
  return `${origin}/api/v1/send-email/instant`
}

function curl(input: SnippetInput): string {
  const { from, to } = input
  const body = JSON.stringify({ from, to, subject: SUBJECT, html: HTML }, null, 2).replaceAll('\n', '\n  ')
  return [
    `curl -sS ${urlOf(input)} \\`,
    '  -H "Authorization: Bearer $MAILSTEAD_KEY" \\',
    "  -H 'Content-Type: application/json' \\",
    `  -d '${body.replaceAll("'", String.raw`'\''`)}'`,
  ].join('\n')
}

function node(input: SnippetInput): string {
  return `const response = await fetch(${JSON.stringify(urlOf(input))}, {
  method: 'POST',
  headers: {
    Authorization: \`Bearer \${process.env.MAILSTEAD_KEY}\`,
    'Content-Type': 'application/json',
  },
  body: JSON.stringify({
    from: ${JSON.stringify(input.from)},
    to: ${JSON.stringify(input.to)},
    subject: ${JSON.stringify(SUBJECT)},
    html: ${JSON.stringify(HTML)},
  }),
})
const answer = await response.json()
console.log(response.status, answer.email_id ?? answer.message)`
}

function python(input: SnippetInput): string {
  return `import json, os, urllib.request

request = urllib.request.Request(
    ${JSON.stringify(urlOf(input))},
    headers={
        "Authorization": f"Bearer {os.environ['MAILSTEAD_KEY']}",
        "Content-Type": "application/json",
    },
    data=json.dumps({
        "from": ${JSON.stringify(input.from)},
        "to": ${JSON.stringify(input.to)},
        "subject": ${JSON.stringify(SUBJECT)},
        "html": ${JSON.stringify(HTML)},
    }).encode(),
)
with urllib.request.urlopen(request) as response:
    print(json.load(response)["email_id"])`
}

function php(input: SnippetInput): string {
  return `<?php
$curl = curl_init(${quotePhp(urlOf(input))});
curl_setopt_array($curl, [
    CURLOPT_RETURNTRANSFER => true,
    CURLOPT_HTTPHEADER => [
        'Authorization: Bearer ' . getenv('MAILSTEAD_KEY'),
        'Content-Type: application/json',
    ],
    CURLOPT_POSTFIELDS => json_encode([
        'from' => ${quotePhp(input.from)},
        'to' => ${quotePhp(input.to)},
        'subject' => ${quotePhp(SUBJECT)},
        'html' => ${quotePhp(HTML)},
    ]),
]);
echo curl_exec($curl);`
}

/** In single quotes PHP replaces nothing but these two. */
function quotePhp(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`
}
