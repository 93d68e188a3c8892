/** Mail as it could be, for the gallery. */
export interface SampleMessage {
  id: string
  to: string
  subject: string
  state: 'delivered' | 'deferred' | 'bounced' | 'queued'
  receiver: string
  attempts: number
  bytes: number
  at: string
}

const PEOPLE = [
  'ada.lovelace@gmail.com',
  'k.zuse@t-online.de',
  'grace@navy.example',
  'a-very-long-local-part.with.many.words@subdomain.customer.example',
  'linus@proton.me',
  'margaret@outlook.com',
]
const SUBJECTS = [
  'Your receipt for October',
  'Confirm your address',
  'Order 48211 has shipped',
  'Your weekly summary',
  'Reset your password',
]
const STATES = ['delivered', 'delivered', 'delivered', 'deferred', 'delivered', 'bounced', 'queued'] as const
const RECEIVERS = ['Gmail', 'Deutsche Telekom', 'Microsoft', 'Proton', 'Yahoo']

export function listMessages(count: number, from = 0): SampleMessage[] {
  return Array.from({ length: count }, (_, index) => {
    const n = from + index
    return {
      id: `msg_${(0x5f3a91 + n * 7919).toString(36)}`,
      to: PEOPLE[n % PEOPLE.length] ?? '',
      subject: SUBJECTS[(n * 3) % SUBJECTS.length] ?? '',
      state: STATES[(n * 5) % STATES.length] ?? 'queued',
      receiver: RECEIVERS[(n * 2) % RECEIVERS.length] ?? '',
      attempts: (n % 4) + 1,
      bytes: 3200 + ((n * 7331) % 90_000),
      at: new Date(Date.now() - n * 47_000 - 9000).toISOString(),
    }
  })
}

export const STATE_TONES = { delivered: 'success', deferred: 'warning', bounced: 'danger', queued: 'info' } as const
export const STATE_LABELS = { delivered: 'Delivered', deferred: 'Deferred', bounced: 'Bounced', queued: 'Queued' }

const HOUR_MS = 3_600_000
const now = Math.floor(Date.now() / HOUR_MS) * HOUR_MS
export const HOURS = Array.from({ length: 48 }, (_, index) => new Date(now - (47 - index) * HOUR_MS).toISOString())
export const DELIVERED = HOURS.map((_, index) => Math.round(2400 + 1500 * Math.sin(index / 4) + ((index * 37) % 211)))
export const DEFERRED = HOURS.map((_, index) => Math.round(180 + 140 * Math.sin(index / 3 + 1)))
export const BOUNCED = HOURS.map((_, index) => 20 + ((index * 13) % 47))
export const OPEN_SHARE = HOURS.map((_, index) => (index === 20 ? null : 0.31 + 0.08 * Math.sin(index / 5)))

export const SMTP_TALK = `220 mx.google.com ESMTP ready
EHLO out1.mail.acme.example
250-mx.google.com at your service
250-SIZE 157286400
250-STARTTLS
STARTTLS
220 2.0.0 Ready to start TLS
MAIL FROM:<b+5f3a91@bounce.acme.example> SIZE=4821
250 2.1.0 OK
RCPT TO:<ada.lovelace@gmail.com>
450 4.2.1 The user you are trying to contact is receiving mail at a rate that prevents additional messages from being delivered. Please resend your message at a later time.`

export const MAIL_HTML = `<html><body style="font-family:sans-serif;margin:0;padding:24px;background:#f4f4f7;color:#222">
<div style="max-width:520px;margin:auto;background:#fff;border-radius:8px;padding:24px">
<h1 style="font-size:20px;margin:0 0 12px">Your receipt for October</h1>
<p>Hello Ada, thank you for your payment of <b>€ 29.00</b>.</p>
<p><a href="https://acme.example/invoices/48211" style="background:#1f4fd8;color:#fff;padding:10px 16px;border-radius:6px;text-decoration:none;display:inline-block">See the invoice</a></p>
<p style="color:#666;font-size:13px">Acme GmbH, Berlin</p></div>
<script>document.body.innerHTML = 'script ran'</script></body></html>`

export const TEMPLATE_BEFORE = `<h1>Welcome, {{name}}</h1>
<p>Thank you for joining.</p>
<p>Your account is ready.</p>
<a href="{{url}}">Start</a>
<p>Acme GmbH</p>
<p>Berlin</p>
<p>Germany</p>
<p>{{unsubscribe_url}}</p>`

export const TEMPLATE_AFTER = `<h1>Welcome to Acme, {{name}}</h1>
<p>Your account is ready.</p>
<p>Confirm your address first.</p>
<a href="{{url}}">Confirm</a>
<p>Acme GmbH</p>
<p>Berlin</p>
<p>Germany</p>
<p>{{unsubscribe_url}}</p>`
