import { assert } from 'chai'
import { startReceiver } from '#test/support/receiver.ts'
import type { Receiver } from '#test/support/receiver.ts'
import type { ReceiverScript } from '#test/support/receiver-script.ts'
import { SETTINGS, SOON, failure } from './dial.test-data.ts'
import type { Mail } from './transaction.ts'
import { openSession, openWithRetries } from './open.ts'
import type { OpenResult, SessionSettings, TlsLevel } from './open.ts'
import { chooseTimeouts } from './timeouts.ts'

const MAIL: Mail = {
  from: 'a@out.test',
  to: 'b@in.test',
  data: Buffer.from('Subject: x\r\n\r\nhello\r\n'),
  smtputf8: false,
}

async function deliver(opened: OpenResult): Promise<void> {
  if (!opened.ok) assert.fail(opened.failure.transcript.join('\n'))
  assert.strictEqual((await opened.session.deliver(MAIL)).kind, 'accepted')
  await opened.session.quit()
}

describe('TLS', () => {
  let mx: Receiver
  const use = async (
    script: ReceiverScript,
    settings: Partial<SessionSettings> = {},
    host = 'mx.test',
    first: TlsLevel = 'modern',
  ): Promise<OpenResult & { level: TlsLevel }> => {
    mx = await startReceiver(script)
    return await openWithRetries({ host, address: mx.host, port: mx.port }, { ...SETTINGS, ...settings }, first)
  }
  afterEach(() => mx.stop())

  it('is used when offered, whatever the certificate', async () => {
    const opened = await use({})
    await deliver(opened)
    assert.deepEqual(opened.ok && opened.session.tls, {
      protocol: 'TLSv1.3',
      cipher: 'TLS_AES_256_GCM_SHA384',
      authorized: false,
    })
    assert.containsSubset(mx.messages, [{ tls: true, servername: 'mx.test', connection: 1, helo: 'out.test' }])
    assert.deepEqual(
      opened.ok && opened.session.opening.slice(-8),
      [
        'C: STARTTLS',
        'S: 220 2.0.0 Ready to start TLS',
        '-- TLSv1.3 TLS_AES_256_GCM_SHA384, certificate not verified',
        'C: EHLO out.test',
        'S: 250-mx.test',
        'S: 250-PIPELINING',
        'S: 250-SIZE 52428800',
        'S: 250-8BITMIME',
        'S: 250-SMTPUTF8',
        'S: 250 ENHANCEDSTATUSCODES',
      ].slice(-8),
    )
  })

  it('carries large messages', async () => {
    const opened = await use({})
    const data = Buffer.from('0123456789\r\n'.repeat(300_000))
    assert.strictEqual(opened.ok && (await opened.session.deliver({ ...MAIL, data })).kind, 'accepted')
    assert.ok(mx.messages[0]?.bytes.equals(data))
    await deliver(opened)
  })

  it('is version 1.2 or newer', async () => {
    await deliver(await use({ maxTls: 'TLSv1.2' }))
    assert.strictEqual(mx.messages[0]?.tls, true)
    await mx.stop()
    const opened = await use({ maxTls: 'TLSv1.1' }, { tls: 'required' })
    assert.strictEqual(!opened.ok && opened.failure.stage, 'tls')
  })

  it('discards the extensions that were offered in plain text', async () => {
    const opened = await use({
      on: {
        ehlo: ({ tls }) =>
          tls ? '250-mx.test\r\n250 SIZE 5000' : '250-mx.test\r\n250-STARTTLS\r\n250-PIPELINING\r\n250 SIZE 1',
      },
    })
    assert.deepInclude(opened.ok && opened.session.offers, {
      pipelining: false,
      starttls: false,
      size: 5000,
    })
    await deliver(opened)
  })

  for (const [host, servername] of [
    ['mx.test.', 'mx.test'],
    ['127.0.0.1', null],
    ['::1', null],
  ] as const)
    it(`sends the host name as SNI: ${host} as ${servername}`, async () => {
      await deliver(await use({}, {}, host))
      assert.containsSubset(mx.messages, [{ tls: true, servername }])
    })

  it('verifies the certificate when required', async () => {
    mx = await startReceiver()
    for (const [host, ca, code] of [
      ['mx.test', mx.ca, null],
      ['mx.test.', mx.ca, null],
      ['127.0.0.1', mx.ca, null],
      ['other.test', mx.ca, 'ERR_TLS_CERT_ALTNAME_INVALID'],
      ['mx.test', undefined, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ] as const) {
      const opened = await openWithRetries(
        { host, address: mx.host, port: mx.port },
        { ...SETTINGS, tls: 'required', rejectUnauthorized: true, ...(ca !== undefined && { ca }) },
        'modern',
      )
      if (code === null) assert.strictEqual(opened.ok && opened.session.tls?.authorized, true, host)
      else assert.containsSubset(!opened.ok && opened.failure, { stage: 'tls', reply: null, loss: { code } })
      if (opened.ok) await opened.session.quit()
    }
  })

  for (const handshake of ['drop', 'rubbish', 'silence'] as const) {
    it(`a failed handshake (${handshake}) is retried with older TLS and then in plain text, as recorded`, async () => {
      const opened = await use({ handshake }, { timeouts: chooseTimeouts({ tls: SOON }) })
      await deliver(opened)
      assert.containsSubset(mx.messages, [{ tls: false, connection: 3 }])
      assert.deepEqual([opened.ok && opened.session.tls, opened.level], [null, 'plain'])
      assert.match(
        opened.ok ? opened.session.opening.join('\n') : '',
        new RegExp(
          ['older', 'out']
            .map(
              (kind) =>
                String.raw`S: 220 .*\n-- connection lost: TLS failed: .*\n` +
                String.raw`-- trying once more with(?: )?${kind} TLS\n-- mx\.test \[127\.0\.0\.1\]:\d+\nS: 220 `,
            )
            .join('[^]*'),
        ),
      )
    })

    it(`ends the session when it is required and fails (${handshake})`, async () => {
      const opened = await use({ handshake }, { tls: 'required', timeouts: chooseTimeouts({ tls: SOON }) })
      assert.strictEqual(!opened.ok && opened.failure.stage, 'tls')
      assert.strictEqual(mx.connections, 1)
      assert.deepEqual(
        mx.commands.map(({ line }) => line),
        ['EHLO out.test', 'STARTTLS'],
      )
    })
  }

  it('uses an older version when the server supports no other', async () => {
    const opened = await use({ maxTls: 'TLSv1.1' })
    await deliver(opened)
    assert.containsSubset(mx.messages, [{ tls: true, connection: 2 }])
    assert.deepEqual([opened.ok && opened.session.tls?.protocol, opened.level], ['TLSv1.1', 'reduced'])
    assert.match(opened.ok ? opened.session.opening.join('\n') : '', /-- trying once more with older TLS\n/)
  })

  for (const [first, protocol, remark] of [
    ['reduced', 'TLSv1.2', 'with older TLS'],
    ['plain', undefined, 'without TLS'],
  ] as const) {
    it(`starts with the method that worked last time: ${first}`, async () => {
      const opened = await use({}, {}, 'mx.test', first)
      await deliver(opened)
      assert.deepEqual([opened.ok && opened.session.tls?.protocol, opened.level, mx.connections], [protocol, first, 1])
      assert.strictEqual(
        opened.ok && opened.session.opening[0],
        `-- TLS of this host failed recently: trying ${remark}`,
      )
    })
  }

  it('starts with the newest version when it is required, whatever failed recently', async () => {
    const opened = await use({}, { tls: 'required' }, 'mx.test', 'plain')
    await deliver(opened)
    assert.strictEqual(opened.ok && opened.session.tls?.protocol, 'TLSv1.3')
  })

  for (const [what, fault, remark] of [
    ['passes', null, 'verified'],
    ['fails', { code: 'validation-failure', text: 'no TLSA record matches' }, 'not verified'],
  ] as const) {
    it(`records the certificate as ${remark} if the check of its domain's policy ${what}`, async () => {
      const opened = await use({}, { tls: 'required', checkCertificate: () => fault })
      const lines = opened.ok ? opened.session.opening : opened.failure.transcript
      assert.include(lines, `-- TLSv1.3 TLS_AES_256_GCM_SHA384, certificate ${remark}`)
      if (opened.ok) await deliver(opened)
    })
  }

  it('sends nothing to a server whose certificate is not acceptable', async () => {
    const refuse = (): { code: string; text: string } => ({ code: 'certificate-expired', text: 'it is too old' })
    const opened = await use({}, { tls: 'required', checkCertificate: refuse })
    assert.containsSubset(failure(opened), {
      stage: 'tls',
      reply: null,
      loss: { code: 'certificate-expired', detail: 'it is too old' },
    })
    assert.deepEqual(
      mx.commands.map(({ line }) => line),
      ['EHLO out.test', 'STARTTLS'],
    )
  })

  it('is retried only if the caller asks for it', async () => {
    mx = await startReceiver({ handshake: 'drop' })
    const opened = await openSession({ host: 'mx.test', address: mx.host, port: mx.port }, SETTINGS)
    assert.strictEqual(!opened.ok && opened.failure.stage, 'tls')
    assert.strictEqual(mx.connections, 1)
  })

  it('lost after the final dot leaves the outcome unknown, as in plain text', async () => {
    const opened = await use({ on: { dot: { end: 'reset' } } })
    assert.deepInclude(opened.ok && (await opened.session.deliver(MAIL)), {
      kind: 'lost',
      stage: 'dot',
      afterDot: true,
    })
  })

  it('lost within a large message does not count as lost after the final dot', async () => {
    const opened = await use({ bodyAfter: 100_000, on: { body: { end: 'reset' } } })
    const data = Buffer.from('0123456789\r\n'.repeat(1_000_000))
    assert.deepInclude(opened.ok && (await opened.session.deliver({ ...MAIL, data })), {
      kind: 'lost',
      stage: 'body',
      afterDot: false,
    })
    assert.deepEqual(mx.messages, [])
  })
})
