/** The line for a shell: a shell must read exactly what was meant. */
import { execFileSync } from 'node:child_process'
import { assert } from 'chai'
import fc from 'fast-check'
import type { Email, EmailContent } from '#dashboard/src/api/endpoints.ts'
import { quoteForShell, toCurl } from './send-curl.ts'

const MESSAGE = {
  status: 'delivered',
  priority: 'normal',
  from: 'shop@example.com',
  from_name: "Anna's shop",
  to: ['ben@example.org'],
  cc: [],
  subject: "It's $HOME `id`",
  tags: ['orders'],
  metadata: { order: 4711 },
  scheduled_at: null,
  timezone: null,
  recipients: [
    { address: 'ben@example.org', kind: 'to' },
    { address: 'hidden@example.org', kind: 'bcc' },
  ],
} as unknown as Email['data']
const CONTENT = {
  html: '<p>Hello</p>',
  text: null,
  attachments: [{ filename: 'a.pdf', content_type: 'application/pdf', size: 3 }],
} as unknown as EmailContent

/** What a shell passes to curl. */
function argumentsOf(line: string): string[] {
  const script = `curl() { printf '%s\\0' "$@"; }\n${line}`
  return execFileSync('sh', ['-c', script], { env: { MAILSTEAD_KEY: 'ms_key' }, encoding: 'utf8' })
    .split('\0')
    .slice(0, -1)
}

describe('copy as curl', () => {
  it('is one command that a shell reads as meant', () => {
    const [, url, , key, , type, , body = ''] = argumentsOf(
      toCurl({ message: MESSAGE, content: CONTENT, origin: 'https://mail.example.com' }),
    )
    assert.strictEqual(url, 'https://mail.example.com/api/v1/send-email/async')
    assert.strictEqual(key, 'Authorization: Bearer ms_key')
    assert.strictEqual(type, 'Content-Type: application/json')
    assert.deepEqual(JSON.parse(body), {
      from: "Anna's shop <shop@example.com>",
      to: ['ben@example.org'],
      bcc: ['hidden@example.org'],
      subject: "It's $HOME `id`",
      html: '<p>Hello</p>',
      tags: ['orders'],
      metadata: { order: 4711 },
      attachments: [{ filename: 'a.pdf', content_type: 'application/pdf', content: '<base64>' }],
    })
  })

  it('schedules a scheduled message, and has a place for a text that cannot be read', () => {
    const at = '2026-12-01T09:00:00.000Z'
    const message = { ...MESSAGE, status: 'scheduled', scheduled_at: at, timezone: 'UTC' } as const
    const [, url = '', , , , , , body = ''] = argumentsOf(toCurl({ message, content: null, origin: 'http://x' }))
    assert.match(url, /\/schedule$/)
    assert.include(JSON.parse(body), { scheduled_at: at, timezone: 'UTC', priority: 'normal', text: '…' })
  })

  it('quotes any text', () => {
    const text = fc.string({ unit: 'binary', maxLength: 40 }).filter((one) => !one.includes('\0') && one.isWellFormed())
    fc.assert(
      fc.property(text, (one) => {
        assert.strictEqual(execFileSync('sh', ['-c', `printf %s ${quoteForShell(one)}`], { encoding: 'utf8' }), one)
      }),
      { numRuns: 30 },
    )
  })
})
