// Sends one mail with Node's own fetch, then asks what became of it.
const { MAILSTEAD_URL, MAILSTEAD_KEY, MAILSTEAD_FROM, MAILSTEAD_TO } = process.env

async function call(method, path, body, headers = {}) {
  const response = await fetch(`${MAILSTEAD_URL}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${MAILSTEAD_KEY}`, 'content-type': 'application/json', ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  const answer = await response.json()
  if (!response.ok) throw new Error(`${answer.error}: ${answer.message}`)
  return answer
}

const message = {
  from: MAILSTEAD_FROM,
  to: [MAILSTEAD_TO],
  subject: 'Your order',
  html: '<p>Hello, your order is on its way.</p>',
  tags: ['order'],
}
const sent = await call('POST', '/send-email/instant', message, { 'idempotency-key': crypto.randomUUID() })
console.log(sent.email_id, sent.status)

const { data } = await call('GET', `/public/emails/get-email?id=${sent.email_id}`)
console.log(
  data.status,
  data.events.map(({ type }) => type),
)
