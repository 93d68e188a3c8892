import { generateKeyPairSync } from 'node:crypto'
import { assert } from 'chai'
import * as fc from 'fast-check'
import { dkimBody } from 'mailauth/lib/dkim/body/index.js'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { compose } from '#src/mime/compose.ts'
import type { Composed } from '#src/mime/draft.ts'
import { countBytesLeft } from '#test/support/young-collections.ts'
import { digestOf, hashBody } from './digest.ts'
import { createSigner } from './sign.ts'
import type { DkimKey } from './sign.ts'
import { AT, draft, ed25519, key, KEYS, letters, RECORDS, rsa } from './sign-messages.test-data.ts'

const sign = createSigner()

const signed = (composed: Composed): Promise<Buffer> => sign(composed, KEYS, AT)
const resolver = async (name: string): Promise<string[][]> => [[RECORDS[name] ?? '']]

/** One `pass` or `result: why` per signature, by the strict reading of the RFCs. */
async function verdicts(message: Buffer): Promise<string[]> {
  const { results } = await dkimVerify(message, { resolver, strict: true })
  return results.map(({ status }) => (status.comment ? `${status.result}: ${status.comment}` : status.result))
}

/** Signs 100 times 100 KB. */
const PROGRAM = `
  const { generateKeyPairSync } = await import('node:crypto')
  const { signData } = await import('./sign.ts')
  const { privateKey } = generateKeyPairSync('ed25519')
  const key = {
    keyId: 'a',
    domain: 'example.com',
    selector: 'a',
    algorithm: 'ed25519-sha256',
    privateKey: privateKey.export({ type: 'pkcs8', format: 'der' }),
  }
  const rsa = {
    ...key,
    keyId: 'b',
    algorithm: 'rsa-sha256',
    privateKey: generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey.export({ type: 'pkcs8', format: 'der' }),
  }
  for (let i = 0; i < 100; i++) await signData(i % 2 ? key : rsa, Buffer.alloc(100_000))
`

describe('sign', () => {
  it('leaves what it signed to young collections', async function () {
    this.timeout(60_000)
    assert.isBelow(await countBytesLeft(import.meta.dirname, PROGRAM), 1_000_000)
  })

  for (const [what, letter] of letters)
    it(`verifies by mailauth: ${what}`, async () =>
      assert.deepEqual(await verdicts(await signed(await compose(letter))), ['pass', 'pass']))

  it('writes the documented tags', async () => {
    const composed = await compose(draft)
    const unsigned = await sign(composed, [])
    const message = await signed(composed)
    assert.deepEqual(message.subarray(-unsigned.length), unsigned, 'header and body come after the signatures')
    const lines = message.toString('latin1', 0, message.length - unsigned.length)
    const [first, second] = lines.split(/\r\n(?=DKIM)/).map((line) => line.replace(/\r\n\s*/g, ''))
    assert.match(
      first ?? '',
      /^DKIM-Signature: v=1; a=rsa-sha256; c=relaxed\/relaxed; d=example\.com;\s?s=rsa;\s?t=1767323045;/,
    )
    assert.match(first ?? '', /;\s?bh=[\w+/]{43}=;/)
    assert.match(second ?? '', /^DKIM-Signature: v=1; a=ed25519-sha256; /)
    const present = [
      'from',
      'subject',
      'date',
      'message-id',
      'to',
      'mime-version',
      'content-type',
      'content-transfer-encoding',
    ]
    const twice = present.flatMap((name) => [name, name])
    assert.deepEqual(
      /;\s?h=([^;]*);/
        .exec(first ?? '')?.[1]
        ?.split(':')
        .toSorted(),
      [...twice, 'reply-to', 'cc'].toSorted(),
    )
    assert.notMatch(lines, /[;\s][lxi]=/)
    for (const line of lines.split('\r\n')) assert.ok(line.length <= 76, line)
    assert.ok(lines.endsWith('\r\n'))
  })

  it('joins header and body without keys, and computes no digest', async () => {
    const { head, body } = await compose(draft)
    const fields: Composed['fields'] = new Proxy([], { get: () => assert.fail('the fields are read') })
    assert.deepEqual(await sign({ head, body, fields }, [], AT), Buffer.concat([Buffer.from(head, 'latin1'), body]))
  })

  it('signs an urgent message before those that are queued', async () => {
    const [own, composed] = [createSigner(), await compose(draft)]
    let made = 0
    const queued = Array.from({ length: 40 }, async () => {
      await own(composed, [key(rsa)], AT)
      made++
    })
    await own(composed, [key(rsa)], AT, true)
    assert.strictEqual(made, 0)
    await Promise.all(queued)
  })

  it('signs a rendered message by its digest', async () => {
    const composed = await compose({ ...draft, subject: 'Grüße' })
    const { head, body } = composed
    const rendered = { head, body: new Uint8Array(body), digest: await digestOf(composed) }
    assert.deepEqual(await sign(rendered, KEYS, AT), await signed(composed))
    assert.deepEqual(await sign(rendered, []), await sign(composed, []))
  })

  const additions = [
    'From: evil@example.com',
    'Subject: evil',
    'To: evil@example.com',
    'Cc: evil@example.com',
    'Reply-To: evil@example.com',
    'Date: now',
    'Message-ID: <evil>',
    'Content-Type: text/evil',
    'MIME-Version: 9',
    'Content-Transfer-Encoding: base64',
    'List-Unsubscribe: <evil>',
  ]
  const listed = { ...draft, headers: [['List-Unsubscribe', '<https://example.com/u>']] as const }
  for (const addition of additions) {
    it(`breaks when somebody adds ${addition}`, async () => {
      const message = await signed(await compose(listed))
      for (const forged of [
        Buffer.concat([Buffer.from(`${addition}\r\n`), message]),
        Buffer.from(message.toString('latin1').replace('\r\n\r\n', `\r\n${addition}\r\n\r\n`), 'latin1'),
      ])
        assert.deepEqual(await verdicts(forged), ['fail: bad signature', 'fail: bad signature'])
    })
  }

  it('survives changes by relays: a trace field in front, white space, folding', async () => {
    const message = (await signed(await compose(draft))).toString('latin1')
    const respaced = message.replace('Subject: Hello', 'subject:   Hello ').replace('Hi Bob', 'Hi  Bob \t')
    const relayed = `Received: by x\r\n${respaced}\r\n\r\n`
    assert.deepEqual(await verdicts(Buffer.from(relayed, 'latin1')), ['pass', 'pass'])
    const changed = Buffer.from(message.replace('Hi Bob', 'Hi Eve'), 'latin1')
    assert.deepEqual(await verdicts(changed), ['fail: body hash did not verify', 'fail: body hash did not verify'])
  })

  it('accepts keys as DER, PEM and on demand, and reads each once', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'der' },
    })
    let reads = 0
    const read = (): string => (reads++, privateKey)
    const lazy: DkimKey = {
      keyId: 'lazy',
      domain: 'example.com',
      selector: 'pem',
      algorithm: 'rsa-sha256',
      privateKey: read,
    }
    const composed = await compose(draft)
    const own = createSigner(2)
    const all = async (keys: readonly DkimKey[]): Promise<unknown> =>
      Promise.all(keys.map((one) => own(composed, [one], AT)))
    await all([lazy, lazy])
    assert.strictEqual(reads, 1)
    await all([...KEYS, lazy]) // a memory of two: the third pushes the oldest out
    assert.strictEqual(reads, 2)
    const published = async (): Promise<string[][]> => [[`v=DKIM1; p=${publicKey.toString('base64')}`]]
    const { results } = await dkimVerify(await own(composed, [lazy], AT), { resolver: published })
    assert.strictEqual(results[0]?.status.result, 'pass')
  })

  it('names an invalid key in its error', async () => {
    const composed = await compose(draft)
    await assert.isRejected(
      sign(composed, [{ ...key(rsa), keyId: 'bad', privateKey: 'nonsense' }], AT),
      /DKIM key bad \(rsa\._domainkey\.example\.com\) cannot be read/,
    )
    await assert.isRejected(
      sign(composed, [{ ...key(rsa), keyId: 'mixed', privateKey: ed25519.privateKey }], AT),
      /mixed .* is not for rsa-sha256/,
    )
  })

  it("signatures over any client's header verify", () => {
    const value = fc
      .array(fc.constantFrom('a', 'B', ' ', '  ', '\t', '\r\n a', '\r\n\t\t=', '\r\n  ;', '\u00a0', '\f', ':'), {
        maxLength: 12,
      })
      .map((parts) => parts.join(''))
    return fc.assert(
      fc.asyncProperty(value, value, async (subject, to) => {
        const message = `SUBJECT:${subject}\r\nTo: ${to}x\r\nFrom: a@example.com\r\nSubject:${to}\r\n\r\nbody\r\n`
        assert.deepEqual(
          await verdicts(await signed(await compose({ ...draft, raw: Buffer.from(message, 'latin1') }))),
          ['pass', 'pass'],
        )
      }),
      { numRuns: 300 },
    )
  })

  it('signatures over any composed message verify', () =>
    fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'grapheme', maxLength: 200 }),
        fc.string({
          unit: fc.constantFrom('a', ' ', '\t', '\r', '\n', '\r\n', '\u00a0', '.', 'ü', '=', '\f', '\0'),
          maxLength: 60,
        }),
        fc.option(fc.string()),
        async (subject, text, name) => {
          const composed = await compose({ ...draft, subject, text, from: { ...draft.from, name } })
          assert.deepEqual(await verdicts(await signed(composed)), ['pass', 'pass'])
        },
      ),
      { numRuns: 200 },
    ))
})

/** The judge: mailauth's own canonicalizer, given the body in one piece. */
function judge(body: Buffer): string {
  const hash = dkimBody('relaxed', 'sha256')
  hash.update(body)
  return hash.digest('base64')
}

describe('hashBody', () => {
  it('matches the examples of RFC 6376 §3.4.5', async () => {
    assert.strictEqual(await hashBody(Buffer.from(' C \r\nD \t E\r\n\r\n\r\n')), judge(Buffer.from(' C\r\nD E\r\n')))
    // the empty body, §3.4.4
    assert.strictEqual(await hashBody(Buffer.alloc(0)), '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=')
  })

  it('hashes 2 MB of any octets quickly', async () => {
    // No clock is looked at: what is not linear does not come to an end here.
    for (const piece of [' ', '\t', '\r\n', ' \r\n', '\r', 'a', 'a ', ' a', 'a\r\n', 'a \r\n \r\n']) {
      const body = Buffer.from(`${piece.repeat(2_000_000 / piece.length)}x`)
      assert.strictEqual(await hashBody(body), judge(body), JSON.stringify(piece))
      assert.strictEqual(await hashBody(body.subarray(0, -1)), judge(body.subarray(0, -1)), JSON.stringify(piece))
    }
    const lf = Buffer.from('\n'.repeat(2_000_000)) // here the judge needs long
    assert.strictEqual(
      await hashBody(Buffer.concat([lf, Buffer.from('x')])),
      await hashBody(Buffer.from(`${'\r\n'.repeat(2_000_000)}x\r\n`)),
    )
    assert.strictEqual(await hashBody(lf), await hashBody(Buffer.alloc(0)))
  })

  const unit = fc.constantFrom('a', 'b', ' ', ' ', '\t', '\r\n', '\r\n', '\r\n', '\r', '\n', '\u00a0', '\f', '\0', '.')
  const octets = fc.array(unit, { maxLength: 40 }).map((list) => Buffer.from(list.join(''), 'latin1'))
  const assertJudged = async (body: Buffer): Promise<void> => assert.strictEqual(await hashBody(body), judge(body))

  it("equals mailauth's for any body", async () => {
    await fc.assert(fc.asyncProperty(octets, assertJudged), { numRuns: 5000 })
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 500 }).map((bytes) => Buffer.from(bytes)),
        assertJudged,
      ),
      { numRuns: 2000 },
    )
  })

  it("equals mailauth's wherever a large body is divided", async () => {
    const filler = fc
      .tuple(fc.constantFrom('x', 'x\r\n', '\r\n', ' \r\n', 'x ', 'x\n'), fc.integer({ min: 65_500, max: 65_600 }))
      .map(([piece, length]) => Buffer.from(piece.repeat(Math.ceil(length / piece.length))).subarray(0, length))
    const large = fc
      .array(fc.oneof(filler, octets), { minLength: 2, maxLength: 7 })
      .map((parts) => Buffer.concat(parts))
    await fc.assert(fc.asyncProperty(large, assertJudged), { numRuns: 80 })
  })
})
