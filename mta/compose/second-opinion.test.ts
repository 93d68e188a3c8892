import { spawn, spawnSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import type { Socket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { assert } from 'chai'
import { decode, encode } from 'dns-packet'
import { txtStrings } from '#src/domains/dkim-key.ts'
import { compose } from '#src/mime/compose.ts'
import type { Draft } from '#src/mime/draft.ts'
import { sign } from './sign.ts'
import { AT, KEYS, letters, RECORDS } from './sign-messages.test-data.ts'

/** As a server gets it: DATA ends with a line end. */
async function onTheWire(letter: Draft, keys = KEYS): Promise<Buffer> {
  const message = await sign(await compose(letter), keys, AT)
  return message.toString('latin1', message.length - 2) === '\r\n'
    ? message
    : Buffer.concat([message, Buffer.from('\r\n')])
}

const legal = letters.filter(([, , isIllegal]) => !isIllegal)

function skipWithout(test: Mocha.Context, isHere: boolean, what: string): void {
  if (isHere) return
  process.stdout.write(`\n  skipped: ${test.test?.parent?.title}: ${what}\n`)
  test.skip()
}

/** Debian's, for which python3-dkim is installed. */
const PYTHON = '/usr/bin/python3'
/**
 * Reads {messages, records, signatures} as JSON; answers true, false or the complaint, for each signature of each
 * message.
 */
const DKIMPY = `
import base64, dkim, json, sys
job = json.load(sys.stdin)
dns = lambda name, timeout=5: job['records'].get(name.decode().rstrip('.'), '').encode()
def verify(message, index):
    try:
        return dkim.DKIM(base64.b64decode(message)).verify(index, dnsfunc=dns)
    except dkim.DKIMException as e:
        return str(e)
print(json.dumps([[verify(m, i) for i in range(job['signatures'])] for m in job['messages']]))
`

describe('signatures verified by dkimpy', function () {
  before(function () {
    skipWithout(
      this,
      spawnSync(PYTHON, ['-c', 'import dkim, nacl']).status === 0,
      'dkimpy is not here (apt-get install python3-dkim python3-nacl)',
    )
  })

  it('every message verifies by both keys', async () => {
    const messages = await Promise.all(legal.map(async ([, letter]) => (await onTheWire(letter)).toString('base64')))
    const { stdout, stderr } = spawnSync(PYTHON, ['-c', DKIMPY], {
      input: JSON.stringify({ messages, records: RECORDS, signatures: KEYS.length }),
      encoding: 'utf8',
      maxBuffer: 1e7,
    })
    assert.strictEqual(stderr, '')
    const verdicts: unknown = JSON.parse(stdout)
    assert.ok(Array.isArray(verdicts))
    assert.deepEqual(
      legal.map(([what], i) => [what, verdicts[i]]),
      legal.map(([what]) => [what, [true, true]]),
    )
  })
})

/**
 * opendkim-testmsg asks the system's DNS and takes no other: it runs where /etc/resolv.conf is ours, and ours names
 * this server.
 */
describe('signatures verified by opendkim-testmsg', function () {
  const address = `127.53.${(process.pid >> 8) & 255}.${process.pid & 255}`
  let dns: Socket
  let folder: string

  before(async function () {
    skipWithout(
      this,
      spawnSync('opendkim-testmsg', ['-?']).error === undefined,
      'it is not here (apt-get install opendkim-tools)',
    )
    skipWithout(this, spawnSync('unshare', ['-rm', 'true']).status === 0, 'no mount namespace can be made here')
    dns = createSocket('udp4')
    dns.on('message', (bytes, peer) => {
      const query = decode(bytes)
      const question = query.questions?.[0]
      const record = RECORDS[question?.name ?? '']
      const answers =
        question && record ? [{ type: 'TXT' as const, name: question.name, ttl: 60, data: txtStrings(record) }] : []
      dns.send(
        encode({ type: 'response', id: query.id ?? 0, questions: query.questions ?? [], answers }),
        peer.port,
        peer.address,
      )
    })
    const isBound = await new Promise<boolean>((resolve) => {
      dns.once('error', () => resolve(false))
      dns.bind(53, address, () => resolve(true))
    })
    skipWithout(this, isBound, 'port 53 cannot be bound here')
    folder = mkdtempSync(join(tmpdir(), 'opendkim-'))
    writeFileSync(join(folder, 'resolv.conf'), `nameserver ${address}\n`)
  })

  after(() => {
    dns?.close()
    if (folder) rmSync(folder, { recursive: true })
  })

  async function judge(message: Buffer): Promise<string> {
    const script = 'mount --bind "$0" /etc/resolv.conf && exec opendkim-testmsg'
    const child = spawn('unshare', ['-rm', 'sh', '-c', script, join(folder, 'resolv.conf')])
    child.stdin.on('error', () => {}) // it stops reading at the first line it does not like
    child.stdin.end(message)
    const [out, [code]] = await Promise.all([text(child.stderr), once(child, 'close')])
    return code === 0 ? 'pass' : `${code}: ${out.trim()}`
  }

  it('rejects a forgery', async () => {
    const message = await onTheWire(letters[0]?.[1] ?? assert.fail(), KEYS.slice(0, 1))
    assert.notStrictEqual(
      await judge(Buffer.from(message.toString('latin1').replace('Subject: Hello', 'Subject: Hallo'), 'latin1')),
      'pass',
    )
  })

  // It knows RSA only (2.11), and passes over the other signature.
  for (const [what, letter] of legal)
    it(`verifies ${what}`, async () => assert.strictEqual(await judge(await onTheWire(letter)), 'pass'))
})
