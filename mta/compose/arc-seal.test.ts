import { generateKeyPairSync } from 'node:crypto'
import { assert } from 'chai'
import { authenticate } from 'mailauth'
import { splitMessage } from '#src/mail/split-message.ts'
import { seal } from './arc-seal.ts'
import { sign, type DkimKey } from './sign.ts'

const pair = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'der' },
  privateKeyEncoding: { type: 'pkcs8', format: 'der' },
})
const keyOf = (domain: string): DkimKey => ({
  keyId: `arc ${domain}`,
  domain,
  selector: 's',
  algorithm: 'rsa-sha256',
  privateKey: pair.privateKey,
})
const resolver = (_name: string, type: string): Promise<string[][]> =>
  type === 'TXT'
    ? Promise.resolve([[`v=DKIM1; k=rsa; p=${pair.publicKey.toString('base64')}`]])
    : Promise.reject(Object.assign(new Error('none'), { code: 'ENOTFOUND' }))
const HEAD = 'From: Ann <ann@author.example>\r\nTo: b@c.example\r\nSubject: a  long\r\n subject\r\n'
const MAIL = Buffer.from(`${HEAD}Date: Thu, 1 Jan 2026 10:00:00 +0000\r\nMessage-ID: <1@a>\r\n\r\nHello \t you\r\n\r\n`)
const composedOf = (raw: Buffer): Parameters<typeof seal>[0] => ({ ...splitMessage(raw), needsSmtputf8: false })
const at = new Date()

async function sealOnce(raw: Buffer, domain: string, instance: number | null): Promise<Buffer> {
  const chain = {
    instance,
    validation: instance === 1 ? 'none' : 'pass',
    results: 'spf=pass smtp.mailfrom=author.example; dkim=pass header.d=author.example; dmarc=pass',
    server: 'mx.example',
  } as const
  return seal(composedOf(raw), [keyOf('other.example'), keyOf(domain)], { chain, at })
}

async function check(raw: Buffer): Promise<{ dkim: string[]; arc: string; sealer: string | undefined }> {
  const found = (await authenticate(raw, {
    ip: '192.0.2.1',
    helo: 'x.example',
    sender: 'ann@author.example',
    mta: 'mx.example',
    resolver,
    disableBimi: true,
  })) as unknown as {
    dkim: { results: { status: { result: string } }[] }
    arc: { status: { result: string }; signature?: { signingDomain: string } }
  }
  return {
    dkim: found.dkim.results.map(({ status }) => status.result),
    arc: found.arc.status.result,
    sealer: found.arc.signature?.signingDomain,
  }
}

describe('ARC seals', () => {
  let signed: Buffer
  before(async () => {
    signed = await sign(splitMessage(MAIL), [keyOf('author.example')], at)
  })
  it('one set is valid, and the signature of the author stays valid', async () => {
    const sealed = await sealOnce(signed, 'hop1.example', 1)
    assert.deepEqual(await check(sealed), { dkim: ['pass'], arc: 'pass', sealer: 'hop1.example' })
    assert.ok(sealed.subarray(-signed.length).equals(signed), 'the octets below the set are those that arrived')
  })
  it('a chain of three sets is valid', async () => {
    let mail = signed
    for (const instance of [1, 2, 3]) mail = await sealOnce(mail, `hop${instance}.example`, instance)
    assert.deepEqual(await check(mail), { dkim: ['pass'], arc: 'pass', sealer: 'hop3.example' })
  })
  it('a changed body, and a changed earlier set, break the chain', async () => {
    const sealed = await sealOnce(await sealOnce(signed, 'hop1.example', 1), 'hop2.example', 2)
    const changes = [
      ['Hello', 'Hallo'],
      ['spf=pass', 'spf=fail'],
    ] as const
    for (const [from, to] of changes) {
      const text = sealed.toString('latin1')
      const i = text.lastIndexOf(from)
      const changed = Buffer.from(text.slice(0, i) + to + text.slice(i + from.length), 'latin1')
      assert.equal((await check(changed)).arc, 'fail', from)
    }
  })
  it('without an RSA key, or for a chain that cannot be continued, the message is returned as it is', async () => {
    assert.ok((await sealOnce(signed, 'hop1.example', null)).equals(signed))
    const chain = { instance: 1, validation: 'none', results: '', server: 'mx.example' } as const
    assert.ok((await seal(composedOf(signed), [], { chain, at })).equals(signed))
  })
})
