/**
 * How long one request blocks the event loop. The client is a process of its own. The measure is the CPU time of
 * the main thread between two turns, best of several attempts, so that a busy machine does not look like a slow
 * server.
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { assert } from 'chai'
import { startApi, type TestApi } from '#test/support/api.ts'

const MAX_BLOCK_MS = 50
const ATTEMPTS = 4

const CLIENT = `
import { readFileSync } from 'node:fs'
const [url, key, file, type] = process.argv.slice(1)
const headers = {
  'content-type': type,
  authorization: 'Bearer ' + key,
  'idempotency-key': String(Math.random()),
}
const post = () => fetch(url, { method: 'POST', headers, body: readFileSync(file) })
let response = await post()
// on a busy machine PostgreSQL may be too slow for the largest messages
for (let tries = 0; response.status === 503 && tries < 5; tries++) response = await post()
console.log(response.status, (await response.text()).slice(0, 200))`

const LARGEST = randomBytes(25 * 1024 * 1024 - 2000).toString('base64')
const TEXT = 'hello '.repeat(700)
const message = (from: string): object => ({ to: ['ada@receiver.example'], from, subject: 's', text: 't' })
const recipients = Array.from({ length: 50 }, (_, i) => ({ email: `r${i}@receiver.example`, name: 'Reader' }))
/** A complete message with that attachment, in lines of 76 characters. */
const complete = (from: string): string =>
  `From: ${from}\r\nTo: ada@receiver.example\r\n\r\n${LARGEST.replaceAll(/.{76}/g, '$&\r\n')}\r\n`
const BODIES: readonly (readonly [name: string, path: string, make: (from: string) => object | string])[] = [
  [
    'an attachment of 25 MB',
    'instant',
    (from) => ({ ...message(from), attachments: [{ filename: 'a.bin', content: LARGEST }] }),
  ],
  [
    'a text of 20 MB full of escapes',
    'instant',
    (from) => ({ ...message(from), html: '<p>ża "b"\n</p>'.repeat(1_250_000) }),
  ],
  [
    '500 messages to 50 recipients each',
    'batch',
    (from) => ({ messages: Array.from({ length: 500 }, () => ({ ...message(from), to: recipients, text: TEXT })) }),
  ],
  ['a complete message of 35 MB', 'raw', complete],
]

describe('the event loop', () => {
  let api: TestApi
  let dir = ''
  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'mailstead-test-blocked-'))
    api = await startApi()
  })
  after(async () => {
    await api.stop()
    rmSync(dir, { recursive: true })
  })

  for (const [name, path, make] of BODIES) {
    it(`is never blocked for more than ${MAX_BLOCK_MS} ms by ${name}`, async () => {
      const file = join(dir, 'body.json')
      const body = make(`x@${api.domain}`)
      writeFileSync(file, typeof body === 'string' ? body : JSON.stringify(body))
      const type = typeof body === 'string' ? 'message/rfc822' : 'application/json'
      const send = async (): Promise<void> => {
        const url = `${api.url}/api/v1/send-email/${path}`
        const { stdout } = await promisify(execFile)(process.execPath, [
          '--input-type=module',
          '-e',
          CLIENT,
          url,
          api.regular,
          file,
          type,
        ])
        assert.match(stdout, /^200 /)
      }
      const tries: number[] = []
      while (tries.length < ATTEMPTS && !tries.some((ms) => ms < MAX_BLOCK_MS)) tries.push(await longestTurn(send))
      assert.ok(
        tries.some((ms) => ms < MAX_BLOCK_MS),
        `blocked for ${tries.map((ms) => ms.toFixed(0)).join(', ')} ms`,
      )
    })
  }
})

/** The longest CPU time of this thread between two turns of the event loop while `work` runs, in milliseconds. */
async function longestTurn(work: () => Promise<void>): Promise<number> {
  let [last, longest] = [cpuMs(), 0]
  const timer = setInterval(() => {
    const now = cpuMs()
    longest = Math.max(longest, now - last)
    last = now
  }, 1)
  await work()
  clearInterval(timer)
  return longest
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
