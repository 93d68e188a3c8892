import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import * as fc from 'fast-check'
import { startReceiver } from '#test/support/receiver.ts'
import type { Receiver } from '#test/support/receiver.ts'
import type { ReceiverScript } from '#test/support/receiver-script.ts'
import type { Mail } from './transaction.ts'
import { openSession } from './open.ts'
import type { TransactionResult } from './result.ts'
import type { Session } from './session.ts'
import { chooseTimeouts } from './timeouts.ts'
import type { Timeouts } from './timeouts.ts'

const SOON = 40
const MAIL: Mail = {
  from: 'a@out.test',
  to: 'b@in.test',
  data: Buffer.from('Subject: x\r\n\r\nhello\r\n'),
  smtputf8: false,
}
/** More than any socket buffer holds. */
const LARGE = Buffer.from('0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcd\r\n'.repeat(250_000))

const closed = (session: Session): Promise<void> =>
  new Promise((resolve) => {
    session.onClose(resolve)
  })

describe('a session', () => {
  let mx: Receiver
  const sessions: Session[] = []

  const open = async (script: ReceiverScript = {}, timeouts: Partial<Timeouts> = {}): Promise<Session> => {
    mx = await startReceiver({ ...script, offers: { starttls: false, ...script.offers } })
    const opened = await openSession(
      { host: 'mx.test', address: mx.host, port: mx.port },
      {
        ehloName: 'out.test',
        tls: 'opportunistic',
        rejectUnauthorized: false,
        timeouts: chooseTimeouts(timeouts),
      },
    )
    if (!opened.ok) assert.fail(opened.failure.transcript.join('\n'))
    sessions.push(opened.session)
    return opened.session
  }

  afterEach(async () => {
    for (const session of sessions.splice(0)) session.destroy()
    await mx.stop()
  })

  it('records the opening once and the dialog of each message separately', async () => {
    const session = await open()
    assert.deepEqual(session.opening, [
      `-- mx.test [127.0.0.1]:${mx.port}`,
      'S: 220 mx.test ESMTP',
      'C: EHLO out.test',
      'S: 250-mx.test',
      'S: 250-PIPELINING',
      'S: 250-SIZE 52428800',
      'S: 250-8BITMIME',
      'S: 250-SMTPUTF8',
      'S: 250 ENHANCEDSTATUSCODES',
    ])
    const said = [
      'C: MAIL FROM:<a@out.test> SIZE=21',
      'C: RCPT TO:<b@in.test>',
      'C: DATA',
      'S: 250 2.1.0 Ok',
      'S: 250 2.1.5 Ok',
      'S: 354 End data with <CR><LF>.<CR><LF>',
      'C: [21 bytes]',
      'C: .',
      'S: 250 2.0.0 Ok: taken',
    ]
    assert.deepEqual((await session.deliver(MAIL)).conversation, said)
    assert.deepEqual((await session.deliver(MAIL)).conversation, said)
    assert.strictEqual(session.delivered, 2)
    assert.deepEqual(
      mx.messages.map(({ from, to, parameters, tls, connection, helo }) => ({
        from,
        to,
        parameters,
        tls,
        connection,
        helo,
      })),
      [1, 2].map(() => ({
        from: 'a@out.test',
        to: ['b@in.test'],
        parameters: 'SIZE=21',
        tls: false,
        connection: 1,
        helo: 'out.test',
      })),
    )
  })

  for (const [size, data] of [
    ['small', MAIL.data],
    ['large', LARGE],
  ] as const) {
    it(`does not send a ${size} message that was cancelled before the server was ready for it`, async () => {
      const session = await open({ offers: { pipelining: false }, on: { data: { delayMs: SOON } } })
      let mayGo = true
      const delivering = session.deliver({ ...MAIL, data, maySend: () => mayGo })
      mayGo = false
      const result = await delivering
      assert.deepEqual([result.kind, 'afterDot' in result && result.afterDot], ['lost', false])
      assert.strictEqual(session.isUsable, false)
      assert.strictEqual(mx.messages.length, 0)
    })
  }

  it('records how it ended', async () => {
    const session = await open({ on: { dot: { end: 'close' } } })
    const { conversation } = await session.deliver(MAIL)
    assert.strictEqual(conversation.at(-1), '-- connection lost: the server closed the connection')
    const { conversation: nothing } = await session.deliver(MAIL)
    assert.deepEqual(nothing, [])
  })

  it('delivers messages unchanged, whatever bytes their lines contain', async () => {
    const session = await open()
    const line = fc.oneof(
      fc.constantFrom('.', '..', '', '.a', 'a.', 'QUIT', '\0', '\u{feff}.'),
      fc.uint8Array({ maxLength: 40 }).map((bytes) =>
        Buffer.from(bytes)
          .toString('latin1')
          .replaceAll(/[\r\n]/g, ''),
      ),
    )
    const message = fc
      .array(line, { maxLength: 12 })
      .map((lines) => Buffer.from(lines.map((text) => `${text}\r\n`).join(''), 'latin1'))
    await fc.assert(
      fc.asyncProperty(message, async (data) => {
        const result = await session.deliver({ ...MAIL, data })
        assert.strictEqual(result.kind, 'accepted')
        assert.deepEqual(mx.messages.at(-1)?.bytes, data)
      }),
    )
  })

  it('delivers large messages with dots unchanged', async () => {
    const session = await open()
    const data = Buffer.concat([Buffer.from('.\r\n'), LARGE, Buffer.from('.a\r\n..\r\n')])
    assert.strictEqual((await session.deliver({ ...MAIL, data })).kind, 'accepted')
    assert.ok(mx.messages[0]?.bytes.equals(data))
    assert.strictEqual((await session.deliver(MAIL)).kind, 'accepted')
  })

  it('delivers messages of all sizes around the limit of a single write and of a block', async () => {
    const session = await open()
    for (const size of [0, 1, 2, 16_383, 16_384, 16_385, 65_535, 65_536, 65_537, 131_072]) {
      const data = Buffer.concat([Buffer.alloc(size, 'x'), Buffer.from('\r\n')])
      assert.strictEqual((await session.deliver({ ...MAIL, data })).kind, 'accepted')
      assert.ok(mx.messages.at(-1)?.bytes.equals(data), `${size}`)
    }
  })

  describe('when the connection ends within a message', () => {
    const endsBeforeTheEnd: readonly (readonly [what: string, script: ReceiverScript, cause: string])[] = [
      ['the server stops reading', { bodyAfter: 5000, on: { body: { end: 'stall' } } }, 'timeout'],
      ['the server resets', { bodyAfter: 100_000, on: { body: { end: 'reset' } } }, 'network'],
      [
        'the server says success too early',
        { bodyAfter: 100_000, on: { body: { reply: '250 taken', end: 'stall' } } },
        'protocol',
      ],
    ]
    for (const [what, script, cause] of endsBeforeTheEnd)
      it(`${what}: the final dot was never sent`, async () => {
        const session = await open(script, { block: 1000 })
        const result = await session.deliver({ ...MAIL, data: LARGE })
        assert.deepInclude(result, { kind: 'lost', stage: 'body', afterDot: false, cause })
        assert.match(
          result.conversation.join('\n'),
          /-- after at most \d+ of 16000000 bytes of the message, without its end$/,
        )
        assert.deepEqual(mx.messages, [])
      })

    it('a reply that the server sends before it disconnects is the result', async () => {
      const session = await open({ bodyAfter: 100_000, on: { body: { reply: '552 5.3.4 too big', end: 'stall' } } })
      const result = await session.deliver({ ...MAIL, data: LARGE })
      assert.containsSubset(result, { kind: 'rejected', stage: 'dot', reply: { code: 552 } })
      assert.strictEqual(session.isUsable, false)
    })

    it('the final dot of a large message counts as sent from its own write on', async () => {
      const session = await open({ on: { dot: { accepts: true, end: 'close' } } })
      const result = await session.deliver({ ...MAIL, data: LARGE })
      assert.deepInclude(result, { kind: 'lost', stage: 'dot', afterDot: true, cause: 'closed' })
      assert.strictEqual(mx.messages.length, 1)
    })

    it('a disconnect by the client counts like one by the server', async () => {
      for (const [stage, afterDot] of [
        ['rcpt', false],
        ['dot', true],
      ] as const) {
        const { promise: reached, resolve } = Promise.withResolvers<void>()
        const session = await open({
          offers: { pipelining: false },
          on: {
            [stage]: () => {
              resolve()
              return { end: 'silence' } as const
            },
          },
        })
        const delivery = session.deliver(MAIL)
        await reached
        session.destroy()
        assert.deepInclude(await delivery, { kind: 'lost', stage, afterDot, cause: 'aborted' })
        await mx.stop()
      }
      mx = await startReceiver()
    })
  })

  describe('between messages', () => {
    it('reports once that the server disconnected', async () => {
      const session = await open({ on: { dot: { reply: '250 Ok', end: 'close' } } })
      const calls: string[] = []
      const end = new Promise<void>((resolve) => {
        session.onClose(() => {
          calls.push('closed')
          resolve()
        })
      })
      assert.strictEqual((await session.deliver(MAIL)).kind, 'accepted')
      await end
      session.destroy()
      await sleep(SOON)
      assert.deepEqual([calls, session.isUsable, session.loss?.cause], [['closed'], false, 'closed'])
    })

    it('reports it to a listener that was added later', async () => {
      const session = await open()
      session.destroy()
      await closed(session)
      assert.strictEqual(session.loss?.cause, 'aborted')
    })

    it('rejects a second message while one is being sent', async () => {
      const session = await open()
      const first = session.deliver(MAIL)
      assert.throws(() => session.deliver(MAIL), /already in progress/)
      assert.strictEqual((await first).kind, 'accepted')
    })

    it('sends many messages, accepted and refused', async () => {
      const session = await open({
        on: { rcpt: ({ address }) => (address.startsWith('no') ? '550 5.1.1 No such user' : undefined) },
      })
      const results: TransactionResult[] = []
      for (let i = 0; i < 50; i++)
        results.push(await session.deliver({ ...MAIL, to: `${i % 3 === 0 ? 'no' : 'yes'}${i}@in.test` }))
      assert.deepEqual(
        results.map(({ kind }) => kind),
        Array.from({ length: 50 }, (_, i) => (i % 3 === 0 ? 'rejected' : 'accepted')),
      )
      assert.deepEqual(
        mx.messages.map(({ to }) => to[0]),
        Array.from({ length: 50 }, (_, i) => `yes${i}@in.test`).filter((_, i) => i % 3 !== 0),
      )
      assert.strictEqual(mx.connections, 1)
    })
  })

  describe('when it is closed', () => {
    it('sends QUIT after the message that is being sent', async () => {
      const session = await open({ on: { dot: { delayMs: SOON } } })
      const delivery = session.deliver(MAIL)
      const quitting = session.quit()
      assert.strictEqual(session.isUsable, false)
      assert.strictEqual((await delivery).kind, 'accepted')
      await quitting
      assert.strictEqual(mx.commands.at(-1)?.line, 'QUIT')
    })

    it('waits for the reply to QUIT only for a limited time', async () => {
      const session = await open({ on: { quit: { end: 'silence' } } }, { quit: SOON })
      await session.quit()
      assert.strictEqual(session.isUsable, false)
    })

    it('may be closed twice, and after the server disconnected', async () => {
      const session = await open()
      await Promise.all([session.quit(), session.quit()])
      session.destroy()
      await session.quit()
      assert.deepInclude(await session.deliver(MAIL), { kind: 'lost', stage: 'mail', afterDot: false })
    })
  })
})
